//! Deliveries that arrive.

use super::receiver::{Receiver, Reply};
use super::*;
use crate::base::signature::{SignatureHeaders, verify};
use crate::webhooks::store::PreviousSecretRow;
use crate::webhooks::{WebhookDeliveryState, Webhooks};

const OK: Reply = Reply::Status(200, "");

fn is_signed(received: &receiver::Received, secret: &WebhookSecret, now_ms: i64) -> bool {
    ["webhook", "svix"].iter().all(|family| {
        let [id, timestamp, signature] =
            ["id", "timestamp", "signature"].map(|part| received.header(&format!("{family}-{part}")));
        verify(secret, SignatureHeaders { id, timestamp, signatures: signature }, &received.body, now_ms).is_ok()
    })
}

fn are_delivered(rows: &[DeliveryRow]) -> bool {
    !rows.is_empty() && rows.iter().all(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. }))
}

#[tokio::test]
async fn an_event_is_posted_signed_to_every_endpoint_that_hears_of_it() {
    let running = Running::start();
    let mut receivers = [Receiver::start(OK).await, Receiver::start(OK).await];
    let mut secrets = Vec::new();
    for receiver in &receivers {
        secrets.push(endpoint(&running.context, &receiver.url()).await.1);
    }

    happen(&running.context, 1).await;

    let mut ids = Vec::new();
    for (receiver, secret) in receivers.iter_mut().zip(&secrets) {
        let received = receiver.next().await;
        assert!(is_signed(&received, secret, running.context.now_ms()));
        assert_eq!(received.header("content-type"), "application/json");
        let body: serde_json::Value = serde_json::from_slice(&received.body).unwrap();
        assert_eq!(body["type"], "suppression.added");
        assert_eq!(body["data"]["email"], "r0@example.net");
        ids.push(received.header("webhook-id").to_owned());
    }
    assert_ne!(ids[0], ids[1], "each endpoint has a delivery of its own");
    running.until(are_delivered).await;
    assert_eq!(queued(&running.context), []);
}

#[tokio::test]
async fn what_is_queued_when_the_process_stops_is_delivered_by_the_next() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Status(500, "")).await;
    endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 3).await;
    for _ in 0..3 {
        receiver.next().await;
    }
    running.until(|rows| rows.iter().all(|row| row.counted == 1) && rows.len() == 3).await;
    let (directory, context) = running.stop().await;
    receiver.answer(OK);
    context.clock.advance(Duration::from_secs(5));

    let running = Running::over(directory, context, 0);

    running.until(|rows| are_delivered(rows) && rows.len() == 3).await;
}

#[tokio::test]
async fn an_answer_that_a_replay_overtakes_is_kept_and_the_delivery_is_made_again() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    let (webhook, _) = endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 1).await;
    let first = receiver.next().await;
    let (_, _, delivery) = queued(&running.context)[0];
    running.context.clock.advance(Duration::from_millis(1));
    let webhooks = Webhooks::new(running.context.clone(), running.bell.clone(), UrlPolicy::default());

    webhooks.replay(TEAM, webhook, delivery).await.unwrap();
    receiver.go_on(2);

    assert_eq!(receiver.next().await.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(running.until(are_delivered).await[0].attempts.len(), 2);
    assert_eq!(queued(&running.context), []);
}

#[tokio::test]
async fn eight_requests_are_under_way_and_no_more() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;

    happen(&running.context, 50).await;

    for _ in 0..8 {
        receiver.next().await;
    }
    receiver.go_on(50);
    running.until(|rows| are_delivered(rows) && rows.len() == 50).await;
    assert_eq!(receiver.under_way_max(), 8);
}

#[tokio::test]
async fn deliveries_are_taken_up_in_the_order_of_their_due_times() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;
    // One at a time: the others of the lane's eight places are taken by those that come first.
    happen(&running.context, 8).await;
    for _ in 0..8 {
        receiver.next().await;
    }
    for _ in 0..5 {
        running.context.clock.advance(Duration::from_millis(1));
        happen(&running.context, 1).await;
    }
    let expected: Vec<String> =
        running.until(|rows| rows.len() == 13).await.iter().skip(8).map(|row| row.event.to_string()).collect();

    let mut order = Vec::new();
    for _ in 0..5 {
        receiver.go_on(1);
        order.push(receiver.next().await.header("webhook-id").to_owned());
    }

    let mut sorted = order.clone();
    sorted.sort();
    assert_eq!(order, sorted, "ids of deliveries are drawn in the order of their events: {expected:?}");
}

#[tokio::test]
async fn during_an_overlap_both_secrets_sign_the_new_one_first() {
    let running = Running::start();
    let mut receiver = Receiver::start(OK).await;
    let (id, old) = endpoint(&running.context, &receiver.url()).await;
    let new = WebhookSecret::generate();
    let mut rotated = row(&running.context, id);
    let expires_ms = running.context.now_ms() + 60_000;
    rotated.previous = Some(PreviousSecretRow { secret: rotated.secret, expires_ms });
    rotated.secret = seal_secret(&running.context.keyring, id, new.reveal());
    write(&running.context, move |tx| tx.put(&WEBHOOKS, &(TEAM, id), &rotated)).await;
    running.bell.endpoint_changed(id);

    happen(&running.context, 1).await;
    let received = receiver.next().await;

    let now_ms = running.context.now_ms();
    assert!(is_signed(&received, &old, now_ms) && is_signed(&received, &new, now_ms));
    assert_eq!(received.header("webhook-signature").split(' ').count(), 2);
    running.turn(Duration::from_secs(60));
    happen(&running.context, 1).await;
    let received = receiver.next().await;
    let now_ms = running.context.now_ms();
    assert!(is_signed(&received, &new, now_ms) && !is_signed(&received, &old, now_ms));
}

#[tokio::test]
async fn a_secret_that_has_been_dropped_signs_nothing_that_begins_after_it() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    let (id, old) = endpoint(&running.context, &receiver.url()).await;
    // Read with the old secret, and waiting for a place.
    happen(&running.context, 20).await;
    for _ in 0..8 {
        assert!(is_signed(&receiver.next().await, &old, running.context.now_ms()));
    }
    let new = WebhookSecret::generate();
    let mut rotated = row(&running.context, id);
    rotated.secret = seal_secret(&running.context.keyring, id, new.reveal());
    write(&running.context, move |tx| tx.put(&WEBHOOKS, &(TEAM, id), &rotated)).await;
    running.bell.endpoint_changed(id);

    receiver.go_on(20);

    for _ in 0..12 {
        assert!(is_signed(&receiver.next().await, &new, running.context.now_ms()));
    }
}

#[tokio::test]
async fn a_leisurely_step_queues_little_and_a_brisk_one_much() {
    let (_directory, context) = Context::temporary();
    endpoint(&context, "https://hooks.example.com/").await;
    happen(&context, 1_400).await;

    let first = fan_out::fan_out_batch(&context, TeamId::MIN, fan_out::BatchSize::Small).await.unwrap();
    assert_eq!((deliveries(&context).len(), first.is_outbox_empty), (125, false));
    let second = fan_out::fan_out_batch(&context, first.last_team, fan_out::BatchSize::Full).await.unwrap();
    assert_eq!((deliveries(&context).len(), second.is_outbox_empty), (1_125, false));
    let third = fan_out::fan_out_batch(&context, second.last_team, fan_out::BatchSize::Full).await.unwrap();
    assert_eq!((deliveries(&context).len(), third.is_outbox_empty), (1_400, true));
}
