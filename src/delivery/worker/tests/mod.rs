//! Workers with scripted servers, while the disk is full or works. In `times.rs`, the clock of the runtime is paused.
//! `claiming.rs` has claims of several lanes, and `composing.rs` messages that are composed before their turn.

mod claiming;
mod composing;
mod times;

use std::net::SocketAddr;
use std::sync::mpsc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::clock::utc_day;
use crate::base::id::{AttemptId, DomainId, EmailId, Id};
use crate::context::Context;
use crate::delivery::engine::tests::engine;
use crate::delivery::queue::tests::{ADA, TEAM, put_due};
use crate::delivery::queue::{Due, read_lanes};
use crate::delivery::schedule::StoredSite;
use crate::delivery::smtp::TlsPolicy;
use crate::delivery::smtp::tests::peer::{PIPELINING, Peer, Step, greeting};
use crate::delivery::source::Source;
use crate::delivery::transport::MailHost;
use crate::delivery::warm_up::Allowance;
use crate::domains;
use crate::domains::tests::add_verified;
use crate::emails::{EmailContent, RecipientKind, put_content};
use crate::notices::Notice;
use crate::store::tests::disk::Disk;
use crate::store::{Blob, NEXT, Order, Reads as _, StoreError, Table, WriteTx, name_hash};
use crate::tables::{ATTEMPTS, EMAILS, LEASES, NOTICES, WARM_UP};

/// The stored bytes of attempts.
const ATTEMPT_BYTES: Table<(EmailId, AttemptId), Blob> = Table::new(ATTEMPTS.name());
/// Replies to MAIL, RCPT and DATA.
const ACCEPTED: &str = "250 ok\r\n250 ok\r\n354 go\r\n";

/// Returns the first group of the first lane.
fn first_due(engine: &Engine) -> Due {
    engine.context.store.read_now::<_, StoreError>(|tx| read_lanes(tx, None, 1)).unwrap().remove(0)
}

/// Returns one server with these addresses.
fn servers(addresses: Vec<SocketAddr>) -> Servers {
    Servers::new("google".into(), vec![MailHost { name: "mx".into(), tls: TlsPolicy::Never, addresses }])
}

/// Reserves a session for this number of queued groups, which go to these servers.
fn reserve(engine: &Engine, groups: usize, servers: Servers, stored: &StoredSite) -> Slot {
    let first = first_due(engine);
    let (mut schedule, now) = (engine.schedule(), engine.now());
    (0..groups).for_each(|_| schedule.queued(&first, now));
    let lookup = schedule.next_lookup().unwrap();
    schedule.routed(&lookup, Arc::new(servers), stored, now);
    schedule.reserve_sessions(now).remove(0)
}

/// Returns the stored state of a site with a warm-up plan.
fn warming_up(context: &Context) -> StoredSite {
    let allowance = Some(Allowance::new(utc_day(context.now_ms()), Some(10), 0));
    StoredSite { allowance, ..StoredSite::default() }
}

/// Queues an email that can be composed. Returns the domain of its sender.
async fn queue_email(context: &Context) -> DomainId {
    queue_text(context, "Hello").await
}

/// Queues an email with this text. Returns the domain of its sender.
async fn queue_text(context: &Context, text: &str) -> DomainId {
    let (id, _) = put_due(context, &[(RecipientKind::To, ADA)]).await;
    let domain = add_verified(context, TEAM, "example.net").await;
    let (writing, text) = (context.clone(), Some(text.to_owned()));
    let put = move |tx: &WriteTx<'_>| {
        let mut row = tx.get(&EMAILS, &(TEAM, id))?.unwrap();
        row.domain = domain;
        tx.put(&EMAILS, &(TEAM, id), &row)?;
        put_content(tx, &writing, id, &EmailContent { text: text.clone(), ..EmailContent::default() })
    };
    context.store.write::<_, StoreError>(put).await.unwrap();
    domain
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

/// Returns the steps of a message that a server accepts.
fn accepted() -> [Step; 4] {
    [Step::Expect("DATA"), Step::Reply(ACCEPTED), Step::ExpectMessage, Step::Reply("250 2.0.0 Ok\r\n")]
}

/// Two messages of one session. The writer of the store is held while the outcome of the first one waits for it.
struct TwoMessages {
    disk: Disk,
    context: Context,
    engine: Arc<Engine>,
    hold: Option<Step>,
    /// Ends the hold when it is dropped.
    release: Option<mpsc::Sender<()>>,
}

impl TwoMessages {
    async fn new() -> Self {
        let disk = Disk::default();
        let context = Context::on_disk(&disk);
        queue_email(&context).await;
        queue_email(&context).await;
        let engine = engine(&context, &CancellationToken::new());
        let (release, released) = mpsc::channel();
        let hold = Some(hold_writer(&context, &engine, released));
        Self { disk, context, engine, hold, release: Some(release) }
    }

    /// Starts a server that continues with `steps` after the envelope of the second message, and a worker.
    fn start(&mut self, steps: impl IntoIterator<Item = Step>) -> (Peer, tokio::task::JoinHandle<()>) {
        let mut script = greeting(PIPELINING);
        script.extend([Step::Expect("DATA"), Step::Reply(ACCEPTED), Step::ExpectMessage]);
        script.extend(self.hold.take());
        script.extend([Step::Reply("250 2.0.0 first\r\n"), Step::Expect("DATA"), Step::Reply(ACCEPTED)]);
        script.extend(steps);
        let peer = Peer::new(script);
        let slot = reserve(&self.engine, 2, servers(vec![peer.address]), &StoredSite::default());
        (peer, self.engine.tasks.spawn(run(Arc::clone(&self.engine), slot)))
    }
}

/// Returns a step after which the writer applies no command until the other end of `released` is dropped.
fn hold_writer(context: &Context, engine: &Engine, released: mpsc::Receiver<()>) -> Step {
    let (store, tasks, runtime) = (context.store.clone(), engine.tasks.clone(), Handle::current());
    Step::Call(Box::new(move || {
        let (holds, is_held) = mpsc::channel();
        let released = Mutex::new(released);
        let hold = move |_: &WriteTx<'_>| {
            holds.send(()).expect("the step waits");
            sync::lock(&released).recv().unwrap_err();
            Ok::<_, StoreError>(())
        };
        tasks.spawn_on(async move { store.write(hold).await }, &runtime);
        is_held.recv().expect("the writer applies the command");
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_gets_the_next_message_only_after_the_outcome_of_the_last_one_is_stored() {
    let mut messages = TwoMessages::new().await;
    let (release, reading) = (messages.release.take(), messages.context.clone());
    let (counted, count) = tokio::sync::oneshot::channel();
    let (peer, running) = messages.start([
        Step::Call(Box::new(move || drop(release))),
        Step::ExpectMessage,
        Step::Call(Box::new(move || counted.send(leases(&reading)).unwrap())),
        Step::Reply("250 2.0.0 second\r\n"),
        Step::Expect("QUIT"),
    ]);

    let leases_at_second = count.await.unwrap();
    messages.engine.stop.cancel();
    running.await.unwrap();

    assert_eq!(leases_at_second, 1, "the outcome of the first message is stored");
    assert_eq!(leases(&messages.context), 0);
    assert!(messages.engine.leases.is_empty());
    peer.received();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_withdrawn_if_a_stop_ends_the_wait_for_the_outcome_before_it() {
    let mut messages = TwoMessages::new().await;
    let (stop, disk, release) = (messages.engine.stop.clone(), messages.disk.clone(), messages.release.take());
    let fill_and_stop = move || {
        disk.fill_after(0);
        stop.cancel();
        drop(release);
    };
    let (peer, running) = messages.start([Step::Call(Box::new(fill_and_stop)), Step::ExpectEndWithoutMessage]);

    running.await.unwrap();

    peer.received();
    assert!(messages.engine.leases.is_empty());
    messages.disk.mend();
    messages.context.store.available().await;
    assert_eq!(leases(&messages.context), 2, "the next start repeats the first message and sends the second one");
}

#[tokio::test]
async fn a_claim_that_fails_uses_nothing_of_the_allowance() {
    let disk = Disk::default();
    let context = Context::on_disk(&disk);
    let engine = engine(&context, &CancellationToken::new());
    put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let slot = reserve(&engine, 1, servers(Vec::new()), &warming_up(&context));

    disk.fill_after(0);
    run(Arc::clone(&engine), slot).await;

    assert_eq!(engine.sites()[0].warm_up, Some((0, 10)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_for_authentication_is_stored_with_the_domain_and_notifies_its_owners() {
    const REFUSAL: &str =
        "550-5.7.26 The sender of the mail for\r\n550 5.7.26 <ada@example.com> is unauthenticated\r\n";
    let disk = Disk::default();
    let context = Context::on_disk(&disk);
    let domain = queue_email(&context).await;
    let engine = engine(&context, &CancellationToken::new());
    let mut script = greeting(PIPELINING);
    script.extend([Step::Expect("DATA"), Step::Reply(ACCEPTED), Step::ExpectMessage]);
    script.extend([Step::Reply(REFUSAL), Step::WaitForEnd]);
    let peer = Peer::new(script);
    let slot = reserve(&engine, 1, servers(vec![peer.address]), &StoredSite::default());

    let running = engine.tasks.spawn(run(Arc::clone(&engine), slot));
    let refusal = async {
        loop {
            let row = context.store.read_now(|tx| domains::find(tx, TEAM, domain)).unwrap().unwrap();
            match row.refusal {
                Some(refusal) => break refusal,
                None => tokio::task::yield_now().await,
            }
        }
    };
    let refusal = tokio::time::timeout(Duration::from_secs(60), refusal).await.unwrap();
    engine.stop.cancel();
    running.await.unwrap();
    peer.received();

    assert_eq!((refusal.at_ms, refusal.host.as_deref()), (context.now_ms(), Some("mx")));
    assert_eq!(refusal.reply, "550 5.7.26 The sender of the mail for <[address]> is unauthenticated");
    let mut notices = Vec::new();
    let add = |_, row: crate::notices::NoticeRow| {
        notices.push(row.notice);
        NEXT
    };
    let (first, last) = ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX));
    context
        .store
        .read_now::<_, StoreError>(|tx| tx.scan_valid(&NOTICES, &first, &last, Order::Ascending, add))
        .unwrap();
    assert_eq!(notices, [Notice::DomainRefused { domain, name: "example.net".into(), refusal }]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_counts_for_the_warm_up_plan_of_its_only_source_address() {
    let (_directory, context) = Context::temporary();
    queue_email(&context).await;
    let engine = engine(&context, &CancellationToken::new());
    let mut script = greeting(PIPELINING);
    script.extend([
        Step::Expect("DATA"),
        Step::Reply(ACCEPTED),
        Step::ExpectMessage,
        Step::Reply("250 2.0.0 taken\r\n"),
        Step::Expect("QUIT"),
    ]);
    let peer = Peer::new(script);
    let source = Some(Source { address: [127, 0, 0, 1].into(), ehlo_name: "mail.example".into() });
    let slot = reserve(&engine, 1, Servers { source, ..servers(vec![peer.address]) }, &warming_up(&context));

    let running = engine.tasks.spawn(run(Arc::clone(&engine), slot));
    while sent(&context) == 0 && !running.is_finished() {
        tokio::task::yield_now().await;
    }
    engine.stop.cancel();
    running.await.unwrap();

    assert_eq!(sent(&context), 1);
    peer.received();
}

/// Returns the number of messages that count for the plan of 127.0.0.1.
fn sent(context: &Context) -> u32 {
    let key = (name_hash("google from 127.0.0.1"), utc_day(context.now_ms()));
    context.store.read_now::<_, StoreError>(|tx| tx.get(&WARM_UP, &key)).unwrap().map_or(0, |row| row.sent)
}

#[tokio::test]
async fn the_stored_attempt_is_smaller_than_its_transcript_and_readable() {
    const EHLO: &str = "250-mx.example.test at your service\r\n250-SIZE 157286400\r\n250-8BITMIME\r\n\
                        250-ENHANCEDSTATUSCODES\r\n250-PIPELINING\r\n250-CHUNKING\r\n250 SMTPUTF8\r\n";
    const REPLIES: &str = "250 2.1.0 OK a640c23a62f3a-aeb4f0ee5a2si81173066b.1034 - gsmtp\r\n\
                           250 2.1.5 OK a640c23a62f3a-aeb4f0ee5a2si81173066b.1034 - gsmtp\r\n\
                           354 Go ahead a640c23a62f3a-aeb4f0ee5a2si81173066b.1034 - gsmtp\r\n";
    const LAST: &str = "250 2.0.0 OK  1796299200 a640c23a62f3a-aeb4f0ee5a2si81173066b.1034 - gsmtp\r\n";
    let (_directory, context) = Context::temporary();
    queue_email(&context).await;
    let engine = engine(&context, &CancellationToken::new());
    let stop = engine.stop.clone();
    let mut script = greeting(EHLO);
    script.extend([Step::Expect("DATA"), Step::Reply(REPLIES), Step::ExpectMessage]);
    script.extend([Step::Call(Box::new(move || stop.cancel())), Step::Reply(LAST), Step::Expect("QUIT")]);
    let peer = Peer::new(script);

    let slot = reserve(&engine, 1, servers(vec![peer.address]), &StoredSite::default());
    run(Arc::clone(&engine), slot).await;

    let (first, last) = ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX));
    let (mut bytes, mut transcripts) = (Vec::new(), Vec::new());
    let read = |tx: &crate::store::ReadTx| {
        tx.scan(&ATTEMPT_BYTES, &first, &last, Order::Ascending, |_, row| {
            bytes.push(row.bytes().len());
            NEXT
        })?;
        tx.scan_valid(&ATTEMPTS, &first, &last, Order::Ascending, |_, row| {
            transcripts.push(row.transcript);
            NEXT
        })
    };
    context.store.read_now::<_, StoreError>(read).unwrap();
    let ([bytes], [transcript]) = (&bytes[..], &transcripts[..]) else { panic!("{bytes:?} {transcripts:?}") };
    assert!(*bytes < transcript.len(), "{bytes} bytes for {transcript}");
    for line in peer.received().iter().filter(|line| !line.contains('\n')) {
        let is_command = ["EHLO", "MAIL", "RCPT", "DATA"].iter().any(|verb| line.starts_with(verb));
        assert!(!is_command || transcript.contains(&format!("C: {line}\n")), "{line}: {transcript}");
    }
    for line in EHLO.lines().chain(REPLIES.lines()).chain(LAST.lines()) {
        assert!(transcript.contains(&format!("S: {line}\n")), "{line}: {transcript}");
    }
}
