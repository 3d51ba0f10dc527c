//! One HTTP/1.1 connection, and one request at a time over it.
//!
//! hyper splits a connection into a half that takes requests and a half that does the work. The working half runs
//! inside whoever waits for the answer, not in a task of its own: nothing is left behind when a request is dropped, and
//! a connection that waits for the next request costs a socket and no more.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper::{Request, Response};
use tokio::time::{Instant, timeout_at};

use super::failure::{RequestError, RequestPhase};
use super::metered_io::{Budget, Stream, Wire};

/// Bytes of the status line and the header fields of one answer, interim ones apart.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a body that are read. A connection with more to come is closed: draining it is the sender's wish, not ours.
const BODY_BYTES_MAX: usize = 8 * 1024;
/// Bytes of a body that are kept.
pub(super) const BODY_BYTES_KEPT: usize = 1_024;

/// An open connection between two requests.
pub(super) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    worker: Worker,
    budget: Arc<Budget>,
    idle_since: Instant,
}

/// The half that does the work, until the connection has ended.
struct Worker(Option<Box<Connection<Wire, Full<Bytes>>>>);

/// What came back.
pub(super) struct RawResponse {
    pub(super) head: hyper::http::response::Parts,
    /// The beginning of the body, at most [`BODY_BYTES_KEPT`] bytes of it.
    pub(super) body: Vec<u8>,
    /// Whether `body` stops short of what was read.
    pub(super) is_cut: bool,
}

/// Why nothing came back.
pub(super) struct ConnectionFailure {
    pub(super) failure: RequestError,
    /// The connection ended without a byte of an answer: the other side may have closed it before it saw the request.
    pub(super) is_silent: bool,
}

impl HttpConnection {
    /// Starts HTTP/1.1 over a fresh stream. Nothing is sent yet.
    pub(super) async fn over(stream: Stream) -> Result<Self, RequestError> {
        let budget = Arc::new(Budget::default());
        budget.refill();
        let (sender, connection) = Builder::new()
            .max_buf_size(HEAD_BYTES_MAX)
            .max_header_size(HEAD_BYTES_MAX)
            .handshake(Wire::new(stream, Arc::clone(&budget)))
            .await
            .map_err(|error| RequestError::of(&error, false))?;
        Ok(Self { sender, worker: Worker(Some(Box::new(connection))), budget, idle_since: Instant::now() })
    }

    /// Whether the connection waits for a request and the other side has not been seen to close it.
    pub(super) fn is_open(&mut self) -> bool {
        // Nobody waits for what this look wakes: the next request looks again.
        self.worker.run(&mut Context::from_waker(Waker::noop()));
        self.is_ready()
    }

    pub(super) fn idle_since(&self) -> Instant {
        self.idle_since
    }

    fn is_ready(&self) -> bool {
        self.worker.0.is_some() && self.sender.is_ready()
    }

    /// Sends a request and reads the answer until `end`; returns the connection too, when it can take another.
    ///
    /// The head decides: once it has come, a body that breaks off or dawdles is kept as far as it came.
    pub(super) async fn exchange(
        mut self,
        request: Request<Full<Bytes>>,
        end: Instant,
    ) -> Result<(RawResponse, Option<Self>), ConnectionFailure> {
        self.budget.refill();
        let answer = self.sender.send_request(request);
        let response = match timeout_at(end, self.worker.with(answer)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let failure = RequestError::of(&error, self.budget.is_spent());
                let is_silent = failure == RequestError::Reset && self.budget.is_untouched();
                return Err(ConnectionFailure { failure, is_silent });
            }
            Err(_) => {
                return Err(ConnectionFailure {
                    failure: RequestError::Timeout(RequestPhase::Answer),
                    is_silent: false,
                });
            }
        };
        let (reply, is_whole) = self.read(response, end).await;
        // 101 leaves HTTP behind, and nobody here asked for that.
        if !is_whole || reply.head.status.is_informational() {
            return Ok((reply, None));
        }
        // One more turn takes the worker to where it wants a request. A connection that does not get there at once, be
        // it closing or still busy with our body, is not worth waiting for.
        poll_fn(|cx| {
            self.worker.run(cx);
            Poll::Ready(())
        })
        .await;
        self.idle_since = Instant::now();
        let is_ready = self.is_ready();
        Ok((reply, is_ready.then_some(self)))
    }

    /// Reads the body as far as it is wanted, and tells whether that was all of it.
    async fn read(&mut self, response: Response<Incoming>, end: Instant) -> (RawResponse, bool) {
        let (head, mut incoming) = response.into_parts();
        let mut body = Vec::new();
        let mut read_bytes = 0;
        let is_whole = loop {
            let frame = match timeout_at(end, self.worker.with(incoming.frame())).await {
                Ok(None) => break true,
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) | Err(_) => break false,
            };
            let Some(data) = frame.data_ref() else { continue };
            read_bytes += data.len();
            let kept = data.len().min(BODY_BYTES_KEPT - body.len());
            body.extend_from_slice(&data[..kept]);
            if read_bytes > BODY_BYTES_MAX {
                break false;
            }
        };
        let is_cut = read_bytes > body.len();
        (RawResponse { head, body, is_cut }, is_whole)
    }
}

impl Worker {
    /// Does what can be done at once.
    fn run(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.0
            && Pin::new(&mut **connection).poll(cx).is_ready()
        {
            // What went wrong, if anything, was told to whoever waited for an answer.
            self.0 = None;
        }
    }

    /// Works until `wanted` is there.
    async fn with<F: Future>(&mut self, wanted: F) -> F::Output {
        let mut wanted = pin!(wanted);
        poll_fn(|cx| {
            self.run(cx);
            wanted.as_mut().poll(cx)
        })
        .await
    }
}
