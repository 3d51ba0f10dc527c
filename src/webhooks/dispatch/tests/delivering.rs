//! Deliveries with success.

use super::receiver::Receiver;
use super::*;
use crate::base::signature::{SignatureHeaders, verify};
use crate::webhooks::Webhooks;
use crate::webhooks::store::PreviousSecretRow;

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
async fn an_event_is_sent_with_a_signature_to_every_subscribed_endpoint() {
    let running = Running::start();
    let mut receivers = [Receiver::start(OK).await, Receiver::start(OK).await];
    let mut secrets = Vec::new();
    for receiver in &receivers {
        secrets.push(endpoint(&running.context, &receiver.url()).await.1);
    }

    record_events(&running.context, 1).await;

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
async fn the_next_process_sends_the_queue_of_the_last() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Status(500, "")).await;
    endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 3).await;
    for _ in 0..3 {
        receiver.next().await;
    }
    running.until(|rows| rows.iter().all(|row| row.counted == 1) && rows.len() == 3).await;
    let (directory, context) = running.stop().await;
    receiver.set_reply(OK);
    context.clock.advance(Duration::from_secs(5));

    let running = Running::over(directory, context, 0);

    running.until(|rows| are_delivered(rows) && rows.len() == 3).await;
}

#[tokio::test]
async fn a_replay_during_an_attempt_keeps_the_attempt_and_sends_the_delivery_again() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    let (webhook, _) = endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 1).await;
    let first = receiver.next().await;
    let (_, _, delivery) = queued(&running.context)[0];
    running.context.clock.advance(Duration::from_millis(1));
    let webhooks = Webhooks::new(running.context.clone(), running.notifier.clone(), UrlPolicy::default());

    webhooks.replay(TEAM, webhook, delivery).await.unwrap();
    receiver.release(2);

    assert_eq!(receiver.next().await.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(running.until(are_delivered).await[0].attempts.len(), 2);
    assert_eq!(queued(&running.context), []);
}

#[tokio::test]
async fn at_most_eight_requests_are_in_flight() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;

    record_events(&running.context, 50).await;

    for _ in 0..8 {
        receiver.next().await;
    }
    receiver.release(50);
    running.until(|rows| are_delivered(rows) && rows.len() == 50).await;
    assert_eq!(receiver.in_flight_max(), 8);
}

#[tokio::test]
async fn deliveries_start_in_the_order_of_their_due_times() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;
    // The first eight requests stay in flight, so that each release starts one more.
    record_events(&running.context, 8).await;
    for _ in 0..8 {
        receiver.next().await;
    }
    for _ in 0..5 {
        running.context.clock.advance(Duration::from_millis(1));
        record_events(&running.context, 1).await;
    }
    let expected: Vec<String> =
        running.until(|rows| rows.len() == 13).await.iter().skip(8).map(|row| row.event.to_string()).collect();

    let mut order = Vec::new();
    for _ in 0..5 {
        receiver.release(1);
        order.push(receiver.next().await.header("webhook-id").to_owned());
    }

    let mut sorted = order.clone();
    sorted.sort();
    assert_eq!(order, sorted, "delivery ids increase in the order of the events: {expected:?}");
}

#[tokio::test]
async fn during_an_overlap_both_secrets_sign_and_the_new_signature_is_first() {
    let running = Running::start();
    let mut receiver = Receiver::start(OK).await;
    let (id, old) = endpoint(&running.context, &receiver.url()).await;
    let new = WebhookSecret::generate();
    let mut rotated = row(&running.context, id);
    let expires_ms = running.context.now_ms() + 60_000;
    rotated.previous = Some(PreviousSecretRow { secret: rotated.secret, expires_ms });
    rotated.secret = seal_secret(&running.context.keyring, id, new.reveal());
    running.context.commit(move |tx| tx.put(&WEBHOOKS, &(TEAM, id), &rotated)).await;
    running.notifier.endpoint_changed(id);

    record_events(&running.context, 1).await;
    let received = receiver.next().await;

    let now_ms = running.context.now_ms();
    assert!(is_signed(&received, &old, now_ms) && is_signed(&received, &new, now_ms));
    assert_eq!(received.header("webhook-signature").split(' ').count(), 2);
    running.advance(Duration::from_secs(60));
    record_events(&running.context, 1).await;
    let received = receiver.next().await;
    let now_ms = running.context.now_ms();
    assert!(is_signed(&received, &new, now_ms) && !is_signed(&received, &old, now_ms));
}

#[tokio::test]
async fn a_replaced_secret_signs_no_later_request() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    let (id, old) = endpoint(&running.context, &receiver.url()).await;
    // Twelve deliveries are loaded with the old secret and not sent yet.
    record_events(&running.context, 20).await;
    for _ in 0..8 {
        assert!(is_signed(&receiver.next().await, &old, running.context.now_ms()));
    }
    let new = WebhookSecret::generate();
    let mut rotated = row(&running.context, id);
    rotated.secret = seal_secret(&running.context.keyring, id, new.reveal());
    running.context.commit(move |tx| tx.put(&WEBHOOKS, &(TEAM, id), &rotated)).await;
    running.notifier.endpoint_changed(id);

    receiver.release(20);

    for _ in 0..12 {
        assert!(is_signed(&receiver.next().await, &new, running.context.now_ms()));
    }
}

#[tokio::test]
async fn a_small_batch_queues_125_deliveries_and_a_full_batch_1000() {
    let (_directory, context) = Context::temporary();
    endpoint(&context, "https://hooks.example.com/").await;
    record_events(&context, 1_400).await;

    let first = fan_out::fan_out_batch(&context, TeamId::MIN, fan_out::BatchSize::Small).await.unwrap();
    assert_eq!((deliveries(&context).len(), first.is_outbox_empty), (125, false));
    let second = fan_out::fan_out_batch(&context, first.last_team, fan_out::BatchSize::Full).await.unwrap();
    assert_eq!((deliveries(&context).len(), second.is_outbox_empty), (1_125, false));
    let third = fan_out::fan_out_batch(&context, second.last_team, fan_out::BatchSize::Full).await.unwrap();
    assert_eq!((deliveries(&context).len(), third.is_outbox_empty), (1_400, true));
}
