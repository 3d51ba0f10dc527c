//! Workers with scripted servers, while the disk is full or works.

use std::net::SocketAddr;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::clock::utc_day;
use crate::base::id::Id;
use crate::context::Context;
use crate::delivery::engine::tests::settings;
use crate::delivery::notifier::QueueNotifier;
use crate::delivery::queue::read_lanes;
use crate::delivery::queue::tests::{ADA, TEAM, put_due};
use crate::delivery::schedule::StoredSite;
use crate::delivery::smtp::TlsPolicy;
use crate::delivery::smtp::tests::peer::{PIPELINING, Peer, Step, greeting};
use crate::delivery::transport::MailHost;
use crate::delivery::warm_up::Allowance;
use crate::domains::tests::add_verified;
use crate::emails::{EmailContent, RecipientKind, put_content};
use crate::store::tests::disk::Disk;
use crate::store::{NEXT, Order, Reads as _};
use crate::tables::{EMAILS, LEASES};

fn engine(context: &Context) -> Arc<Engine> {
    Engine::new(context.clone(), settings(context), QueueNotifier::default(), CancellationToken::new())
}

/// Reserves a session for this number of queued groups, which go to these addresses of one server.
fn reserve(engine: &Engine, groups: usize, addresses: Vec<SocketAddr>, stored: &StoredSite) -> Slot {
    let first = engine.context.store.read_now::<_, StoreError>(|tx| read_lanes(tx, None, 1)).unwrap().remove(0);
    let (mut schedule, now) = (engine.schedule(), engine.now());
    (0..groups).for_each(|_| schedule.queued(&first, now));
    let lookup = schedule.next_lookup().unwrap();
    let hosts = vec![MailHost { name: "mx".into(), tls: TlsPolicy::Never, addresses }];
    schedule.routed(&lookup, Arc::new(Servers::new("google".into(), hosts)), stored, now);
    schedule.reserve_sessions(now).remove(0)
}

/// Queues an email that can be composed.
async fn queue_email(context: &Context) {
    let (id, _) = put_due(context, &[(RecipientKind::To, ADA)]).await;
    let domain = add_verified(context, TEAM, "example.net").await;
    let writing = context.clone();
    let put = move |tx: &WriteTx<'_>| {
        let mut row = tx.get(&EMAILS, &(TEAM, id))?.unwrap();
        row.domain = domain;
        tx.put(&EMAILS, &(TEAM, id), &row)?;
        put_content(tx, &writing, id, &EmailContent { text: Some("Hello".into()), ..EmailContent::default() })
    };
    context.store.write::<_, StoreError>(put).await.unwrap();
}

/// Returns the number of stored leases.
fn leases(context: &Context) -> usize {
    let mut leases = 0;
    let count = |_, _| {
        leases += 1;
        NEXT
    };
    let (first, last) = ((Id::MIN, 0), (Id::MAX, u16::MAX));
    let counting =
        context.store.read_now::<_, StoreError>(|tx| tx.scan_valid(&LEASES, &first, &last, Order::Ascending, count));
    counting.unwrap();
    leases
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_gets_the_next_message_only_after_the_outcome_of_the_last_one_is_stored() {
    const ACCEPTED: &str = "250 ok\r\n250 ok\r\n354 go\r\n";
    let disk = Disk::default();
    let context = Context::on_disk(&disk);
    queue_email(&context).await;
    queue_email(&context).await;
    let engine = engine(&context);
    let (filling, mending, reading) = (disk.clone(), disk.clone(), context.clone());
    let (counted, count) = tokio::sync::oneshot::channel();
    let mut script = greeting(PIPELINING);
    script.extend([
        Step::Expect("DATA"),
        Step::Reply(ACCEPTED),
        Step::ExpectMessage,
        Step::Call(Box::new(move || filling.fill_after(0))),
        Step::Reply("250 2.0.0 first\r\n"),
        Step::Expect("DATA"),
        Step::Reply(ACCEPTED),
        Step::Call(Box::new(move || mending.mend())),
        Step::ExpectMessage,
        Step::Call(Box::new(move || counted.send(leases(&reading)).unwrap())),
        Step::Reply("250 2.0.0 second\r\n"),
        Step::Expect("QUIT"),
    ]);
    let peer = Peer::new(script);
    let slot = reserve(&engine, 2, vec![peer.address], &StoredSite::default());

    let stop = engine.stop.clone();
    let running = engine.tasks.spawn(run(Arc::clone(&engine), slot));
    let leases_at_second = count.await.unwrap();
    stop.cancel();
    running.await.unwrap();

    assert_eq!(leases_at_second, 1, "the outcome of the first message is stored");
    assert_eq!(leases(&context), 0);
    assert!(engine.leases.is_empty());
    peer.received();
}

#[tokio::test]
async fn a_claim_that_fails_uses_nothing_of_the_allowance() {
    let disk = Disk::default();
    let context = Context::on_disk(&disk);
    let engine = engine(&context);
    put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let allowance = Allowance::new(utc_day(context.now_ms()), Some(10), 0);
    let slot = reserve(&engine, 1, Vec::new(), &StoredSite { row: None, allowance: Some(allowance) });

    disk.fill_after(0);
    run(Arc::clone(&engine), slot).await;

    assert_eq!(engine.sites()[0].warm_up, Some((0, 10)));
}
