//! Serving until the stop, and the shutdown in order (`app/mod.rs` lists its steps).

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use super::background::start_workers;
use super::stopping::requests_finished;
use super::{App, REQUESTS_STOP_TIMEOUT, RESPONSES_STOP_TIMEOUT, ServeError};
use crate::admin;
use crate::delivery::QueueNotifier;
use crate::delivery::capture::CaptureMailbox;

impl App {
    /// Returns the bound address of the API.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the bound address of `--metrics-listen`.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|listener| listener.address)
    }

    /// Returns the bound address of the built-in mailbox.
    pub fn capture_address(&self) -> SocketAddr {
        self.capture_address
    }

    /// Returns the services that execute requests of the command line.
    pub fn services(&self) -> &admin::AdminServices {
        &self.parts.services
    }

    /// Returns the notifier of the delivery queue. Tests wake the engine with it after they set the clock.
    pub fn queue_notifier(&self) -> QueueNotifier {
        self.parts.queue_notifier.clone()
    }

    /// Serves until `stop`, then shuts down.
    ///
    /// # Errors
    /// [`ServeError`] if a worker keeps failing or the store fails. The shutdown is complete in this case
    /// too.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), ServeError> {
        let Self { http, address, metrics, admin, capture, capture_address: _, parts, service } = self;
        let mut workers = start_workers(&parts);
        let listeners = CancellationToken::new();
        let tasks = TaskTracker::new();
        let (capture, mailbox) = capture;
        tasks.spawn(CaptureMailbox::serve(capture, mailbox, listeners.clone()));
        tasks.spawn(admin::serve(admin, parts.services.clone(), listeners.clone()));

        let server = parts.limits.clone().server(http, Arc::clone(&parts.counters));
        let handle = server.handle();
        let serving = tasks.spawn(server.serve(service));
        info!("serving on {address}");
        let metrics = metrics.map(|listener| listener.serve(parts.limits.clone(), Arc::clone(&parts.counters), &tasks));

        let failed = tokio::select! {
            () = stop.cancelled() => None,
            ended = workers.wait() => ended.err().map(ServeError::Worker),
            error = parts.context.store.failed() => Some(ServeError::Store(error)),
        };
        // A live stream is a request that does not end by itself.
        parts.live.stop();
        parts.services.mailbox.end_waits();
        handle.stop_graceful(REQUESTS_STOP_TIMEOUT);
        if let Some(handle) = metrics {
            handle.stop_forceful();
        }
        parts.in_flight.close();
        let idle = requests_finished(&parts.in_flight, RESPONSES_STOP_TIMEOUT);
        tokio::pin!(serving);
        // The server enforces the deadline and logs a panic itself.
        tokio::select! {
            _ = &mut serving => {}
            // The connections that are left have no request, or one whose head is not complete.
            () = idle => {
                handle.stop_forceful();
                let _ = serving.await;
            }
        }
        parts.requests.close();
        parts.requests.wait().await;
        parts.work.cancel();
        let ended = workers.wait().await;
        // A worker may have left a task, such as a write of API key uses that the stop interrupted.
        parts.requests.wait().await;
        // The mailbox stops after the workers, because running deliveries may go to it.
        listeners.cancel();
        tasks.close();
        tasks.wait().await;
        if let Err(error) = parts.services.api_keys.flush_uses().await {
            info!(%error, "could not write the last uses of API keys: {error}");
        }
        parts.log.flush().await;
        parts.context.store.close().await;
        failed.map_or(ended.map_err(ServeError::Worker), Err)
    }
}
