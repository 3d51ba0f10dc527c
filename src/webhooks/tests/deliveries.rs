//! Reading deliveries, replays, and tests of endpoints.

use std::time::Duration;

use super::*;
use crate::base::id::WebhookAttemptId;
use crate::store::page::{Cursor, PageQuery};

const NEWEST: PageQuery<WebhookDeliveryId> = PageQuery { limit: 10, cursor: Cursor::Newest };

fn delivery_row(context: &Context, webhook: WebhookId, id: WebhookDeliveryId) -> DeliveryRow {
    context.read(|tx| tx.get(&WEBHOOK_DELIVERIES, &(TEAM, webhook, id))).unwrap()
}

/// Returns the due times in the queue of an endpoint.
fn queue(context: &Context, webhook: WebhookId) -> Vec<(u64, WebhookDeliveryId)> {
    let mut rows = Vec::new();
    for ((of, due_ms, id), row) in context.rows(&WEBHOOK_QUEUE) {
        if of == webhook {
            assert_eq!(row.team, TEAM);
            rows.push((due_ms, id));
        }
    }
    rows
}

fn states(at_ms: i64) -> [WebhookDeliveryState; 5] {
    [
        WebhookDeliveryState::Queued { due_ms: at_ms + 5_000 },
        WebhookDeliveryState::Delivered { at_ms },
        WebhookDeliveryState::Exhausted { at_ms, why: ExhaustedReason::Schedule },
        WebhookDeliveryState::Exhausted { at_ms, why: ExhaustedReason::Expired },
        WebhookDeliveryState::Exhausted { at_ms, why: ExhaustedReason::Disabled },
    ]
}

#[tokio::test]
async fn a_delivery_shows_its_status() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let webhook = create(&webhooks, TEAM).await;
    let at_ms = context.now_ms();
    let mut put = Vec::new();
    for state in states(at_ms) {
        put.extend(put_deliveries(&context, (TEAM, webhook), state, 1).await);
    }
    let shown = async |index: usize| webhooks.delivery(TEAM, webhook, put[index].0).await.unwrap();

    for (index, (status, next_attempt_ms)) in [
        (DeliveryStatus::Pending, Some(at_ms + 5_000)),
        (DeliveryStatus::Success, None),
        (DeliveryStatus::Failed, None),
        (DeliveryStatus::Failed, None),
        (DeliveryStatus::Failed, None),
    ]
    .into_iter()
    .enumerate()
    {
        let (id, event_type) = (put[index].0, EventType::EmailSent);
        let delivery = Delivery { id, event_type, at_ms: at_ms - 5, status, next_attempt_ms };
        assert_eq!(shown(index).await.delivery, delivery);
    }
    let _in_flight = [put[0].0, put[1].0].map(|id| webhooks.notifier().attempt_started(id));
    let (queued, complete) = (shown(0).await.delivery, shown(1).await.delivery);
    assert_eq!((queued.status, queued.next_attempt_ms), (DeliveryStatus::Attempting, None));
    assert_eq!(complete.status, DeliveryStatus::Success);
    let page = webhooks.deliveries(TEAM, webhook, NEWEST).await.unwrap();
    let ids: Vec<WebhookDeliveryId> = page.rows.iter().map(|delivery| delivery.id).collect();
    assert_eq!(ids, put.iter().rev().map(|(id, _)| *id).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_removed_attempt_stays_a_cursor_of_the_list() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let webhook = create(&webhooks, TEAM).await;
    let before = context.id();
    let (id, _) = put_deliveries(&context, (TEAM, webhook), states(0)[0], 1).await[0];
    let attempts: Vec<WebhookAttemptRow> = (0..ATTEMPTS_KEPT + 2)
        .map(|_| WebhookAttemptRow { id: context.id(), sent_ms: 0, took_ms: 0, status: None, response: String::new() })
        .collect();
    let after: WebhookAttemptId = context.id();
    let put = async |stored: &[WebhookAttemptRow]| {
        let row = DeliveryRow { attempts: stored.to_vec(), ..delivery_row(&context, webhook, id) };
        context.commit(move |tx| tx.put(&WEBHOOK_DELIVERIES, &(TEAM, webhook, id), &row)).await;
    };
    let page = async |cursor| {
        let page = webhooks.attempts(TEAM, webhook, id, PageQuery { limit: 2, cursor }).await;
        page.map(|page| (page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), page.has_more))
    };
    put(&attempts[2..]).await;

    for removed in &attempts[..2] {
        assert_eq!(page(Cursor::After(removed.id)).await.unwrap(), (vec![], false));
        let oldest = vec![attempts[3].id, attempts[2].id];
        assert_eq!(page(Cursor::Before(removed.id)).await.unwrap(), (oldest, true));
    }
    for never in [before, after] {
        assert!(page(Cursor::After(never)).await.is_err(), "the list never had this item");
    }
    // No attempt has been removed.
    put(&attempts[2..5]).await;
    assert!(page(Cursor::After(attempts[0].id)).await.is_err());
}

#[tokio::test]
async fn a_delivery_without_its_message_shows_no_payload_and_the_time_of_its_event() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let webhook = create(&webhooks, TEAM).await;
    let at_ms = context.now_ms();
    let (id, event) = put_deliveries(&context, (TEAM, webhook), WebhookDeliveryState::Delivered { at_ms }, 1).await[0];
    context.commit(move |tx| tx.delete(&EVENT_MESSAGES, &(TEAM, event))).await;

    let shown = webhooks.delivery(TEAM, webhook, id).await.unwrap();

    assert_eq!((shown.payload, shown.delivery.at_ms), (None, at_ms - 5));
    let refused = webhooks.replay(TEAM, webhook, id).await;
    assert!(matches!(refused, Err(ReplayError::PayloadDeleted)), "{refused:?}");
}

#[tokio::test]
async fn a_retracted_event_is_replayed_only_after_an_attempt() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let webhook = create(&webhooks, TEAM).await;
    let at_ms = context.now_ms();
    let given_up = WebhookDeliveryState::Exhausted { at_ms, why: ExhaustedReason::Disabled };
    let (id, event) = put_deliveries(&context, (TEAM, webhook), given_up, 1).await[0];
    context.commit(move |tx| events::retract(tx, TEAM, Id::MIN, event)).await;

    let refused = webhooks.replay(TEAM, webhook, id).await;

    assert!(matches!(refused, Err(ReplayError::Retracted)), "{refused:?}");
    let row = delivery_row(&context, webhook, id);
    assert_eq!(row.state, given_up);
    let attempt =
        WebhookAttemptRow { id: context.id(), sent_ms: at_ms, took_ms: 1, status: Some(500), response: String::new() };
    let row = DeliveryRow { attempts: vec![attempt], ..row };
    context.commit(move |tx| tx.put(&WEBHOOK_DELIVERIES, &(TEAM, webhook, id), &row)).await;
    webhooks.replay(TEAM, webhook, id).await.unwrap();
    assert_eq!(delivery_row(&context, webhook, id).state, WebhookDeliveryState::Queued { due_ms: at_ms });
}

#[tokio::test]
async fn a_list_reads_no_messages() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let webhook = create(&webhooks, TEAM).await;
    let at_ms = context.now_ms();
    let (id, event) = put_deliveries(&context, (TEAM, webhook), WebhookDeliveryState::Delivered { at_ms }, 1).await[0];
    context.corrupt(&EVENT_MESSAGES, (TEAM, event)).await;

    let page = webhooks.deliveries(TEAM, webhook, NEWEST).await.unwrap();

    assert_eq!(page.rows.iter().map(|row| (row.id, row.at_ms)).collect::<Vec<_>>(), [(id, at_ms - 5)]);
}

#[tokio::test]
async fn a_replay_queues_the_same_delivery_once_with_a_new_schedule() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    for state in states(context.now_ms()) {
        let webhook = create(&webhooks, TEAM).await;
        let (id, event) = put_deliveries(&context, (TEAM, webhook), state, 1).await[0];
        context.clock.advance(Duration::from_secs(60));
        let (at_ms, now_ms) = (delivery_row(&context, webhook, id).at_ms, context.now_ms());
        webhooks.notifier().take();

        webhooks.replay(TEAM, webhook, id).await.unwrap();
        webhooks.replay(TEAM, webhook, id).await.unwrap();

        let state = WebhookDeliveryState::Queued { due_ms: now_ms };
        let event_type = EventType::EmailSent;
        let row = DeliveryRow {
            event,
            event_type,
            at_ms,
            queued_ms: now_ms,
            activation: 0,
            state,
            counted: 0,
            attempts: Vec::new(),
        };
        assert_eq!(delivery_row(&context, webhook, id), row);
        assert_eq!(queue(&context, webhook), [(now_ms.unsigned_abs(), id)]);
        assert!(webhooks.notifier().take().hints.contains(&webhook));
    }
}

#[tokio::test]
async fn a_disabled_or_foreign_endpoint_gets_no_replay_and_no_test() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let webhook = create(&webhooks, TEAM).await;
    let at_ms = context.now_ms();
    let (id, _) = put_deliveries(&context, (TEAM, webhook), WebhookDeliveryState::Delivered { at_ms }, 1).await[0];
    let other = create(&webhooks, TEAM).await;

    let refused = webhooks.replay(OTHER, webhook, id).await;
    assert!(matches!(refused, Err(ReplayError::UnknownWebhook)), "{refused:?}");
    let refused = webhooks.replay(TEAM, other, id).await;
    assert!(matches!(refused, Err(ReplayError::UnknownDelivery)), "{refused:?}");
    let refused = webhooks.delivery(TEAM, other, id).await;
    assert!(matches!(refused, Err(DeliveryError::UnknownDelivery)), "{refused:?}");
    let disabled = WebhookChanges { status: Some(StatusChange::Disable), ..WebhookChanges::default() };
    webhooks.update(TEAM, webhook, disabled).await.unwrap();
    let refused = webhooks.replay(TEAM, webhook, id).await;
    assert!(matches!(refused, Err(ReplayError::Disabled)), "{refused:?}");
    let refused = webhooks.test(TEAM, webhook, None).await;
    assert!(matches!(refused, Err(TestWebhookError::Disabled)), "{refused:?}");
    let refused = webhooks.test(OTHER, webhook, None).await;
    assert!(matches!(refused, Err(TestWebhookError::NotFound)), "{refused:?}");
    assert_eq!(queue(&context, webhook), []);
}

#[tokio::test]
async fn a_test_is_queued_for_its_endpoint_only_and_of_a_subscribed_type() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let other = webhooks.create(TEAM, new(SubscribedEvents::All)).await.unwrap().0;
    for (subscription, wanted, expected) in [
        (SubscribedEvents::All, None, Some(EventType::EmailDelivered)),
        (SubscribedEvents::All, Some(EventType::QuotaPaused), Some(EventType::QuotaPaused)),
        (SubscribedEvents::All, Some(EventType::EmailPrefetched), None),
        (
            SubscribedEvents::Named(types(&[EventType::ContactDeleted, EventType::EmailOpened])),
            None,
            Some(EventType::EmailOpened),
        ),
        (
            SubscribedEvents::Named(types(&[EventType::EmailSent, EventType::EmailDelivered])),
            None,
            Some(EventType::EmailDelivered),
        ),
        (SubscribedEvents::Named(types(&[EventType::EmailSent])), Some(EventType::EmailOpened), None),
    ] {
        let (webhook, _) = webhooks.create(TEAM, new(subscription)).await.unwrap();
        let tested = webhooks.test(TEAM, webhook, wanted).await;

        let Some(event_type) = expected else {
            let wanted = wanted.unwrap();
            assert!(matches!(tested, Err(TestWebhookError::NotSubscribed(refused)) if refused == wanted));
            assert_eq!(queue(&context, webhook), []);
            continue;
        };
        let delivery = tested.unwrap();
        assert_eq!((delivery.event_type, delivery.status), (event_type, DeliveryStatus::Pending));
        let shown = webhooks.delivery(TEAM, webhook, delivery.id).await.unwrap();
        assert_eq!(shown.delivery, delivery);
        assert_eq!(shown.payload, Some(events::sample(event_type, context.now_ms())));
        assert_eq!(queue(&context, webhook), [(context.now_ms().unsigned_abs(), delivery.id)]);
    }
    assert_eq!(queue(&context, other), []);
}
