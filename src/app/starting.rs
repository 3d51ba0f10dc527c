//! The responses to requests while the store opens.

use std::sync::Arc;
use std::time::Duration;

use salvo::conn::tcp::TcpAcceptor;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::http::{self, ConnectionLimits};

/// Time from the start after which requests get a 503. If the store opens sooner, they wait until they are served.
const GRACE: Duration = Duration::from_millis(500);
/// Time that running requests get when the store is open.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// A task that responds to requests with 503 until the store is open. Drop ends it.
pub(super) struct StartingServer {
    is_open: CancellationToken,
    task: JoinSet<()>,
}

impl StartingServer {
    /// Starts the task on a listener that shares its socket with that of the instance.
    pub(super) fn spawn(listener: TcpAcceptor, limits: ConnectionLimits) -> Self {
        let (is_open, mut task) = (CancellationToken::new(), JoinSet::new());
        task.spawn(respond(listener, limits, is_open.clone()));
        Self { is_open, task }
    }

    /// Stops the responses. Connections that are not accepted yet wait for the instance.
    pub(super) async fn stop(mut self) {
        self.is_open.cancel();
        while self.task.join_next().await.is_some() {}
    }
}

async fn respond(listener: TcpAcceptor, limits: ConnectionLimits, is_open: CancellationToken) {
    tokio::select! {
        () = is_open.cancelled() => return,
        () = tokio::time::sleep(GRACE) => {}
    }
    info!("the store is not open yet; requests get status 503");
    // These connections are not in the metrics, which begin when the instance serves.
    let server = limits.server(listener, Arc::default());
    let handle = server.handle();
    let serving = server.serve(http::starting());
    tokio::pin!(serving);
    tokio::select! {
        _ = &mut serving => return,
        () = is_open.cancelled() => handle.stop_graceful(STOP_TIMEOUT),
    }
    let _ = serving.await;
}
