//! The end of the running requests.

use std::time::Duration;

use tokio_util::task::TaskTracker;

/// Waits until no request is running after a pause, in which connections write small responses. A connection can start
/// a request in the pause. `in_flight` must be closed.
pub(super) async fn requests_finished(in_flight: &TaskTracker, pause: Duration) {
    loop {
        in_flight.wait().await;
        tokio::time::sleep(pause).await;
        if in_flight.is_empty() {
            return;
        }
    }
}
