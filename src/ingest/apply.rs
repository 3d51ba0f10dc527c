//! Applies reports: statuses, events and suppressions, in one transaction with the deduplication key.
//!
//! `resolve.rs` finds the emails before, so that reports about other emails cost no write. The transaction is a bulk
//! command and delays no accept.
//!
//! A report is about a message that another system has accepted, so it never queues an attempt. The outcome that
//! counts depends on the state of the recipient:
//!
//! - Settled: every outcome counts.
//! - In flight: the report may arrive before the outcome of our own attempt is stored. An authenticated report counts
//!   and ends the delivery. With other evidence, only a delay and the complaint of an only recipient count.
//! - Waiting for an attempt: only a bounce and a complaint count. Both end the delivery.
//! - Never sent to: nothing counts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::model::{DeliveryReport, FallbackRecipient, RecipientReport, ReportedOutcome};
use super::refusal::record_refusal;
use super::resolve::{Evidence, ResolvedEmail, resolve_reports};
use super::store::{DedupKey, insert_dedup_key};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::base::signature::WebhookSecret;
use crate::context::Context;
use crate::delivery::{self, ReturnPaths, WarmUpRow, simulated};
use crate::emails::{self, EmailRow, LastEvent, RecipientRow, RecipientState};
use crate::events::{self, BounceType, EmailEventKind, Event, EventDetail};
use crate::store::{StoreError, WriteTx};
use crate::suppressions::{self, SuppressionCause};

/// Delay events for one recipient. A mail system usually sends one or two warnings.
const DELAYS_REPORTED_MAX: usize = 5;

/// Use case of the ingest endpoints.
pub struct Ingest {
    context: Context,
    secret: Option<WebhookSecret>,
    return_paths: ReturnPaths,
}

/// Result of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestResult {
    /// Findings that changed something.
    pub accepted: usize,
    /// Findings that are unknown, already known, or about no email of this server.
    pub ignored: usize,
}

impl Ingest {
    /// Creates the use case. Without a secret, the endpoints do not exist.
    pub fn new(context: Context, secret: Option<WebhookSecret>) -> Self {
        let return_paths = ReturnPaths::new(&context.keyring);
        Self { context, secret, return_paths }
    }

    /// Returns the secret of the request signatures; `None` if the endpoints do not exist.
    pub(super) fn secret(&self) -> Option<&WebhookSecret> {
        self.secret.as_ref()
    }

    /// Returns the current time, for the verification of signatures.
    pub(super) fn now_ms(&self) -> TimestampMs {
        self.context.now_ms()
    }

    /// Applies reports, unless the request has been applied before.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is stored.
    pub async fn apply_reports(
        &self,
        dedup_key: DedupKey,
        reports: Vec<DeliveryReport>,
    ) -> Result<IngestResult, StoreError> {
        // A report without a finding counts as one ignored finding.
        let count: usize = reports.iter().map(|report| report.findings.len().max(1)).sum();
        if reports.iter().all(|report| report.findings.is_empty()) {
            return Ok(IngestResult { accepted: 0, ignored: count });
        }
        let (resolved, bytes) = resolve_reports(&self.context.store, &self.return_paths, reports).await?;
        if resolved.is_empty() {
            return Ok(IngestResult { accepted: 0, ignored: count });
        }
        let context = self.context.clone();
        self.context
            .store
            .write_bulk_sized(bytes, move |tx| {
                if !insert_dedup_key(tx, dedup_key, context.now_ms())? {
                    return Ok(IngestResult { accepted: 0, ignored: count });
                }
                let mut applier = ReportApplier { tx, context: &context, open: BTreeMap::new() };
                let mut accepted = 0;
                for (email, report) in &resolved {
                    accepted += applier.apply_report(*email, report)?;
                }
                applier.close()?;
                Ok(IngestResult { accepted, ignored: count - accepted })
            })
            .await
    }
}

/// Emails of one request. Each is read once and written once.
struct ReportApplier<'a, 't> {
    tx: &'a WriteTx<'t>,
    context: &'a Context,
    open: BTreeMap<EmailId, Option<OpenEmail>>,
}

/// Email with the changes of the request.
struct OpenEmail {
    team: TeamId,
    row: EmailRow,
    timeline: Vec<Event>,
    recorder: emails::EventRecorder,
    changed: bool,
}

impl ReportApplier<'_, '_> {
    /// Applies a report; returns the number of findings that changed something.
    fn apply_report(&mut self, resolved: ResolvedEmail, report: &DeliveryReport) -> Result<usize, StoreError> {
        let (tx, context) = (self.tx, self.context);
        let Some(email) = self.open(resolved)? else { return Ok(0) };
        let mut accepted = 0;
        for finding in &report.findings {
            if let Some((finding, fallback)) =
                resolved.trusted_finding(finding, report.fallback, email.row.recipients.len())
                && let Some(index) = email.recipient(&finding, fallback, resolved.group)
                && email.is_news(index, &finding.outcome, resolved.evidence)
            {
                email.apply(tx, context, resolved.email, index, &finding)?;
                accepted += 1;
            }
        }
        Ok(accepted)
    }

    /// Returns the email; `None` if it has been deleted since it was resolved.
    fn open(&mut self, resolved: ResolvedEmail) -> Result<Option<&mut OpenEmail>, StoreError> {
        let open = match self.open.entry(resolved.email) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(read(self.tx, resolved)?),
        };
        Ok(open.as_mut())
    }

    fn close(self) -> Result<(), StoreError> {
        let now_ms = self.context.now_ms();
        for (id, open) in self.open {
            if let Some(OpenEmail { team, row, timeline: _, recorder: _, changed: true }) = open {
                emails::put_settled(self.tx, team, id, &row, now_ms)?;
            }
        }
        Ok(())
    }
}

fn read(tx: &WriteTx<'_>, resolved: ResolvedEmail) -> Result<Option<OpenEmail>, StoreError> {
    let Some((team, row)) = emails::find_of_teams(tx, &[resolved.team], resolved.email)? else { return Ok(None) };
    // A corrupt event is left out: its report is recorded again, instead of failing at each attempt of the reporter.
    let timeline = events::email_timeline(tx, resolved.email)?;
    Ok(Some(OpenEmail {
        team,
        row,
        timeline,
        recorder: emails::EventRecorder::new(team, resolved.email),
        changed: false,
    }))
}

impl OpenEmail {
    /// Returns the index of the recipient that a finding applies to, within `group` if the report names one.
    fn recipient(&self, finding: &RecipientReport, fallback: FallbackRecipient, group: Option<u16>) -> Option<usize> {
        let recipients = &self.row.recipients;
        let candidates =
            || (0..).zip(recipients).filter(move |(_, recipient)| group.is_none_or(|group| recipient.group == group));
        let named = finding.recipients.iter().find_map(|address| {
            candidates().find(|(_, recipient)| recipient.mailbox.bare().eq_ignore_ascii_case(address))
        });
        let only = || {
            let mut candidates = candidates();
            candidates.next().filter(|_| candidates.next().is_none())
        };
        let (index, recipient) =
            named.or_else(|| (fallback == FallbackRecipient::OnlyRecipient).then(only).flatten())?;
        let mailbox = &recipient.mailbox;
        let is_real = !mailbox.is_erased() && simulated::outcome(&mailbox.bare()).is_none();
        is_real.then_some(index)
    }

    /// Returns whether an outcome counts for the recipient and is not known yet.
    fn is_news(&self, index: usize, outcome: &ReportedOutcome, evidence: Evidence) -> bool {
        let recipient = &self.row.recipients[index];
        counts(recipient, outcome, evidence) && !self.is_known(&recipient.mailbox.bare(), recipient.last_event, outcome)
    }

    fn is_known(&self, address: &str, last_event: LastEvent, outcome: &ReportedOutcome) -> bool {
        let about = |event: &&Event| event.recipients.iter().any(|its| its.eq_ignore_ascii_case(address));
        let count = |kinds: &[EmailEventKind]| {
            self.timeline.iter().filter(about).filter(|event| kinds.contains(&event.kind)).count()
        };
        match outcome {
            ReportedOutcome::Delivered { .. } => count(&[EmailEventKind::Delivered]) > 0,
            // A delay after a final outcome is outdated, and the number of delays is bounded.
            ReportedOutcome::Delayed { .. } => {
                last_event >= LastEvent::Bounced || count(&[EmailEventKind::DeliveryDelayed]) >= DELAYS_REPORTED_MAX
            }
            // A recipient refused for another reason may later prove not to exist.
            ReportedOutcome::Bounced { .. } => self.timeline.iter().filter(about).any(is_permanent_bounce),
            // Otherwise the first refusal counts, from whichever system.
            ReportedOutcome::Failed { .. } => count(&[EmailEventKind::Bounced, EmailEventKind::Failed]) > 0,
            ReportedOutcome::Complained { .. } => count(&[EmailEventKind::Complained]) > 0,
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
        let address = self.row.recipients[index].mailbox.bare();
        let (kind, last_event, detail, cause) = match finding.outcome.clone() {
            ReportedOutcome::Delivered { reply } => {
                (EmailEventKind::Delivered, LastEvent::Delivered, detail_of(reply), None)
            }
            ReportedOutcome::Delayed { reply } => {
                (EmailEventKind::DeliveryDelayed, LastEvent::DeliveryDelayed, detail_of(reply), None)
            }
            ReportedOutcome::Bounced { bounce } => (
                EmailEventKind::Bounced,
                LastEvent::Bounced,
                EventDetail::Bounce(bounce),
                Some(SuppressionCause::bounce(id)),
            ),
            ReportedOutcome::Failed { reason, diagnostic } => {
                let detail = EventDetail::Failed { reason, diagnostic: diagnostic.into_iter().collect() };
                (EmailEventKind::Failed, LastEvent::Failed, detail, None)
            }
            ReportedOutcome::Complained { feedback_type } => (
                EmailEventKind::Complained,
                LastEvent::Complained,
                EventDetail::Complaint { feedback_type },
                Some(SuppressionCause::complaint(id)),
            ),
        };
        let recipient = &mut self.row.recipients[index];
        let counts = warm_up_counts(kind);
        if counts != WarmUpRow::default() {
            delivery::count_report(tx, id, recipient.group, counts)?;
        }
        recipient.last_event.advance(last_event);
        if matches!(recipient.state, RecipientState::Waiting { .. }) {
            // The queue row has no recipient left and is deleted when it is due.
            recipient.state = RecipientState::Settled;
        }
        self.row.last_event.advance(last_event);
        self.changed = true;
        if let Some(cause) = cause
            && let Some(address) = self.row.recipients[index].mailbox.address()
        {
            suppressions::add(tx, context, self.team, address, cause)?;
        }
        let at_ms = self.time_of(finding, context.now_ms());
        record_refusal(tx, context, (self.team, self.row.domain, id), &detail)?;
        let event = Event { kind, at_ms, recipients: vec![address], detail };
        self.recorder.record(tx, context, &self.row, event.clone())?;
        self.timeline.push(event);
        Ok(())
    }

    /// Returns the reported time, limited to the time since the email was accepted.
    fn time_of(&self, finding: &RecipientReport, now_ms: TimestampMs) -> TimestampMs {
        finding.at_ms.unwrap_or(now_ms).max(self.row.created_ms).min(now_ms)
    }
}

/// Returns whether the outcome counts in the present state of the recipient, with this evidence. The message must have
/// been sent.
fn counts(recipient: &RecipientRow, outcome: &ReportedOutcome, evidence: Evidence) -> bool {
    let was_sent = recipient.last_event >= LastEvent::Sent
        && !matches!(recipient.last_event, LastEvent::Suppressed | LastEvent::Canceled);
    was_sent
        && match (recipient.state, evidence) {
            (RecipientState::Settled, _) | (RecipientState::InFlight, Evidence::Authenticated) => true,
            // Any other outcome would end the delivery in flight and replace its own outcome. Knowledge of another
            // recipient's copy is not enough for that.
            (RecipientState::InFlight, Evidence::MessageSeen) => {
                matches!(outcome, ReportedOutcome::Delayed { .. } | ReportedOutcome::Complained { .. })
            }
            (RecipientState::Waiting { .. }, _) => {
                matches!(outcome, ReportedOutcome::Complained { .. } | ReportedOutcome::Bounced { .. })
            }
        }
}

/// Returns the counts of a report for the warm-up plan.
fn warm_up_counts(kind: EmailEventKind) -> WarmUpRow {
    let (bounced, complained) = (kind == EmailEventKind::Bounced, kind == EmailEventKind::Complained);
    WarmUpRow { bounced: bounced.into(), complained: complained.into(), ..WarmUpRow::default() }
}

/// Returns whether an event is a permanent bounce. Exactly these suppress.
fn is_permanent_bounce(event: &Event) -> bool {
    event.kind == EmailEventKind::Bounced
        && matches!(&event.detail, EventDetail::Bounce(bounce) if bounce.bounce_type == BounceType::Permanent)
}

fn detail_of(reply: Option<String>) -> EventDetail {
    reply.map_or(EventDetail::None, |reply| EventDetail::Reply { reply })
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

    /// Applies a complaint of every recipient of an email; returns how often sealed content was opened.
    async fn opened_for_complaints(context: &Context, id: EmailId, team: TeamId) -> usize {
        let delivered = |address| RecipientRow::example(address, RecipientState::Settled, LastEvent::Delivered);
        let row = EmailRow { recipients: ADDRESSES.map(delivered).into(), has_headers: true, ..row() };
        let storing = context.clone();
        let put = move |tx: &WriteTx<'_>| {
            emails::put_headers(tx, &storing, id, vec![("X-Order".into(), "42".into())])?;
            tx.put(&EMAILS, &(team, id), &row)
        };
        context.commit(put).await;
        let complaint = |address: &str| DeliveryReport {
            references: vec![EmailLocator::Email(id)],
            findings: vec![RecipientReport {
                recipients: vec![address.to_owned()],
                outcome: ReportedOutcome::Complained { feedback_type: None },
                at_ms: None,
            }],
            fallback: FallbackRecipient::None,
        };
        let before = context.keyring.opened();
        let ingest = Ingest::new(context.clone(), None);
        let dedup_key = DedupKey::of_message(id.as_bytes());
        let result = ingest.apply_reports(dedup_key, ADDRESSES.map(complaint).into()).await.unwrap();
        assert_eq!(result, IngestResult { accepted: 3, ignored: 0 });
        context.keyring.opened() - before
    }

    #[tokio::test]
    async fn the_content_of_an_email_is_opened_once_and_only_for_a_subscriber() {
        let (_directory, context) = Context::temporary();
        let team = teams::create(&context, "team").await.unwrap().unwrap().id;

        assert_eq!(opened_for_complaints(&context, context.id(), team).await, 0);
        let mut receiver = context.event_bus.subscribe(team);
        assert_eq!(opened_for_complaints(&context, Id::MAX, team).await, 1);

        let bodies = std::iter::from_fn(|| receiver.try_recv().ok()).map(BusMessage::body);
        assert_eq!(bodies.filter(|body| body.contains("X-Order")).count(), ADDRESSES.len());
    }

    #[test]
    fn the_outcomes_that_count_depend_on_the_state_and_the_evidence() {
        use LastEvent::{Canceled, DeliveryDelayed, Failed, Queued, Sent, Suppressed};
        use RecipientState::{InFlight, Settled};
        let outcomes = [
            ReportedOutcome::Delivered { reply: None },
            ReportedOutcome::Delayed { reply: None },
            ReportedOutcome::Bounced { bounce: reported("General", None) },
            ReportedOutcome::Failed { reason: "rejected".into(), diagnostic: None },
            ReportedOutcome::Complained { feedback_type: None },
        ];
        let waiting = RecipientState::Waiting { due_ms: 7 };
        let (all, none) = ([true; 5], [false; 5]);
        let forbids_another_attempt = [false, false, true, false, true];
        for (state, last_event, authenticated, seen) in [
            (Settled, Failed, all, all),
            (InFlight, Sent, all, [false, true, false, false, true]),
            (waiting, DeliveryDelayed, forbids_another_attempt, forbids_another_attempt),
            (waiting, Queued, none, none),
            (Settled, Suppressed, none, none),
            (Settled, Canceled, none, none),
        ] {
            let recipient = RecipientRow::example(ADDRESSES[0], state, last_event);
            for (evidence, expected) in [(Evidence::Authenticated, authenticated), (Evidence::MessageSeen, seen)] {
                let found = outcomes.each_ref().map(|outcome| counts(&recipient, outcome, evidence));
                assert_eq!(found, expected, "{state:?} {last_event:?} {evidence:?}");
            }
        }
    }
}
