//! The worker over a store of its own, with the time turned by hand.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::result::NotifyResult;
use super::worker::{FAILURES_MAX, NOTICES_MAX, NoticeWorker, RetryState};
use super::{Notice, record};
use crate::base::address::{EmailAddress, Mailbox};
use crate::base::id::{Id, TeamId};
use crate::context::Context;
use crate::delivery::QueueNotifier;
use crate::domains::SenderDomainRow;
use crate::emails::{Emails, Idempotency};
use crate::preferences::{LinkAudience, LinkSettings, Links};
use crate::store::{NEXT, Order, Reads as _, StoreError, WriteTx, name_hash};
use crate::suppressions::{self, Origin, SuppressionCause};
use crate::tables::{EMAILS, NOTICES, SENDER_DOMAINS, USERS};
use crate::teams;
use crate::users::{self, Role, User, UserRow};

/// The sender, of a domain that the team has verified.
const FROM: Option<&str> = Some("Ringmail <notices@example.com>");
const HOUR: Duration = Duration::from_secs(60 * 60);

struct Place {
    _directory: tempfile::TempDir,
    context: Context,
    /// Older than the other, with no domain and nobody in it.
    older: TeamId,
    team: TeamId,
}

impl Place {
    /// A team that may send from example.com, with two owners and a member.
    async fn new() -> Self {
        let (directory, context) = Context::temporary();
        let older = teams::create(&context, "Older").await.unwrap().unwrap().id;
        let team = teams::create(&context, "Acme").await.unwrap().unwrap().id;
        let place = Self { _directory: directory, context, older, team };
        place.add(team, "one", Role::Owner).await;
        place.add(team, "two", Role::Owner).await;
        place.add(team, "three", Role::Member).await;
        place.verify(team, "example.com").await;
        place
    }

    async fn add(&self, team: TeamId, name: &str, role: Role) -> User {
        let address = EmailAddress::parse(&format!("{name}@owners.example")).unwrap();
        users::add(&self.context, team, address, Some(role)).await.unwrap().user
    }

    /// Adds an owner whom no email can be sent to, because the address on disk does not read.
    async fn add_unreachable(&self, team: TeamId, name: &str) {
        let User { id, email: _, created_ms } = self.add(team, name, Role::Owner).await;
        let row = UserRow { email: "nobody".into(), created_ms };
        self.context.store.write::<_, StoreError>(move |tx| tx.put(&USERS, &(id,), &row)).await.unwrap();
    }

    async fn verify(&self, team: TeamId, domain: &str) {
        let row = SenderDomainRow { id: self.context.id(), verified: true, tracked: false, ed25519: false };
        let name = name_hash(domain);
        let put = move |tx: &WriteTx<'_>| tx.put(&SENDER_DOMAINS, &(team, name), &row);
        self.context.store.write::<_, StoreError>(put).await.unwrap();
    }

    /// A worker as a start of the process makes it: with nothing in memory.
    async fn worker(&self, from: Option<&str>) -> NoticeWorker {
        let idempotency = Arc::new(Idempotency::new(self.context.clone()));
        idempotency.load().await.unwrap();
        let settings = LinkSettings { public_url: "http://localhost".into(), reach: LinkAudience::Captured };
        let links = Links::new(self.context.keyring.clone(), settings);
        let (bell, tasks) = (QueueNotifier::default(), TaskTracker::new());
        let emails = Emails::new(self.context.clone(), bell, idempotency, tasks, links);
        let from = from.map(|from| Mailbox::parse(from).unwrap());
        NoticeWorker::new(self.context.clone(), Arc::new(emails), from)
    }

    async fn happen(&self) {
        self.happen_to(self.team, 1).await;
    }

    async fn happen_to(&self, team: TeamId, times: usize) {
        let context = self.context.clone();
        let endpoint = "https://hooks.example/mail".to_owned();
        let notice = Notice::WebhookDisabled { webhook: Id::MIN, endpoint };
        let write = move |tx: &WriteTx<'_>| (0..times).try_for_each(|_| record(tx, &context, team, &notice));
        self.context.store.write::<_, StoreError>(write).await.unwrap();
    }

    /// Lets the time pass, and goes through what has expired as the worker of retention does.
    async fn pass(&self, time: Duration) {
        self.context.clock.advance(time);
        Idempotency::new(self.context.clone()).purge().await.unwrap();
    }

    /// Whom there is an email to, whichever team has sent it.
    fn recipients(&self) -> Vec<String> {
        let mut recipients = Vec::new();
        let read = self.context.store.read_now::<_, StoreError>(|tx| {
            tx.scan(&EMAILS, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX), Order::Ascending, |_, row| {
                recipients.extend(row.decode()?.recipients.into_iter().map(|recipient| recipient.mailbox));
                NEXT
            })
        });
        read.unwrap();
        recipients.sort_unstable();
        recipients
    }

    fn waiting(&self) -> usize {
        let mut count = 0;
        let read = self.context.store.read_now::<_, StoreError>(|tx| {
            tx.scan(&NOTICES, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX), Order::Ascending, |_, _| {
                count += 1;
                NEXT
            })
        });
        read.unwrap();
        count
    }
}

#[tokio::test]
async fn every_owner_is_told_once_even_if_the_process_ends_before_the_row_goes() {
    let place = Place::new().await;
    place.happen().await;

    let first = place.worker(FROM).await;
    let (key, row) = first.due(None).await.unwrap().remove(0);
    let told = first.notify_owners(key, row.as_ref().unwrap()).await.unwrap();
    assert_eq!(told, NotifyResult::Owners { told: 2, suppressed: 0 });
    assert_eq!(place.waiting(), 1);
    place.worker(FROM).await.process_due().await.unwrap();

    assert_eq!(place.recipients(), ["one@owners.example", "two@owners.example"]);
    assert_eq!(place.waiting(), 0);
}

// A notice is tried for a week, and the key of its emails was remembered for a day: whoever had been written to
// when another owner could not be was written to again every day, and those behind that owner never.
#[tokio::test]
async fn an_owner_who_cannot_be_told_costs_the_others_nothing() {
    let place = Place::new().await;
    place.add_unreachable(place.team, "four").await;
    place.add(place.team, "five", Role::Owner).await;
    place.happen().await;
    let worker = place.worker(FROM).await;

    worker.process_due().await.unwrap();
    for hours in [25, 140] {
        place.pass(hours * HOUR).await;
        worker.process_due().await.unwrap();
        place.worker(FROM).await.process_due().await.unwrap();
    }

    assert_eq!(place.recipients(), ["five@owners.example", "one@owners.example", "two@owners.example"]);
}

// The key of an email belongs to the team that sends it, and who sends a notice can change between two tries.
#[tokio::test]
async fn nobody_is_told_again_when_another_team_becomes_the_sender() {
    let place = Place::new().await;
    place.happen().await;
    let first = place.worker(FROM).await;
    let (key, row) = first.due(None).await.unwrap().remove(0);
    first.notify_owners(key, row.as_ref().unwrap()).await.unwrap();

    place.verify(place.older, "example.com").await;
    first.process_due().await.unwrap();
    place.worker(FROM).await.process_due().await.unwrap();

    assert_eq!(place.recipients(), ["one@owners.example", "two@owners.example"]);
    assert_eq!(place.waiting(), 0);
}

#[tokio::test]
async fn what_is_older_than_a_week_is_not_told() {
    for (hours, told) in [(7 * 24, 2), (7 * 24 + 1, 0)] {
        let place = Place::new().await;
        place.happen().await;

        place.pass(hours * HOUR).await;
        place.worker(FROM).await.process_due().await.unwrap();

        assert_eq!(place.recipients().len(), told, "after {hours} hours");
        assert_eq!(place.waiting(), 0, "after {hours} hours");
    }
}

#[tokio::test]
async fn a_suppressed_owner_is_passed_over() {
    let place = Place::new().await;
    let (team, context) = (place.team, place.context.clone());
    let address = EmailAddress::parse("one@owners.example").unwrap();
    let cause = SuppressionCause::listed(Origin::Manual, crate::events::ChangeSource::Api);
    let suppress = move |tx: &WriteTx<'_>| suppressions::add(tx, &context, team, &address, cause).map(drop);
    place.context.store.write::<_, StoreError>(suppress).await.unwrap();
    place.happen().await;

    place.worker(Some("notices@example.com")).await.process_due().await.unwrap();

    assert_eq!(place.recipients(), ["two@owners.example"]);
    assert_eq!(place.waiting(), 0);
}

#[tokio::test]
async fn without_a_sender_the_log_alone_has_a_notice() {
    let place = Place::new().await;
    place.happen().await;

    place.worker(None).await.process_due().await.unwrap();

    assert_eq!(place.waiting(), 0);
    assert_eq!(place.recipients(), [""; 0]);
}

// A domain whose records fail one check is not verified until the next.
#[tokio::test]
async fn a_notice_waits_for_its_senders_domain() {
    let place = Place::new().await;
    place.happen().await;
    let worker = place.worker(Some("notices@other.example")).await;

    worker.process_due().await.unwrap();
    assert_eq!((place.waiting(), place.recipients().len()), (1, 0));
    assert!(worker.due(None).await.unwrap().is_empty(), "it rests between two tries");

    place.verify(place.older, "other.example").await;
    place.pass(HOUR).await;
    worker.process_due().await.unwrap();
    assert_eq!((place.waiting(), place.recipients().len()), (0, 2));
}

#[tokio::test]
async fn a_notice_that_cannot_be_told_waits_longer_each_time_and_goes_after_a_week() {
    let place = Place::new().await;
    place.add_unreachable(place.team, "four").await;
    place.happen().await;
    let worker = place.worker(FROM).await;
    let mut tries = 0;

    worker.process_due().await.unwrap();
    while place.waiting() > 0 {
        assert!(worker.due(None).await.unwrap().is_empty(), "it waits");
        tries += 1;
        place.pass(4 * HOUR).await;
        worker.process_due().await.unwrap();
    }

    assert_eq!(tries, 7 * 6 + 1, "one every four hours, until more than a week has gone by");
    assert!(worker.failures().is_empty());
}

// As many failures are remembered as there is room for. A hundred more stood before everything else, and were tried
// again without a pause.
#[tokio::test]
async fn a_look_ends_and_comes_to_every_notice_even_when_no_more_of_them_can_rest() {
    let place = Place::new().await;
    place.add_unreachable(place.older, "nobody").await;
    place.happen_to(place.older, NOTICES_MAX).await;
    place.happen().await;
    let worker = place.worker(FROM).await;
    let rests = RetryState { failures: 1, due_ms: i64::MAX };
    worker.failures().extend((0..FAILURES_MAX).map(|_| (place.context.id(), rests)));

    let looked = tokio::time::timeout(Duration::from_secs(60), worker.process_due()).await;

    looked.expect("it ends").unwrap();
    assert_eq!(place.recipients(), ["one@owners.example", "two@owners.example"]);
    assert_eq!(place.waiting(), NOTICES_MAX);
}
