//! Writing down what a conversation came to: the recipients' states, the events, the suppressions,
//! the next attempt and the conversation itself, in one transaction.

use std::sync::Arc;

use super::outcome::{Charge, Deferral, Grouping, RecipientDisposition};
use super::queue::{Claimed, Due, has_reported_outcome, requeue};
use super::retry::{RetryDelay, RetrySchedule, should_report_delay};
use super::rows::{DestinationRow, DueRow, SmtpAttemptRow};
use crate::base::address::EmailAddress;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::EmailId;
use crate::base::random;
use crate::context::Context;
use crate::emails::{self, EmailRow, LastEvent, RecipientState, bare};
use crate::events::{Bounce, Detail, EmailEventKind, Event};
use crate::store::{Reads, StoreError, WriteTx, name_hash};
use crate::suppressions::{self, SuppressionCause};
use crate::tables::{ATTEMPTS, DESTINATIONS, EMAILS, LEASES};

/// What an attempt came to.
#[derive(Clone, Debug)]
pub(super) struct Settlement {
    pub(super) claimed: Arc<Claimed>,
    /// One fate for each of the claimed recipients, in their order.
    pub(super) fates: Vec<RecipientDisposition>,
    /// The conversation; none when there was none.
    pub(super) attempt: Option<SmtpAttemptRow>,
    /// Whether the outcome is simulated, so that nobody joins the suppression list.
    pub(super) simulated: bool,
}

impl Settlement {
    /// Returns a settlement with a fate for each recipient.
    pub(super) fn new(
        claimed: Arc<Claimed>,
        fates: Vec<RecipientDisposition>,
        attempt: Option<SmtpAttemptRow>,
    ) -> Self {
        Self { claimed, fates, attempt, simulated: false }
    }

    /// Returns a settlement with one fate for everybody.
    pub(super) fn alike(claimed: Arc<Claimed>, fate: RecipientDisposition, attempt: Option<SmtpAttemptRow>) -> Self {
        let fates = vec![fate; claimed.recipients.len()];
        Self::new(claimed, fates, attempt)
    }
}

/// Settles a lease and returns what went back into the queue.
pub(super) fn settle(
    tx: &WriteTx<'_>,
    context: &Context,
    schedule: &RetrySchedule,
    settlement: &Settlement,
) -> Result<Vec<Due>, StoreError> {
    let Claimed { key, due, row: _, recipients } = settlement.claimed.as_ref();
    let lease_key = (key.email, key.group);
    // A lease that is not there, or not ours, has been settled or recovered by another boot.
    let ours = tx.get(&LEASES, &lease_key)?.is_some_and(|lease| lease.epoch == context.store.epoch());
    if !ours {
        return Ok(Vec::new());
    }
    tx.delete(&LEASES, &lease_key)?;
    let Some(row) = tx.get(&EMAILS, &(due.team, key.email))? else { return Ok(Vec::new()) };
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
    for (index, fate) in recipients.iter().zip(&settlement.fates) {
        if has_reported_outcome(&settling.row.recipients[*index]) {
            settling.end(*index, fate)?;
            continue;
        }
        match fate {
            RecipientDisposition::Delivered { reply, complained } => settling.deliver(*index, reply, *complained),
            RecipientDisposition::Bounced { bounce, suppresses } => settling.bounce(*index, bounce, *suppresses)?,
            RecipientDisposition::Failed { reason, reply } => settling.fail(*index, reason, reply.as_deref())?,
            RecipientDisposition::Deferred(deferral) => deferred.push((*index, deferral)),
        }
    }
    settling.record_delivered()?;
    let requeued = settling.defer(schedule, &deferred)?;
    if let Some(attempt) = &settlement.attempt {
        tx.put(&ATTEMPTS, &(key.email, context.id()), attempt)?;
    }
    let row = settling.row;
    emails::put_settled(tx, due.team, key.email, &row)?;
    Ok(requeued)
}

struct Settling<'a, 't> {
    tx: &'a WriteTx<'t>,
    context: &'a Context,
    settlement: &'a Settlement,
    row: EmailRow,
    due: DueRow,
    recorder: emails::EventRecorder,
    now_ms: TimestampMs,
    /// Delivered recipients with the server's reply.
    delivered: Vec<(String, String)>,
    /// Those of them who reported the message.
    complained: Vec<String>,
}

impl Settling<'_, '_> {
    fn email(&self) -> EmailId {
        self.settlement.claimed.key.email
    }

    fn address(&self, index: usize) -> String {
        bare(&self.row.recipients[index].mailbox).to_owned()
    }

    fn climb(&mut self, index: usize, rung: LastEvent, state: RecipientState) {
        let recipient = &mut self.row.recipients[index];
        recipient.state = state;
        recipient.last_event.advance(rung);
        self.row.last_event.advance(rung);
    }

    fn record(&mut self, kind: EmailEventKind, recipients: Vec<String>, detail: Detail) -> Result<(), StoreError> {
        let event = Event { kind, at_ms: self.now_ms, recipients, detail };
        self.recorder.record(self.tx, self.context, &self.row, event)
    }

    /// Settles a recipient of whom another system has told meanwhile, which has proven to have had the
    /// message: what it tells came after our 250, however late that is written down, and is not tried
    /// again. A second event would say the same or less. An address that does not exist is suppressed all
    /// the same.
    fn end(&mut self, index: usize, fate: &RecipientDisposition) -> Result<(), StoreError> {
        self.row.recipients[index].state = RecipientState::Settled;
        match fate {
            RecipientDisposition::Bounced { suppresses: true, .. } => self.suppress(index),
            RecipientDisposition::Bounced { .. }
            | RecipientDisposition::Delivered { .. }
            | RecipientDisposition::Failed { .. }
            | RecipientDisposition::Deferred(_) => Ok(()),
        }
    }

    fn deliver(&mut self, index: usize, reply: &str, complained: bool) {
        self.climb(index, LastEvent::Delivered, RecipientState::Settled);
        self.delivered.push((self.address(index), reply.to_owned()));
        if complained {
            self.climb(index, LastEvent::Complained, RecipientState::Settled);
            self.complained.push(self.address(index));
        }
    }

    /// Records one event for the recipients that one reply accepted.
    fn record_delivered(&mut self) -> Result<(), StoreError> {
        let delivered = std::mem::take(&mut self.delivered);
        for accepted in delivered.chunk_by(|left, right| left.1 == right.1) {
            let recipients: Vec<String> = accepted.iter().map(|(address, _)| address.clone()).collect();
            let Some((_, reply)) = accepted.first() else { continue };
            self.record(EmailEventKind::Delivered, recipients, Detail::Reply { reply: reply.clone() })?;
        }
        if !self.complained.is_empty() {
            let complained = std::mem::take(&mut self.complained);
            self.record(
                EmailEventKind::Complained,
                complained,
                Detail::Complaint { feedback_type: Some("abuse".to_owned()) },
            )?;
        }
        if !delivered.is_empty() && !self.settlement.simulated {
            self.remember_destination()?;
        }
        Ok(())
    }

    /// Remembers, once a day, that the destination takes mail.
    fn remember_destination(&self) -> Result<(), StoreError> {
        let key = (name_hash(&self.due.destination),);
        let day_ms = self.now_ms.div_euclid(DAY_MS) * DAY_MS;
        let known = self.tx.get(&DESTINATIONS, &key)?;
        if known.is_some_and(|known| known.delivered_ms == day_ms) {
            return Ok(());
        }
        let row = DestinationRow { name: self.due.destination.clone(), delivered_ms: day_ms };
        self.tx.put(&DESTINATIONS, &key, &row)
    }

    fn bounce(&mut self, index: usize, bounce: &Bounce, suppresses: bool) -> Result<(), StoreError> {
        self.climb(index, LastEvent::Bounced, RecipientState::Settled);
        let address = self.address(index);
        self.record(EmailEventKind::Bounced, vec![address], Detail::Bounce(bounce.clone()))?;
        if suppresses { self.suppress(index) } else { Ok(()) }
    }

    fn suppress(&self, index: usize) -> Result<(), StoreError> {
        if self.settlement.simulated {
            return Ok(());
        }
        let Ok(parsed) = EmailAddress::parse(&self.address(index)) else { return Ok(()) };
        suppressions::add(self.tx, self.context, self.due.team, &parsed, SuppressionCause::bounce(self.email()))?;
        Ok(())
    }

    fn fail(&mut self, index: usize, reason: &str, reply: Option<&str>) -> Result<(), StoreError> {
        self.climb(index, LastEvent::Failed, RecipientState::Settled);
        let diagnostic = reply.map(ToOwned::to_owned).into_iter().collect();
        let detail = Detail::Failed { reason: reason.to_owned(), diagnostic };
        let address = self.address(index);
        self.record(EmailEventKind::Failed, vec![address], detail)
    }

    /// Puts the deferred back into the queue: those to be tried at once in groups of their own, so
    /// that they do not wait with the others.
    fn defer(&mut self, schedule: &RetrySchedule, deferred: &[(usize, &Deferral)]) -> Result<Vec<Due>, StoreError> {
        let (at_once, later): (Vec<_>, Vec<_>) =
            deferred.iter().copied().partition(|(_, deferral)| deferral.pace == RetryDelay::Immediate);
        let mut requeued = Vec::new();
        let (alone, together): (Vec<_>, Vec<_>) =
            at_once.into_iter().partition(|(_, deferral)| deferral.company == Grouping::Alone);
        if !together.is_empty() {
            let group = self.next_group();
            requeued.extend(self.defer_group(schedule, group, &together)?);
        }
        for one in alone {
            let group = self.next_group();
            requeued.extend(self.defer_group(schedule, group, &[one])?);
        }
        // Last, because everybody of the group who is still in flight goes with it.
        if !later.is_empty() {
            requeued.extend(self.defer_group(schedule, self.settlement.claimed.key.group, &later)?);
        }
        Ok(requeued)
    }

    fn next_group(&self) -> u16 {
        self.row.recipients.iter().map(|recipient| recipient.group).max().map_or(0, |group| group + 1)
    }

    fn defer_group(
        &mut self,
        schedule: &RetrySchedule,
        group: u16,
        deferred: &[(usize, &Deferral)],
    ) -> Result<Option<Due>, StoreError> {
        let mut due = self.due.clone();
        let counted = deferred.iter().any(|(_, deferral)| deferral.charge == Charge::Counted);
        due.attempts = due.attempts.saturating_add(u16::from(counted));
        let mut next_ms = None;
        let mut waiting = Vec::new();
        for (index, deferral) in deferred {
            let next = schedule.next_attempt(deferral.pace, due.attempts, &due, self.now_ms, random::number());
            match next.filter(|_| !self.is_over(deferral)) {
                Some(at_ms) => {
                    next_ms = Some(next_ms.map_or(at_ms, |known: TimestampMs| known.min(at_ms)));
                    waiting.push((*index, *deferral));
                }
                None => self.fail(*index, "expired", deferral.reply.as_deref())?,
            }
        }
        let Some(next_ms) = next_ms else { return Ok(None) };
        due.without_pipelining = due.without_pipelining || waiting.iter().any(|(_, deferral)| deferral.plainly);
        self.record_delay(&mut due, &waiting)?;
        for (index, _) in &waiting {
            self.row.recipients[*index].group = group;
        }
        let (email, class) = (self.email(), self.settlement.claimed.key.class);
        requeue(self.tx, &mut self.row, email, group, class, next_ms, &due).map(Some)
    }

    /// Returns whether a deferral with a limit of its own has reached it.
    fn is_over(&self, deferral: &Deferral) -> bool {
        let hours = deferral.hours_max.map(i64::from);
        hours.is_some_and(|hours| self.now_ms - self.due.first_due_ms >= hours * 3_600_000)
    }

    fn record_delay(&mut self, due: &mut DueRow, waiting: &[(usize, &Deferral)]) -> Result<(), StoreError> {
        let told: Vec<(usize, &Deferral)> =
            waiting.iter().copied().filter(|(_, deferral)| deferral.pace != RetryDelay::Immediate).collect();
        let Some((_, first)) = told.first() else { return Ok(()) };
        if !should_report_delay(due.delays_reported, due, self.now_ms) {
            return Ok(());
        }
        due.delays_reported += 1;
        let reply = first.reply.clone();
        let recipients: Vec<String> = told.iter().map(|(index, _)| self.address(*index)).collect();
        for (index, _) in &told {
            self.climb(*index, LastEvent::DeliveryDelayed, RecipientState::InFlight);
        }
        let detail = reply.map_or(Detail::None, |reply| Detail::Reply { reply });
        self.record(EmailEventKind::DeliveryDelayed, recipients, detail)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::queue::claim;
    use super::super::queue::tests::{ADA, BOB, TEAM, put_due, row};
    use super::*;
    use crate::emails::RecipientKind;
    use crate::event_bus::BusMessage;
    use crate::events::{self, BounceType};
    use crate::tables::DUE;

    /// Claims an email to Ada and Bob in one group, has it told meanwhile what became of Ada, and settles it
    /// with a fate for each. Returns the email and how many groups went back into the queue.
    async fn settled(context: &Context, told: LastEvent, fates: [RecipientDisposition; 2]) -> (EmailId, usize) {
        let (id, keys) = put_due(context, &[(RecipientKind::To, ADA), (RecipientKind::To, BOB)]).await;
        let mut together = row(context, id);
        together.recipients[1].group = 0;
        together.has_headers = true;
        let (settling, schedule) = (context.clone(), schedule());
        let write = move |tx: &WriteTx<'_>| {
            tx.put(&EMAILS, &(TEAM, id), &together)?;
            emails::put_headers(tx, &settling, id, vec![("X-Order".into(), "42".into())])?;
            tx.delete(&DUE, &keys[1].parts())?;
            let claimed = claim(tx, &settling, &keys[..1])?.remove(0);
            let mut row = claimed.row.clone();
            row.recipients[0].last_event.advance(told);
            tx.put(&EMAILS, &(TEAM, id), &row)?;
            settle(tx, &settling, &schedule, &Settlement::new(Arc::new(claimed), fates.to_vec(), None))
        };
        (id, context.store.write::<_, StoreError>(write).await.unwrap().len())
    }

    fn schedule() -> RetrySchedule {
        RetrySchedule { delays: vec![Duration::from_secs(60)], expire_after: Duration::from_secs(3_600) }
    }

    /// Returns what stands in the timeline after the sending, each with its recipients.
    fn story(context: &Context, id: EmailId) -> Vec<(EmailEventKind, Vec<String>)> {
        let events = context.store.read_now::<_, StoreError>(|tx| events::email_timeline(tx, id)).unwrap();
        events.into_iter().skip(1).map(|event| (event.kind, event.recipients)).collect()
    }

    fn delivered() -> RecipientDisposition {
        RecipientDisposition::Delivered { reply: "250 Taken".into(), complained: false }
    }

    #[tokio::test]
    async fn who_was_told_of_meanwhile_is_settled_without_a_second_event() {
        let (_directory, context) = Context::temporary();
        for (told, fate) in [
            (LastEvent::Delivered, delivered()),
            (LastEvent::Bounced, delivered()),
            (LastEvent::Complained, delivered()),
            (LastEvent::Failed, RecipientDisposition::Failed { reason: "rejected".into(), reply: None }),
        ] {
            let (id, requeued) = settled(&context, told, [fate, delivered()]).await;

            assert_eq!(requeued, 0);
            assert_eq!(story(&context, id), [(EmailEventKind::Delivered, vec![BOB.to_owned()])], "{told:?}");
            let ada = &row(&context, id).recipients[0];
            assert_eq!((ada.state, ada.last_event), (RecipientState::Settled, told));
        }
    }

    #[tokio::test]
    async fn a_deferral_does_not_put_back_who_was_told_of_meanwhile() {
        let (_directory, context) = Context::temporary();
        let deferred = || RecipientDisposition::Deferred(Deferral::ordinary(Some("451 later".into())));

        let (id, requeued) = settled(&context, LastEvent::Delivered, [deferred(), deferred()]).await;

        assert_eq!(requeued, 1);
        assert_eq!(story(&context, id), [(EmailEventKind::DeliveryDelayed, vec![BOB.to_owned()])]);
        let recipients = row(&context, id).recipients;
        assert_eq!((recipients[0].state, recipients[0].last_event), (RecipientState::Settled, LastEvent::Delivered));
        assert!(matches!(recipients[1].state, RecipientState::Waiting { .. }));
    }

    #[tokio::test]
    async fn the_content_is_opened_once_however_much_there_is_to_tell() {
        let (_directory, context) = Context::temporary();
        let mut heard = context.event_bus.subscribe(TEAM);

        let failed = RecipientDisposition::Failed { reason: "rejected".into(), reply: None };
        settled(&context, LastEvent::Sent, [failed, delivered()]).await;

        assert_eq!(context.keyring.opened(), 2, "for the claim, and for the settlement");
        let bodies: Vec<_> = std::iter::from_fn(|| heard.try_recv().ok()).map(BusMessage::body).collect();
        assert_eq!(bodies.len(), 3);
        assert!(bodies.iter().all(|body| body.contains("X-Order")), "{bodies:?}");
    }

    #[tokio::test]
    async fn an_address_that_does_not_exist_is_suppressed_whatever_was_told_of_it() {
        let (_directory, context) = Context::temporary();
        let bounce = Bounce {
            message: "Refused.".into(),
            bounce_type: BounceType::Permanent,
            subtype: "NoEmail".into(),
            diagnostic: Vec::new(),
        };

        let fate = RecipientDisposition::Bounced { bounce, suppresses: true };
        settled(&context, LastEvent::Failed, [fate, delivered()]).await;

        let hash = EmailAddress::parse(ADA).unwrap().identity_hash();
        let kind = suppressions::SendKind::Transactional;
        let blocks = |tx: &crate::store::ReadTx| suppressions::blocks(tx, TEAM, &hash, kind);
        assert!(context.store.read_now::<_, StoreError>(blocks).unwrap());
    }
}
