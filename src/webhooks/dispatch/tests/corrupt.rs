//! Corrupt rows.

use super::receiver::Receiver;
use super::*;
use crate::tables::{EVENT_MESSAGES, WEBHOOK_HEALTH};
use crate::teams::{self, Team};

#[tokio::test]
async fn a_corrupt_message_delays_no_other() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 9).await;
    for _ in 0..8 {
        receiver.next().await;
    }
    let last = running.until(|rows| rows.len() == 9).await[8].event;
    running.context.corrupt(&EVENT_MESSAGES, (TEAM, last)).await;
    running.context.event_bus.bump_erasure_generation();

    receiver.release(9);

    let rows =
        running.until(|rows| rows.iter().all(|row| !matches!(row.state, WebhookDeliveryState::Queued { .. }))).await;
    assert_eq!(exhausted(&rows[8]), Some(ExhaustedReason::PayloadMissing));
    assert_eq!(queued(&running.context), []);
}

#[tokio::test]
async fn a_corrupt_health_row_is_replaced() {
    let running = Running::start();
    let receiver = Receiver::start(Reply::Status(200, "")).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    running.context.corrupt(&WEBHOOK_HEALTH, (TEAM, id)).await;

    record_events(&running.context, 1).await;

    running.until(|rows| rows.iter().any(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. }))).await;
}

#[tokio::test]
async fn a_corrupt_endpoint_stops_no_other_and_its_attempts_fail() {
    let running = Running::start();
    let mut live = Receiver::start(Reply::Status(200, "")).await;
    let (broken, _) = endpoint(&running.context, "https://hooks.example.com/").await;
    endpoint(&running.context, &live.url()).await;
    running.context.corrupt(&WEBHOOKS, (TEAM, broken)).await;

    record_events(&running.context, 1).await;

    live.next().await;
    let rows = running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    let failed = rows.iter().find(|row| row.counted == 1).unwrap();
    assert!(failed.attempts[0].response.contains("is corrupt"), "{}", failed.attempts[0].response);
}

#[tokio::test]
async fn the_delivery_of_a_corrupt_queue_row_is_found_and_sent() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    endpoint(&running.context, &receiver.url()).await;
    let team = Team { id: TEAM, name: "Example".into(), created_ms: 0 };
    running.context.commit(move |tx| teams::put(tx, &team)).await;
    record_events(&running.context, 1).await;
    receiver.next().await;
    running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    running.context.corrupt(&WEBHOOK_QUEUE, queued(&running.context)[0]).await;
    receiver.set_reply(Reply::Status(200, ""));

    running.advance(Duration::from_secs(5));

    running.until(|rows| matches!(rows[0].state, WebhookDeliveryState::Delivered { .. })).await;
    assert_eq!(queued(&running.context), []);
}
