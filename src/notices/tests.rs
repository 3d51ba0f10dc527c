//! The worker over a store of its own, with the time turned by hand.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::told::{TellError, Told};
use super::worker::{Looked, NoticeWorker};
use super::{Notice, tell};
use crate::address::{EmailAddress, Mailbox};
use crate::context::Context;
use crate::delivery::QueueBell;
use crate::domains::SenderDomainRow;
use crate::emails::{Emails, Idempotency};
use crate::id::{Id, TeamId};
use crate::preferences::{LinkSettings, Links, Reach};
use crate::store::tables::{EMAILS, NOTICES, SENDER_DOMAINS};
use crate::store::{NEXT, Order, Reads as _, StoreError, WriteTx, name_hash};
use crate::suppressions::{self, Cause, Origin};
use crate::teams;
use crate::users::{self, Role};

struct Place {
    _directory: tempfile::TempDir,
    context: Context,
    team: TeamId,
}

impl Place {
    /// A team that may send from example.com, with two owners and a member.
    async fn new() -> Self {
        let (directory, context) = Context::temporary();
        let team = teams::create(&context, "Acme").await.unwrap().unwrap().id;
        for (address, role) in [("one", Role::Owner), ("two", Role::Owner), ("three", Role::Member)] {
            let address = EmailAddress::parse(&format!("{address}@owners.example")).unwrap();
            users::add(&context, team, address, Some(role)).await.unwrap();
        }
        let row = SenderDomainRow { id: context.id(), verified: true, tracked: false, ed25519: false };
        let put = move |tx: &WriteTx<'_>| tx.put(&SENDER_DOMAINS, &(team, name_hash("example.com")), &row);
        context.store.write::<_, StoreError>(put).await.unwrap();
        Self { _directory: directory, context, team }
    }

    /// A worker as a start of the process makes it: with nothing in memory.
    async fn worker(&self, from: Option<&str>) -> NoticeWorker {
        let idempotency = Arc::new(Idempotency::new(self.context.clone()));
        idempotency.load().await.unwrap();
        let settings = LinkSettings { public_url: "http://localhost".into(), reach: Reach::Captured };
        let links = Links::new(self.context.keyring.clone(), settings);
        let (bell, tasks) = (QueueBell::default(), TaskTracker::new());
        let emails = Emails::new(self.context.clone(), bell, idempotency, tasks, links);
        let from = from.map(|from| Mailbox::parse(from).unwrap());
        NoticeWorker::new(self.context.clone(), Arc::new(emails), from)
    }

    async fn happen(&self) {
        let (team, context) = (self.team, self.context.clone());
        let endpoint = "https://hooks.example/mail".to_owned();
        let notice = Notice::WebhookDisabled { webhook: Id::MIN, endpoint };
        let write = self.context.store.write::<_, StoreError>(move |tx| tell(tx, &context, team, &notice));
        write.await.unwrap();
    }

    fn recipients(&self) -> Vec<String> {
        let (team, mut recipients) = (self.team, Vec::new());
        let read = self.context.store.read_now::<_, StoreError>(|tx| {
            tx.scan(&EMAILS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, row| {
                recipients.extend(row.decode()?.recipients.into_iter().map(|recipient| recipient.mailbox));
                NEXT
            })
        });
        read.unwrap();
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
    let from = Some("Ringmail <notices@example.com>");

    let first = place.worker(from).await;
    let (key, row) = first.due().await.unwrap().remove(0);
    let told = first.tell_owners(key, row.as_ref().unwrap()).await.unwrap();
    assert_eq!(told, Told::Owners { told: 2, passed_over: 0 });
    assert_eq!(place.waiting(), 1);
    assert_eq!(place.worker(from).await.look().await.unwrap(), Looked::All);

    assert_eq!(place.recipients(), ["one@owners.example", "two@owners.example"]);
    assert_eq!(place.waiting(), 0);
}

#[tokio::test]
async fn a_suppressed_owner_is_passed_over() {
    let place = Place::new().await;
    let (team, context) = (place.team, place.context.clone());
    let address = EmailAddress::parse("one@owners.example").unwrap();
    let cause = Cause::listed(Origin::Manual, crate::events::Source::Api);
    let suppress = move |tx: &WriteTx<'_>| suppressions::add(tx, &context, team, &address, cause).map(drop);
    place.context.store.write::<_, StoreError>(suppress).await.unwrap();
    place.happen().await;

    place.worker(Some("notices@example.com")).await.look().await.unwrap();

    assert_eq!(place.recipients(), ["two@owners.example"]);
    assert_eq!(place.waiting(), 0);
}

#[tokio::test]
async fn without_a_sender_or_its_domain_the_log_alone_has_a_notice() {
    let place = Place::new().await;
    for from in [None, Some("notices@other.example")] {
        place.happen().await;

        place.worker(from).await.look().await.unwrap();

        assert_eq!(place.waiting(), 0, "{from:?}");
    }
    assert_eq!(place.recipients(), [""; 0]);
}

#[tokio::test]
async fn a_notice_that_cannot_be_told_waits_longer_each_time_and_goes_after_a_week() {
    let place = Place::new().await;
    place.happen().await;
    let worker = place.worker(None).await;
    let mut looks = 0;

    while let Some((key, _)) = worker.due().await.unwrap().first() {
        worker.put_off(*key, &TellError::Row(StoreError::Closed)).await.unwrap();
        assert!(worker.due().await.unwrap().is_empty(), "it waits");
        looks += 1;
        place.context.clock.advance(Duration::from_secs(4 * 60 * 60));
    }

    assert_eq!(place.waiting(), 0);
    assert_eq!(looks, 7 * 6 + 2, "one look every four hours, until more than a week has gone by");
    assert!(worker.troubles().is_empty());
}
