//! Retries, failures and exhausted deliveries.

use super::receiver::Receiver;
use super::*;
use crate::audit::{Actor, AuditAction, AuditFilter, AuditLog};
use crate::base::clock::DAY_MS;
use crate::notices::Notice;
use crate::tables::{EVENT_OUTBOX, EVENT_SUBSCRIPTIONS};
use crate::webhooks::retry::RETRY_DELAYS_MS;

const HOUR_MS: i64 = 60 * 60 * 1_000;

fn milliseconds(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap())
}

#[tokio::test]
async fn an_endpoint_that_is_down_gets_one_request_for_each_delay_of_the_schedule() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    endpoint(&running.context, &receiver.url()).await;
    let start_ms = running.context.now_ms();
    record_events(&running.context, 1).await;

    let mut ids = vec![receiver.next().await.header("webhook-id").to_owned()];
    for (counted, delay_ms) in (1..).zip(RETRY_DELAYS_MS) {
        let due_ms = running.context.now_ms() + delay_ms;
        running.until(|rows| rows.iter().any(|row| row.counted == counted)).await;
        assert_eq!(deliveries(&running.context)[0].state, WebhookDeliveryState::Queued { due_ms });
        running.advance(milliseconds(delay_ms));
        ids.push(receiver.next().await.header("webhook-id").to_owned());
    }

    let rows = running.until(|rows| rows.iter().all(|row| exhausted(row).is_some())).await;
    assert_eq!(exhausted(&rows[0]), Some(ExhaustedReason::Schedule));
    let sent: Vec<i64> = rows[0].attempts.iter().map(|attempt| attempt.sent_ms - start_ms).collect();
    let expected: Vec<i64> = std::iter::once(0)
        .chain(RETRY_DELAYS_MS)
        .scan(0, |at_ms, delay_ms| {
            *at_ms += delay_ms;
            Some(*at_ms)
        })
        .collect();
    assert_eq!(sent, expected);
    ids.dedup();
    assert_eq!(ids.len(), 1, "every attempt carries the same id");
    assert!(receiver.pending().is_none());
    assert_eq!(queued(&running.context), []);
}

#[tokio::test]
async fn a_429_with_retry_after_delays_the_next_attempt_and_does_not_count() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Status(429, "retry-after: 1800\r\n")).await;
    endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 1).await;

    for _ in 0..10 {
        let sent_ms = running.context.now_ms();
        receiver.next().await;
        let is_delayed = move |rows: &[DeliveryRow]| {
            rows.iter().any(|row| row.state == (WebhookDeliveryState::Queued { due_ms: sent_ms + 1_800_000 }))
        };
        let rows = running.until(is_delayed).await;
        assert_eq!(rows[0].counted, 0);
        running.advance(Duration::from_secs(1_800));
    }
    receiver.set_reply(Reply::Status(200, ""));
    running.advance(Duration::from_secs(1_800));

    running.until(|rows| matches!(rows[0].state, WebhookDeliveryState::Delivered { .. })).await;
}

#[tokio::test]
async fn a_clock_set_back_by_a_day_delays_no_retry() {
    for reply in [DOWN, Reply::Status(429, "retry-after: 1800\r\n")] {
        let running = Running::start();
        let mut receiver = Receiver::start(reply).await;
        endpoint(&running.context, &receiver.url()).await;
        record_events(&running.context, 1).await;
        receiver.next().await;
        running.until(|rows| rows.iter().any(|row| !row.attempts.is_empty())).await;
        receiver.set_reply(Reply::Status(200, ""));

        running.context.clock.step(-DAY_MS);
        running.notifier.rescan_all();

        running.until(|rows| matches!(rows[0].state, WebhookDeliveryState::Delivered { .. })).await;
    }
}

#[tokio::test]
async fn a_delivery_without_success_within_a_day_is_exhausted() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Status(429, "retry-after: 3600\r\n")).await;
    endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 1).await;

    for hours in 1..=24 {
        receiver.next().await;
        running.until(|rows| rows[0].attempts.len() == hours.min(16)).await;
        running
            .until(
                |rows| !matches!(rows[0].state, WebhookDeliveryState::Queued { due_ms } if due_ms <= running.context.now_ms()),
            )
            .await;
        running.advance(Duration::from_secs(3_600));
    }

    let rows = running.until(|rows| exhausted(&rows[0]).is_some()).await;
    assert_eq!(exhausted(&rows[0]), Some(ExhaustedReason::Expired));
    assert_eq!(rows[0].attempts.len(), 16, "the last attempts are kept");
    assert!(receiver.pending().is_none());
}

#[tokio::test]
async fn twenty_exhausted_deliveries_disable_the_endpoint_and_notify_the_owners() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    let (id, _) = endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 25).await;
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
        running.advance(milliseconds(delay_ms));
    }

    let rows = running.until(|rows| rows.iter().all(|row| exhausted(row).is_some())).await;

    assert_eq!(row(&running.context, id).status, WebhookStatus::AutoDisabled);
    let entries = AuditLog::new(running.context.clone()).list(TEAM, AuditFilter::default(), None, 1).await.unwrap();
    assert_eq!((entries.rows[0].action, entries.rows[0].actor), (AuditAction::WebhookUpdated, Actor::Server));
    let count = |why| rows.iter().filter(|row| exhausted(row) == Some(why)).count();
    assert!(count(ExhaustedReason::Schedule) >= 20);
    assert_eq!(count(ExhaustedReason::Schedule) + count(ExhaustedReason::Disabled), 25);
    let url = receiver.url();
    let expected = [
        Notice::WebhookFailing { webhook: id, endpoint: url.clone() },
        Notice::WebhookDisabled { webhook: id, endpoint: url },
    ];
    assert_eq!(notices(&running.context), expected);
    assert_eq!(queued(&running.context), []);
    // Later events are not stored for a disabled endpoint.
    while receiver.pending().is_some() {}
    record_events(&running.context, 1).await;
    let is_subscribed = running.context.read(|tx| tx.contains(&EVENT_SUBSCRIPTIONS, &(TEAM,)));
    assert_eq!((is_subscribed, running.context.keys(&EVENT_OUTBOX).len()), (false, 0));
    assert_eq!(deliveries(&running.context).len(), 25);
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_delays_no_other() {
    let running = Running::start();
    let hanging = Receiver::start(Reply::Held).await;
    let mut live = Receiver::start(Reply::Status(200, "")).await;
    endpoint(&running.context, &hanging.url()).await;
    endpoint(&running.context, &live.url()).await;

    record_events(&running.context, 100).await;

    for _ in 0..100 {
        live.next().await;
    }
    // The requests to the other endpoint may arrive later.
    let all_in_flight = async {
        while hanging.in_flight_max() < 8 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), all_in_flight).await.unwrap();
    assert_eq!(hanging.in_flight_max(), 8);
}

#[tokio::test]
async fn a_closed_connection_is_a_failed_attempt() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Close).await;
    endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 1).await;
    receiver.next().await;

    let rows = running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;

    let attempt = &rows[0].attempts[0];
    assert_eq!(attempt.status, None);
    assert!(!attempt.response.is_empty());
}

#[tokio::test]
async fn a_url_that_is_no_longer_allowed_is_a_failed_attempt_without_a_request() {
    let running = Running::start();
    endpoint(&running.context, "https://10.0.0.1/hook").await;

    record_events(&running.context, 1).await;

    let rows = running.until(|rows| rows.iter().any(|row| row.counted == 1)).await;
    assert!(rows[0].attempts[0].response.contains("private"), "{}", rows[0].attempts[0].response);
}

#[tokio::test]
async fn a_delivery_that_expires_in_a_cooldown_is_not_sent() {
    let running = Running::start();
    let mut receiver = Receiver::start(DOWN).await;
    endpoint(&running.context, &receiver.url()).await;
    record_events(&running.context, 30).await;
    for _ in 0..30 {
        receiver.next().await;
    }
    running.until(|rows| rows.len() == 30 && rows.iter().all(|row| row.counted == 1)).await;
    // Half an hour before the expiry of the deliveries, the first responses ask for an hour.
    receiver.set_reply(Reply::Status(429, "retry-after: 3600\r\n"));
    running.advance(milliseconds(23 * HOUR_MS + HOUR_MS / 2));
    receiver.next().await;
    // An attempt that is stored later would be due after the expiry of the others, which disables the endpoint.
    running.until(|rows| rows.iter().any(|row| row.attempts.len() == 2) && !running.notifier.has_attempts()).await;
    let sent = 1 + std::iter::from_fn(|| receiver.pending()).count();
    running.until(|rows| rows.iter().filter(|row| row.attempts.len() == 2).count() == sent).await;

    running.advance(milliseconds(HOUR_MS));

    let rows = running.until(|rows| rows.iter().all(|row| exhausted(row).is_some())).await;
    assert!(rows.iter().all(|row| exhausted(row) == Some(ExhaustedReason::Expired)));
    let is_in_time =
        |row: &DeliveryRow| row.attempts.iter().all(|attempt| attempt.sent_ms < row.queued_ms + 24 * HOUR_MS);
    assert!(rows.iter().all(is_in_time));
}

#[tokio::test]
async fn deliveries_that_expire_without_an_attempt_do_not_change_the_health() {
    let (directory, context) = Context::temporary();
    let mut receiver = Receiver::start(Reply::Status(200, "")).await;
    let (id, _) = endpoint(&context, &receiver.url()).await;
    record_events(&context, 30).await;
    context.clock.advance(milliseconds(24 * HOUR_MS));

    let running = Running::over(directory, context, 0);

    let are_exhausted = |rows: &[DeliveryRow]| rows.len() == 30 && rows.iter().all(|row| exhausted(row).is_some());
    let rows = running.until(are_exhausted).await;
    assert!(rows.iter().all(|row| exhausted(row) == Some(ExhaustedReason::Expired)));
    assert_eq!(row(&running.context, id).status, WebhookStatus::Enabled);
    assert_eq!(notices(&running.context), []);
    assert!(receiver.pending().is_none());
}
