//! Handing requests to the log, and writing them.
//!
//! A request only puts its entry into the queue. One worker makes the copies and writes them, a
//! batch a command; whoever reads the log has what waits written first, so that a request is in the
//! log for everyone who has seen its answer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::entry::{Answered, Entry};
use super::queue::{BATCH_MAX, ENTRIES_MAX, Pushed, Queue};
use super::store::PreparedLog;
use super::unwritten::{Begun, Unwritten};
use crate::blocking;
use crate::clock::monotonic;
use crate::context::Context;
use crate::store::{StoreError, WriteTx};

/// How long entries gather before they are written.
const GATHERING: Duration = Duration::from_millis(100);
/// How often the log says that entries were lost.
const TOLD_EVERY: Duration = Duration::from_secs(60);
/// Bytes written in one command.
const COMMAND_BYTES_MAX: usize = 1 << 20;

/// Whether requests are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// They are.
    On,
    /// None is; what was logged before can still be read.
    Off,
}

/// The log of the instance, as requests and its worker see it.
pub struct RequestLog {
    context: Context,
    recording: Recording,
    queue: Queue,
    /// Rung when something waits where nothing did.
    begun: Notify,
    /// Rung when a whole batch waits.
    full: Notify,
    /// Held while a batch is written, so that who waits for it knows when all before it are written.
    writing: tokio::sync::Mutex<()>,
    /// What goes on when its caller has gone away.
    tasks: TaskTracker,
    unwritten: Unwritten,
    lost: Mutex<Lost>,
}

/// Why an entry was not written.
#[derive(Clone, Debug)]
enum Loss {
    /// Too many waited.
    NoRoom,
    /// The store refused it.
    Store(StoreError),
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoRoom => f.write_str("too many waited"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

/// Entries that were not written, and when that was said last.
#[derive(Debug, Default)]
struct Lost {
    entries: u64,
    /// Why the last of them was not.
    why: Option<Loss>,
    told: Option<Instant>,
}

impl RequestLog {
    /// Returns the log of the instance that `context` belongs to.
    pub fn new(context: Context, recording: Recording, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self {
            context,
            recording,
            queue: Queue::default(),
            begun: Notify::new(),
            full: Notify::new(),
            writing: tokio::sync::Mutex::default(),
            tasks,
            unwritten: Unwritten::default(),
            lost: Mutex::default(),
        })
    }

    /// Notes that a request begins; `None` when requests are not logged.
    pub fn begin(&self) -> Option<Begun> {
        (self.recording == Recording::On).then(|| self.unwritten.begin())
    }

    /// Returns the requests that are not written yet.
    pub fn unwritten(&self) -> Unwritten {
        self.unwritten.clone()
    }

    /// Takes over a request that was answered. It never waits: where there is no room the request is
    /// not logged, and counted.
    pub fn hand_over(&self, begun: Begun, answered: Answered<'_>) {
        match self.queue.push(Entry::new(begun, answered)) {
            Pushed::First => self.begun.notify_one(),
            Pushed::Batch => self.full.notify_one(),
            Pushed::Behind => {}
            Pushed::Dropped => self.lose(1, Loss::NoRoom),
        }
    }

    /// Writes what is handed over, until the stop. A failure of the store costs entries and is said
    /// in the log; it never ends the worker.
    ///
    /// # Errors
    /// None.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), Infallible> {
        loop {
            self.tell_lost(monotonic());
            match self.queue.len() {
                0 => tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = self.begun.notified() => continue,
                    () = tokio::time::sleep(TOLD_EVERY) => continue,
                },
                waiting if waiting < BATCH_MAX => tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = self.full.notified() => {}
                    () = tokio::time::sleep(GATHERING) => {}
                },
                _ => {}
            }
            self.write_batch().await;
        }
    }

    /// Writes everything that was handed over before the call.
    pub async fn flush(self: &Arc<Self>) {
        // What comes meanwhile is not waited for.
        for _ in 0..=ENTRIES_MAX.div_ceil(BATCH_MAX) {
            self.write_batch().await;
            if self.queue.len() == 0 {
                return;
            }
        }
    }

    /// Writes one batch, after the one that is being written.
    async fn write_batch(self: &Arc<Self>) {
        let log = Arc::clone(self);
        // In a task of its own: what has been taken is written even when the caller goes away. A panic
        // there has been logged, and what it cost is counted as it unwinds.
        let written = self.tasks.spawn(async move {
            let _turn = log.writing.lock().await;
            let batch = log.queue.take();
            log.write(batch).await;
        });
        let _ = written.await;
    }

    async fn write(&self, batch: Vec<Entry>) {
        if batch.is_empty() {
            return;
        }
        let mut taken = Taken { log: self, left: batch.len() };
        let keyring = self.context.keyring.clone();
        let prepared = blocking::run(move || {
            let prepared = batch.into_iter().map(|entry| entry.prepare(&keyring));
            prepared.unzip::<PreparedLog, Begun, Vec<_>, Vec<_>>()
        });
        // The tokens are held until the rows are there.
        let (logs, _begun) = prepared.await;
        for command in commands(logs) {
            let count = command.len();
            let bytes = command.iter().map(PreparedLog::bytes).sum();
            let write = move |tx: &WriteTx<'_>| command.iter().try_for_each(|log| log.put(tx));
            let written = self.context.store.write_bulk_sized::<_, StoreError>(bytes, write).await;
            taken.left -= count;
            if let Err(error) = written {
                self.lose(count as u64, Loss::Store(error));
            }
        }
    }

    fn lose(&self, entries: u64, why: Loss) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.entries += entries;
        lost.why = Some(why);
    }

    /// Says how many entries were lost, once a minute at most.
    fn tell_lost(&self, now: Instant) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = lost.told.is_some_and(|told| now.duration_since(told) < TOLD_EVERY);
        if is_recent {
            return;
        }
        let Some(why) = lost.why.take() else { return };
        let entries = std::mem::take(&mut lost.entries);
        lost.told = Some(now);
        warn!(entries, "{entries} requests were answered and are not in the request log: {why}");
    }
}

/// Entries that have been taken out of the queue and are neither written nor counted as lost.
struct Taken<'a> {
    log: &'a RequestLog,
    left: usize,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if self.left > 0 {
            self.log.lose(self.left as u64, Loss::Store(StoreError::Panicked));
        }
    }
}

/// Cuts a batch into what one command writes.
fn commands(logs: Vec<PreparedLog>) -> Vec<Vec<PreparedLog>> {
    let mut commands = Vec::new();
    let (mut command, mut bytes) = (Vec::new(), 0);
    for log in logs {
        bytes += log.bytes();
        command.push(log);
        if bytes >= COMMAND_BYTES_MAX {
            commands.push(std::mem::take(&mut command));
            bytes = 0;
        }
    }
    if !command.is_empty() {
        commands.push(command);
    }
    commands
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::id::{Id, LogId, TeamId};
    use crate::logs::entry::{HELD_BYTES_MAX, LoggedBody};
    use crate::logs::queue::BYTES_MAX;
    use crate::logs::store::COPY_BYTES_MAX;
    use crate::store::tables::REQUEST_LOGS;
    use crate::store::{NEXT, Order, Reads as _};

    const TEAM: TeamId = Id::from_bytes([1; 16]);

    fn log(context: &Context) -> Arc<RequestLog> {
        RequestLog::new(context.clone(), Recording::On, TaskTracker::new())
    }

    fn hand_over(context: &Context, log: &RequestLog, body_bytes: usize) {
        hand_body_over(context, log, (body_bytes > 0).then(|| LoggedBody::Held(Arc::new(vec![b' '; body_bytes]))));
    }

    fn hand_body_over(context: &Context, log: &RequestLog, body: Option<LoggedBody>) {
        let answered = Answered {
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
        log.hand_over(log.begin().unwrap(), answered);
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
        log.tell_lost(now);
        assert_eq!(lost(&log), 0);
        log.lose(1, Loss::NoRoom);
        log.tell_lost(now + Duration::from_secs(59));
        assert_eq!(lost(&log), 1, "one line a minute");
        log.tell_lost(now + TOLD_EVERY);
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
}
