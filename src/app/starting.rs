//! The responses to requests while the store opens.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use salvo::conn::tcp::TcpAcceptor;
use salvo::conn::{Accepted, Acceptor, Holding};
use salvo::fuse::ArcFusePolicy;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::http::{self, ConnectionLimits, HttpCounters};

/// Time from the start after which requests get a 503. If the store opens sooner, they wait until they are served.
const GRACE: Duration = Duration::from_millis(500);
/// Time that accepted connections get for their request when the store is open.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval at which the accepted connections are counted after that.
const COUNT_INTERVAL: Duration = Duration::from_millis(5);

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
    let counters = Arc::default();
    let server = limits.server(UntilOpen { listener, is_open: is_open.clone() }, Arc::clone(&counters));
    let handle = server.handle();
    let serving = server.serve(http::starting());
    tokio::pin!(serving);
    tokio::select! {
        _ = &mut serving => return,
        () = responses_ended(&is_open, &counters) => handle.stop_forceful(),
    }
    let _ = serving.await;
}

/// Waits until the store is open and the accepted connections have their response. A graceful stop would close a
/// connection whose request has not arrived yet.
async fn responses_ended(is_open: &CancellationToken, counters: &HttpCounters) {
    is_open.cancelled().await;
    let ended = async {
        while counters.open_connections() > 0 {
            tokio::time::sleep(COUNT_INTERVAL).await;
        }
    };
    let _ = tokio::time::timeout(STOP_TIMEOUT, ended).await;
}

/// Acceptor that accepts no connection after the store is open.
struct UntilOpen {
    listener: TcpAcceptor,
    is_open: CancellationToken,
}

impl Acceptor for UntilOpen {
    type Coupler = <TcpAcceptor as Acceptor>::Coupler;
    type Stream = <TcpAcceptor as Acceptor>::Stream;

    fn holdings(&self) -> &[Holding] {
        self.listener.holdings()
    }

    async fn accept(&mut self, policy: Option<ArcFusePolicy>) -> io::Result<Accepted<Self::Coupler, Self::Stream>> {
        tokio::select! {
            biased;
            () = self.is_open.cancelled() => pending().await,
            accepted = self.listener.accept(policy) => accepted,
        }
    }
}
