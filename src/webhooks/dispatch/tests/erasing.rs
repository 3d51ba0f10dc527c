//! Erasures while deliveries are queued or in flight.

use super::page::ClaimedDelivery;
use super::receiver::Receiver;
use super::settle::{DeliveryDisposition, DeliveryOutcome, settle};
use super::*;
use crate::tables::EVENT_MESSAGES;
use crate::webhooks::retry::ResponseInfo;
use crate::webhooks::store::WebhookAttemptRow;

#[tokio::test]
async fn a_body_that_was_erased_while_it_was_in_memory_is_sent_without_the_erased_text() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 20).await;
    for _ in 0..8 {
        receiver.next().await;
    }
    let events: Vec<_> = running.until(|rows| rows.len() == 20).await.iter().map(|row| row.event).collect();
    let erase = move |tx: &WriteTx<'_>| {
        events.iter().try_for_each(|event| {
            let mut row = tx.get(&EVENT_MESSAGES, &(TEAM, *event))?.unwrap();
            row.body = "{}".into();
            tx.put(&EVENT_MESSAGES, &(TEAM, *event), &row)
        })
    };
    running.context.commit(erase).await;
    running.context.event_bus.bump_erasure_generation();

    receiver.release(20);

    for _ in 0..12 {
        assert_eq!(receiver.next().await.body, b"{}");
    }
    let rows =
        running.until(|rows| rows.iter().all(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. }))).await;
    let responses = |text: &str| rows.iter().filter(|row| row.attempts[0].response == text).count();
    assert_eq!((responses("[erased]"), responses("ok")), (8, 12), "the first responses can quote the erased bodies");
}

#[tokio::test]
async fn a_response_to_a_body_that_was_erased_before_the_commit_is_not_stored() {
    let (_directory, context) = Context::temporary();
    let (webhook, _) = endpoint(&context, "https://hooks.example.com/").await;
    record_events(&context, 2).await;
    fan_out::fan_out_batch(&context, TeamId::MIN, fan_out::BatchSize::Full).await.unwrap();
    let erasure_generation = context.event_bus.erasure_generation();
    let outcomes: Vec<DeliveryOutcome> = queued(&context)
        .into_iter()
        .map(|(_, due_ms, delivery)| {
            let info = ResponseInfo { status: Some(200), retry_after: None };
            let attempt = WebhookAttemptRow {
                id: context.id(),
                sent_ms: 0,
                took_ms: 1,
                status: Some(200),
                response: "ok".into(),
            };
            let claimed = ClaimedDelivery { team: TEAM, delivery, due_ms: i64::try_from(due_ms).unwrap() };
            DeliveryOutcome {
                claimed,
                disposition: DeliveryDisposition::Attempted { attempt, info, erasure_generation },
            }
        })
        .collect();
    let settle_one = |number: usize| {
        let (writing, outcome) = (context.clone(), outcomes[number].clone());
        context.commit(move |tx| settle(tx, &writing, webhook, std::slice::from_ref(&outcome)).map(drop))
    };

    settle_one(0).await;
    context.event_bus.bump_erasure_generation();
    settle_one(1).await;

    let rows = deliveries(&context);
    let stored: Vec<&str> = rows.iter().map(|row| row.attempts[0].response.as_str()).collect();
    assert_eq!(stored, ["ok", "[erased]"]);
    assert!(rows.iter().all(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. })));
}
