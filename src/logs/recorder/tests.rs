use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::base::id::{Id, TeamId};
use crate::logs::entry::{HELD_BYTES_MAX, LoggedBody};
use crate::logs::queue::BYTES_MAX;
use crate::logs::store::COPY_BYTES_MAX;
use crate::tables::REQUEST_LOGS;

const TEAM: TeamId = Id::from_bytes([1; 16]);

fn log(context: &Context) -> Arc<RequestLog> {
    RequestLog::new(context.clone(), RequestLogging::On, TaskTracker::new())
}

fn enqueue(context: &Context, log: &RequestLog, body_bytes: usize) {
    enqueue_body(context, log, (body_bytes > 0).then(|| LoggedBody::Held(Arc::new(vec![b' '; body_bytes]))));
}

fn enqueue_body(context: &Context, log: &RequestLog, body: Option<LoggedBody>) {
    let request = LoggedRequest {
        id: context.id(),
        team: TEAM,
        key: Id::MIN,
        method: "POST",
        path: "/emails",
        user_agent: None,
        status: 200,
        duration: Duration::from_millis(3),
        request_body: body,
        response_body: None,
        detail: None,
        response_secrets: &[],
    };
    log.enqueue(log.begin().unwrap(), request);
}

fn written(context: &Context) -> usize {
    let rows = context.rows(&REQUEST_LOGS);
    for (_, row) in &rows {
        assert_eq!((row.endpoint.as_str(), row.duration_ms), ("/emails", 3));
    }
    rows.len()
}

fn lost(log: &RequestLog) -> u64 {
    log.lost.lock().unwrap().entries
}

#[tokio::test]
async fn the_worker_writes_entries_until_the_stop() {
    let (_directory, context) = Context::temporary();
    let (log, tasks, stop) = (log(&context), TaskTracker::new(), CancellationToken::new());
    let running = tasks.spawn(Arc::clone(&log).run(stop.clone()));

    for round in 1..=3 {
        enqueue(&context, &log, 10);
        while written(&context) < round {
            tokio::task::yield_now().await;
        }
    }
    stop.cancel();

    assert_eq!(running.await.unwrap(), Ok(()));
    assert_eq!(lost(&log), 0);
}

#[tokio::test]
async fn a_flush_writes_the_whole_queue() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    for _ in 0..2 * BATCH_MAX + 7 {
        enqueue(&context, &log, 0);
    }
    let pending = log.pending_entries().snapshot();
    assert!(!pending.is_written());

    log.flush().await;

    assert_eq!(written(&context), 2 * BATCH_MAX + 7);
    assert!(pending.is_written());
}

#[tokio::test]
async fn entries_beyond_the_limits_are_dropped_and_counted() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    for _ in 0..ENTRIES_MAX + 5 {
        enqueue(&context, &log, 0);
    }
    assert_eq!(lost(&log), 5);
    log.flush().await;
    let by_bytes = BYTES_MAX / HELD_BYTES_MAX + 1;
    for _ in 0..by_bytes {
        enqueue(&context, &log, HELD_BYTES_MAX);
    }
    assert!(lost(&log) > 5);
    log.flush().await;
    enqueue(&context, &log, HELD_BYTES_MAX);
    log.flush().await;

    assert_eq!(written(&context) as u64 + lost(&log), (ENTRIES_MAX + 5 + by_bytes + 1) as u64);
    assert!(log.pending_entries().snapshot().is_written());
    let now = monotonic();
    log.log_dropped(now);
    assert_eq!(lost(&log), 0);
    log.lose(1, Loss::QueueFull);
    log.log_dropped(now + Duration::from_secs(59));
    assert_eq!(lost(&log), 1, "one line a minute");
    log.log_dropped(now + DROP_LOG_INTERVAL);
    assert_eq!(lost(&log), 0);
}

#[tokio::test]
async fn a_batch_is_written_after_its_flush_is_canceled() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    enqueue(&context, &log, 0);

    {
        let mut canceled = std::pin::pin!(log.flush());
        std::future::poll_fn(|cx| std::task::Poll::Ready(canceled.as_mut().poll(cx).is_pending())).await;
    }
    log.tasks.close();
    log.tasks.wait().await;

    assert_eq!(written(&context), 1);
}

#[tokio::test]
async fn entries_are_counted_as_lost_if_the_store_fails() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    context.store.close().await;
    enqueue(&context, &log, 0);

    log.flush().await;

    assert_eq!(lost(&log), 1);
    assert!(log.pending_entries().snapshot().is_written());
}

#[tokio::test]
async fn each_failed_command_of_a_batch_counts_its_own_entries() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    context.store.close().await;
    // Letters that do not compress well.
    let mut state = 1_u32;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'#' + state.to_be_bytes()[0] % 56)
    });
    let letters: String = letters.take(COPY_BYTES_MAX - 2).collect();
    let body = format!("\"{letters}\"").into_bytes();
    let count = 3 * COMMAND_BYTES_MAX / COPY_BYTES_MAX;
    for _ in 0..count {
        enqueue_body(&context, &log, Some(LoggedBody::Held(Arc::new(body.clone()))));
    }

    log.flush().await;

    assert_eq!(lost(&log), count as u64);
}

/// A body that panics at its third read: the worker redacts it after the queue reads its size twice.
struct Panics(AtomicUsize);

impl AsRef<[u8]> for Panics {
    fn as_ref(&self) -> &[u8] {
        let earlier_reads = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(earlier_reads < 2, "a body that cannot be read");
        b"{}"
    }
}

#[tokio::test]
async fn the_entries_of_a_batch_that_panics_are_counted_and_the_log_continues() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    for _ in 0..3 {
        enqueue(&context, &log, 10);
    }
    enqueue_body(&context, &log, Some(LoggedBody::Held(Arc::new(Panics(AtomicUsize::new(0))))));

    log.flush().await;

    assert_eq!((lost(&log), written(&context)), (4, 0));
    assert!(log.pending_entries().snapshot().is_written());
    enqueue(&context, &log, 10);
    log.flush().await;
    assert_eq!((lost(&log), written(&context)), (4, 1));
}

#[test]
fn a_log_that_is_off_begins_no_request() {
    let (_directory, context) = Context::temporary();

    assert!(RequestLog::new(context, RequestLogging::Off, TaskTracker::new()).begin().is_none());
}
