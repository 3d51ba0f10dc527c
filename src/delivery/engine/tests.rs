//! Outcomes while the disk is full, the end of settlements at a stop, and attempts that are not made.

use super::*;
use crate::base::id::Id;
use crate::delivery::outcome::RecipientDisposition;
use crate::delivery::queue::tests::{ADA, TEAM, put_due, row};
use crate::delivery::queue::{Claimed, DueKey, LaneKey, claim, read_lanes, read_rows};
use crate::delivery::rates::SiteLimits;
use crate::delivery::rows::{Class, LeaseRow};
use crate::delivery::schedule::StoredSite;
use crate::delivery::session::SiteSession;
use crate::delivery::sessionless::{self, SessionlessReason};
use crate::delivery::smtp::TlsPolicy;
use crate::delivery::transport::{MailHost, NoRoute, Servers};
use crate::domains;
use crate::domains::tests::add_verified;
use crate::emails::{LastEvent, RecipientKind, RecipientState};
use crate::preferences::{LinkAudience, LinkSettings};
use crate::store::tests::disk::Disk;
use crate::store::{NodeId, Reads as _};
use crate::tables::{DUE, EMAILS, LEASES, NOTICES, SET_ASIDE_ROWS};

/// Returns settings without a receiver.
pub(in crate::delivery) fn settings(context: &Context) -> EngineSettings {
    let links = LinkSettings { public_url: "https://mail.example".into(), audience: LinkAudience::Captured };
    let defaults = SiteLimits {
        sessions_max: 1,
        session_messages_max: 100,
        messages_per_second: None,
        connections_per_minute: None,
    };
    EngineSettings {
        hostname: "mail.example".into(),
        routes: Routes::captured(([127, 0, 0, 1], 9).into()),
        schedule: RetrySchedule {
            delays: vec![Duration::from_secs(60)],
            expire_after: Duration::from_secs(3_600),
            expire_broadcasts_after: Duration::from_secs(3_600),
            confirm_after: Duration::from_secs(900),
        },
        sessions_max: 1,
        rates: Rates { defaults, single_sessions_max: 1, overrides: Vec::new(), warm_up: None },
        timeouts: Timeouts::default(),
        tls: TlsConfigs::new(),
        flow: Flow::Open,
        links: PreferenceLinks::new(context.keyring.clone(), links),
        record_refusal: crate::notices::record_domain_refusal,
    }
}

pub(in crate::delivery) fn engine(context: &Context, stop: &CancellationToken) -> Arc<Engine> {
    Engine::new(context.clone(), settings(context), QueueNotifier::default(), stop.clone())
}

/// Stores an email and leases its group.
async fn leased(context: &Context) -> Arc<Claimed> {
    let (_, keys) = put_due(context, &[(RecipientKind::To, ADA)]).await;
    let claiming = context.clone();
    Arc::new(context.commit(move |tx| claim(tx, &claiming, &keys)).await.remove(0))
}

fn delivered(claimed: &Arc<Claimed>) -> Settlement {
    let disposition = RecipientDisposition::Delivered { reply: "250 Taken".into(), complained: false };
    Settlement::uniform(Arc::clone(claimed), disposition, None)
}

/// Settles a group in a task, and waits until its outcome is in memory because the store rejected it.
async fn rejected(engine: &Arc<Engine>, claimed: &Arc<Claimed>) -> tokio::task::JoinHandle<bool> {
    let (settling, settlement) = (Arc::clone(engine), delivered(claimed));
    let task = engine.tasks.spawn(async move { settling.settle(settlement).await });
    while engine.waiting_outcomes.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    task
}

fn is_leased(context: &Context, claimed: &Claimed) -> bool {
    context.read(|tx| tx.contains(&LEASES, &(claimed.key.email, claimed.key.group)))
}

#[tokio::test]
async fn an_outcome_that_cannot_be_stored_waits_and_no_group_is_leased_until_it_is_stored() {
    let disk = Disk::default();
    let context = Context::on_disk(&disk);
    let engine = engine(&context, &CancellationToken::new());
    let claimed = leased(&context).await;
    assert!(engine.can_lease());

    disk.fill_after(0);
    let settling = rejected(&engine, &claimed).await;
    assert!(!engine.can_lease());
    disk.mend();
    context.store.available().await;
    assert!(!engine.can_lease(), "the outcome is not stored yet");

    assert!(settling.await.unwrap(), "the outcome is stored");
    assert!(engine.can_lease());
    assert!(!is_leased(&context, &claimed));
    let recipient = &row(&context, claimed.key.email).recipients[0];
    assert_eq!((recipient.state, recipient.last_event), (RecipientState::Settled, LastEvent::Delivered));
}

#[tokio::test]
async fn a_stop_tries_to_store_a_waiting_outcome_once_more() {
    for has_space in [true, false] {
        let disk = Disk::default();
        let context = Context::on_disk(&disk);
        let stop = CancellationToken::new();
        let engine = engine(&context, &stop);
        let claimed = leased(&context).await;
        disk.fill_after(0);
        let settling = rejected(&engine, &claimed).await;
        if has_space {
            disk.mend();
            context.store.available().await;
        }

        stop.cancel();

        assert_eq!(settling.await.unwrap(), has_space);
        disk.mend();
        context.store.available().await;
        assert_eq!(is_leased(&context, &claimed), !has_space, "the next start requeues a lease that is left");
    }
}

#[tokio::test]
async fn an_outcome_that_can_never_be_stored_does_not_stop_the_delivery() {
    let (_directory, context) = Context::temporary();
    let engine = engine(&context, &CancellationToken::new());
    let claimed = leased(&context).await;
    engine.leases.record(1, &[Arc::clone(&claimed)]);
    let id = claimed.key.email;
    let change = move |tx: &WriteTx<'_>| {
        let mut row = tx.get(&EMAILS, &(crate::delivery::queue::tests::TEAM, id))?.unwrap();
        row.recipients.clear();
        tx.put(&EMAILS, &(crate::delivery::queue::tests::TEAM, id), &row)
    };
    context.commit(change).await;

    // The settlement panics, because the email has no such recipient.
    assert!(!engine.settle(delivered(&claimed)).await);

    assert!(engine.can_lease() && engine.leases.abandoned().is_empty());
    engine.leases.end_worker(1);
    assert!(engine.leases.abandoned().is_empty(), "the message is not sent again in this process");
    assert!(is_leased(&context, &claimed), "the next start sends it again, marked as a possible duplicate");
}

// An outcome that was discarded still stored its refusal, and notified the owners of the domain.
#[tokio::test]
async fn a_refusal_for_authentication_is_stored_only_with_its_outcome() {
    for is_own in [true, false] {
        let (_directory, context) = Context::temporary();
        let engine = engine(&context, &CancellationToken::new());
        let domain = add_verified(&context, TEAM, "example.net").await;
        let mut claimed = Claimed::clone(leased(&context).await.as_ref());
        claimed.row.domain = domain;
        let lease_key = (claimed.key.email, claimed.key.group);
        if !is_own {
            // Another node has recovered the group and leased it again.
            let lease = move |tx: &WriteTx<'_>| {
                let lease = tx.get(&LEASES, &lease_key)?.unwrap();
                tx.put(&LEASES, &lease_key, &LeaseRow { node: NodeId::new(99), ..lease })
            };
            context.commit(lease).await;
        }
        let reply = "550 5.7.26 unauthenticated".to_owned();
        let refusal = DomainRefusal { at_ms: context.now_ms(), email: claimed.key.email, host: None, reply };

        engine.settle(Settlement { refusal: Some(refusal), ..delivered(&Arc::new(claimed)) }).await;

        let row = context.read(|tx| domains::find(tx, TEAM, domain)).unwrap();
        assert_eq!((row.refusal.is_some(), context.rows(&NOTICES).len()), (is_own, usize::from(is_own)));
    }
}

// No scan found a lane without a readable group, so that no claim set its rows aside.
#[tokio::test]
async fn a_scan_removes_the_groups_of_a_lane_without_a_readable_row_or_email() {
    let (_directory, context) = Context::temporary();
    let stop = CancellationToken::new();
    let engine = engine(&context, &stop);
    // More than one page of a scan has.
    for _ in 0..60 {
        let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
        context.corrupt(&DUE, keys[0].parts()).await;
        context.corrupt(&EMAILS, (TEAM, id)).await;
    }

    let removed = async {
        let is_empty = async {
            while !context.keys(&DUE).is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let removed = tokio::time::timeout(Duration::from_secs(60), is_empty).await;
        stop.cancel();
        removed
    };
    let (ran, removed) = tokio::join!(engine.run(), removed);

    ran.unwrap();
    removed.expect("the rows leave the queue");
    assert_eq!(context.rows(&SET_ASIDE_ROWS).len(), 60);
}

#[tokio::test]
async fn a_stop_ends_a_settlement_without_a_session_after_one_page() {
    let (_directory, context) = Context::temporary();
    let stop = CancellationToken::new();
    let engine = engine(&context, &stop);
    for _ in 0..60 {
        put_due(&context, &[(RecipientKind::To, ADA)]).await;
    }
    let first = context.read(|tx| read_lanes(tx, None, 1)).remove(0);
    engine.schedule().queued(&first, engine.now());
    let lookup = engine.schedule().next_lookup().unwrap();
    let taken = engine.schedule().unroutable(&lookup).remove(0);
    stop.cancel();

    let no_route = NoRoute { status: "5.1.10", message: "the domain accepts no mail".into() };
    sessionless::settle_lane(&engine, &taken, &SessionlessReason::Undeliverable(no_route)).await;

    let (lane, now_ms) = (first.key.lane, context.now_ms());
    let left = context.read(|tx| read_rows(tx, lane, None, now_ms, 100));
    assert_eq!(left.len(), 10, "the next start settles the others");
}

#[tokio::test]
async fn a_host_behind_the_last_address_that_is_tried_is_not_paused_as_if_it_were_tested() {
    let (_directory, context) = Context::temporary();
    let engine = engine(&context, &CancellationToken::new());
    let host = |name: &str| {
        let addresses = vec![([127, 0, 0, 1], 9).into()];
        MailHost { name: name.into(), tls: TlsPolicy::Never, addresses }
    };
    let servers = Arc::new(Servers::new("a.example".into(), ["a", "b", "c", "d"].map(host).to_vec()));
    let names = servers.hosts.iter().map(|host| host.health_name().into_owned()).collect::<Vec<_>>();
    let lane = LaneKey::new("a.example", Class::Transactional, Id::MIN);
    let due = Due {
        key: DueKey { lane, due_ms: 0, email: Id::MIN, group: 0 },
        team: Id::MIN,
        destination: "a.example".into(),
        vanished: false,
    };
    let slot = {
        let (mut schedule, now) = (engine.schedule(), engine.now());
        schedule.queued(&due, now);
        let lookup = schedule.next_lookup().unwrap();
        schedule.routed(&lookup, Arc::clone(&servers), &StoredSite::default(), now);
        // The last host failed some time ago.
        schedule.host_failed(&names[3], false, now);
        Mutex::new(schedule.reserve_sessions(now).remove(0))
    };
    context.clock.advance(Duration::from_secs(120));

    let opened = SiteSession::open_in(&mut None, &engine, &slot, &servers).await;

    assert!(opened.is_err());
    let (schedule, now) = (engine.schedule(), engine.now());
    let paused: Vec<bool> = names.iter().map(|name| schedule.is_host_paused(name, now)).collect();
    assert_eq!(paused, [true, true, true, false]);
}
