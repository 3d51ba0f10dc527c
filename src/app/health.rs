//! The health of an instance.

use std::sync::Arc;
use std::time::Duration;

use crate::delivery::Engine;
use crate::store::{Space, Store};
use crate::workers::WorkerFailures;

/// The parts of an instance whose health is checked.
pub(super) struct HealthSources {
    pub(super) store: Store,
    pub(super) engine: Arc<Engine>,
    pub(super) workers: Arc<WorkerFailures>,
    /// Age of a due email at which the queue fails; `None` is no limit.
    pub(super) queue_age_max: Option<Duration>,
}

impl HealthSources {
    /// Returns the names of the failing parts.
    pub(super) fn problems(&self) -> Vec<String> {
        let is_disk_full = self.store.space() != Space::Ample;
        let parts = [("store", self.store.is_failing()), ("disk", is_disk_full), ("queue", self.is_queue_slow())];
        let parts = parts.into_iter().filter(|(_, is_failing)| *is_failing).map(|(name, _)| name.to_owned());
        parts.chain(self.workers.recent().into_iter().map(|worker| format!("worker {worker}"))).collect()
    }

    /// Returns whether due transactional email waited too long at the last count, without a known cause such as
    /// a site that fails.
    fn is_queue_slow(&self) -> bool {
        let waiting_ms = self.engine.queue_depth().map_or(0, |depth| depth.waiting_ms);
        self.queue_age_max.is_some_and(|max| waiting_ms > i64::try_from(max.as_millis()).unwrap_or(i64::MAX))
    }
}
