//! The worker with a temporary store and a manual clock.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::result::NotifyResult;
use super::worker::{FAILURES_MAX, NOTICES_MAX, NoticeWorker, RetryState};
use super::{Notice, record_domain_refusal};
use crate::base::address::{EmailAddress, Mailbox};
use crate::base::clock::DAY_MS;
use crate::base::id::{Id, TeamId};
use crate::context::Context;
use crate::delivery::QueueNotifier;
use crate::domains::{self, DomainRefusal, SenderDomainRow, SenderTracking};
use crate::emails::{Emails, Idempotency};
use crate::preferences::{LinkAudience, LinkSettings, PreferenceLinks};
use crate::store::{WriteTx, name_hash};
use crate::suppressions::{self, SuppressionCause, SuppressionOrigin};
use crate::tables::{EMAILS, NOTICES, SENDER_DOMAINS, USERS};
use crate::teams;
use crate::users::{self, Role, User, UserRow};

/// Sender whose domain the team has verified.
const FROM: Option<&str> = Some("Ringmail <notices@example.com>");
const HOUR: Duration = Duration::from_secs(60 * 60);

struct Fixture {
    _directory: tempfile::TempDir,
    context: Context,
    /// Older than `team`, without a domain and members.
    older: TeamId,
    team: TeamId,
}

impl Fixture {
    /// Creates a team that may send from example.com and has two owners and a member.
    async fn new() -> Self {
        let (directory, context) = Context::temporary();
        let older = teams::create(&context, "Older").await.unwrap().unwrap().id;
        let team = teams::create(&context, "Acme").await.unwrap().unwrap().id;
        let fixture = Self { _directory: directory, context, older, team };
        fixture.add(team, "one", Role::Owner).await;
        fixture.add(team, "two", Role::Owner).await;
        fixture.add(team, "three", Role::Member).await;
        fixture.verify(team, "example.com").await;
        fixture
    }

    async fn add(&self, team: TeamId, name: &str, role: Role) -> User {
        let address = EmailAddress::parse(&format!("{name}@owners.example")).unwrap();
        users::add(&self.context, team, address, Some(role)).await.unwrap().user
    }

    /// Adds an owner whose stored address is invalid.
    async fn add_unreachable(&self, team: TeamId, name: &str) {
        let User { id, email: _, created_ms } = self.add(team, name, Role::Owner).await;
        let row = UserRow { email: "invalid".into(), created_ms };
        self.context.commit(move |tx| tx.put(&USERS, &(id,), &row)).await;
    }

    async fn verify(&self, team: TeamId, domain: &str) {
        let row = SenderDomainRow {
            id: self.context.id(),
            verified: true,
            tracked: false,
            ed25519: false,
            tracking: SenderTracking::default(),
        };
        let name = name_hash(domain);
        self.context.commit(move |tx| tx.put(&SENDER_DOMAINS, &(team, name), &row)).await;
    }

    /// Returns a worker as it is after a start of the process, without state in memory.
    async fn worker(&self, from: Option<&str>) -> NoticeWorker {
        let idempotency = Arc::new(Idempotency::new(self.context.clone()));
        idempotency.load().await.unwrap();
        let settings = LinkSettings { public_url: "http://localhost".into(), audience: LinkAudience::Captured };
        let links = PreferenceLinks::new(self.context.keyring.clone(), settings);
        let (notifier, tasks) = (QueueNotifier::default(), TaskTracker::new());
        let emails = Emails::new(self.context.clone(), notifier, idempotency, tasks, links);
        let from = from.map(|from| Mailbox::parse(from).unwrap());
        NoticeWorker::new(self.context.clone(), Arc::new(emails), from)
    }

    async fn record(&self) {
        self.record_for(self.team, 1).await;
    }

    async fn record_for(&self, team: TeamId, times: usize) {
        let context = self.context.clone();
        let endpoint = "https://hooks.example/mail".to_owned();
        let notice = Notice::WebhookDisabled { webhook: Id::MIN, endpoint };
        self.context.commit(move |tx| (0..times).try_for_each(|_| super::record(tx, &context, team, &notice))).await;
    }

    /// Advances the clock and purges expired idempotency keys, as the retention worker does.
    async fn advance(&self, time: Duration) {
        self.context.clock.advance(time);
        Idempotency::new(self.context.clone()).purge().await.unwrap();
    }

    /// Returns the recipients of all emails of all teams.
    fn recipients(&self) -> Vec<String> {
        let rows = self.context.rows(&EMAILS).into_iter().flat_map(|(_, row)| row.recipients);
        let mut recipients: Vec<_> = rows.map(|recipient| recipient.mailbox.to_string()).collect();
        recipients.sort_unstable();
        recipients
    }

    fn pending(&self) -> usize {
        self.context.keys(&NOTICES).len()
    }
}

#[tokio::test]
async fn every_owner_is_notified_once_even_if_the_process_ends_before_the_row_is_deleted() {
    let fixture = Fixture::new().await;
    fixture.record().await;

    let first = fixture.worker(FROM).await;
    let (key, row) = first.due(None).await.unwrap().remove(0);
    let result = first.notify_owners(key, row.as_ref().unwrap()).await.unwrap();
    assert_eq!(result, NotifyResult::Owners { notified: 2, suppressed: 0 });
    assert_eq!(fixture.pending(), 1);
    fixture.worker(FROM).await.process_due().await.unwrap();

    assert_eq!(fixture.recipients(), ["one@owners.example", "two@owners.example"]);
    assert_eq!(fixture.pending(), 0);
}

// Notices are retried for a week, but the idempotency keys of their emails once expired after a day. Owners got the
// email again each day, and the owners after a failing one never got it.
#[tokio::test]
async fn an_owner_who_cannot_be_notified_does_not_affect_the_others() {
    let fixture = Fixture::new().await;
    fixture.add_unreachable(fixture.team, "four").await;
    fixture.add(fixture.team, "five", Role::Owner).await;
    fixture.record().await;
    let worker = fixture.worker(FROM).await;

    worker.process_due().await.unwrap();
    for hours in [25, 140] {
        fixture.advance(hours * HOUR).await;
        worker.process_due().await.unwrap();
        fixture.worker(FROM).await.process_due().await.unwrap();
    }

    assert_eq!(fixture.recipients(), ["five@owners.example", "one@owners.example", "two@owners.example"]);
}

// Idempotency keys belong to the sending team, and that team can change between two attempts.
#[tokio::test]
async fn no_owner_is_notified_again_when_another_team_becomes_the_sender() {
    let fixture = Fixture::new().await;
    fixture.record().await;
    let first = fixture.worker(FROM).await;
    let (key, row) = first.due(None).await.unwrap().remove(0);
    first.notify_owners(key, row.as_ref().unwrap()).await.unwrap();

    fixture.verify(fixture.older, "example.com").await;
    first.process_due().await.unwrap();
    fixture.worker(FROM).await.process_due().await.unwrap();

    assert_eq!(fixture.recipients(), ["one@owners.example", "two@owners.example"]);
    assert_eq!(fixture.pending(), 0);
}

#[tokio::test]
async fn a_notice_older_than_a_week_is_dropped() {
    for (hours, notified) in [(7 * 24, 2), (7 * 24 + 1, 0)] {
        let fixture = Fixture::new().await;
        fixture.record().await;

        fixture.advance(hours * HOUR).await;
        fixture.worker(FROM).await.process_due().await.unwrap();

        assert_eq!(fixture.recipients().len(), notified, "after {hours} hours");
        assert_eq!(fixture.pending(), 0, "after {hours} hours");
    }
}

#[tokio::test]
async fn a_suppressed_owner_is_skipped() {
    let fixture = Fixture::new().await;
    let (team, context) = (fixture.team, fixture.context.clone());
    let address = EmailAddress::parse("one@owners.example").unwrap();
    let cause = SuppressionCause::listed(SuppressionOrigin::Manual, crate::events::ChangeSource::Api);
    fixture.context.commit(move |tx| suppressions::add(tx, &context, team, &address, cause).map(drop)).await;
    fixture.record().await;

    fixture.worker(Some("notices@example.com")).await.process_due().await.unwrap();

    assert_eq!(fixture.recipients(), ["two@owners.example"]);
    assert_eq!(fixture.pending(), 0);
}

#[tokio::test]
async fn a_notice_is_only_logged_if_no_sender_is_set() {
    let fixture = Fixture::new().await;
    fixture.record().await;

    fixture.worker(None).await.process_due().await.unwrap();

    assert_eq!(fixture.pending(), 0);
    assert_eq!(fixture.recipients(), [""; 0]);
}

// A domain that fails one check is unverified until the next check.
#[tokio::test]
async fn a_notice_is_retried_until_the_domain_of_its_sender_is_verified() {
    let fixture = Fixture::new().await;
    fixture.record().await;
    let worker = fixture.worker(Some("notices@other.example")).await;

    worker.process_due().await.unwrap();
    assert_eq!((fixture.pending(), fixture.recipients().len()), (1, 0));
    assert!(worker.due(None).await.unwrap().is_empty(), "it is retried without a delay");

    fixture.verify(fixture.older, "other.example").await;
    fixture.advance(HOUR).await;
    worker.process_due().await.unwrap();
    assert_eq!((fixture.pending(), fixture.recipients().len()), (0, 2));
}

#[tokio::test]
async fn a_notice_that_fails_is_retried_with_growing_delays_and_dropped_after_a_week() {
    let fixture = Fixture::new().await;
    fixture.add_unreachable(fixture.team, "four").await;
    fixture.record().await;
    let worker = fixture.worker(FROM).await;
    let mut attempts = 0;

    worker.process_due().await.unwrap();
    while fixture.pending() > 0 {
        assert!(worker.due(None).await.unwrap().is_empty(), "it is retried without a delay");
        attempts += 1;
        fixture.advance(4 * HOUR).await;
        worker.process_due().await.unwrap();
    }

    assert_eq!(attempts, 7 * 6 + 1, "one attempt every four hours until a week is over");
    assert!(worker.failures().is_empty());
}

#[tokio::test]
async fn a_clock_set_back_by_a_day_delays_no_retry() {
    let fixture = Fixture::new().await;
    fixture.add_unreachable(fixture.team, "four").await;
    fixture.record().await;
    let worker = fixture.worker(FROM).await;
    worker.process_due().await.unwrap();

    fixture.context.clock.step(-DAY_MS);
    fixture.advance(4 * HOUR).await;

    assert_eq!(worker.due(None).await.unwrap().len(), 1);
}

// The failures in memory are bounded. A hundred further notices once preceded all others and were retried without
// a pause.
#[tokio::test]
async fn a_pass_ends_and_reaches_every_notice_when_no_more_failures_fit_into_memory() {
    let fixture = Fixture::new().await;
    fixture.add_unreachable(fixture.older, "invalid").await;
    fixture.record_for(fixture.older, NOTICES_MAX).await;
    fixture.record().await;
    let worker = fixture.worker(FROM).await;
    let waiting = RetryState { failures: 1, due_ms: i64::MAX };
    worker.failures().extend((0..FAILURES_MAX).map(|_| (fixture.context.id(), waiting)));

    let processed = tokio::time::timeout(Duration::from_secs(60), worker.process_due()).await;

    processed.expect("the pass ends").unwrap();
    assert_eq!(fixture.recipients(), ["one@owners.example", "two@owners.example"]);
    assert_eq!(fixture.pending(), NOTICES_MAX);
}

#[tokio::test]
async fn the_owners_of_a_domain_get_one_notice_a_day_about_refusals_for_authentication() {
    let fixture = Fixture::new().await;
    let (context, team) = (fixture.context.clone(), fixture.team);
    let domain = domains::tests::add_verified(&context, team, "shop.example").await;
    let refuse = async || {
        let (writing, at_ms) = (context.clone(), context.now_ms());
        let write = move |tx: &WriteTx<'_>| {
            let reply = "550 5.7.26 unauthenticated".to_owned();
            let refusal = DomainRefusal { at_ms, email: Id::MIN, host: None, reply };
            record_domain_refusal(tx, &writing, team, domain, refusal)
        };
        context.commit(write).await;
    };
    refuse().await;
    refuse().await;
    assert_eq!(fixture.pending(), 1);

    // A process that has just started.
    fixture.worker(FROM).await.process_due().await.unwrap();
    assert_eq!(fixture.recipients(), ["one@owners.example", "two@owners.example"]);
    refuse().await;
    assert_eq!(fixture.pending(), 0);
    fixture.advance(24 * HOUR).await;
    refuse().await;

    assert_eq!(fixture.pending(), 1);
}
