//! The storing of an outcome, beside the composition and the transaction of the next message.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::super::engine::Engine;
use super::super::settle::Settlement;

/// Maximum time that a message waits, before its final dot, for the commit of the outcome before it. Servers wait for some
/// minutes (RFC 5321 §4.5.3.2).
const COMMIT_WAIT_MAX: Duration = Duration::from_secs(5);

/// The task that stores the last outcome of a worker. There is one at most.
#[derive(Default)]
pub(super) struct Settling(Option<JoinHandle<()>>);

impl Settling {
    /// Begins to store the outcome of a group, after the end of the task before it.
    pub(super) async fn begin(&mut self, engine: &Arc<Engine>, settlement: Settlement) {
        self.end().await;
        let settling = Arc::clone(engine);
        self.0 = Some(engine.tasks.spawn(async move { settling.settle(settlement).await }.in_current_span()));
    }

    /// Waits until the last outcome is stored, or never can be. The task continues if the returned future is dropped.
    ///
    /// # Panics
    /// If the task panicked.
    pub(super) async fn end(&mut self) {
        let Some(task) = &mut self.0 else { return };
        let ended = task.await;
        self.0 = None;
        if let Err(error) = ended
            && let Ok(panic) = error.try_into_panic()
        {
            resume_unwind(panic);
        }
    }

    /// As [`Settling::end`], for [`COMMIT_WAIT_MAX`]. Returns `false` if the task has not ended then.
    pub(super) async fn ends_soon(&mut self) -> bool {
        timeout(COMMIT_WAIT_MAX, self.end()).await.is_ok()
    }
}
