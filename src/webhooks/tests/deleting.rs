//! Deletion by the removal of endpoints and by retention.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::clock::DAY_MS;
use crate::tables::WEBHOOK_HEALTH;
use crate::teams;
use crate::webhooks::removal::ROWS_PER_COMMIT;

#[tokio::test]
async fn a_deleted_endpoint_is_not_found_and_a_worker_deletes_its_deliveries() {
    let (_directory, context) = Context::temporary();
    let webhooks = Arc::new(webhooks(&context));
    let (deleted, other) = (create(&webhooks, TEAM).await, create(&webhooks, TEAM).await);
    let at_ms = context.now_ms();
    let many = ROWS_PER_COMMIT * 2;
    put_deliveries(&context, (TEAM, deleted), WebhookDeliveryState::Queued { due_ms: at_ms }, many).await;
    let (complete, _) =
        put_deliveries(&context, (TEAM, deleted), WebhookDeliveryState::Delivered { at_ms }, many).await[0];
    put_deliveries(&context, (TEAM, other), WebhookDeliveryState::Queued { due_ms: at_ms }, 3).await;
    let health = HealthRow::default();
    context.commit(move |tx| tx.put(&WEBHOOK_HEALTH, &(TEAM, deleted), &health)).await;
    assert!(!webhooks.delete(OTHER, deleted).await.unwrap());
    assert_eq!(rows_left(&context), (2 * many + 3, many + 3), "another team deletes nothing");
    webhooks.notifier().take();

    assert!(webhooks.delete(TEAM, deleted).await.unwrap());

    assert!(!webhooks.delete(TEAM, deleted).await.unwrap());
    assert!(webhooks.notifier().take().hints.contains(&deleted));
    assert_eq!(rows_left(&context), (2 * many + 3 - ROWS_PER_COMMIT, many + 3 - ROWS_PER_COMMIT));
    assert_eq!(subscriptions(&context, TEAM).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [other]);
    assert!(matches!(webhooks.delivery(TEAM, deleted, complete).await, Err(DeliveryError::UnknownWebhook)));
    assert!(matches!(webhooks.replay(TEAM, deleted, complete).await, Err(ReplayError::UnknownWebhook)));
    let health = context.read(|tx| tx.get(&WEBHOOK_HEALTH, &(TEAM, deleted)));
    assert_eq!(health, None);
    run_until_left(&context, &webhooks, (3, 3)).await;
}

#[tokio::test]
async fn orphans_of_an_earlier_process_are_deleted_at_the_start() {
    let (_directory, context) = Context::temporary();
    let webhooks = Arc::new(webhooks(&context));
    let at_ms = context.now_ms();
    let other = create(&webhooks, TEAM).await;
    put_deliveries(&context, (TEAM, other), WebhookDeliveryState::Queued { due_ms: at_ms }, 2).await;
    for _ in 0..2 {
        let deleted: WebhookId = context.id();
        put_deliveries(&context, (OTHER, deleted), WebhookDeliveryState::Queued { due_ms: at_ms }, 2).await;
        // Queue rows without a delivery.
        let (from, to) = ((OTHER, deleted, Id::MIN), (OTHER, deleted, Id::MAX));
        context.commit(move |tx| tx.delete_range(&WEBHOOK_DELIVERIES, &from, &to, 1)).await;
        let queued: WebhookId = context.id();
        let id: WebhookDeliveryId = context.id();
        let row = QueueRow { team: TEAM, queued_ms: 0 };
        context.commit(move |tx| tx.put(&WEBHOOK_QUEUE, &(queued, 7, id), &row)).await;
    }
    assert_eq!(rows_left(&context), (4, 8));

    run_until_left(&context, &webhooks, (2, 2)).await;
}

async fn run_until_left(context: &Context, webhooks: &Arc<Webhooks>, expected: (usize, usize)) {
    let stop = CancellationToken::new();
    let wait = async {
        while rows_left(context) != expected {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(Arc::clone(webhooks).run(stop.clone()), wait);
    ended.unwrap();
}

#[tokio::test]
async fn retention_deletes_complete_deliveries_and_messages_without_a_queued_delivery() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let team = teams::create(&context, "Example").await.unwrap().unwrap().id;
    let webhook = create(&webhooks, team).await;
    let at_ms = context.now_ms();
    let day = Duration::from_millis(DAY_MS.unsigned_abs());
    let exhausted = WebhookDeliveryState::Exhausted { at_ms, why: ExhaustedReason::Schedule };
    put_deliveries(&context, (team, webhook), exhausted, 1_200).await;
    context.clock.advance(day);
    let waiting =
        put_deliveries(&context, (team, webhook), WebhookDeliveryState::Queued { due_ms: i64::MAX / 2 }, 1).await[0];
    put_deliveries(&context, (team, webhook), WebhookDeliveryState::Delivered { at_ms }, 2).await;
    context.clock.advance(day);
    let recent = put_deliveries(&context, (team, webhook), exhausted, 1).await[0];
    let bodies = || context.keys(&EVENT_MESSAGES).len();
    let before = |days: i64| context.now_ms() - days * DAY_MS;

    purge(&context, before(3)).await.unwrap();
    assert_eq!((rows_left(&context), bodies()), ((1_204, 1), 1_204), "no delivery is that old");

    purge(&context, before(1)).await.unwrap();
    assert_eq!(rows_left(&context).0, 4, "the oldest are deleted");

    context.clock.advance(Duration::from_secs(1));
    purge(&context, before(0)).await.unwrap();
    assert_eq!(rows_left(&context), (1, 1), "a queued delivery is kept");
    let shown = webhooks.delivery(team, webhook, waiting.0).await.unwrap();
    assert!(shown.payload.is_some(), "and so is its message");
    assert!(matches!(webhooks.delivery(team, webhook, recent.0).await, Err(DeliveryError::UnknownDelivery)));

    let change = move |tx: &WriteTx<'_>| {
        let key = (team, webhook, waiting.0);
        let row = tx.get(&WEBHOOK_DELIVERIES, &key)?.expect("the delivery is kept");
        tx.put(&WEBHOOK_DELIVERIES, &key, &DeliveryRow { state: exhausted, ..row })
    };
    context.commit(change).await;
    purge(&context, before(0)).await.unwrap();
    assert_eq!((rows_left(&context).0, bodies()), (0, 0));
}

#[tokio::test]
async fn corrupt_rows_are_deleted_and_block_neither_retention_nor_removal() {
    let (_directory, context) = Context::temporary();
    let webhooks = Arc::new(webhooks(&context));
    let team = teams::create(&context, "Example").await.unwrap().unwrap().id;
    let webhook = create(&webhooks, team).await;
    let at_ms = context.now_ms();
    let put = put_deliveries(&context, (team, webhook), WebhookDeliveryState::Delivered { at_ms }, 3).await;
    let (corrupt, (low, high)) = (put[1].0, (Id::from_bytes([0; 16]), Id::from_bytes([255; 16])));
    let (queued, deleted): (WebhookDeliveryId, WebhookId) = (context.id(), high);
    context.corrupt(&WEBHOOK_DELIVERIES, (team, webhook, corrupt)).await;
    context.corrupt(&WEBHOOK_QUEUE, (low, 1, queued)).await;
    context.commit(move |tx| tx.put(&WEBHOOK_QUEUE, &(deleted, 1, queued), &QueueRow { team, queued_ms: 0 })).await;

    run_until_left(&context, &webhooks, (3, 0)).await;
    context.clock.advance(Duration::from_secs(1));
    purge(&context, context.now_ms()).await.unwrap();

    assert_eq!(rows_left(&context), (0, 0));
    let bodies = context.keys(&EVENT_MESSAGES).len();
    assert_eq!(bodies, 0);
}

#[tokio::test]
async fn retention_deletes_deliveries_without_a_queue_row_and_expired_secrets() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let team = teams::create(&context, "Example").await.unwrap().unwrap().id;
    let webhook = create(&webhooks, team).await;
    let due_ms = context.now_ms();
    let lost = put_deliveries(&context, (team, webhook), WebhookDeliveryState::Queued { due_ms }, 1).await[0].0;
    let queue_key = store::queue_key(webhook, due_ms, lost);
    context.commit(move |tx| tx.delete(&WEBHOOK_QUEUE, &queue_key)).await;
    webhooks.rotate(team, webhook, SecretRotation { overlap_hours: 1, secret: None }).await.unwrap();
    let has_previous = || row(&context, team, webhook).previous.is_some();

    purge(&context, due_ms - 1).await.unwrap();
    assert_eq!((rows_left(&context).0, has_previous()), (1, true));

    context.clock.advance(Duration::from_secs(3_600));
    purge(&context, context.now_ms()).await.unwrap();
    assert_eq!((rows_left(&context).0, has_previous()), (0, false));
}
