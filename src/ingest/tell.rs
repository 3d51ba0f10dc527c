//! What follows from reports: statuses, events and suppressions, in one transaction with the mark
//! that makes a repeat do nothing. What they are about is found before (`name.rs`), so that the writer
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

use super::model::{Finding, Outcome, Report, Stand};
use super::name::{Named, Proof, name};
use super::store::{Mark, put_once};
use crate::address::EmailAddress;
use crate::clock::TimestampMs;
use crate::context::Context;
use crate::delivery::{ReturnPaths, simulated};
use crate::emails::{self, DeliveryState, EmailRow, LastEvent, RecipientRow, bare};
use crate::events::{self, BounceType, Detail, ERASED, Event, Kind};
use crate::id::{EmailId, TeamId};
use crate::signature::WebhookSecret;
use crate::store::{StoreError, WriteTx};
use crate::suppressions::{self, Cause};

/// Delays that are told of one recipient: a system warns once or twice before it gives up.
const DELAYS_TOLD_MAX: usize = 5;

/// Takes in reports that are signed.
pub struct Ingest {
    context: Context,
    secret: Option<WebhookSecret>,
    return_paths: ReturnPaths,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
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
    pub async fn tell(&self, mark: Mark, reports: Vec<Report>) -> Result<Told, StoreError> {
        // A report without a finding says one thing that means nothing here.
        let count: usize = reports.iter().map(|report| report.findings.len().max(1)).sum();
        if reports.iter().all(|report| report.findings.is_empty()) {
            return Ok(Told { accepted: 0, ignored: count });
        }
        let (named, bytes) = name(&self.context.store, &self.return_paths, reports).await?;
        if named.is_empty() {
            return Ok(Told { accepted: 0, ignored: count });
        }
        let context = self.context.clone();
        self.context
            .store
            .write_bulk_sized(bytes, move |tx| {
                if !put_once(tx, mark, context.now_ms())? {
                    return Ok(Told { accepted: 0, ignored: count });
                }
                let mut telling = Telling { tx, context: &context, open: BTreeMap::new() };
                let mut accepted = 0;
                for (named, report) in &named {
                    accepted += telling.tell(*named, report)?;
                }
                telling.close()?;
                Ok(Told { accepted, ignored: count - accepted })
            })
            .await
    }
}

/// The emails of one request, each read once and written once.
struct Telling<'a, 't> {
    tx: &'a WriteTx<'t>,
    context: &'a Context,
    open: BTreeMap<EmailId, Option<Open>>,
}

/// An email that is told about.
struct Open {
    team: TeamId,
    row: EmailRow,
    timeline: Vec<Event>,
    recorder: emails::Recorder,
    changed: bool,
}

impl Telling<'_, '_> {
    /// Returns how many of the report's findings something followed from.
    fn tell(&mut self, named: Named, report: &Report) -> Result<usize, StoreError> {
        let (tx, context) = (self.tx, self.context);
        let Some(email) = self.open(named)? else { return Ok(0) };
        let mut told = 0;
        for finding in &report.findings {
            if let Some((finding, stand)) = named.believed(finding, report.stand, email.row.recipients.len())
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
    fn open(&mut self, named: Named) -> Result<Option<&mut Open>, StoreError> {
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

fn read(tx: &WriteTx<'_>, named: Named) -> Result<Option<Open>, StoreError> {
    let Some((team, row)) = emails::find_of_teams(tx, &[named.team], named.email)? else { return Ok(None) };
    let timeline = events::of_email(tx, named.email)?;
    Ok(Some(Open { team, row, timeline, recorder: emails::Recorder::new(team, named.email), changed: false }))
}

impl Open {
    /// Returns the recipient that a finding is about, of one group where one is named.
    fn recipient(&self, finding: &Finding, stand: Stand, group: Option<u16>) -> Option<usize> {
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
        let (index, recipient) = named.or_else(|| (stand == Stand::OnlyRecipient).then(only).flatten())?;
        let mailbox = &recipient.mailbox;
        let is_real = mailbox != ERASED && simulated::outcome(bare(mailbox)).is_none();
        is_real.then_some(index)
    }

    /// Returns whether an outcome is possible for the recipient, and not known.
    fn is_news(&self, index: usize, outcome: &Outcome, proof: Proof) -> bool {
        let recipient = &self.row.recipients[index];
        may_be(recipient, outcome, proof) && !self.is_known(bare(&recipient.mailbox), recipient.last_event, outcome)
    }

    fn is_known(&self, address: &str, rung: LastEvent, outcome: &Outcome) -> bool {
        let about = |event: &&Event| event.recipients.iter().any(|its| its.eq_ignore_ascii_case(address));
        let told =
            |kinds: &[Kind]| self.timeline.iter().filter(about).filter(|event| kinds.contains(&event.kind)).count();
        match outcome {
            Outcome::Delivered { .. } => told(&[Kind::Delivered]) > 0,
            // A delay that comes after the end is late, and there is no end to them.
            Outcome::Delayed { .. } => rung >= LastEvent::Bounced || told(&[Kind::DeliveryDelayed]) >= DELAYS_TOLD_MAX,
            // Who was refused for another reason may turn out not to exist.
            Outcome::Bounced { suppresses: true, .. } => self.timeline.iter().filter(about).any(is_for_good),
            // Else it is refused once, whoever tells it first.
            Outcome::Bounced { .. } | Outcome::Failed { .. } => told(&[Kind::Bounced, Kind::Failed]) > 0,
            Outcome::Complained { .. } => told(&[Kind::Complained]) > 0,
        }
    }

    fn apply(
        &mut self,
        tx: &WriteTx<'_>,
        context: &Context,
        id: EmailId,
        index: usize,
        finding: &Finding,
    ) -> Result<(), StoreError> {
        let address = bare(&self.row.recipients[index].mailbox).to_owned();
        let (kind, rung, detail, cause) = match finding.outcome.clone() {
            Outcome::Delivered { reply } => (Kind::Delivered, LastEvent::Delivered, detail_of(reply), None),
            Outcome::Delayed { reply } => (Kind::DeliveryDelayed, LastEvent::DeliveryDelayed, detail_of(reply), None),
            Outcome::Bounced { bounce, suppresses } => {
                (Kind::Bounced, LastEvent::Bounced, Detail::Bounce(bounce), suppresses.then(|| Cause::bounce(id)))
            }
            Outcome::Failed { reason, diagnostic } => {
                let detail = Detail::Failed { reason, diagnostic: diagnostic.into_iter().collect() };
                (Kind::Failed, LastEvent::Failed, detail, None)
            }
            Outcome::Complained { feedback_type } => (
                Kind::Complained,
                LastEvent::Complained,
                Detail::Complaint { feedback_type },
                Some(Cause::complaint(id)),
            ),
        };
        let recipient = &mut self.row.recipients[index];
        recipient.last_event.climb(rung);
        if matches!(recipient.state, DeliveryState::Waiting { .. }) {
            // Its place in the queue is empty when it is due, and goes then.
            recipient.state = DeliveryState::Settled;
        }
        self.row.last_event.climb(rung);
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
    fn time_of(&self, finding: &Finding, now_ms: TimestampMs) -> TimestampMs {
        finding.at_ms.unwrap_or(now_ms).max(self.row.created_ms).min(now_ms)
    }
}

/// Returns whether another system can have had the message for the recipient, and whether the queue
/// leaves room for what is believed of the outcome.
fn may_be(recipient: &RecipientRow, outcome: &Outcome, proof: Proof) -> bool {
    let was_sent = recipient.last_event >= LastEvent::Sent
        && !matches!(recipient.last_event, LastEvent::Suppressed | LastEvent::Canceled);
    was_sent
        && match (recipient.state, proof) {
            (DeliveryState::Settled, _) | (DeliveryState::InFlight, Proof::Given) => true,
            // Whatever else is told ends the delivery with the conversation under way, whose own outcome
            // is then told no more: that takes more than to have seen another recipient's copy.
            (DeliveryState::InFlight, Proof::Seen) => {
                matches!(outcome, Outcome::Delayed { .. } | Outcome::Complained { .. })
            }
            (DeliveryState::Waiting { .. }, _) => {
                matches!(outcome, Outcome::Complained { .. } | Outcome::Bounced { suppresses: true, .. })
            }
        }
}

/// Returns whether an event tells of a bounce that suppresses: those, and no others, are permanent.
fn is_for_good(event: &Event) -> bool {
    event.kind == Kind::Bounced
        && matches!(&event.detail, Detail::Bounce(bounce) if bounce.bounce_type == BounceType::Permanent)
}

fn detail_of(reply: Option<String>) -> Detail {
    reply.map_or(Detail::None, |reply| Detail::Reply { reply })
}

#[cfg(test)]
mod tests {
    use super::super::model::Reference;
    use super::super::name::tests::row;
    use super::super::verdict::reported;
    use super::*;
    use crate::announcer::Heard;
    use crate::id::Id;
    use crate::store::tables::EMAILS;
    use crate::teams;

    const ADDRESSES: [&str; 3] = ["ada@example.net", "bob@example.net", "eve@example.net"];

    /// Tells that everybody complains about an email that they got, and returns how much was opened.
    async fn opened_for_complaints(context: &Context, id: EmailId, team: TeamId) -> usize {
        let got = |address| RecipientRow::example(address, DeliveryState::Settled, LastEvent::Delivered);
        let row = EmailRow { recipients: ADDRESSES.map(got).into(), has_headers: true, ..row() };
        let putting = context.clone();
        let put = move |tx: &WriteTx<'_>| {
            emails::put_headers(tx, &putting, id, vec![("X-Order".into(), "42".into())])?;
            tx.put(&EMAILS, &(team, id), &row)
        };
        context.store.write::<_, StoreError>(put).await.unwrap();
        let complaint = |address: &str| Report {
            references: vec![Reference::Email(id)],
            findings: vec![Finding {
                recipients: vec![address.to_owned()],
                outcome: Outcome::Complained { feedback_type: None },
                at_ms: None,
            }],
            stand: Stand::Nobody,
        };
        let before = context.keyring.opened();
        let ingest = Ingest::new(context.clone(), None);
        let mark = Mark::of_message(id.as_bytes());
        let told = ingest.tell(mark, ADDRESSES.map(complaint).into()).await.unwrap();
        assert_eq!(told, Told { accepted: 3, ignored: 0 });
        context.keyring.opened() - before
    }

    #[tokio::test]
    async fn the_content_is_opened_once_for_all_that_is_told_of_an_email_and_not_at_all_when_nobody_hears() {
        let (_directory, context) = Context::temporary();
        let team = teams::create(&context, "team").await.unwrap().unwrap().id;

        assert_eq!(opened_for_complaints(&context, context.id(), team).await, 0);
        let mut heard = context.announcer.listen(team);
        assert_eq!(opened_for_complaints(&context, Id::MAX, team).await, 1);

        let bodies = std::iter::from_fn(|| heard.try_recv().ok()).map(Heard::body);
        assert_eq!(bodies.filter(|body| body.contains("X-Order")).count(), ADDRESSES.len());
    }

    fn bounced(suppresses: bool) -> Outcome {
        Outcome::Bounced { bounce: reported(BounceType::Permanent, "General", None), suppresses }
    }

    #[test]
    fn what_may_be_told_depends_on_where_the_delivery_stands_and_on_what_is_proven() {
        use DeliveryState::{InFlight, Settled};
        use LastEvent::{Canceled, DeliveryDelayed, Failed, Queued, Sent, Suppressed};
        let outcomes = [
            Outcome::Delivered { reply: None },
            Outcome::Delayed { reply: None },
            bounced(false),
            bounced(true),
            Outcome::Failed { reason: "rejected".into(), diagnostic: None },
            Outcome::Complained { feedback_type: None },
        ];
        let waiting = DeliveryState::Waiting { due_ms: 7 };
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
            for (proof, expected) in [(Proof::Given, given), (Proof::Seen, seen)] {
                let found = outcomes.each_ref().map(|outcome| may_be(&recipient, outcome, proof));
                assert_eq!(found, expected, "{state:?} {last_event:?} {proof:?}");
            }
        }
    }
}
