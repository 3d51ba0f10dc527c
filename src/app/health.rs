//! The health of an instance.

use std::sync::Arc;

use crate::http::Health;
use crate::store::Store;
use crate::workers::WorkerFailures;

/// Returns the health of an instance: whether its store and its workers fail.
pub(super) fn health(store: Store, workers: Arc<WorkerFailures>) -> Health {
    Health::new(move || {
        let store = store.is_failing().then(|| "store".to_owned());
        let workers = workers.recent().into_iter().map(|worker| format!("worker {worker}"));
        store.into_iter().chain(workers).collect()
    })
}
