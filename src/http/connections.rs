//! What connections may cost: how many there are at once, and how long one may be waited for.
//!
//! One clock runs while a request is awaited, from the end of the last answer to the end of the next
//! head. It is as long as reverse proxies keep a connection they mean to use again (nginx: 60
//! seconds), because a request that meets a closing connection is lost, and a POST is not sent again.

use std::time::Duration;

use salvo::Server;
use salvo::conn::Acceptor;
use salvo::fuse::FuseConfig;

/// The bounds of connections. What a request's body may cost is the affair of `body_limits.rs`.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections at once; the next ones wait to be accepted.
    pub connections_max: usize,
    /// How long a client may take to send the head of a request, or to begin one.
    pub request_wait_max: Duration,
    /// How long a client may take nothing of its answer.
    pub answer_stall_max: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            request_wait_max: Duration::from_secs(75),
            answer_stall_max: Duration::from_secs(30),
        }
    }
}

impl ConnectionLimits {
    /// Returns a server that keeps to the limits.
    pub fn server<A: Acceptor + Send>(self, acceptor: A) -> Server<A> {
        let fuse = FuseConfig::default()
            .with_http1_header_timeout(self.request_wait_max)
            .with_write_stall_timeout(self.answer_stall_max);
        Server::new(acceptor).fuse_config(fuse).max_connections(self.connections_max)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use salvo::conn::{Listener as _, TcpListener};
    use salvo::{Depot, FlowCtrl, Handler, Request, Response, Router, async_trait};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::time::timeout;
    use tokio_util::task::TaskTracker;

    use super::*;

    /// How long a test waits for what the limits bring about.
    const WITHIN: Duration = Duration::from_secs(20);
    const REQUEST: &[u8] = b"GET /small HTTP/1.1\r\nHost: a\r\n\r\n";

    /// How long `/stream` is silent.
    const SILENCE: Duration = Duration::from_millis(800);

    /// Counts requests, and answers `/large` with more than the buffers of a connection hold, and
    /// `/stream` with a silence in the middle.
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
            tasks.spawn(limits.server(acceptor).serve(router));
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

    /// Reads the answer to [`REQUEST`], whose body is one dot.
    async fn answered(stream: &mut TcpStream) {
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n.") {
            let count = timeout(WITHIN, stream.read_buf(&mut read)).await.expect("an answer comes").unwrap();
            assert!(count > 0, "the answer broke off: {:?}", String::from_utf8_lossy(&read));
        }
    }

    /// Waits until the server closes, and returns how many bytes came before that.
    async fn closed(stream: &mut TcpStream) -> usize {
        let mut read = Vec::new();
        // A close with unread bytes in it arrives as a reset.
        let _ = timeout(WITHIN, stream.read_to_end(&mut read)).await.expect("the server closes");
        read.len()
    }

    #[tokio::test]
    async fn a_client_that_sends_no_head_or_half_of_one_is_disconnected() {
        let limits = ConnectionLimits { request_wait_max: Duration::from_millis(500), ..ConnectionLimits::default() };
        let served = Served::within(limits).await;
        let mut silent = served.sent(b"").await;
        let mut halting = served.sent(&REQUEST[..20]).await;
        let mut idle = served.sent(REQUEST).await;
        answered(&mut idle).await;

        assert_eq!(closed(&mut silent).await, 0);
        assert_eq!(closed(&mut halting).await, 0);
        assert_eq!(closed(&mut idle).await, 0);
        assert_eq!(served.requests(), 1);
    }

    #[tokio::test]
    async fn a_connection_beyond_the_limit_waits_until_another_has_ended() {
        let served = Served::within(ConnectionLimits { connections_max: 1, ..ConnectionLimits::default() }).await;
        let mut first = served.sent(REQUEST).await;
        answered(&mut first).await;
        let mut second = served.sent(REQUEST).await;

        first.write_all(REQUEST).await.unwrap();
        answered(&mut first).await;
        assert_eq!(served.requests(), 2);
        drop(first);

        answered(&mut second).await;
    }

    #[tokio::test]
    async fn a_stream_that_is_silent_for_longer_than_the_limits_goes_on() {
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
    async fn an_answer_that_nobody_takes_is_given_up() {
        let answer_stall_max = Duration::from_millis(100);
        let limits = ConnectionLimits { connections_max: 1, answer_stall_max, ..ConnectionLimits::default() };
        let served = Served::within(limits).await;
        let _stalled = served.sent(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await;

        let mut next = served.sent(REQUEST).await;

        answered(&mut next).await;
    }
}
