//! Deliveries that do not arrive at once, or at all.

use super::receiver::{Receiver, Reply};
use super::*;
use crate::notices::Notice;
use crate::store::Encoded;
use crate::tables::{EVENT_MESSAGES, EVENT_OUTBOX, EVENT_SUBSCRIPTIONS, WEBHOOK_HEALTH};
use crate::teams::{self, Team};
use crate::webhooks::retry::RETRY_DELAYS_MS;
use crate::webhooks::{ExhaustedReason, StatusChange, WebhookChanges, WebhookDeliveryState, Webhooks};

const HOUR_MS: i64 = 60 * 60 * 1_000;
const DOWN: Reply = Reply::Status(503, "");

fn exhausted(row: &DeliveryRow) -> Option<ExhaustedReason> {
    match row.state {
        WebhookDeliveryState::Exhausted { at_ms: _, why } => Some(why),
        WebhookDeliveryState::Queued { .. } | WebhookDeliveryState::Delivered { .. } => None,
    }
}

fn milliseconds(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap())
}

#[tokio::test]
async fn a_receiver_that_is_down_is_asked_at_every_rung_of_the_ladder_and_at_no_other_time() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    endpoint(&running.context, &receiver.url()).await;
    let began_ms = running.context.now_ms();
    happen(&running.context, 1).await;

    let mut ids = vec![receiver.next().await.header("webhook-id").to_owned()];
    for (rung, delay_ms) in (1..).zip(RETRY_DELAYS_MS) {
        let due_ms = running.context.now_ms() + delay_ms;
        running.until(|rows| rows.iter().any(|row| row.counted == rung)).await;
        assert_eq!(deliveries(&running.context)[0].state, WebhookDeliveryState::Queued { due_ms });
        running.turn(milliseconds(delay_ms));
        ids.push(receiver.next().await.header("webhook-id").to_owned());
    }

    let rows = running.until(|rows| rows.iter().all(|row| exhausted(row).is_some())).await;
    assert_eq!(exhausted(&rows[0]), Some(ExhaustedReason::Schedule));
    let sent: Vec<i64> = rows[0].attempts.iter().map(|attempt| attempt.sent_ms - began_ms).collect();
    let rungs: Vec<i64> = std::iter::once(0)
        .chain(RETRY_DELAYS_MS)
        .scan(0, |at_ms, delay_ms| {
            *at_ms += delay_ms;
            Some(*at_ms)
        })
        .collect();
    assert_eq!(sent, rungs);
    ids.dedup();
    assert_eq!(ids.len(), 1, "every attempt carries the same id");
    assert!(receiver.unasked().is_none());
    assert_eq!(queued(&running.context), []);
}

#[tokio::test]
async fn a_429_that_says_when_is_waited_for_and_does_not_count() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Status(429, "retry-after: 1800\r\n")).await;
    endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 1).await;

    for _ in 0..10 {
        let asked_ms = running.context.now_ms();
        receiver.next().await;
        let waits = move |rows: &[DeliveryRow]| {
            rows.iter().any(|row| row.state == (WebhookDeliveryState::Queued { due_ms: asked_ms + 1_800_000 }))
        };
        let rows = running.until(waits).await;
        assert_eq!(rows[0].counted, 0);
        running.turn(Duration::from_secs(1_800));
    }
    receiver.answer(Reply::Status(200, ""));
    running.turn(Duration::from_secs(1_800));

    running.until(|rows| matches!(rows[0].state, WebhookDeliveryState::Delivered { .. })).await;
}

#[tokio::test]
async fn what_is_not_delivered_within_a_day_is_dropped() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Status(429, "retry-after: 3600\r\n")).await;
    endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 1).await;

    for hours in 1..=24 {
        receiver.next().await;
        running.until(|rows| rows[0].attempts.len() == hours.min(16)).await;
        running
            .until(
                |rows| !matches!(rows[0].state, WebhookDeliveryState::Queued { due_ms } if due_ms <= running.context.now_ms()),
            )
            .await;
        running.turn(Duration::from_secs(3_600));
    }

    let rows = running.until(|rows| exhausted(&rows[0]).is_some()).await;
    assert_eq!(exhausted(&rows[0]), Some(ExhaustedReason::Expired));
    assert_eq!(rows[0].attempts.len(), 16, "the last attempts are kept");
    assert!(receiver.unasked().is_none());
}

#[tokio::test]
async fn twenty_deliveries_in_vain_disable_the_endpoint_and_its_owners_are_told() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 25).await;
    for delay_ms in RETRY_DELAYS_MS {
        let now_ms = running.context.now_ms();
        running
            .until(|rows| {
                rows.len() == 25
                    && rows
                        .iter()
                        .all(|row| matches!(row.state, WebhookDeliveryState::Queued { due_ms } if due_ms > now_ms))
            })
            .await;
        running.turn(milliseconds(delay_ms));
    }

    let rows = running.until(|rows| rows.iter().all(|row| exhausted(row).is_some())).await;

    assert_eq!(row(&running.context, id).status, WebhookStatus::AutoDisabled);
    let of = |why| rows.iter().filter(|row| exhausted(row) == Some(why)).count();
    assert!(of(ExhaustedReason::Schedule) >= 20);
    assert_eq!(of(ExhaustedReason::Schedule) + of(ExhaustedReason::Disabled), 25);
    let url = receiver.url();
    let told = [
        Notice::WebhookFailing { webhook: id, endpoint: url.clone() },
        Notice::WebhookDisabled { webhook: id, endpoint: url },
    ];
    assert_eq!(notices(&running.context), told);
    assert_eq!(queued(&running.context), []);
    // What happens while it is disabled is not written down for it.
    while receiver.unasked().is_some() {}
    happen(&running.context, 1).await;
    let heard = running.context.store.read_now::<_, StoreError>(|tx| {
        let written = tx.contains(&EVENT_SUBSCRIPTIONS, &(TEAM,))?;
        let mut waiting = 0;
        tx.scan(&EVENT_OUTBOX, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX), Order::Ascending, |_, _| {
            waiting += 1;
            NEXT
        })?;
        Ok((written, waiting))
    });
    assert_eq!(heard.unwrap(), (false, 0));
    assert_eq!(deliveries(&running.context).len(), 25);
}

#[tokio::test]
async fn what_was_queued_before_an_endpoint_was_enabled_again_is_not_delivered() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 1).await;
    receiver.next().await;
    running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    let webhooks = Webhooks::new(running.context.clone(), running.bell.clone(), UrlPolicy::default());
    for switch in [StatusChange::Disable, StatusChange::Enable] {
        let changes = WebhookChanges { switch: Some(switch), ..WebhookChanges::default() };
        webhooks.update(TEAM, id, changes).await.unwrap();
    }
    receiver.answer(Reply::Status(200, ""));

    running.turn(Duration::from_secs(5));
    happen(&running.context, 1).await;

    let rows = running
        .until(|rows| {
            rows.len() == 2 && rows.iter().all(|row| !matches!(row.state, WebhookDeliveryState::Queued { .. }))
        })
        .await;
    assert_eq!(exhausted(&rows[0]), Some(ExhaustedReason::Disabled));
    assert!(matches!(rows[1].state, WebhookDeliveryState::Delivered { .. }));
}

#[tokio::test]
async fn an_endpoint_that_hangs_keeps_no_other_waiting() {
    let running = Running::start();
    let hanging = Receiver::start(Reply::Held).await;
    let mut live = Receiver::start(Reply::Status(200, "")).await;
    endpoint(&running.context, &hanging.url()).await;
    endpoint(&running.context, &live.url()).await;

    happen(&running.context, 100).await;

    for _ in 0..100 {
        live.next().await;
    }
    assert_eq!(hanging.under_way_max(), 8);
}

#[tokio::test]
async fn a_connection_that_is_closed_is_an_attempt_that_failed() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Close).await;
    endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 1).await;
    receiver.next().await;

    let rows = running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;

    let attempt = &rows[0].attempts[0];
    assert_eq!(attempt.status, None);
    assert!(!attempt.response.is_empty());
}

#[tokio::test]
async fn a_url_that_is_not_allowed_any_more_is_an_attempt_without_a_request() {
    let running = Running::start();
    endpoint(&running.context, "https://10.0.0.1/hook").await;

    happen(&running.context, 1).await;

    let rows = running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    assert!(rows[0].attempts[0].response.contains("private"), "{}", rows[0].attempts[0].response);
}

#[tokio::test]
async fn an_endpoint_that_is_deleted_gets_nothing_more() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 1).await;
    receiver.next().await;
    running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    write(&running.context, move |tx| {
        tx.delete(&WEBHOOKS, &(TEAM, id))?;
        events::unsubscribe(tx, TEAM, id)
    })
    .await;
    running.bell.endpoint_changed(id);

    running.turn(Duration::from_secs(5));

    running.until(|rows| rows.iter().all(|row| exhausted(row) == Some(ExhaustedReason::Disabled))).await;
    assert_eq!(queued(&running.context), []);
    assert!(receiver.unasked().is_none());
}

#[tokio::test]
async fn what_waits_while_an_endpoint_rests_is_dropped_after_its_day_and_not_sent() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 30).await;
    for _ in 0..30 {
        receiver.next().await;
    }
    running.until(|rows| rows.len() == 30 && rows.iter().all(|row| row.counted == 1)).await;
    // Half an hour before the end of their day the first answers ask for an hour.
    receiver.answer(Reply::Status(429, "retry-after: 3600\r\n"));
    running.turn(milliseconds(23 * HOUR_MS + HOUR_MS / 2));
    receiver.next().await;
    running.until(|rows| rows.iter().any(|row| row.attempts.len() == 2)).await;

    running.turn(milliseconds(HOUR_MS));

    let rows = running.until(|rows| rows.iter().all(|row| exhausted(row).is_some())).await;
    assert!(rows.iter().all(|row| exhausted(row) == Some(ExhaustedReason::Expired)));
    let is_in_time =
        |row: &DeliveryRow| row.attempts.iter().all(|attempt| attempt.sent_ms < row.queued_ms + 24 * HOUR_MS);
    assert!(rows.iter().all(is_in_time));
}

#[tokio::test]
async fn a_change_of_one_endpoint_holds_up_no_other() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    let (other, _) = endpoint(&running.context, "https://10.0.0.1/hook").await;
    happen(&running.context, 9).await;
    for _ in 0..8 {
        receiver.next().await;
    }
    let watched = running.bell.register_lane(WebhookId::MIN);

    (0..1_000).for_each(|_| running.bell.endpoint_changed(other));

    assert_eq!(watched.endpoint_version(), 0);
    receiver.go_on(9);
    receiver.next().await;
    running
        .until(|rows| {
            rows.iter().filter(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. })).count() == 9
        })
        .await;
    assert_eq!(row(&running.context, id).status, WebhookStatus::Enabled);
}

#[tokio::test]
async fn a_body_that_does_not_read_holds_up_no_other() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 9).await;
    for _ in 0..8 {
        receiver.next().await;
    }
    let last = running.until(|rows| rows.len() == 9).await[8].event;
    write(&running.context, move |tx| tx.put_encoded(&EVENT_MESSAGES, &(TEAM, last), &Encoded::unreadable())).await;
    running.context.event_bus.bump_erasure_generation();

    receiver.go_on(9);

    let rows =
        running.until(|rows| rows.iter().all(|row| !matches!(row.state, WebhookDeliveryState::Queued { .. }))).await;
    assert_eq!(exhausted(&rows[8]), Some(ExhaustedReason::PayloadMissing));
    assert_eq!(queued(&running.context), []);
}

#[tokio::test]
async fn what_one_url_asks_for_says_nothing_of_the_next() {
    let running = Running::start();
    let mut old = Receiver::start(Reply::Held).await;
    let mut new = Receiver::start(Reply::Status(200, "")).await;
    let (id, _) = endpoint(&running.context, &old.url()).await;
    happen(&running.context, 8).await;
    for _ in 0..8 {
        old.next().await;
    }
    let moved = WebhookRow { endpoint: new.url(), ..row(&running.context, id) };
    write(&running.context, move |tx| tx.put(&WEBHOOKS, &(TEAM, id), &moved)).await;
    running.bell.endpoint_changed(id);
    happen(&running.context, 1).await;
    running.until(|rows| rows.len() == 9).await;

    old.answer(Reply::Status(429, "retry-after: 3600\r\n"));
    old.go_on(8);

    new.next().await;
    running.until(|rows| rows.iter().filter(|row| row.attempts.len() == 1).count() == 9).await;
}

#[tokio::test]
async fn how_an_endpoint_fares_is_begun_anew_when_it_does_not_read() {
    let running = Running::start();
    let receiver = Receiver::start(Reply::Status(200, "")).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    write(&running.context, move |tx| tx.put_encoded(&WEBHOOK_HEALTH, &(TEAM, id), &Encoded::unreadable())).await;

    happen(&running.context, 1).await;

    running.until(|rows| rows.iter().any(|row| matches!(row.state, WebhookDeliveryState::Delivered { .. }))).await;
}

#[tokio::test]
async fn an_endpoint_that_does_not_read_stops_no_other_and_its_deliveries_climb_the_ladder() {
    let running = Running::start();
    let mut live = Receiver::start(Reply::Status(200, "")).await;
    let (broken, _) = endpoint(&running.context, "https://hooks.example.com/").await;
    endpoint(&running.context, &live.url()).await;
    write(&running.context, move |tx| tx.put_encoded(&WEBHOOKS, &(TEAM, broken), &Encoded::unreadable())).await;

    happen(&running.context, 1).await;

    live.next().await;
    let rows = running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    let said = rows.iter().find(|row| row.counted == 1).unwrap();
    assert!(said.attempts[0].response.contains("is corrupt"), "{}", said.attempts[0].response);
}

#[tokio::test]
async fn a_place_that_does_not_read_is_found_its_delivery() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    endpoint(&running.context, &receiver.url()).await;
    let team = Team { id: TEAM, name: "Example".into(), created_ms: 0 };
    write(&running.context, move |tx| teams::put(tx, &team)).await;
    happen(&running.context, 1).await;
    receiver.next().await;
    running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    let place = queued(&running.context)[0];
    write(&running.context, move |tx| tx.put_encoded(&WEBHOOK_QUEUE, &place, &Encoded::unreadable())).await;
    receiver.answer(Reply::Status(200, ""));

    running.turn(Duration::from_secs(5));

    running.until(|rows| matches!(rows[0].state, WebhookDeliveryState::Delivered { .. })).await;
    assert_eq!(queued(&running.context), []);
}

#[tokio::test]
async fn what_was_never_tried_says_nothing_of_the_endpoint() {
    let (directory, context) = Context::temporary();
    let mut receiver = Receiver::start(Reply::Status(200, "")).await;
    let (id, _) = endpoint(&context, &receiver.url()).await;
    happen(&context, 30).await;
    context.clock.advance(milliseconds(24 * HOUR_MS));

    let running = Running::over(directory, context, 0);

    let given_up = |rows: &[DeliveryRow]| rows.len() == 30 && rows.iter().all(|row| exhausted(row).is_some());
    let rows = running.until(given_up).await;
    assert!(rows.iter().all(|row| exhausted(row) == Some(ExhaustedReason::Expired)));
    assert_eq!(row(&running.context, id).status, WebhookStatus::Enabled);
    assert_eq!(notices(&running.context), []);
    assert!(receiver.unasked().is_none());
}
