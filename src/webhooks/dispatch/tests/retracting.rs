//! Deliveries of events that are retracted after their fan-out.

use super::receiver::Receiver;
use super::*;
use crate::base::id::EventId;
use crate::tables::EVENT_MESSAGES;
use crate::webhooks::retry::RETRY_DELAYS_MS;

const OK: Reply = Reply::Status(200, "");

async fn retract(context: &Context, event: EventId) {
    context.commit(move |tx| events::retract(tx, TEAM, Id::MIN, event)).await;
}

fn are_delivered(rows: &[DeliveryRow]) -> bool {
    rows.iter().all(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. }))
}

#[tokio::test]
async fn a_queued_delivery_of_a_retracted_event_is_deleted_and_the_next_one_is_sent() {
    let (directory, context) = Context::temporary();
    let mut receiver = Receiver::start(OK).await;
    endpoint(&context, &receiver.url()).await;
    record_events(&context, 2).await;
    fan_out::fan_out_batch(&context, TeamId::MIN, fan_out::BatchSize::Full).await.unwrap();
    let queued_events: Vec<EventId> = deliveries(&context).iter().map(|row| row.event).collect();
    let [retracted, other] = queued_events[..] else { panic!("{queued_events:?}") };

    retract(&context, retracted).await;
    let running = Running::over(directory, context, 0);

    let rows = running.until(|rows| rows.len() == 1 && are_delivered(rows)).await;
    assert_eq!(rows[0].event, other);
    assert_eq!(queued(&running.context), []);
    let sent = serde_json::from_slice::<serde_json::Value>(&receiver.next().await.body).unwrap();
    let message = running.context.read(|tx| tx.get(&EVENT_MESSAGES, &(TEAM, other))).unwrap();
    assert_eq!(sent, serde_json::from_str::<serde_json::Value>(&message.body).unwrap());
    assert!(receiver.pending().is_none());
}

#[tokio::test]
async fn a_delivery_that_was_attempted_before_the_retraction_is_completed() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 1).await;
    receiver.next().await;
    let rows = running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;

    retract(&running.context, rows[0].event).await;
    receiver.set_reply(OK);
    running.advance(Duration::from_millis(u64::try_from(RETRY_DELAYS_MS[0]).unwrap()));

    receiver.next().await;
    let rows = running.until(are_delivered).await;
    assert_eq!((rows.len(), rows[0].attempts.len()), (1, 2));
}

#[tokio::test]
async fn a_delivery_of_a_retracted_event_is_deleted_at_a_disabled_endpoint() {
    let (directory, context) = Context::temporary();
    let (id, _) = endpoint(&context, "http://127.0.0.1:9/").await;
    record_events(&context, 2).await;
    fan_out::fan_out_batch(&context, TeamId::MIN, fan_out::BatchSize::Full).await.unwrap();
    let events: Vec<EventId> = deliveries(&context).iter().map(|row| row.event).collect();
    let [retracted, other] = events[..] else { panic!("{events:?}") };
    retract(&context, retracted).await;
    let disable = move |tx: &WriteTx<'_>| {
        let row = find(tx, TEAM, id)?.unwrap();
        tx.put(&WEBHOOKS, &(TEAM, id), &WebhookRow { status: WebhookStatus::Disabled, ..row })
    };
    context.commit(disable).await;

    let running = Running::over(directory, context, 0);

    let rows = running.until(|rows| rows.iter().all(|row| exhausted(row) == Some(ExhaustedReason::Disabled))).await;
    assert_eq!(rows.iter().map(|row| row.event).collect::<Vec<_>>(), [other]);
}
