use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::*;
use crate::audit::Actor;
use crate::base::id::Id;
use crate::delivery::QueueNotifier;
use crate::domains::{SenderDomainRow, SenderTracking};
use crate::emails::{Emails, SendBatch, SendEmail, SendError, Sender};
use crate::preferences::{LinkAudience, LinkSettings, PreferenceLinks};
use crate::store::name_hash;
use crate::tables::{EMAILS, IDEMPOTENCY, SENDER_DOMAINS};

const TEAM: TeamId = Id::from_bytes([1; 16]);
const OTHER: TeamId = TeamId::MAX;
const SENDER: Sender = Sender { team: TEAM, actor: Actor::CommandLine, key: None, domain: None };

/// Uses a key for the first time.
async fn settle(context: &Context, keys: &Idempotency, sender: TeamId, request: &IdempotentRequest) {
    let Ok(ReserveResult::First(Some(reservation))) = keys.reserve(sender, request).await else {
        panic!("the key is in use")
    };
    let claim = reservation.claim();
    context.commit(move |tx| claim.put(tx, &IdempotentResponse::default())).await;
}

/// Returns whether a request gets the response to an earlier one. Otherwise its key is released again.
async fn is_replayed(keys: &Idempotency, sender: TeamId, request: &IdempotentRequest) -> bool {
    matches!(keys.reserve(sender, request).await.unwrap(), ReserveResult::Replay(_))
}

/// Returns the keys of a process that has just started.
async fn started(context: &Context) -> Idempotency {
    let keys = Idempotency::new(context.clone());
    keys.load().await.unwrap();
    keys
}

fn callers_request(key: &str) -> IdempotentRequest {
    IdempotentRequest::new(IdempotentRoute::Send, key, [0; 32])
}

#[tokio::test]
async fn a_caller_key_lives_one_day_and_a_server_key_its_given_lifetime() {
    let (_directory, context) = Context::temporary();
    let keys = started(&context).await;
    let callers = callers_request("key");
    let instances = IdempotentRequest::of_instance(TEAM, "key", 8 * DAY_MS);
    settle(&context, &keys, TEAM, &callers).await;
    settle(&context, &keys, OTHER, &instances).await;

    for (hours, callers_lives, instances_lives) in [(23, true, true), (2, false, true), (8 * 24, false, false)] {
        context.clock.advance(Duration::from_secs(hours * 60 * 60));
        keys.purge().await.unwrap();

        // The keys are valid at once after a start, too.
        for keys in [&keys, &started(&context).await, &Idempotency::new(context.clone())] {
            assert_eq!(is_replayed(keys, TEAM, &callers).await, callers_lives, "{hours} hours later");
            for sender in [TEAM, OTHER] {
                assert_eq!(is_replayed(keys, sender, &instances).await, instances_lives, "{hours} hours later");
            }
            assert!(!is_replayed(keys, OTHER, &callers).await, "a key of a caller is valid for its team only");
        }
    }
    assert_eq!(context.keys(&IDEMPOTENCY).len(), 0, "expired rows are deleted");
}

#[tokio::test]
async fn a_key_keeps_its_lifetime_after_the_setting_was_lowered() {
    let (_directory, context) = Context::temporary();
    let earlier = started(&context).await.with_lifetime(720);
    settle(&context, &earlier, TEAM, &callers_request("key")).await;

    for (hours, lives) in [(0, true), (719, true), (2, false)] {
        context.clock.advance(Duration::from_secs(hours * 60 * 60));
        let keys = started(&context).await.with_lifetime(1);
        keys.purge().await.unwrap();
        // The second process has not read the stored keys yet.
        for keys in [keys, Idempotency::new(context.clone()).with_lifetime(1)] {
            assert_eq!(is_replayed(&keys, TEAM, &callers_request("key")).await, lives, "{hours} hours later");
            assert!(!is_replayed(&keys, TEAM, &callers_request("other")).await);
        }
    }
}

#[tokio::test]
async fn a_key_is_found_that_another_process_stored_with_a_longer_lifetime() {
    let (_directory, context) = Context::temporary();
    let short = started(&context).await;
    let long = started(&context).await.with_lifetime(720);
    settle(&context, &short, TEAM, &callers_request("other")).await;
    settle(&context, &long, TEAM, &callers_request("key")).await;

    // The process has not read the key of the other one.
    let ReserveResult::First(Some(reservation)) = short.reserve(TEAM, &callers_request("key")).await.unwrap() else {
        panic!("the process has not read the key of the other one")
    };
    let claim = reservation.claim();
    let found = context.commit(move |tx| claim.find(tx)).await;

    assert_eq!(found, Some(Ok(IdempotentResponse::default())));
}

#[tokio::test]
async fn a_key_of_this_server_does_not_extend_the_look_ups_of_callers() {
    let (_directory, context) = Context::temporary();
    let keys = started(&context).await;
    let instances = IdempotentRequest::of_instance(TEAM, "key", 8 * DAY_MS);
    let days = |request: &IdempotentRequest| {
        let key = keys.stored_key(TEAM, request, context.now_ms());
        context.read(|tx| key.stored_days(tx)).len()
    };
    settle(&context, &keys, OTHER, &instances).await;
    assert_eq!((days(&callers_request("key")), days(&instances)), (0, 9));

    settle(&context, &keys, TEAM, &callers_request("key")).await;

    assert_eq!((days(&callers_request("key")), days(&instances)), (2, 9));
}

#[tokio::test]
async fn a_key_is_found_after_the_clock_was_set_back_by_a_day() {
    let (_directory, context) = Context::temporary();
    let keys = started(&context).await;
    settle(&context, &keys, TEAM, &callers_request("key")).await;

    for earlier_ms in [1, 60_000, DAY_MS] {
        let now_ms = context.now_ms() - earlier_ms;
        let key = keys.stored_key(TEAM, &callers_request("key"), now_ms);

        assert!(lock(&keys.keys).filter.may_contain(&key));
        assert!(context.read(|tx| key.find(tx, now_ms)).is_some(), "{earlier_ms} ms earlier");
    }
}

#[tokio::test]
async fn a_key_is_reserved_while_its_first_request_runs() {
    let (_directory, context) = Context::temporary();
    let keys = started(&context).await;
    let other_payload = IdempotentRequest::new(IdempotentRoute::Send, "key", [1; 32]);
    let reservation = keys.reserve(TEAM, &callers_request("key")).await.unwrap();

    let conflict = async |request: &IdempotentRequest| match keys.reserve(TEAM, request).await {
        Err(ReserveError::Conflict(conflict)) => conflict,
        other => panic!("{other:?}"),
    };
    assert_eq!(conflict(&callers_request("key")).await, KeyConflict::Running);
    assert_eq!(conflict(&other_payload).await, KeyConflict::OtherPayload);

    drop(reservation);
    assert!(!is_replayed(&keys, TEAM, &callers_request("key")).await);
    assert!(lock(&keys.keys).running.is_empty());
}

#[tokio::test]
async fn a_corrupt_row_is_skipped_and_the_other_keys_are_found() {
    let (_directory, context) = Context::temporary();
    let keys = started(&context).await;
    for key in ["corrupt", "other"] {
        settle(&context, &keys, TEAM, &callers_request(key)).await;
    }
    let row = keys.stored_key(TEAM, &callers_request("corrupt"), context.now_ms()).new_row();
    context.corrupt(&IDEMPOTENCY, row).await;

    for keys in [keys, started(&context).await] {
        assert!(!is_replayed(&keys, TEAM, &callers_request("corrupt")).await);
        assert!(is_replayed(&keys, TEAM, &callers_request("other")).await);
    }
}

/// Returns the use cases of a process that has seen no key, and verifies the sender domain.
async fn process(context: &Context) -> Emails {
    let row = SenderDomainRow {
        id: Id::MIN,
        verified: true,
        tracked: false,
        ed25519: false,
        tracking: SenderTracking::default(),
    };
    context.commit(move |tx| tx.put(&SENDER_DOMAINS, &(TEAM, name_hash("example.com")), &row)).await;
    let settings = LinkSettings { public_url: "http://127.0.0.1".into(), audience: LinkAudience::Captured };
    let links = PreferenceLinks::new(context.keyring.clone(), settings);
    let keys = Idempotency::new(context.clone());
    lock(&keys.keys).filter.set_complete();
    Emails::new(context.clone(), QueueNotifier::default(), Arc::new(keys), TaskTracker::new(), links)
}

#[tokio::test]
async fn two_processes_that_use_a_key_at_once_accept_one_email() {
    let (_directory, context) = Context::temporary();
    let [one, two, three] = [process(&context).await, process(&context).await, process(&context).await];
    let reserve = async |emails: &Emails, payload| {
        let request = IdempotentRequest::new(IdempotentRoute::Send, "key", [payload; 32]);
        match emails.reserve(SENDER, Some(&request)).await.unwrap() {
            ReserveResult::First(reservation) => reservation,
            ReserveResult::Replay(response) => panic!("{response:?}"),
        }
    };
    // No process knows of the requests of the others.
    let reservations = [reserve(&one, 7).await, reserve(&two, 7).await, reserve(&three, 8).await];
    let [first, second, other_payload] = reservations;
    let accepted = one.send_all(SENDER, SendBatch::of(SendEmail::example()), first).await.unwrap();

    let replayed = two.send_all(SENDER, SendBatch::of(SendEmail::example()), second).await.unwrap();
    let refused = three.send_all(SENDER, SendBatch::of(SendEmail::example()), other_payload).await.unwrap_err();

    assert_eq!(replayed, accepted);
    assert!(matches!(refused.error, SendError::Key(KeyConflict::OtherPayload)), "{refused:?}");
    let emails: Vec<_> = context.keys(&EMAILS).into_iter().map(|(_, id)| id).collect();
    assert_eq!(emails, accepted.emails);
}

#[test]
fn a_million_keys_use_two_mebibytes_and_most_new_keys_are_recognized() {
    const KEYS: u32 = 1_000_000;
    let key = |number: u32| StoredKey::new(TEAM, &keys::hash(&[&number.to_be_bytes()]), 1_767_571_200_000, LIFETIME_MS);
    let mut filter = KeyFilter::default();
    assert!(filter.may_contain(&key(0)), "the stored keys are not known yet");
    filter.set_complete();
    let (day, _) = key(0).new_row();
    for number in 0..KEYS {
        // Mixed like a hash, and faster.
        let mixed = u128::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        filter.insert_stored((day, (mixed ^ (mixed >> 67)).to_be_bytes()));
    }
    for number in 0..1_000 {
        filter.insert(&key(number));
    }

    assert_eq!(filter.bytes(), 2 << 20);
    assert!((0..1_000).all(|number| filter.may_contain(&key(number))));
    let unrecognized = (1_000..11_000).filter(|number| filter.may_contain(&key(*number))).count();
    assert!((1..100).contains(&unrecognized), "{unrecognized}");
    filter.forget_before(utc_day(1_767_571_200_000 + LIFETIME_MS) + 1);
    assert_eq!(filter.bytes(), 0);
}
