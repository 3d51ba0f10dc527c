//! The mailbox's listener and the tasks of its sessions.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use super::mailbox::CaptureMailbox;
use super::session::{BLOCK_BYTES, ListenerContext, converse};
use super::{SESSIONS_MAX, UNDER_WAY_BYTES_MAX};

/// RFC 5321 §4.5.3.2.7: a server waits five minutes for the next command.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// How long nothing is accepted after the system could not give a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long a stop waits for the last commits.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// RFC 5321 §3.1: a server that takes no session says so in its greeting.
const FULL: &[u8] = b"421 4.3.2 too many sessions, try again later\r\n";

/// The mailbox's address, taken and not yet served.
#[derive(Debug)]
pub struct CaptureListener {
    listener: TcpListener,
    address: SocketAddr,
    /// How long a client may be silent.
    pub(super) idle: Duration,
}

impl CaptureListener {
    /// Returns the address, with the port that was given for port 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl CaptureMailbox {
    /// Takes an address to be served later.
    ///
    /// # Errors
    /// What the system answers: the address is in use, or not this machine's.
    pub async fn bind(address: SocketAddr) -> io::Result<CaptureListener> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(CaptureListener { listener, address, idle: IDLE_MAX })
    }

    /// Receives mail until `stop`, then says 421 to every client and ends. Stop it after the engine:
    /// deliveries under way may be on their way here.
    pub async fn serve(listener: CaptureListener, mailbox: Arc<Self>, stop: CancellationToken) {
        let CaptureListener { listener, address: _, idle } = listener;
        let blocks = Arc::new(Semaphore::new(UNDER_WAY_BYTES_MAX / BLOCK_BYTES));
        let shared = Arc::new(ListenerContext { mailbox, blocks, idle, stop: stop.clone() });
        let places = Arc::new(Semaphore::new(SESSIONS_MAX));
        let sessions = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Mostly too many open files, which the end of other connections cures.
                    warn!(%error, "the mailbox could not take a connection: {error}");
                    tokio::select! {
                        () = tokio::time::sleep(ACCEPT_PAUSE) => continue,
                        () = stop.cancelled() => break,
                    }
                }
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                // An empty socket takes so few bytes at once, or the client is gone already.
                let _ = stream.try_write(FULL);
                continue;
            };
            let shared = Arc::clone(&shared);
            sessions.spawn(async move {
                let _place = place;
                if let Err(error) = converse(stream, &shared).await {
                    debug!(%error, "a client of the mailbox was lost: {error}");
                }
            });
        }
        sessions.close();
        if tokio::time::timeout(STOP_WITHIN, sessions.wait()).await.is_err() {
            warn!("some clients of the mailbox were cut off by the stop");
        }
    }
}
