//! What follows from reports: statuses, events and suppressions, in one transaction with the mark
//! that makes a repeat do nothing. What they are about is found before (`resolve.rs`), so that the writer
//! is asked for nothing that concerns no email of ours, and in the bulk lane, where no send waits behind
//! it.
//!
//! A report tells what another system did with a message it took, so that it never puts anything back
//! into the queue. It may come before our own conversation with that system has been written down: a
//! recipient whose delivery is under way is told about like one whose delivery has ended, and that ends
//! the delivery. A report that shows no more than that somebody has seen the message tells of a delay
//! then, which ends nothing, and of the complaint of an only recipient, which does. One who waits
//! between two attempts is our own affair: only what forbids a further attempt counts, a bounce that
//! suppresses or a complaint, and it ends the waiting. One to whom nothing was ever sent is in no report.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::model::{DeliveryReport, FallbackRecipient, RecipientReport, ReportedOutcome};
use super::resolve::{Evidence, ResolvedEmail, name};
use super::store::{DedupKey, insert_dedup_key};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::base::signature::WebhookSecret;
use crate::context::Context;
use crate::delivery::{ReturnPaths, simulated};
use crate::emails::{self, EmailRow, LastEvent, RecipientRow, RecipientState, bare};
use crate::events::{self, BounceType, Detail, ERASED, EmailEventKind, Event};
use crate::store::{StoreError, WriteTx};
use crate::suppressions::{self, SuppressionCause};

/// Delays that are told of one recipient: a system warns once or twice before it gives up.
const DELAYS_REPORTED_MAX: usize = 5;

/// Takes in reports that are signed.
pub struct Ingest {
    context: Context,
    secret: Option<WebhookSecret>,
    return_paths: ReturnPaths,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestResult {
    /// Findings that something followed from.
    pub accepted: usize,
    /// Findings that say nothing, nothing that is not known, or nothing about an email of ours.
    pub ignored: usize,
}

impl Ingest {
    /// Returns the intake of the instance that `context` belongs to. Without a secret it is closed.
    pub fn new(context: Context, secret: Option<WebhookSecret>) -> Self {
        let return_paths = ReturnPaths::new(&context.keyring);
        Self { context, secret, return_paths }
    }

    /// Returns the secret that requests are signed with; `None` when the intake is closed.
    pub(super) fn secret(&self) -> Option<&WebhookSecret> {
        self.secret.as_ref()
    }

    /// Returns the time that signatures are held against.
    pub(super) fn now_ms(&self) -> TimestampMs {
        self.context.now_ms()
    }

    /// Tells what reports say, unless they have been told before.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is told.
    pub async fn apply_reports(
        &self,
        mark: DedupKey,
        reports: Vec<DeliveryReport>,
    ) -> Result<IngestResult, StoreError> {
        // A report without a finding says one thing that means nothing here.
        let count: usize = reports.iter().map(|report| report.findings.len().max(1)).sum();
        if reports.iter().all(|report| report.findings.is_empty()) {
            return Ok(IngestResult { accepted: 0, ignored: count });
        }
        let (named, bytes) = name(&self.context.store, &self.return_paths, reports).await?;
        if named.is_empty() {
            return Ok(IngestResult { accepted: 0, ignored: count });
        }
        let context = self.context.clone();
        self.context
            .store
            .write_bulk_sized(bytes, move |tx| {
                if !insert_dedup_key(tx, mark, context.now_ms())? {
                    return Ok(IngestResult { accepted: 0, ignored: count });
                }
                let mut telling = ReportApplier { tx, context: &context, open: BTreeMap::new() };
                let mut accepted = 0;
                for (named, report) in &named {
                    accepted += telling.apply_report(*named, report)?;
                }
                telling.close()?;
                Ok(IngestResult { accepted, ignored: count - accepted })
            })
            .await
    }
}

/// The emails of one request, each read once and written once.
struct ReportApplier<'a, 't> {
    tx: &'a WriteTx<'t>,
    context: &'a Context,
    open: BTreeMap<EmailId, Option<Open>>,
}

/// An email that is told about.
struct Open {
    team: TeamId,
    row: EmailRow,
    timeline: Vec<Event>,
    recorder: emails::EventRecorder,
    changed: bool,
}

impl ReportApplier<'_, '_> {
    /// Returns how many of the report's findings something followed from.
    fn apply_report(&mut self, named: ResolvedEmail, report: &DeliveryReport) -> Result<usize, StoreError> {
        let (tx, context) = (self.tx, self.context);
        let Some(email) = self.open(named)? else { return Ok(0) };
        let mut told = 0;
        for finding in &report.findings {
            if let Some((finding, stand)) = named.trusted_finding(finding, report.stand, email.row.recipients.len())
                && let Some(index) = email.recipient(&finding, stand, named.group)
                && email.is_news(index, &finding.outcome, named.proof)
            {
                email.apply(tx, context, named.email, index, &finding)?;
                told += 1;
            }
        }
        Ok(told)
    }

    /// Returns the email, unless it has gone since it was found.
    fn open(&mut self, named: ResolvedEmail) -> Result<Option<&mut Open>, StoreError> {
        let open = match self.open.entry(named.email) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(read(self.tx, named)?),
        };
        Ok(open.as_mut())
    }

    fn close(self) -> Result<(), StoreError> {
        for (id, open) in self.open {
            if let Some(Open { team, row, timeline: _, recorder: _, changed: true }) = open {
                emails::put_settled(self.tx, team, id, &row)?;
            }
        }
        Ok(())
    }
}

fn read(tx: &WriteTx<'_>, named: ResolvedEmail) -> Result<Option<Open>, StoreError> {
    let Some((team, row)) = emails::find_of_teams(tx, &[named.team], named.email)? else { return Ok(None) };
    let timeline = events::email_timeline(tx, named.email)?;
    Ok(Some(Open { team, row, timeline, recorder: emails::EventRecorder::new(team, named.email), changed: false }))
}

impl Open {
    /// Returns the recipient that a finding is about, of one group where one is named.
    fn recipient(&self, finding: &RecipientReport, stand: FallbackRecipient, group: Option<u16>) -> Option<usize> {
        let recipients = &self.row.recipients;
        let meant =
            || (0..).zip(recipients).filter(move |(_, recipient)| group.is_none_or(|group| recipient.group == group));
        let named = finding
            .recipients
            .iter()
            .find_map(|address| meant().find(|(_, recipient)| bare(&recipient.mailbox).eq_ignore_ascii_case(address)));
        let only = || {
            let mut meant = meant();
            meant.next().filter(|_| meant.next().is_none())
        };
        let (index, recipient) = named.or_else(|| (stand == FallbackRecipient::OnlyRecipient).then(only).flatten())?;
        let mailbox = &recipient.mailbox;
        let is_real = mailbox != ERASED && simulated::outcome(bare(mailbox)).is_none();
        is_real.then_some(index)
    }

    /// Returns whether an outcome is possible for the recipient, and not known.
    fn is_news(&self, index: usize, outcome: &ReportedOutcome, proof: Evidence) -> bool {
        let recipient = &self.row.recipients[index];
        may_be(recipient, outcome, proof) && !self.is_known(bare(&recipient.mailbox), recipient.last_event, outcome)
    }

    fn is_known(&self, address: &str, rung: LastEvent, outcome: &ReportedOutcome) -> bool {
        let about = |event: &&Event| event.recipients.iter().any(|its| its.eq_ignore_ascii_case(address));
        let told = |kinds: &[EmailEventKind]| {
            self.timeline.iter().filter(about).filter(|event| kinds.contains(&event.kind)).count()
        };
        match outcome {
            ReportedOutcome::Delivered { .. } => told(&[EmailEventKind::Delivered]) > 0,
            // A delay that comes after the end is late, and there is no end to them.
            ReportedOutcome::Delayed { .. } => {
                rung >= LastEvent::Bounced || told(&[EmailEventKind::DeliveryDelayed]) >= DELAYS_REPORTED_MAX
            }
            // Who was refused for another reason may turn out not to exist.
            ReportedOutcome::Bounced { suppresses: true, .. } => self.timeline.iter().filter(about).any(is_for_good),
            // Else it is refused once, whoever tells it first.
            ReportedOutcome::Bounced { .. } | ReportedOutcome::Failed { .. } => {
                told(&[EmailEventKind::Bounced, EmailEventKind::Failed]) > 0
            }
            ReportedOutcome::Complained { .. } => told(&[EmailEventKind::Complained]) > 0,
        }
    }

    fn apply(
        &mut self,
        tx: &WriteTx<'_>,
        context: &Context,
        id: EmailId,
        index: usize,
        finding: &RecipientReport,
    ) -> Result<(), StoreError> {
        let address = bare(&self.row.recipients[index].mailbox).to_owned();
        let (kind, rung, detail, cause) = match finding.outcome.clone() {
            ReportedOutcome::Delivered { reply } => {
                (EmailEventKind::Delivered, LastEvent::Delivered, detail_of(reply), None)
            }
            ReportedOutcome::Delayed { reply } => {
                (EmailEventKind::DeliveryDelayed, LastEvent::DeliveryDelayed, detail_of(reply), None)
            }
            ReportedOutcome::Bounced { bounce, suppresses } => (
                EmailEventKind::Bounced,
                LastEvent::Bounced,
                Detail::Bounce(bounce),
                suppresses.then(|| SuppressionCause::bounce(id)),
            ),
            ReportedOutcome::Failed { reason, diagnostic } => {
                let detail = Detail::Failed { reason, diagnostic: diagnostic.into_iter().collect() };
                (EmailEventKind::Failed, LastEvent::Failed, detail, None)
            }
            ReportedOutcome::Complained { feedback_type } => (
                EmailEventKind::Complained,
                LastEvent::Complained,
                Detail::Complaint { feedback_type },
                Some(SuppressionCause::complaint(id)),
            ),
        };
        let recipient = &mut self.row.recipients[index];
        recipient.last_event.advance(rung);
        if matches!(recipient.state, RecipientState::Waiting { .. }) {
            // Its place in the queue is empty when it is due, and goes then.
            recipient.state = RecipientState::Settled;
        }
        self.row.last_event.advance(rung);
        self.changed = true;
        if let Some(cause) = cause
            && let Ok(address) = EmailAddress::parse(&address)
        {
            suppressions::add(tx, context, self.team, &address, cause)?;
        }
        let at_ms = self.time_of(finding, context.now_ms());
        let event = Event { kind, at_ms, recipients: vec![address], detail };
        self.recorder.record(tx, context, &self.row, event.clone())?;
        self.timeline.push(event);
        Ok(())
    }

    /// Returns when something happened, as far as that is possible.
    fn time_of(&self, finding: &RecipientReport, now_ms: TimestampMs) -> TimestampMs {
        finding.at_ms.unwrap_or(now_ms).max(self.row.created_ms).min(now_ms)
    }
}

/// Returns whether another system can have had the message for the recipient, and whether the queue
/// leaves room for what is believed of the outcome.
fn may_be(recipient: &RecipientRow, outcome: &ReportedOutcome, proof: Evidence) -> bool {
    let was_sent = recipient.last_event >= LastEvent::Sent
        && !matches!(recipient.last_event, LastEvent::Suppressed | LastEvent::Canceled);
    was_sent
        && match (recipient.state, proof) {
            (RecipientState::Settled, _) | (RecipientState::InFlight, Evidence::Authenticated) => true,
            // Whatever else is told ends the delivery with the conversation under way, whose own outcome
            // is then told no more: that takes more than to have seen another recipient's copy.
            (RecipientState::InFlight, Evidence::MessageSeen) => {
                matches!(outcome, ReportedOutcome::Delayed { .. } | ReportedOutcome::Complained { .. })
            }
            (RecipientState::Waiting { .. }, _) => {
                matches!(
                    outcome,
                    ReportedOutcome::Complained { .. } | ReportedOutcome::Bounced { suppresses: true, .. }
                )
            }
        }
}

/// Returns whether an event tells of a bounce that suppresses: those, and no others, are permanent.
fn is_for_good(event: &Event) -> bool {
    event.kind == EmailEventKind::Bounced
        && matches!(&event.detail, Detail::Bounce(bounce) if bounce.bounce_type == BounceType::Permanent)
}

fn detail_of(reply: Option<String>) -> Detail {
    reply.map_or(Detail::None, |reply| Detail::Reply { reply })
}

#[cfg(test)]
mod tests {
    use super::super::model::EmailLocator;
    use super::super::resolve::tests::row;
    use super::super::verdict::reported;
    use super::*;
    use crate::base::id::Id;
    use crate::event_bus::BusMessage;
    use crate::tables::EMAILS;
    use crate::teams;

    const ADDRESSES: [&str; 3] = ["ada@example.net", "bob@example.net", "eve@example.net"];

    /// Tells that everybody complains about an email that they got, and returns how much was opened.
    async fn opened_for_complaints(context: &Context, id: EmailId, team: TeamId) -> usize {
        let got = |address| RecipientRow::example(address, RecipientState::Settled, LastEvent::Delivered);
        let row = EmailRow { recipients: ADDRESSES.map(got).into(), has_headers: true, ..row() };
        let putting = context.clone();
        let put = move |tx: &WriteTx<'_>| {
            emails::put_headers(tx, &putting, id, vec![("X-Order".into(), "42".into())])?;
            tx.put(&EMAILS, &(team, id), &row)
        };
        context.store.write::<_, StoreError>(put).await.unwrap();
        let complaint = |address: &str| DeliveryReport {
            references: vec![EmailLocator::Email(id)],
            findings: vec![RecipientReport {
                recipients: vec![address.to_owned()],
                outcome: ReportedOutcome::Complained { feedback_type: None },
                at_ms: None,
            }],
            stand: FallbackRecipient::None,
        };
        let before = context.keyring.opened();
        let ingest = Ingest::new(context.clone(), None);
        let mark = DedupKey::of_message(id.as_bytes());
        let told = ingest.apply_reports(mark, ADDRESSES.map(complaint).into()).await.unwrap();
        assert_eq!(told, IngestResult { accepted: 3, ignored: 0 });
        context.keyring.opened() - before
    }

    #[tokio::test]
    async fn the_content_is_opened_once_for_all_that_is_told_of_an_email_and_not_at_all_when_nobody_hears() {
        let (_directory, context) = Context::temporary();
        let team = teams::create(&context, "team").await.unwrap().unwrap().id;

        assert_eq!(opened_for_complaints(&context, context.id(), team).await, 0);
        let mut heard = context.event_bus.subscribe(team);
        assert_eq!(opened_for_complaints(&context, Id::MAX, team).await, 1);

        let bodies = std::iter::from_fn(|| heard.try_recv().ok()).map(BusMessage::body);
        assert_eq!(bodies.filter(|body| body.contains("X-Order")).count(), ADDRESSES.len());
    }

    fn bounced(suppresses: bool) -> ReportedOutcome {
        ReportedOutcome::Bounced { bounce: reported(BounceType::Permanent, "General", None), suppresses }
    }

    #[test]
    fn what_may_be_told_depends_on_where_the_delivery_stands_and_on_what_is_proven() {
        use LastEvent::{Canceled, DeliveryDelayed, Failed, Queued, Sent, Suppressed};
        use RecipientState::{InFlight, Settled};
        let outcomes = [
            ReportedOutcome::Delivered { reply: None },
            ReportedOutcome::Delayed { reply: None },
            bounced(false),
            bounced(true),
            ReportedOutcome::Failed { reason: "rejected".into(), diagnostic: None },
            ReportedOutcome::Complained { feedback_type: None },
        ];
        let waiting = RecipientState::Waiting { due_ms: 7 };
        let (all, none) = ([true; 6], [false; 6]);
        let forbids_another_attempt = [false, false, false, true, false, true];
        for (state, last_event, given, seen) in [
            (Settled, Failed, all, all),
            (InFlight, Sent, all, [false, true, false, false, false, true]),
            (waiting, DeliveryDelayed, forbids_another_attempt, forbids_another_attempt),
            (waiting, Queued, none, none),
            (Settled, Suppressed, none, none),
            (Settled, Canceled, none, none),
        ] {
            let recipient = RecipientRow::example(ADDRESSES[0], state, last_event);
            for (proof, expected) in [(Evidence::Authenticated, given), (Evidence::MessageSeen, seen)] {
                let found = outcomes.each_ref().map(|outcome| may_be(&recipient, outcome, proof));
                assert_eq!(found, expected, "{state:?} {last_event:?} {proof:?}");
            }
        }
    }
}
