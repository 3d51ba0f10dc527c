//! The worker over a store: each email is checked and counted once.

use std::time::Duration;

use super::super::store::{ids_between, of_broadcast, position};
use super::super::worker::PAGE_ROWS;
use super::super::{
    FailingCheck, FindInsightsError, InsightRow, InsightStatus, InsightWorker, Insights, evaluate, failing_checks,
    purge, take_back_canceled,
};
use crate::base::id::{BroadcastId, DomainId, EmailId, Id, TeamId};
use crate::broadcast_rows::{self, BroadcastContent, BroadcastCountsRow, BroadcastRow, BroadcastStatus};
use crate::context::Context;
use crate::emails::{
    EmailContent, EmailRow, LastEvent, RecipientRow, RecipientState, delete_emails, put_content, put_email,
};
use crate::preferences::{LinkAudience, LinkSettings, PreferenceLinks};
use crate::store::{Reads as _, WriteTx};
use crate::tables::{BROADCAST_COUNTS, INSIGHT_DAYS, PENDING_BROADCAST_INSIGHTS};
use crate::{email_metrics, teams};

const SETTLED: Duration = Duration::from_secs(6);
const LATE: Duration = Duration::from_secs(700);
const DAY: Duration = Duration::from_secs(86_400);

struct Instance {
    context: Context,
    team: TeamId,
    worker: InsightWorker,
    _directory: tempfile::TempDir,
}

fn links(context: &Context) -> PreferenceLinks {
    let settings = LinkSettings { public_url: "https://mail.example.com".into(), audience: LinkAudience::Delivered };
    PreferenceLinks::new(context.keyring.clone(), settings)
}

impl Instance {
    async fn start() -> Self {
        let (directory, context) = Context::temporary();
        let team = teams::create(&context, "Shop").await.unwrap().unwrap().id;
        Self { worker: Self::another_worker(&context), context, team, _directory: directory }
    }

    fn another_worker(context: &Context) -> InsightWorker {
        InsightWorker::new(context.clone(), &links(context))
    }

    /// Returns new ids, one a millisecond.
    fn ids(&self, count: usize) -> Vec<EmailId> {
        let mut ids = Vec::new();
        for _ in 0..count {
            self.context.clock.advance(Duration::from_millis(1));
            ids.push(self.context.id());
        }
        ids
    }

    /// Stores emails whose text part is empty, each to these recipients.
    async fn put(&self, ids: &[EmailId], recipients: &[&str]) {
        self.put_with_text(ids, recipients, "").await;
    }

    async fn put_with_text(&self, ids: &[EmailId], recipients: &[&str], text: &str) {
        let (team, context, ids, created_ms) = (self.team, self.context.clone(), ids.to_vec(), self.context.now_ms());
        let recipients: Vec<RecipientRow> = recipients
            .iter()
            .map(|address| RecipientRow::example(address, RecipientState::Settled, LastEvent::Delivered))
            .collect();
        let row = EmailRow { created_ms, ..EmailRow::example(recipients, LastEvent::Delivered) };
        let html = Some("<p>Hello</p>".to_owned());
        let content = EmailContent { html, text: Some(text.to_owned()), ..EmailContent::default() };
        let put = move |tx: &WriteTx<'_>| {
            ids.iter().try_for_each(|id| {
                put_email(tx, team, *id, &row)?;
                put_content(tx, &context, *id, &content)
            })
        };
        self.context.commit(put).await;
    }

    async fn run_after(&self, passed: Duration) {
        self.context.clock.advance(passed);
        self.worker.run_round().await.unwrap();
    }

    fn checked(&self) -> Vec<EmailId> {
        self.context.read(|tx| ids_between(tx, self.team, (EmailId::MIN, EmailId::MAX)))
    }

    /// Returns the recipients of all days whose email has no text part.
    fn without_text(&self) -> u64 {
        let failing = self.context.read(|tx| failing_checks(tx, self.team, 0..=u32::MAX));
        failing.iter().find(|it| it.check == "plain_text").map_or(0, |it| it.recipients)
    }

    /// Returns the recipients of all days with a score.
    fn scored(&self) -> u64 {
        self.context.read(|tx| email_metrics::day_totals(tx, self.team, 0..=u32::MAX)).scored_recipients
    }

    async fn find(&self, id: EmailId) -> Result<InsightRow, FindInsightsError> {
        Insights::new(self.context.clone()).find(self.team, id).await
    }
}

#[tokio::test]
async fn an_email_is_checked_some_seconds_after_its_acceptance_and_counted_for_each_recipient() {
    let instance = Instance::start().await;
    let ids = instance.ids(2);
    instance.put(&ids[..1], &["ada@example.net", "bob@example.net"]).await;
    // Simulated recipients have insights and are not counted.
    instance.put(&ids[1..], &["delivered@ringmail.test"]).await;

    instance.run_after(Duration::from_secs(1)).await;
    assert!(matches!(instance.find(ids[0]).await, Err(FindInsightsError::NotComputed)));
    instance.run_after(SETTLED).await;

    let row = instance.find(ids[0]).await.unwrap();
    assert_eq!((row.score_tenths, row.created_ms), (90, instance.context.now_ms()));
    assert!(instance.find(ids[1]).await.is_ok());
    let day = u32::try_from(instance.context.now_ms() / 86_400_000).unwrap();
    let failing = instance.context.read(|tx| failing_checks(tx, instance.team, day..=day));
    let expected =
        FailingCheck { check: "plain_text", severity: "major", weight_hundredths: 100, recipients: 2, lost_tenths: 20 };
    assert_eq!(failing, [expected]);
    assert!(instance.context.read(|tx| failing_checks(tx, instance.team, day + 1..=day + 1)).is_empty());
    assert!(matches!(instance.find(Id::MAX).await, Err(FindInsightsError::EmailNotFound)));
}

#[tokio::test]
async fn each_email_is_counted_once_by_two_workers_and_after_a_restart() {
    let instance = Instance::start().await;
    let ids = instance.ids(PAGE_ROWS * 2 + 7);
    instance.put(&ids, &["ada@example.net"]).await;
    instance.context.clock.advance(SETTLED);
    let other = Instance::another_worker(&instance.context);

    // A process ends after its first page.
    assert!(other.check_page(instance.team).await.unwrap());
    assert_eq!((instance.checked().len(), instance.without_text()), (PAGE_ROWS, PAGE_ROWS as u64));
    let (one, two) = tokio::join!(instance.worker.run_round(), other.run_round());
    one.and(two).unwrap();
    instance.run_after(LATE).await;
    instance.run_after(LATE).await;

    assert_eq!(instance.checked(), ids);
    assert_eq!(instance.without_text(), ids.len() as u64);
}

#[tokio::test]
async fn an_email_that_was_committed_late_is_checked_later() {
    let instance = Instance::start().await;
    let ids = instance.ids(5);
    instance.put(&ids[..2], &["ada@example.net"]).await;
    instance.put(&ids[3..], &["ada@example.net"]).await;
    instance.run_after(SETTLED).await;
    assert_eq!(instance.checked(), [ids[0], ids[1], ids[3], ids[4]]);

    instance.put(&ids[2..3], &["ada@example.net"]).await;
    instance.run_after(SETTLED).await;
    assert_eq!(instance.checked().len(), 4);
    instance.run_after(LATE).await;

    assert_eq!(instance.checked(), ids);
    assert_eq!(instance.without_text(), 5);
}

#[tokio::test]
async fn emails_after_the_clock_was_set_back_are_checked() {
    let instance = Instance::start().await;
    let ids = instance.ids(3);
    instance.put(&ids[1..], &["ada@example.net"]).await;
    instance.run_after(SETTLED).await;
    let team = instance.team;
    // As if the process before had a clock in the future.
    let ahead = move |tx: &WriteTx<'_>| {
        let done = EmailId::MAX;
        super::super::store::put_position(tx, team, super::super::InsightPositionRow { done, verified: done })
    };
    instance.context.commit(ahead).await;
    let stop = tokio_util::sync::CancellationToken::new();
    stop.cancel();
    instance.worker.run(stop).await.unwrap();
    let later = instance.ids(1);
    instance.put(&later, &["ada@example.net"]).await;

    instance.run_after(SETTLED).await;

    assert_eq!(instance.checked(), [ids[1], ids[2], later[0]]);
    assert_eq!(instance.without_text(), 3);
}

#[tokio::test]
async fn an_email_without_content_has_no_insights_and_does_not_stop_the_others() {
    let instance = Instance::start().await;
    let ids = instance.ids(3);
    instance.put(&ids, &["ada@example.net"]).await;
    let id = ids[0];
    let delete = move |tx: &WriteTx<'_>| tx.delete_range(&crate::tables::EMAIL_BODIES, &(id, 0), &(id, u32::MAX), 10);
    instance.context.commit(delete).await;

    instance.run_after(SETTLED).await;

    assert_eq!(instance.checked(), ids[1..]);
    assert!(matches!(instance.find(id).await, Err(FindInsightsError::NotComputed)));
}

#[tokio::test]
async fn the_insights_of_an_email_are_deleted_with_it_and_not_written_again() {
    let instance = Instance::start().await;
    let ids = instance.ids(2);
    instance.put(&ids, &["ada@example.net"]).await;
    instance.run_after(SETTLED).await;
    let (team, deleted) = (instance.team, ids[..1].to_vec());
    instance.context.commit(move |tx| delete_emails(tx, team, &deleted)).await;

    instance.run_after(LATE).await;

    assert_eq!(instance.checked(), ids[1..]);
    assert_eq!(instance.without_text(), 2);
}

#[tokio::test]
async fn a_panic_of_a_check_leaves_unknown_results_and_does_not_stop_the_others() {
    let instance = Instance::start().await;
    let ids = instance.ids(3);
    instance.put(&ids[..1], &["ada@example.net"]).await;
    instance.put_with_text(&ids[1..2], &["ada@example.net"], "panic").await;
    instance.put(&ids[2..], &["ada@example.net"]).await;
    instance.context.clock.advance(SETTLED);
    let worker = Instance::another_worker(&instance.context).with_checks(|input| {
        assert_ne!(input.text, Some("panic"));
        evaluate(input)
    });

    worker.run_round().await.unwrap();

    assert_eq!(instance.checked(), ids);
    let row = instance.find(ids[1]).await.unwrap();
    assert!(row.results().all(|result| result.status == InsightStatus::Unknown));
    assert_eq!(instance.without_text(), 2);
    assert_eq!(instance.context.read(|tx| position(tx, instance.team)).unwrap().done, ids[2]);
}

#[tokio::test]
async fn a_broadcast_with_corrupt_content_has_unknown_results() {
    let instance = Instance::start().await;
    let (team, id): (TeamId, BroadcastId) = (instance.team, instance.context.id());
    let row = BroadcastRow {
        domain: Some(DomainId::MIN),
        status: BroadcastStatus::Queued,
        ..BroadcastRow::draft("news@m.example.com".into(), "June".into())
    };
    // The content of another broadcast.
    let sealed =
        broadcast_rows::seal_content(&instance.context.keyring, instance.context.id(), &BroadcastContent::default());
    let put = move |tx: &WriteTx<'_>| {
        broadcast_rows::put(tx, team, id, &row)?;
        broadcast_rows::put_content(tx, id, &sealed)
    };
    instance.context.commit(put).await;

    instance.run_after(SETTLED).await;

    let row = instance.context.read(|tx| of_broadcast(tx, team, id)).unwrap();
    assert!(row.results().all(|result| result.status == InsightStatus::Unknown));
}

#[tokio::test]
async fn a_removed_team_gets_no_rows() {
    let instance = Instance::start().await;
    let ids = instance.ids(1);
    instance.put(&ids, &["ada@example.net"]).await;
    instance.context.clock.advance(SETTLED);
    let (team, now_ms) = (instance.team, instance.context.now_ms());
    instance.context.commit(move |tx| teams::remove(tx, team, now_ms)).await;

    assert!(!instance.worker.check_page(team).await.unwrap());

    assert_eq!(instance.checked(), []);
    assert_eq!(instance.context.read(|tx| position(tx, team)), None);
}

#[tokio::test]
async fn a_broadcast_is_checked_when_it_starts_and_counted_once_when_it_is_over() {
    let instance = Instance::start().await;
    let (team, id): (TeamId, BroadcastId) = (instance.team, instance.context.id());
    let content =
        BroadcastContent { html: Some("<p>News</p>".to_owned()), text: Some("News".to_owned()), ..Default::default() };
    let sealed = broadcast_rows::seal_content(&instance.context.keyring, id, &content);
    let row =
        BroadcastRow { domain: Some(DomainId::MIN), ..BroadcastRow::draft("news@m.example.com".into(), "June".into()) };
    let put = async |status: BroadcastStatus, attempted: u64| {
        let (row, sealed) = (BroadcastRow { status, ..row.clone() }, sealed.clone());
        let put = move |tx: &WriteTx<'_>| {
            broadcast_rows::put(tx, team, id, &row)?;
            broadcast_rows::put_content(tx, id, &sealed)?;
            // Simulated recipients are not counted.
            let counts = BroadcastCountsRow { attempted: attempted + 2, simulated: 2, ..BroadcastCountsRow::default() };
            tx.put(&BROADCAST_COUNTS, &(id,), &counts)
        };
        instance.context.commit(put).await;
    };
    let is_checked = || instance.context.read(|tx| of_broadcast(tx, team, id)).is_some();

    put(BroadcastStatus::Draft, 0).await;
    instance.run_after(SETTLED).await;
    assert!(!is_checked());
    put(BroadcastStatus::Queued, 10).await;
    instance.run_after(SETTLED).await;
    assert!(is_checked());
    assert_eq!(instance.without_text(), 0);
    put(BroadcastStatus::Sent, 40).await;
    instance.run_after(SETTLED).await;
    assert_eq!(instance.without_text(), 40);
    put(BroadcastStatus::Sent, 41).await;
    instance.run_after(SETTLED).await;

    assert_eq!(instance.without_text(), 40);
    assert!(!instance.context.read(|tx| tx.contains(&PENDING_BROADCAST_INSIGHTS, &(team, id))));
}

#[tokio::test]
async fn the_counts_of_a_day_are_deleted_after_sixty_days() {
    let instance = Instance::start().await;
    let ids = instance.ids(1);
    instance.put(&ids, &["ada@example.net"]).await;
    instance.run_after(SETTLED).await;

    instance.context.clock.advance(DAY * 60);
    purge(&instance.context).await.unwrap();
    assert_eq!(instance.without_text(), 1);
    instance.context.clock.advance(DAY);
    purge(&instance.context).await.unwrap();

    assert_eq!(instance.without_text(), 0);
    assert_eq!(instance.context.keys(&INSIGHT_DAYS).len(), 0);
}

#[tokio::test]
async fn canceled_recipients_are_taken_back() {
    let instance = Instance::start().await;
    let ids = instance.ids(3);
    instance.put(&ids[..1], &["ada@example.net"]).await;
    let (team, context) = (instance.team, instance.context.clone());
    let (counted, late) = (ids[1], ids[2]);
    let waiting = RecipientState::Waiting { due_ms: i64::MAX };
    let recipients: Vec<RecipientRow> = ["ada@example.net", "bob@example.net", "delivered@ringmail.test"]
        .iter()
        .map(|address| RecipientRow::example(address, waiting, LastEvent::Scheduled))
        .collect();
    let scheduled =
        EmailRow { created_ms: instance.context.now_ms(), ..EmailRow::example(recipients, LastEvent::Scheduled) };
    let mut canceled = scheduled.clone();
    for recipient in &mut canceled.recipients {
        recipient.state = RecipientState::Settled;
        recipient.last_event = LastEvent::Canceled;
    }
    canceled.last_event = LastEvent::Canceled;
    let (before, after) = (scheduled.clone(), canceled.clone());
    let put = move |tx: &WriteTx<'_>| {
        let content =
            EmailContent { html: Some("<p>Hello</p>".to_owned()), text: Some(String::new()), ..Default::default() };
        for id in [counted, late] {
            put_email(tx, team, id, &before)?;
            put_content(tx, &context, id, &content)?;
        }
        // A cancellation before the check takes nothing back.
        take_back_canceled(tx, team, late, &before, &after)?;
        put_email(tx, team, late, &after)
    };
    instance.context.commit(put).await;
    instance.run_after(SETTLED).await;
    assert_eq!((instance.without_text(), instance.scored()), (3, 3));

    instance.context.commit(move |tx| take_back_canceled(tx, team, counted, &scheduled, &canceled)).await;

    assert_eq!((instance.without_text(), instance.scored()), (1, 1));
}
