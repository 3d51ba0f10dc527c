//! The listener of the mailbox, and the tasks of its connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use super::connection::{BLOCK_BYTES, ListenerContext, serve_client};
use super::mailbox::CaptureMailbox;
use super::{IN_FLIGHT_BYTES_MAX, SESSIONS_MAX};

/// RFC 5321 §4.5.3.2.7: a server waits five minutes for the next command.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// Pause after an accept failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum time that a shutdown waits for the last commits.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// Greeting of a server that accepts no further session (RFC 5321 §3.1).
const FULL: &[u8] = b"421 4.3.2 too many sessions, try again later\r\n";

/// A bound listener of the mailbox that [`CaptureMailbox::serve`] starts.
#[derive(Debug)]
pub struct CaptureListener {
    listener: TcpListener,
    address: SocketAddr,
    /// Maximum time between two reads from a client.
    pub(super) idle_timeout: Duration,
}

impl CaptureListener {
    /// Returns the address. If it was bound to port 0, contains the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl CaptureMailbox {
    /// Binds an address without accepting connections.
    ///
    /// # Errors
    /// The error of the system, such as an address in use.
    pub async fn bind(address: SocketAddr) -> io::Result<CaptureListener> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(CaptureListener { listener, address, idle_timeout: IDLE_TIMEOUT })
    }

    /// Receives mail until `stop`, then sends 421 to every client. Waits up to ten seconds for
    /// connections to end.
    ///
    /// Stop it after the engine, which delivers to it.
    pub async fn serve(listener: CaptureListener, mailbox: Arc<Self>, stop: CancellationToken) {
        let CaptureListener { listener, address: _, idle_timeout } = listener;
        let blocks = Arc::new(Semaphore::new(IN_FLIGHT_BYTES_MAX / BLOCK_BYTES));
        let shared = Arc::new(ListenerContext { mailbox, blocks, idle_timeout, stop: stop.clone() });
        let permits = Arc::new(Semaphore::new(SESSIONS_MAX));
        let sessions = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Usually too many open files. The end of other connections resolves it.
                    warn!(%error, "the mailbox could not accept a connection: {error}");
                    tokio::select! {
                        () = tokio::time::sleep(ACCEPT_PAUSE) => continue,
                        () = stop.cancelled() => break,
                    }
                }
            };
            let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
                // The send buffer of a new socket has space for the reply. An error means a closed client.
                let _ = stream.try_write(FULL);
                continue;
            };
            let shared = Arc::clone(&shared);
            sessions.spawn(async move {
                let _permit = permit;
                if let Err(error) = serve_client(stream, &shared).await {
                    debug!(%error, "the connection of a mailbox client failed: {error}");
                }
            });
        }
        sessions.close();
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, sessions.wait()).await.is_err() {
            warn!("shutdown interrupted some connections to the mailbox");
        }
    }
}
