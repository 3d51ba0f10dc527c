//! Tests of the verdicts and of the recording.

mod broadcasts;
mod burst;
mod classify;
mod corpus;
mod month;
mod record;

use std::time::Duration;

use tempfile::TempDir;

use super::{Engagement, Hit, HitTarget};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, EventId, Id, TeamId};
use crate::context::Context;
use crate::email_metrics::CountCheck;
use crate::emails::{self, EmailRow, LastEvent, RecipientRow, RecipientState};
use crate::events::{self, EmailEventKind, Event, EventDetail};
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::{EMAIL_COUNT_CHECKS, EMAILS};
use crate::teams::{self, Team};

const TEAM: TeamId = Id::MIN;
/// User agent of a person.
const BROWSER: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0";
const MINUTE_MS: i64 = 60_000;

/// A store with delivered emails.
struct World {
    _directory: TempDir,
    context: Context,
    engagement: Engagement,
    /// Time of delivery of every email.
    delivered_ms: TimestampMs,
}

impl World {
    fn new() -> Self {
        let (directory, context) = Context::temporary();
        let delivered_ms = context.now_ms();
        Self { _directory: directory, engagement: Engagement::new(context.clone()), context, delivered_ms }
    }

    /// Stores an email with one group for each recipient, sent and delivered.
    async fn delivered(&self, recipients: &[&str]) -> EmailId {
        let id = self.context.id();
        let row = delivered_row(recipients);
        self.put(id, row.clone()).await;
        let context = self.context.clone();
        let at_ms = self.delivered_ms;
        self.context.commit(move |tx| put_delivery(tx, &context, id, &row, at_ms)).await;
        id
    }

    async fn put(&self, id: EmailId, row: EmailRow) {
        self.context.commit(move |tx| tx.put(&EMAILS, &(TEAM, id), &row)).await;
    }

    /// Records a further event of all recipients of an email, some time after delivery.
    async fn report(&self, id: EmailId, kind: EmailEventKind, after_ms: i64) {
        let (context, row, at_ms) = (self.context.clone(), self.row(id), self.delivered_ms + after_ms);
        let recipients: Vec<String> = row.recipients.iter().map(|recipient| recipient.mailbox.bare()).collect();
        let write = move |tx: &WriteTx<'_>| {
            let event = Event { kind, at_ms, recipients: recipients.clone(), detail: EventDetail::None };
            emails::record(tx, &context, TEAM, id, &row, event)
        };
        self.context.commit(write).await;
    }

    fn row(&self, id: EmailId) -> EmailRow {
        self.context.read(|tx| emails::find_row(tx, TEAM, id)).unwrap()
    }

    /// Returns the opens, clicks and prefetches of an email.
    fn engagement(&self, id: EmailId) -> Vec<(EventId, Event)> {
        let events = self.context.read(|tx| events::email_events(tx, id));
        events.into_iter().filter(|(_, event)| super::plan::is_engagement(event.kind)).collect()
    }

    /// Returns the kinds and the reasons of the opens, clicks and prefetches of an email.
    fn kinds(&self, id: EmailId) -> Vec<(EmailEventKind, Option<String>)> {
        self.engagement(id).into_iter().map(|(_, event)| (event.kind, reason(&event))).collect()
    }

    /// Returns the status of the email and of its first recipient.
    fn status(&self, id: EmailId) -> (LastEvent, LastEvent) {
        let row = self.row(id);
        (row.last_event, row.recipients[0].last_event)
    }

    /// Returns a hit of a person on the first recipient, some time after delivery. Advances the clock to its time.
    fn hit(&self, email: EmailId, target: HitTarget, after_ms: i64) -> Hit {
        let ahead_ms = self.delivered_ms + after_ms - self.context.now_ms();
        self.context.clock.advance(Duration::from_millis(u64::try_from(ahead_ms).unwrap_or(0)));
        Hit {
            team: TEAM,
            email,
            group: 0,
            target,
            ip_address: "198.51.100.7".into(),
            user_agent: BROWSER.into(),
            is_prefetch: false,
            at_ms: self.delivered_ms + after_ms,
        }
    }

    /// Requires that the counts and the journal of the past days agree with the events.
    async fn assert_counts_agree(&self) {
        let team = Team { id: TEAM, name: "team".into(), created_ms: self.delivered_ms };
        self.context.commit(move |tx| teams::put(tx, &team)).await;
        self.context.clock.advance(Duration::from_secs(2 * 86_400));
        let check = CountCheck::new(self.context.clone());
        check.run_round().await.unwrap();
        assert!(self.context.read(|tx| tx.get(&EMAIL_COUNT_CHECKS, &(TEAM,))).is_some());
        assert_eq!(check.differences(), 0);
    }

    async fn open(&self, email: EmailId, after_ms: i64) {
        self.engagement.record(self.hit(email, HitTarget::Pixel, after_ms)).await.unwrap();
    }

    async fn click(&self, email: EmailId, link: &str, after_ms: i64) {
        self.engagement.record(self.hit(email, HitTarget::Link(link.into()), after_ms)).await.unwrap();
    }
}

fn reason(event: &Event) -> Option<String> {
    match &event.detail {
        EventDetail::Open(open) => open.reason.clone(),
        EventDetail::Click(click) => click.reason.clone(),
        _ => None,
    }
}

fn delivered_row(recipients: &[&str]) -> EmailRow {
    let recipient = |(index, address): (usize, &&str)| RecipientRow {
        group: u16::try_from(index).unwrap(),
        ..RecipientRow::example(address, RecipientState::Settled, LastEvent::Delivered)
    };
    EmailRow::example(recipients.iter().enumerate().map(recipient).collect(), LastEvent::Delivered)
}

/// Records the events of the delivery of an email.
fn put_delivery(
    tx: &WriteTx<'_>,
    context: &Context,
    id: EmailId,
    row: &EmailRow,
    at_ms: TimestampMs,
) -> Result<(), StoreError> {
    let recipients: Vec<String> = row.recipients.iter().map(|recipient| recipient.mailbox.bare()).collect();
    for kind in [EmailEventKind::Sent, EmailEventKind::Delivered] {
        let event = Event { kind, at_ms, recipients: recipients.clone(), detail: EventDetail::None };
        emails::record(tx, context, TEAM, id, row, event)?;
    }
    Ok(())
}
