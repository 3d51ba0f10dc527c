//! Settlement of a leased group: stores the states of the recipients, the events, the suppressions,
//! the attempt and the next due time in one transaction.
//!
//! `defer.rs` requeues the deferred recipients.

mod defer;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::outcome::RecipientDisposition;
use super::queue::{Claimed, Due, has_reported_outcome};
use super::retry::{EXPIRED_TEXT, RetrySchedule};
use super::rows::{DueRow, SmtpAttemptRow};
use super::site_store::SiteUpdate;
use super::smtp::FailReason;
use crate::base::clock::TimestampMs;
use crate::base::id::EmailId;
use crate::context::Context;
use crate::domains::DomainRefusal;
use crate::emails::{self, EmailRow, LastEvent, RecipientState};
use crate::events::{Bounce, EmailEventKind, Event, EventDetail};
use crate::store::{Encoded, Reads, StoreError, WriteTx};
use crate::suppressions::{self, SuppressionCause};
use crate::tables::{ATTEMPTS, LEASES};

/// Outcome of a leased group.
#[derive(Clone, Debug)]
pub(super) struct Settlement {
    pub(super) claimed: Arc<Claimed>,
    /// One disposition for each claimed recipient, in their order.
    pub(super) dispositions: Vec<RecipientDisposition>,
    /// Row to store for the attempt, if it made a connection or failed to. It is compressed outside the transaction.
    pub(super) attempt: Option<Encoded<SmtpAttemptRow>>,
    /// Changes of the site by the attempt.
    pub(super) site: SiteUpdate,
    /// Refusal because the server could not authenticate the sender.
    pub(super) refusal: Option<DomainRefusal>,
    /// Whether the outcome is simulated. It then adds no suppression.
    pub(super) simulated: bool,
}

impl Settlement {
    /// Returns a settlement with one disposition for each recipient.
    pub(super) fn new(
        claimed: Arc<Claimed>,
        dispositions: Vec<RecipientDisposition>,
        attempt: Option<SmtpAttemptRow>,
    ) -> Self {
        let attempt = attempt.map(|attempt| SmtpAttemptRow {
            tried_recipients: tried(&claimed),
            deferral_reason: dispositions.iter().find_map(deferral_reason),
            ..attempt
        });
        Self {
            claimed,
            dispositions,
            attempt: attempt.as_ref().map(Encoded::new),
            site: SiteUpdate::default(),
            refusal: None,
            simulated: false,
        }
    }

    /// Returns a settlement with the same disposition for every recipient.
    pub(super) fn uniform(
        claimed: Arc<Claimed>,
        disposition: RecipientDisposition,
        attempt: Option<SmtpAttemptRow>,
    ) -> Self {
        let dispositions = vec![disposition; claimed.recipients.len()];
        Self::new(claimed, dispositions, attempt)
    }
}

/// Returns the positions of the claimed recipients; none if the email has one recipient. A recipient can move to another
/// group later.
fn tried(claimed: &Claimed) -> Vec<u16> {
    if claimed.row.recipients.len() <= 1 {
        return Vec::new();
    }
    claimed.recipients.iter().filter_map(|index| u16::try_from(*index).ok()).collect()
}

/// Returns the reason for the return of a recipient to the queue; `None` for another outcome.
fn deferral_reason(disposition: &RecipientDisposition) -> Option<String> {
    match disposition {
        RecipientDisposition::Deferred(deferral) => deferral.reply.clone(),
        _ => None,
    }
}

/// Returns whether this node has the lease of a claimed group. Otherwise the group has been settled, or another node
/// has recovered it. A corrupt lease is the own one, because a recovery deletes it.
pub(super) fn has_lease(tx: &impl Reads, context: &Context, claimed: &Claimed) -> Result<bool, StoreError> {
    let key = (claimed.key.email, claimed.key.group);
    match tx.get_valid(&LEASES, &key)? {
        Some(lease) => Ok(lease.node == context.store.node()),
        None => tx.contains(&LEASES, &key),
    }
}

/// Settles a leased group and returns the groups that returned to the queue.
///
/// Changes nothing without the lease, see [`has_lease`]. If the email does not exist or is corrupt, only deletes the
/// lease.
pub(super) fn settle(
    tx: &WriteTx<'_>,
    context: &Context,
    schedule: &RetrySchedule,
    settlement: &Settlement,
) -> Result<Vec<Due>, StoreError> {
    if !has_lease(tx, context, &settlement.claimed)? {
        return Ok(Vec::new());
    }
    let Claimed { key, due, row: _, recipients } = settlement.claimed.as_ref();
    settlement.site.put(tx, context.now_ms())?;
    tx.delete(&LEASES, &(key.email, key.group))?;
    let Some(row) = emails::find_valid_row(tx, due.team, key.email)? else { return Ok(Vec::new()) };
    let now_ms = context.now_ms();
    let mut settling = Settling {
        tx,
        context,
        settlement,
        row,
        due: due.clone(),
        recorder: emails::EventRecorder::new(due.team, key.email),
        now_ms,
        delivered: Vec::new(),
        complained: Vec::new(),
    };
    let mut deferred = Vec::new();
    for (index, disposition) in recipients.iter().zip(&settlement.dispositions) {
        if has_reported_outcome(&settling.row.recipients[*index]) {
            settling.settle_reported(*index, disposition)?;
            continue;
        }
        match disposition {
            RecipientDisposition::Delivered { reply, complained } => settling.deliver(*index, reply, *complained),
            RecipientDisposition::Relayed => settling.relay(*index),
            RecipientDisposition::Bounced { bounce, suppresses } => settling.bounce(*index, bounce, *suppresses)?,
            RecipientDisposition::Failed { reason, reply } => {
                settling.fail(*index, reason, reply.iter().cloned().collect())?;
            }
            RecipientDisposition::Deferred(deferral) => deferred.push((*index, deferral)),
        }
    }
    settling.record_delivered()?;
    let requeued = settling.defer(schedule, &deferred)?;
    if let Some(attempt) = &settlement.attempt {
        tx.put_encoded(&ATTEMPTS, &(key.email, context.id()), attempt)?;
    }
    let row = settling.row;
    emails::put_settled(tx, due.team, key.email, &row, now_ms)?;
    Ok(requeued)
}

/// State of a settlement in progress.
struct Settling<'a, 't> {
    tx: &'a WriteTx<'t>,
    context: &'a Context,
    settlement: &'a Settlement,
    row: EmailRow,
    due: DueRow,
    recorder: emails::EventRecorder,
    now_ms: TimestampMs,
    /// Addresses of the delivered recipients, each with the reply of the server.
    delivered: Vec<(String, String)>,
    /// Addresses of the delivered recipients that complained.
    complained: Vec<String>,
}

impl Settling<'_, '_> {
    fn email(&self) -> EmailId {
        self.settlement.claimed.key.email
    }

    fn address(&self, index: usize) -> String {
        self.row.recipients[index].mailbox.bare()
    }

    fn advance(&mut self, index: usize, event: LastEvent, state: RecipientState) {
        let recipient = &mut self.row.recipients[index];
        recipient.state = state;
        recipient.last_event.advance(event);
        self.row.last_event.advance(event);
    }

    fn record(&mut self, kind: EmailEventKind, recipients: Vec<String>, detail: EventDetail) -> Result<(), StoreError> {
        let event = Event { kind, at_ms: self.now_ms, recipients, detail };
        self.recorder.record(self.tx, self.context, &self.row, event)?;
        Ok(())
    }

    /// Settles a recipient for which a delivery report stored an outcome during the attempt.
    ///
    /// The report proves that a server had accepted the message, so no further attempt and no event
    /// follow. A bounce that suppresses still adds the suppression.
    fn settle_reported(&mut self, index: usize, disposition: &RecipientDisposition) -> Result<(), StoreError> {
        self.row.recipients[index].state = RecipientState::Settled;
        match disposition {
            RecipientDisposition::Bounced { suppresses: true, .. } => self.suppress(index),
            RecipientDisposition::Bounced { .. }
            | RecipientDisposition::Delivered { .. }
            | RecipientDisposition::Relayed
            | RecipientDisposition::Failed { .. }
            | RecipientDisposition::Deferred(_) => Ok(()),
        }
    }

    fn deliver(&mut self, index: usize, reply: &str, complained: bool) {
        self.advance(index, LastEvent::Delivered, RecipientState::Settled);
        self.delivered.push((self.address(index), reply.to_owned()));
        if complained {
            self.advance(index, LastEvent::Complained, RecipientState::Settled);
            self.complained.push(self.address(index));
        }
    }

    /// Settles a recipient without an outcome: the email stays `sent` until the smarthost reports one.
    fn relay(&mut self, index: usize) {
        let recipient = &mut self.row.recipients[index];
        recipient.state = RecipientState::Settled;
        // The delays that this server recorded are over.
        if self.due.delays_reported == 0 {
            return;
        }
        if recipient.last_event == LastEvent::DeliveryDelayed {
            recipient.last_event = LastEvent::Sent;
        }
        if self.row.last_event == LastEvent::DeliveryDelayed {
            let events = self.row.recipients.iter().map(|recipient| recipient.last_event);
            self.row.last_event = events.max().unwrap_or(LastEvent::Sent);
        }
    }

    /// Records one `email.delivered` event for each run of recipients with the same reply, then one
    /// event for the complaints.
    fn record_delivered(&mut self) -> Result<(), StoreError> {
        let delivered = std::mem::take(&mut self.delivered);
        for accepted in delivered.chunk_by(|left, right| left.1 == right.1) {
            let recipients: Vec<String> = accepted.iter().map(|(address, _)| address.clone()).collect();
            let Some((_, reply)) = accepted.first() else { continue };
            self.record(EmailEventKind::Delivered, recipients, EventDetail::Reply { reply: reply.clone() })?;
        }
        if !self.complained.is_empty() {
            let complained = std::mem::take(&mut self.complained);
            self.record(
                EmailEventKind::Complained,
                complained,
                EventDetail::Complaint { feedback_type: Some("abuse".to_owned()) },
            )?;
        }
        Ok(())
    }

    fn bounce(&mut self, index: usize, bounce: &Bounce, suppresses: bool) -> Result<(), StoreError> {
        self.advance(index, LastEvent::Bounced, RecipientState::Settled);
        let address = self.address(index);
        self.record(EmailEventKind::Bounced, vec![address], EventDetail::Bounce(bounce.clone()))?;
        if suppresses { self.suppress(index) } else { Ok(()) }
    }

    fn suppress(&self, index: usize) -> Result<(), StoreError> {
        if self.settlement.simulated {
            return Ok(());
        }
        let Some(address) = self.row.recipients[index].mailbox.address() else { return Ok(()) };
        suppressions::add(self.tx, self.context, self.due.team, address, SuppressionCause::bounce(self.email()))?;
        Ok(())
    }

    /// Fails a recipient whose retry period has ended. The last reply of a server follows the text of this server.
    fn expire(&mut self, index: usize, reply: Option<String>) -> Result<(), StoreError> {
        let diagnostic = std::iter::once(EXPIRED_TEXT.to_owned()).chain(reply).collect();
        self.fail(index, FailReason::Expired.as_str(), diagnostic)
    }

    fn fail(&mut self, index: usize, reason: &str, diagnostic: Vec<String>) -> Result<(), StoreError> {
        self.advance(index, LastEvent::Failed, RecipientState::Settled);
        let detail = EventDetail::Failed { reason: reason.to_owned(), diagnostic };
        let address = self.address(index);
        self.record(EmailEventKind::Failed, vec![address], detail)
    }
}
