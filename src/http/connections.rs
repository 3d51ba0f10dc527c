//! Limits of connections: their number, their memory and their timeouts.
//!
//! A connection holds at most [`HEAD_BYTES_MAX`] of a request that is not complete. `address_limit.rs` bounds the
//! connections of one client, and `acceptor.rs` accepts again after a failure.
//!
//! One timeout covers the time from the end of a response to the end of the next request head. It is longer than the
//! idle timeout of reverse proxies (nginx: 60 seconds). A request on a connection that the server closes is lost, and
//! proxies do not repeat a POST.

use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use salvo::Server;
use salvo::conn::Acceptor;
use salvo::fuse::FuseConfig;

use super::acceptor::PersistentAcceptor;
use super::address_limit::AddressLimit;
use super::counters::HttpCounters;

/// Maximum size of a request line with its headers (nginx: 8 KiB a line; Node.js: 16 KiB). The same limit bounds the
/// buffers of a connection. A connection uses about as much again, so that 10,000 clients with unfinished heads use less
/// than 300 MiB. A larger head gets status 431, except that one read can complete a head of up to 20 KiB.
const HEAD_BYTES_MAX: usize = 12 << 10;

/// Limits of connections. `body_limits.rs` has those of request bodies.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// Maximum number of open connections. Further ones wait to be accepted.
    pub connections_max: usize,
    /// Maximum number of open connections of one client. Further ones are closed. `None` is no limit.
    pub client_connections_max: Option<usize>,
    /// Addresses of reverse proxies, whose connections are those of many clients. They have no limit of their own.
    pub trusted_proxies: Vec<IpNet>,
    /// Timeout from the end of a response, or the start of the connection, to the end of a request head.
    pub request_wait_max: Duration,
    /// Timeout for a client that does not read its response.
    pub answer_stall_max: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            client_connections_max: None,
            trusted_proxies: Vec::new(),
            request_wait_max: Duration::from_secs(75),
            answer_stall_max: Duration::from_secs(30),
        }
    }
}

impl ConnectionLimits {
    /// Returns a server with these limits, whose connections are counted.
    pub fn server<A: Acceptor + Send>(self, acceptor: A, counters: Arc<HttpCounters>) -> Server<impl Acceptor> {
        let timeouts = FuseConfig::default()
            .with_http1_header_timeout(self.request_wait_max)
            .with_write_stall_timeout(self.answer_stall_max);
        let policy = AddressLimit::new(self.client_connections_max, self.trusted_proxies, timeouts, counters);
        let mut server =
            Server::new(PersistentAcceptor::new(acceptor)).fuse_policy(policy).max_connections(self.connections_max);
        server.http1_mut().max_buf_size(HEAD_BYTES_MAX);
        server
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use salvo::conn::{Listener as _, TcpListener};
    use salvo::{Depot, FlowCtrl, Handler, Request, Response, Router, async_trait};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::time::timeout;
    use tokio_util::task::TaskTracker;

    use super::*;

    /// Timeout of the tests.
    const WITHIN: Duration = Duration::from_secs(20);
    const REQUEST: &[u8] = b"GET /small HTTP/1.1\r\nHost: a\r\n\r\n";

    /// Pause of `/stream`.
    const SILENCE: Duration = Duration::from_millis(800);

    /// Handler that counts requests. `/large` returns more than the buffers of a connection hold, and
    /// `/stream` pauses in the middle of its response.
    #[derive(Clone, Default)]
    struct Counted(Arc<AtomicUsize>, TaskTracker);

    #[async_trait]
    impl Handler for Counted {
        async fn handle(&self, req: &mut Request, _depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
            self.0.fetch_add(1, Ordering::Relaxed);
            if req.uri().path() == "/stream" {
                let mut body = res.channel();
                self.1.spawn(async move {
                    body.send_data("begun").await.unwrap();
                    tokio::time::sleep(SILENCE).await;
                    body.send_data("ended").await.unwrap();
                });
                return;
            }
            let bytes = if req.uri().path() == "/large" { 64 << 20 } else { 1 };
            res.write_body(vec![b'.'; bytes]).unwrap();
        }
    }

    struct Served {
        address: SocketAddr,
        counted: Counted,
        _tasks: TaskTracker,
    }

    impl Served {
        async fn within(limits: ConnectionLimits) -> Self {
            let acceptor = TcpListener::new("127.0.0.1:0").bind().await;
            let address = acceptor.holdings()[0].local_addr.clone().into_std().unwrap();
            let counted = Counted::default();
            let router = Router::with_path("{**rest}").goal(counted.clone());
            let tasks = TaskTracker::new();
            tasks.spawn(limits.server(acceptor, Arc::default()).serve(router));
            Self { address, counted, _tasks: tasks }
        }

        async fn sent(&self, bytes: &[u8]) -> TcpStream {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            stream.write_all(bytes).await.unwrap();
            stream
        }

        fn requests(&self) -> usize {
            self.counted.0.load(Ordering::Relaxed)
        }
    }

    /// Reads the response to [`REQUEST`], whose body is one dot.
    async fn read_response(stream: &mut TcpStream) {
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n.") {
            let count = timeout(WITHIN, stream.read_buf(&mut read)).await.expect("no response").unwrap();
            assert!(count > 0, "the response is incomplete: {:?}", String::from_utf8_lossy(&read));
        }
    }

    /// Waits until the server closes the connection, and returns the number of bytes received before.
    async fn closed(stream: &mut TcpStream) -> usize {
        let mut read = Vec::new();
        // If the server has unread bytes when it closes, the client gets a reset.
        let _ = timeout(WITHIN, stream.read_to_end(&mut read)).await.expect("the server did not close the connection");
        read.len()
    }

    #[tokio::test]
    async fn a_client_without_a_complete_request_head_is_disconnected() {
        let limits = ConnectionLimits { request_wait_max: Duration::from_millis(500), ..ConnectionLimits::default() };
        let served = Served::within(limits).await;
        let mut silent = served.sent(b"").await;
        let mut halting = served.sent(&REQUEST[..20]).await;
        let mut idle = served.sent(REQUEST).await;
        read_response(&mut idle).await;

        assert_eq!(closed(&mut silent).await, 0);
        assert_eq!(closed(&mut halting).await, 0);
        assert_eq!(closed(&mut idle).await, 0);
        assert_eq!(served.requests(), 1);
    }

    #[tokio::test]
    async fn a_connection_beyond_the_limit_waits_until_another_ends() {
        let served = Served::within(ConnectionLimits { connections_max: 1, ..ConnectionLimits::default() }).await;
        let mut first = served.sent(REQUEST).await;
        read_response(&mut first).await;
        let mut second = served.sent(REQUEST).await;

        first.write_all(REQUEST).await.unwrap();
        read_response(&mut first).await;
        assert_eq!(served.requests(), 2);
        drop(first);

        read_response(&mut second).await;
    }

    #[tokio::test]
    async fn a_stream_that_pauses_longer_than_the_timeouts_continues() {
        let brief = SILENCE / 4;
        let limits =
            ConnectionLimits { request_wait_max: brief, answer_stall_max: brief, ..ConnectionLimits::default() };
        let served = Served::within(limits).await;
        let mut stream = served.sent(b"GET /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;

        let mut read = Vec::new();
        timeout(WITHIN, stream.read_to_end(&mut read)).await.unwrap().unwrap();

        let read = String::from_utf8(read).unwrap();
        assert!(read.contains("begun") && read.contains("ended"), "{read}");
    }

    #[tokio::test]
    async fn a_response_that_is_not_read_is_aborted() {
        let answer_stall_max = Duration::from_millis(100);
        let limits = ConnectionLimits { connections_max: 1, answer_stall_max, ..ConnectionLimits::default() };
        let served = Served::within(limits).await;
        let _stalled = served.sent(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await;

        let mut next = served.sent(REQUEST).await;

        read_response(&mut next).await;
    }
}
