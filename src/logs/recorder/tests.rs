use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::base::id::{Id, LogId, TeamId};
use crate::logs::entry::{HELD_BYTES_MAX, LoggedBody};
use crate::logs::queue::BYTES_MAX;
use crate::logs::store::COPY_BYTES_MAX;
use crate::store::{NEXT, Order, Reads as _};
use crate::tables::REQUEST_LOGS;

const TEAM: TeamId = Id::from_bytes([1; 16]);

fn log(context: &Context) -> Arc<RequestLog> {
    RequestLog::new(context.clone(), Recording::On, TaskTracker::new())
}

fn hand_over(context: &Context, log: &RequestLog, body_bytes: usize) {
    hand_body_over(context, log, (body_bytes > 0).then(|| LoggedBody::Held(Arc::new(vec![b' '; body_bytes]))));
}

fn hand_body_over(context: &Context, log: &RequestLog, body: Option<LoggedBody>) {
    let answered = LoggedRequest {
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
        response_secrets: &[],
    };
    log.enqueue(log.begin().unwrap(), answered);
}

fn written(context: &Context) -> usize {
    let mut rows = 0;
    let (from, to): ((TeamId, LogId), _) = ((TEAM, Id::MIN), (TEAM, Id::MAX));
    let counted = context.store.read_now::<_, StoreError>(|tx| {
        tx.scan(&REQUEST_LOGS, &from, &to, Order::Ascending, |_, row| {
            assert_eq!((row.decode()?.endpoint.as_str(), row.decode()?.duration_ms), ("/emails", 3));
            rows += 1;
            NEXT
        })
    });
    counted.unwrap();
    rows
}

fn lost(log: &RequestLog) -> u64 {
    log.lost.lock().unwrap().entries
}

#[tokio::test]
async fn the_worker_writes_what_is_handed_over_and_stops_when_it_is_told() {
    let (_directory, context) = Context::temporary();
    let (log, tasks, stop) = (log(&context), TaskTracker::new(), CancellationToken::new());
    let running = tasks.spawn(Arc::clone(&log).run(stop.clone()));

    for round in 1..=3 {
        hand_over(&context, &log, 10);
        while written(&context) < round {
            tokio::task::yield_now().await;
        }
    }
    stop.cancel();

    assert_eq!(running.await.unwrap(), Ok(()));
    assert_eq!(lost(&log), 0);
}

#[tokio::test]
async fn a_flush_writes_everything_that_waits() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    for _ in 0..2 * BATCH_MAX + 7 {
        hand_over(&context, &log, 0);
    }
    let barrier = log.unwritten().barrier();
    assert!(!barrier.is_passed());

    log.flush().await;

    assert_eq!(written(&context), 2 * BATCH_MAX + 7);
    assert!(barrier.is_passed());
}

#[tokio::test]
async fn what_has_no_room_is_dropped_and_counted() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    for _ in 0..ENTRIES_MAX + 5 {
        hand_over(&context, &log, 0);
    }
    assert_eq!(lost(&log), 5);
    log.flush().await;
    let by_bytes = BYTES_MAX / HELD_BYTES_MAX + 1;
    for _ in 0..by_bytes {
        hand_over(&context, &log, HELD_BYTES_MAX);
    }
    assert!(lost(&log) > 5);
    log.flush().await;
    hand_over(&context, &log, HELD_BYTES_MAX);
    log.flush().await;

    assert_eq!(written(&context) as u64 + lost(&log), (ENTRIES_MAX + 5 + by_bytes + 1) as u64);
    assert!(log.unwritten().barrier().is_passed());
    let now = monotonic();
    log.log_dropped(now);
    assert_eq!(lost(&log), 0);
    log.lose(1, Loss::NoRoom);
    log.log_dropped(now + Duration::from_secs(59));
    assert_eq!(lost(&log), 1, "one line a minute");
    log.log_dropped(now + DROP_LOG_INTERVAL);
    assert_eq!(lost(&log), 0);
}

#[tokio::test]
async fn what_has_been_taken_is_written_when_nobody_waits_for_it() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    hand_over(&context, &log, 0);

    {
        let mut given_up = std::pin::pin!(log.flush());
        std::future::poll_fn(|cx| std::task::Poll::Ready(given_up.as_mut().poll(cx).is_pending())).await;
    }
    log.tasks.close();
    log.tasks.wait().await;

    assert_eq!(written(&context), 1);
}

#[tokio::test]
async fn a_store_that_fails_costs_the_entries_and_nothing_else() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    context.store.close().await;
    hand_over(&context, &log, 0);

    log.flush().await;

    assert_eq!(lost(&log), 1);
    assert!(log.unwritten().barrier().is_passed());
}

#[tokio::test]
async fn every_command_of_a_batch_that_fails_counts_its_own_entries() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    context.store.close().await;
    // Letters that no compression takes much from.
    let mut state = 1_u32;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'#' + state.to_be_bytes()[0] % 56)
    });
    let letters: String = letters.take(COPY_BYTES_MAX - 2).collect();
    let body = format!("\"{letters}\"").into_bytes();
    let count = 3 * COMMAND_BYTES_MAX / COPY_BYTES_MAX;
    for _ in 0..count {
        hand_body_over(&context, &log, Some(LoggedBody::Held(Arc::new(body.clone()))));
    }

    log.flush().await;

    assert_eq!(lost(&log), count as u64);
}

/// A body that panics when its copy is made, after the queue has asked for its size.
struct Panics(AtomicUsize);

impl AsRef<[u8]> for Panics {
    fn as_ref(&self) -> &[u8] {
        let asked_before = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(asked_before < 2, "a body that cannot be read");
        b"{}"
    }
}

#[tokio::test]
async fn a_batch_that_panics_counts_all_that_was_in_it_and_ends_nothing() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    for _ in 0..3 {
        hand_over(&context, &log, 10);
    }
    hand_body_over(&context, &log, Some(LoggedBody::Held(Arc::new(Panics(AtomicUsize::new(0))))));

    log.flush().await;

    assert_eq!((lost(&log), written(&context)), (4, 0));
    assert!(log.unwritten().barrier().is_passed());
    hand_over(&context, &log, 10);
    log.flush().await;
    assert_eq!((lost(&log), written(&context)), (4, 1));
}

#[test]
fn a_log_that_is_off_takes_nothing() {
    let (_directory, context) = Context::temporary();

    assert!(RequestLog::new(context, Recording::Off, TaskTracker::new()).begin().is_none());
}
