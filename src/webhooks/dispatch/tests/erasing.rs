//! Bodies that are erased while deliveries of them are under way.

use super::page::ClaimedDelivery;
use super::receiver::{Receiver, Reply};
use super::settle::{DeliveryDisposition, DeliveryOutcome, settle};
use super::*;
use crate::tables::EVENT_MESSAGES;
use crate::webhooks::WebhookDeliveryState;
use crate::webhooks::retry::ResponseInfo;
use crate::webhooks::store::WebhookAttemptRow;

#[tokio::test]
async fn a_body_that_was_erased_while_it_waited_in_memory_is_sent_as_it_is_then() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 20).await;
    for _ in 0..8 {
        receiver.next().await;
    }
    let events: Vec<_> = running.until(|rows| rows.len() == 20).await.iter().map(|row| row.event).collect();
    write(&running.context, move |tx| {
        events.iter().try_for_each(|event| {
            let mut row = tx.get(&EVENT_MESSAGES, &(TEAM, *event))?.unwrap();
            row.body = "{}".into();
            tx.put(&EVENT_MESSAGES, &(TEAM, *event), &row)
        })
    })
    .await;
    running.context.event_bus.bump_erasure_generation();

    receiver.go_on(20);

    for _ in 0..12 {
        assert_eq!(receiver.next().await.body, b"{}");
    }
    let rows =
        running.until(|rows| rows.iter().all(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. }))).await;
    let answers = |text: &str| rows.iter().filter(|row| row.attempts[0].response == text).count();
    assert_eq!((answers("[erased]"), answers("ok")), (8, 12), "what the first ones answered may quote what they got");
}

#[tokio::test]
async fn an_answer_to_a_body_that_was_erased_before_it_is_written_down_is_not_kept() {
    let (_directory, context) = Context::temporary();
    let (webhook, _) = endpoint(&context, "https://hooks.example.com/").await;
    happen(&context, 2).await;
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
        let (settling, outcome) = (context.clone(), outcomes[number].clone());
        write(&context, move |tx| settle(tx, &settling, webhook, std::slice::from_ref(&outcome)).map(drop))
    };

    settle_one(0).await;
    context.event_bus.bump_erasure_generation();
    settle_one(1).await;

    let rows = deliveries(&context);
    let kept: Vec<&str> = rows.iter().map(|row| row.attempts[0].response.as_str()).collect();
    assert_eq!(kept, ["ok", "[erased]"]);
    assert!(rows.iter().all(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. })));
}
