//! Changes of endpoints while deliveries are queued or in flight.

use super::receiver::Receiver;
use super::*;
use crate::webhooks::{StatusChange, WebhookChanges, Webhooks};

#[tokio::test]
async fn a_delivery_of_an_earlier_activation_is_not_sent() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 1).await;
    receiver.next().await;
    running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    let webhooks = Webhooks::new(running.context.clone(), running.notifier.clone(), UrlPolicy::default());
    for change in [StatusChange::Disable, StatusChange::Enable] {
        let changes = WebhookChanges { status: Some(change), ..WebhookChanges::default() };
        webhooks.update(TEAM, id, changes).await.unwrap();
    }
    receiver.set_reply(Reply::Status(200, ""));

    running.advance(Duration::from_secs(5));
    record_events(&running.context, 1).await;

    let rows = running
        .until(|rows| {
            rows.len() == 2 && rows.iter().all(|row| !matches!(row.state, WebhookDeliveryState::Queued { .. }))
        })
        .await;
    assert_eq!(exhausted(&rows[0]), Some(ExhaustedReason::Disabled));
    assert!(matches!(rows[1].state, WebhookDeliveryState::Delivered { .. }));
}

#[tokio::test]
async fn an_attempt_of_an_earlier_activation_does_not_make_a_failing_endpoint() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    let webhooks = Webhooks::new(running.context.clone(), running.notifier.clone(), UrlPolicy::default());
    let change = async |status| {
        let changes = WebhookChanges { status: Some(status), ..WebhookChanges::default() };
        webhooks.update(TEAM, id, changes).await.unwrap();
    };
    for (is_enabled_again, failing) in [(true, 0), (false, 1)] {
        record_events(&running.context, 3).await;
        for _ in 0..3 {
            receiver.next().await;
        }
        if is_enabled_again {
            change(StatusChange::Disable).await;
            change(StatusChange::Enable).await;
        }

        receiver.set_reply(DOWN);
        receiver.release(3);

        let attempted = if is_enabled_again { 3 } else { 6 };
        running.until(|rows| rows.iter().filter(|row| !row.attempts.is_empty()).count() == attempted).await;
        assert_eq!(webhooks.failing(TEAM).await.unwrap().len(), failing);
        receiver.set_reply(Reply::Held);
    }
}

#[tokio::test]
async fn a_deleted_endpoint_gets_no_request() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 1).await;
    receiver.next().await;
    running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    let delete = move |tx: &WriteTx<'_>| {
        tx.delete(&WEBHOOKS, &(TEAM, id))?;
        events::unsubscribe(tx, TEAM, id)
    };
    running.context.commit(delete).await;
    running.notifier.endpoint_changed(id);

    running.advance(Duration::from_secs(5));

    running.until(|rows| rows.iter().all(|row| exhausted(row) == Some(ExhaustedReason::Disabled))).await;
    assert_eq!(queued(&running.context), []);
    assert!(receiver.pending().is_none());
}

#[tokio::test]
async fn a_change_of_one_endpoint_delays_no_other() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    let (other, _) = endpoint(&running.context, "https://10.0.0.1/hook").await;
    record_events(&running.context, 9).await;
    for _ in 0..8 {
        receiver.next().await;
    }
    let lane = running.notifier.register_lane(WebhookId::MIN);

    (0..1_000).for_each(|_| running.notifier.endpoint_changed(other));

    assert_eq!(lane.endpoint_version(), 0);
    receiver.release(9);
    receiver.next().await;
    running
        .until(|rows| {
            rows.iter().filter(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. })).count() == 9
        })
        .await;
    assert_eq!(row(&running.context, id).status, WebhookStatus::Enabled);
}

#[tokio::test]
async fn a_cooldown_of_the_previous_url_does_not_apply_to_the_next() {
    let running = Running::start();
    let mut old = Receiver::start(Reply::Held).await;
    let mut new = Receiver::start(Reply::Status(200, "")).await;
    let (id, _) = endpoint(&running.context, &old.url()).await;
    record_events(&running.context, 8).await;
    for _ in 0..8 {
        old.next().await;
    }
    let moved = WebhookRow { endpoint: new.url(), ..row(&running.context, id) };
    running.context.commit(move |tx| tx.put(&WEBHOOKS, &(TEAM, id), &moved)).await;
    running.notifier.endpoint_changed(id);
    record_events(&running.context, 1).await;
    running.until(|rows| rows.len() == 9).await;

    old.set_reply(Reply::Status(429, "retry-after: 3600\r\n"));
    old.release(8);

    new.next().await;
    running.until(|rows| rows.iter().filter(|row| row.attempts.len() == 1).count() == 9).await;
}
