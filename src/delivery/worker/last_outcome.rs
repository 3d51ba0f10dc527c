//! The storing of an outcome, during the composition and the transaction of the next message.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::super::engine::Engine;
use super::super::queue::Claimed;
use super::super::settle::Settlement;

/// Maximum time that a message waits, before its final dot, for the commit of the last outcome. Servers wait for at least
/// five minutes (RFC 5321 §4.5.3.2.7), and a store that failed opens again after some seconds.
pub(super) const COMMIT_WAIT_MAX: Duration = Duration::from_secs(30);

/// The task that stores the last outcome of a worker. There is one at most.
#[derive(Default)]
pub(super) struct LastOutcome(Option<JoinHandle<bool>>);

impl LastOutcome {
    /// Begins to store the outcome of a group, after the end of the task before it.
    pub(super) async fn store(&mut self, engine: &Arc<Engine>, settlement: Settlement) {
        self.end().await;
        let lease = SettlingLease::new(Arc::clone(engine), Arc::clone(&settlement.claimed));
        let settling = async move { lease.engine.settle(settlement).await };
        self.0 = Some(engine.tasks.spawn(settling.in_current_span()));
    }

    /// Waits for the end of the task. Returns `false` if the outcome is not stored and never can be in this process. The
    /// task continues if the returned future is dropped.
    ///
    /// # Panics
    /// If the task panicked.
    pub(super) async fn end(&mut self) -> bool {
        let Some(task) = &mut self.0 else { return true };
        let ended = task.await;
        self.0 = None;
        match ended {
            Ok(is_stored) => is_stored,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime ends.
                Err(_) => false,
            },
        }
    }

    /// Waits up to `wait_max` for the commit of the last outcome. Returns whether it is stored.
    pub(super) async fn wait_for_commit(&mut self, wait_max: Duration) -> bool {
        timeout(wait_max, self.end()).await.unwrap_or(false)
    }
}

/// The lease of a group whose outcome is being stored. If that ends with a panic, the lease is abandoned.
struct SettlingLease {
    engine: Arc<Engine>,
    claimed: Arc<Claimed>,
}

impl SettlingLease {
    /// Takes the lease from the worker, whose end then does not abandon it.
    fn new(engine: Arc<Engine>, claimed: Arc<Claimed>) -> Self {
        engine.leases.begin_settling(&claimed);
        Self { engine, claimed }
    }
}

impl Drop for SettlingLease {
    fn drop(&mut self) {
        self.engine.leases.end_settling(&self.claimed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio_util::task::TaskTracker;

    use super::*;

    #[tokio::test]
    async fn a_message_waits_for_a_limited_time_and_the_outcome_is_stored_later() {
        let (stored, storing) = oneshot::channel();
        let task = TaskTracker::new().spawn(async { storing.await.expect("an outcome") });
        let mut last = LastOutcome(Some(task));

        assert!(!last.wait_for_commit(Duration::ZERO).await);

        stored.send(true).expect("a waiting task");
        assert!(last.wait_for_commit(COMMIT_WAIT_MAX).await);
    }
}
