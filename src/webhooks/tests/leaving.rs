//! What deleting an endpoint and retention take away.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::clock::DAY_MS;
use crate::tables::WEBHOOK_HEALTH;
use crate::teams;
use crate::webhooks::removal::ROWS_PER_COMMIT;

#[tokio::test]
async fn a_deleted_endpoint_is_gone_at_once_and_its_deliveries_soon_after() {
    let (_directory, context) = Context::temporary();
    let webhooks = Arc::new(webhooks(&context));
    let (gone, kept) = (create(&webhooks, TEAM).await, create(&webhooks, TEAM).await);
    let at_ms = context.now_ms();
    let many = ROWS_PER_COMMIT * 2;
    put_deliveries(&context, (TEAM, gone), WebhookDeliveryState::Queued { due_ms: at_ms }, many).await;
    let (ended, _) = put_deliveries(&context, (TEAM, gone), WebhookDeliveryState::Delivered { at_ms }, many).await[0];
    put_deliveries(&context, (TEAM, kept), WebhookDeliveryState::Queued { due_ms: at_ms }, 3).await;
    let health = HealthRow::default();
    write(&context, move |tx| tx.put(&WEBHOOK_HEALTH, &(TEAM, gone), &health)).await;
    assert!(!webhooks.delete(OTHER, gone).await.unwrap());
    assert_eq!(left(&context), (2 * many + 3, many + 3), "another team deletes nothing");
    webhooks.notifier().take();

    assert!(webhooks.delete(TEAM, gone).await.unwrap());

    assert!(!webhooks.delete(TEAM, gone).await.unwrap());
    assert!(webhooks.notifier().take().hints.contains(&gone));
    assert_eq!(left(&context), (2 * many + 3 - ROWS_PER_COMMIT, many + 3 - ROWS_PER_COMMIT));
    assert_eq!(heard(&context, TEAM).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [kept]);
    assert!(matches!(webhooks.delivery(TEAM, gone, ended).await, Err(DeliveryError::UnknownWebhook)));
    assert!(matches!(webhooks.replay(TEAM, gone, ended).await, Err(ReplayError::UnknownWebhook)));
    let health = context.store.read_now::<_, StoreError>(|tx| tx.get(&WEBHOOK_HEALTH, &(TEAM, gone))).unwrap();
    assert_eq!(health, None);
    run_until_left(&context, &webhooks, (3, 3)).await;
}

#[tokio::test]
async fn what_an_earlier_start_left_behind_is_found_at_the_next() {
    let (_directory, context) = Context::temporary();
    let webhooks = Arc::new(webhooks(&context));
    let at_ms = context.now_ms();
    let kept = create(&webhooks, TEAM).await;
    put_deliveries(&context, (TEAM, kept), WebhookDeliveryState::Queued { due_ms: at_ms }, 2).await;
    for _ in 0..2 {
        let gone: WebhookId = context.id();
        put_deliveries(&context, (OTHER, gone), WebhookDeliveryState::Queued { due_ms: at_ms }, 2).await;
        // Places in a queue that belong to no delivery any more.
        write(&context, move |tx| {
            tx.delete_range(&WEBHOOK_DELIVERIES, &(OTHER, gone, Id::MIN), &(OTHER, gone, Id::MAX), 1).map(drop)
        })
        .await;
        let queued: WebhookId = context.id();
        let id: WebhookDeliveryId = context.id();
        write(&context, move |tx| tx.put(&WEBHOOK_QUEUE, &(queued, 7, id), &QueueRow { team: TEAM, queued_ms: 0 }))
            .await;
    }
    assert_eq!(left(&context), (4, 8));

    run_until_left(&context, &webhooks, (2, 2)).await;
}

async fn run_until_left(context: &Context, webhooks: &Arc<Webhooks>, expected: (usize, usize)) {
    let stop = CancellationToken::new();
    let look = async {
        while left(context) != expected {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    let (cleaned, ()) = tokio::join!(Arc::clone(webhooks).run(stop.clone()), look);
    cleaned.unwrap();
}

#[tokio::test]
async fn retention_takes_deliveries_that_have_ended_and_bodies_that_nobody_waits_for() {
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
    let bodies = || count(&context, &EVENT_MESSAGES, ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX)));
    let before = |days: i64| context.now_ms() - days * DAY_MS;

    purge(&context, before(3)).await.unwrap();
    assert_eq!((left(&context), bodies()), ((1_204, 1), 1_204), "nothing is that old");

    purge(&context, before(1)).await.unwrap();
    assert_eq!(left(&context).0, 4, "the oldest have gone");

    context.clock.advance(Duration::from_secs(1));
    purge(&context, before(0)).await.unwrap();
    assert_eq!(left(&context), (1, 1), "what waits is kept");
    let shown = webhooks.delivery(team, webhook, waiting.0).await.unwrap();
    assert!(shown.payload.is_some(), "and so is what it tells");
    assert!(matches!(webhooks.delivery(team, webhook, recent.0).await, Err(DeliveryError::UnknownDelivery)));

    write(&context, move |tx| {
        let key = (team, webhook, waiting.0);
        let row = tx.get(&WEBHOOK_DELIVERIES, &key)?.expect("the delivery is kept");
        tx.put(&WEBHOOK_DELIVERIES, &key, &DeliveryRow { state: exhausted, ..row })
    })
    .await;
    purge(&context, before(0)).await.unwrap();
    assert_eq!((left(&context).0, bodies()), (0, 0));
}

#[tokio::test]
async fn what_does_not_read_stops_neither_retention_nor_the_removal_and_goes() {
    let (_directory, context) = Context::temporary();
    let webhooks = Arc::new(webhooks(&context));
    let team = teams::create(&context, "Example").await.unwrap().unwrap().id;
    let webhook = create(&webhooks, team).await;
    let at_ms = context.now_ms();
    let put = put_deliveries(&context, (team, webhook), WebhookDeliveryState::Delivered { at_ms }, 3).await;
    let (spoiled, (low, high)) = (put[1].0, (Id::from_bytes([0; 16]), Id::from_bytes([255; 16])));
    let (place, gone): (WebhookDeliveryId, WebhookId) = (context.id(), high);
    write(&context, move |tx| {
        tx.put_encoded(&WEBHOOK_DELIVERIES, &(team, webhook, spoiled), &Encoded::unreadable())?;
        tx.put_encoded(&WEBHOOK_QUEUE, &(low, 1, place), &Encoded::unreadable())?;
        tx.put(&WEBHOOK_QUEUE, &(gone, 1, place), &QueueRow { team, queued_ms: 0 })
    })
    .await;

    run_until_left(&context, &webhooks, (3, 0)).await;
    context.clock.advance(Duration::from_secs(1));
    purge(&context, context.now_ms()).await.unwrap();

    assert_eq!(left(&context), (0, 0));
    let bodies = count(&context, &EVENT_MESSAGES, ((Id::MIN, Id::MIN), (Id::MAX, Id::MAX)));
    assert_eq!(bodies, 0);
}

#[tokio::test]
async fn retention_takes_what_waits_without_a_place_and_secrets_that_sign_nothing_any_more() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let team = teams::create(&context, "Example").await.unwrap().unwrap().id;
    let webhook = create(&webhooks, team).await;
    let due_ms = context.now_ms();
    let lost = put_deliveries(&context, (team, webhook), WebhookDeliveryState::Queued { due_ms }, 1).await[0].0;
    let place = store::queue_key(webhook, due_ms, lost);
    write(&context, move |tx| tx.delete(&WEBHOOK_QUEUE, &place)).await;
    webhooks.rotate(team, webhook, Rotation { overlap_hours: 1, secret: None }).await.unwrap();
    let has_previous = || row(&context, team, webhook).previous.is_some();

    purge(&context, due_ms - 1).await.unwrap();
    assert_eq!((left(&context).0, has_previous()), (1, true));

    context.clock.advance(Duration::from_secs(3_600));
    purge(&context, context.now_ms()).await.unwrap();
    assert_eq!((left(&context).0, has_previous()), (0, false));
}
