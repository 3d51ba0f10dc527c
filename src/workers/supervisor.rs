//! Supervisor: starts workers and restarts them after a failure, up to a limit. A failure because the disk is full or
//! failed does not count: the worker continues when the store works again.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, error, info_span, warn};

use crate::base::recent::Recent;
use crate::base::sync;
use crate::store::{Store, StoreError};

/// Consecutive failures after which the process stops.
const FAILURES_MAX: u32 = 5;
/// Base of the restart delay: the delay after consecutive failure n is 2^n times this.
const RESTART_AFTER: Duration = Duration::from_millis(200);
/// Run time after which the failure count is reset.
const RECOVERED_AFTER: Duration = Duration::from_secs(60);

/// Error of a worker with [`FAILURES_MAX`] consecutive failures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the worker `{worker}` kept failing; see the log")]
pub struct WorkerError {
    /// Name of the worker.
    pub worker: &'static str,
}

/// Failures of the workers of one instance.
#[derive(Debug, Default)]
pub struct WorkerFailures(Mutex<BTreeMap<&'static str, Recent>>);

impl WorkerFailures {
    fn record(&self, worker: &'static str) {
        sync::lock(&self.0).entry(worker).or_default().record();
    }

    /// Returns the names of the workers that failed in the last minute.
    pub fn recent(&self) -> Vec<&'static str> {
        sync::lock(&self.0).iter().filter(|(_, failure)| failure.is_recent()).map(|(worker, _)| *worker).collect()
    }
}

/// The workers of one instance.
pub struct Supervisor {
    supervision: Supervision,
    workers: JoinSet<Result<(), WorkerError>>,
}

/// Error of one run of a worker.
pub trait RunError: Display {
    /// Returns whether the disk of the store is full or failed, so that a run can succeed when the store works again.
    fn is_outage(&self) -> bool;
}

impl RunError for StoreError {
    fn is_outage(&self) -> bool {
        Self::is_outage(self)
    }
}

impl RunError for Infallible {
    fn is_outage(&self) -> bool {
        match *self {}
    }
}

/// Failure of one run of a worker.
struct RunFailure {
    what: String,
    is_outage: bool,
}

/// One run of a worker.
type Run = Pin<Box<dyn Future<Output = Result<(), RunFailure>> + Send>>;

/// The parts that the supervision of each worker needs.
#[derive(Clone)]
struct Supervision {
    stop: CancellationToken,
    store: Store,
    restart_after: Duration,
    failures: Arc<WorkerFailures>,
}

impl Supervisor {
    /// Returns a supervisor. `stop` stops its workers, which use `store`. It records their failures in `failures`.
    pub fn new(stop: CancellationToken, store: Store, failures: Arc<WorkerFailures>) -> Self {
        let supervision = Supervision { stop, store, restart_after: RESTART_AFTER, failures };
        Self { supervision, workers: JoinSet::new() }
    }

    /// Starts a worker when the store works. Calls `run` again after a failure.
    pub fn start<F, E>(&mut self, worker: &'static str, run: impl Fn(CancellationToken) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: RunError + Send + 'static,
    {
        let run = move |stop| -> Run {
            let running = run(stop);
            let failure = |error: E| RunFailure { what: format!("failed: {error}"), is_outage: error.is_outage() };
            Box::pin(async move { running.await.map_err(failure) })
        };
        let supervised = self.supervision.clone().supervise(worker, Box::new(run));
        self.workers.spawn(supervised.instrument(info_span!("worker", name = worker)));
    }

    /// Waits until all workers have stopped or one keeps failing.
    ///
    /// # Errors
    /// [`WorkerError`]. The other workers run until the stop token is cancelled.
    pub async fn wait(&mut self) -> Result<(), WorkerError> {
        while let Some(ended) = self.workers.join_next().await {
            // The supervising task itself neither panics nor is cancelled.
            ended.unwrap_or(Ok(()))?;
        }
        Ok(())
    }
}

impl Supervision {
    async fn supervise(
        self,
        worker: &'static str,
        run: Box<dyn Fn(CancellationToken) -> Run + Send + Sync>,
    ) -> Result<(), WorkerError> {
        let Self { stop, store, restart_after, failures: recorded } = self;
        let mut failures = 0;
        loop {
            tokio::select! {
                () = store.available() => {}
                () = stop.cancelled() => return Ok(()),
            }
            let started = crate::base::clock::monotonic();
            let mut task = JoinSet::new();
            task.spawn(run(stop.clone()).in_current_span());
            let RunFailure { what, is_outage } = match task.join_next().await {
                Some(Ok(Ok(()))) | None => return Ok(()),
                Some(Ok(Err(failure))) => failure,
                Some(Err(panic)) => RunFailure { what: format!("panicked: {panic}"), is_outage: false },
            };
            if stop.is_cancelled() {
                return Ok(());
            }
            if is_outage {
                warn!("worker `{worker}` {what}; it continues when the store works again");
            } else {
                error!("worker `{worker}` {what}");
                recorded.record(worker);
                failures = if started.elapsed() >= RECOVERED_AFTER { 1 } else { failures + 1 };
            }
            if failures >= FAILURES_MAX {
                return Err(WorkerError { worker });
            }
            tokio::select! {
                () = tokio::time::sleep(restart_after * 2_u32.pow(failures)) => {}
                () = stop.cancelled() => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::context::Context;
    use crate::store::tests::disk::Disk;
    use crate::tables::INGESTED;

    fn supervisor() -> Supervisor {
        supervisor_of(Context::temporary().1.store)
    }

    fn supervisor_of(store: Store) -> Supervisor {
        let mut supervisor = Supervisor::new(CancellationToken::new(), store, Arc::default());
        supervisor.supervision.restart_after = Duration::from_millis(1);
        supervisor
    }

    #[tokio::test]
    async fn a_worker_that_panics_once_is_restarted() {
        let runs = Arc::new(AtomicU32::new(0));
        let mut supervisor = supervisor();
        let counted = Arc::clone(&runs);

        supervisor.start("once", move |_| {
            let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                assert!(!first, "the first run fails");
                Ok::<(), Infallible>(())
            }
        });

        assert_eq!(supervisor.wait().await, Ok(()));
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        assert_eq!(supervisor.supervision.failures.recent(), ["once"]);
    }

    #[tokio::test]
    async fn a_worker_that_ends_has_no_failure() {
        let mut supervisor = supervisor();

        supervisor.start("ends", |_| async { Ok::<(), Infallible>(()) });

        assert_eq!(supervisor.wait().await, Ok(()));
        assert!(supervisor.supervision.failures.recent().is_empty());
    }

    #[tokio::test]
    async fn a_worker_that_keeps_failing_is_an_error() {
        let mut supervisor = supervisor();

        supervisor.start("always", |_| async { Err::<(), _>(StoreError::Panicked) });

        assert_eq!(supervisor.wait().await, Err(WorkerError { worker: "always" }));
    }

    #[tokio::test]
    async fn a_worker_that_fails_by_a_full_disk_waits_for_the_store_and_no_failure_is_counted() {
        let disk = Disk::default();
        let store = disk.open_store().unwrap();
        let mut supervisor = supervisor_of(store.clone());
        let runs = Arc::new(AtomicU32::new(0));
        let (counted, running) = (Arc::clone(&runs), store.clone());
        disk.fill_after(0);

        supervisor.start("writes", move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            let store = running.clone();
            async move { store.write::<_, StoreError>(|tx| tx.put(&INGESTED, &(1, [0; 32]), &())).await }
        });
        // Several attempts to open the file fail.
        let opened = tokio::time::timeout(Duration::from_secs(30), async {
            while disk.refused() < 4 {
                assert!(supervisor.workers.try_join_next().is_none(), "the worker ended");
                tokio::task::yield_now().await;
            }
        });
        opened.await.unwrap();
        let runs_while_full = runs.load(Ordering::SeqCst);
        disk.mend();

        assert_eq!(supervisor.wait().await, Ok(()));
        assert!(supervisor.supervision.failures.recent().is_empty());
        assert!(runs_while_full < FAILURES_MAX, "{runs_while_full} runs on a full disk");
    }
}
