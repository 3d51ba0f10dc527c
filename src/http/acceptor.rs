//! Acceptance of connections while the system refuses them, for example because the process has no file descriptor
//! left.

use std::io;
use std::time::{Duration, Instant};

use salvo::conn::{Accepted, Acceptor, Holding};
use salvo::fuse::ArcFusePolicy;
use tracing::error;

use crate::base::clock::monotonic;

/// Pause after a failure to accept. Other connections end in the meantime.
const PAUSE: Duration = Duration::from_millis(100);
/// Interval of log lines about failures.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Acceptor that returns no error: it logs a failure at most once a minute, pauses, and accepts again.
pub(super) struct PersistentAcceptor<A> {
    inner: A,
    pause: Duration,
    logged_at: Option<Instant>,
    /// Failures since the last log line.
    unlogged: u64,
}

impl<A> PersistentAcceptor<A> {
    pub(super) fn new(inner: A) -> Self {
        Self { inner, pause: PAUSE, logged_at: None, unlogged: 0 }
    }

    /// Counts a failure at `now`. If a log line is due, returns the number of failures since the last one.
    fn count_failure(&mut self, now: Instant) -> Option<u64> {
        self.unlogged += 1;
        if self.logged_at.is_some_and(|at| now.saturating_duration_since(at) < LOG_INTERVAL) {
            return None;
        }
        self.logged_at = Some(now);
        Some(std::mem::take(&mut self.unlogged))
    }
}

impl<A: Acceptor> Acceptor for PersistentAcceptor<A> {
    type Coupler = A::Coupler;
    type Stream = A::Stream;

    fn holdings(&self) -> &[Holding] {
        self.inner.holdings()
    }

    /// Cancel safe if `A` is.
    async fn accept(&mut self, policy: Option<ArcFusePolicy>) -> io::Result<Accepted<Self::Coupler, Self::Stream>> {
        loop {
            match self.inner.accept(policy.clone()).await {
                Ok(accepted) => return Ok(accepted),
                // The client closed the connection before it was accepted.
                Err(cause) if cause.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(cause) => {
                    if let Some(count) = self.count_failure(monotonic()) {
                        error!(%cause, count, "could not accept a connection: {cause}");
                    }
                    tokio::time::sleep(self.pause).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use salvo::conn::tcp::TcpAcceptor;
    use salvo::conn::{Listener as _, TcpListener};
    use tokio::net::TcpStream;

    use super::*;

    /// Acceptor that fails `failures` times before it accepts.
    struct Failing {
        inner: TcpAcceptor,
        failures: u64,
    }

    impl Acceptor for Failing {
        type Coupler = <TcpAcceptor as Acceptor>::Coupler;
        type Stream = <TcpAcceptor as Acceptor>::Stream;

        fn holdings(&self) -> &[Holding] {
            self.inner.holdings()
        }

        async fn accept(&mut self, policy: Option<ArcFusePolicy>) -> io::Result<Accepted<Self::Coupler, Self::Stream>> {
            if self.failures == 0 {
                return self.inner.accept(policy).await;
            }
            self.failures -= 1;
            Err(io::Error::other("too many open files"))
        }
    }

    #[tokio::test]
    async fn failures_to_accept_are_logged_once_a_minute_and_do_not_spin() {
        let inner = TcpListener::new("127.0.0.1:0").bind().await;
        let address = inner.local_addr().unwrap();
        let mut acceptor = PersistentAcceptor::new(Failing { inner, failures: 50 });
        acceptor.pause = Duration::from_millis(2);
        let started = monotonic();

        let (accepted, connected) = tokio::join!(acceptor.accept(None), TcpStream::connect(address));

        assert!(accepted.is_ok() && connected.is_ok());
        assert!(started.elapsed() >= Duration::from_millis(100));
        assert_eq!(acceptor.unlogged, 49);
    }

    #[test]
    fn a_failure_after_a_minute_is_logged_with_the_number_of_failures_since_the_last_line() {
        let mut acceptor = PersistentAcceptor::new(());
        let start = monotonic();
        let mut failed_at = |ms: u64| acceptor.count_failure(start + Duration::from_millis(ms));

        assert_eq!(failed_at(0), Some(1));
        for ms in [100, 30_000, 59_999] {
            assert_eq!(failed_at(ms), None, "{ms}");
        }
        assert_eq!(failed_at(60_000), Some(4));
        assert_eq!(failed_at(119_999), None);
        assert_eq!(failed_at(120_000), Some(2));
    }
}
