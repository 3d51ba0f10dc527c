//! One HTTP/1.1 connection, and one request at a time over it.
//!
//! hyper splits a connection into a request sender and a connection future that does the I/O. The caller that waits for
//! the response polls this future, so the connection needs no task. Dropping a request leaves no task behind, and an
//! idle connection costs only a socket.

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
use super::metered_io::{HttpStream, MeteredIo, ReadBudget};

/// Maximum bytes of the status line and the header fields of one response. An interim response counts separately.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a body after which reading stops. If the body is longer, the connection is closed instead of drained.
const BODY_BYTES_MAX: usize = 8 * 1024;
/// Maximum bytes of a body that are returned.
pub(super) const BODY_BYTES_KEPT: usize = 1_024;

/// An open connection without a request in progress.
pub(super) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    driver: Driver,
    budget: Arc<ReadBudget>,
    idle_since: Instant,
}

/// The connection future; `None` after the connection has ended.
struct Driver(Option<Box<Connection<MeteredIo, Full<Bytes>>>>);

/// The head of a response and the beginning of its body.
pub(super) struct RawResponse {
    pub(super) head: hyper::http::response::Parts,
    /// The beginning of the body, at most [`BODY_BYTES_KEPT`] bytes.
    pub(super) body: Vec<u8>,
    /// Whether more bytes were read than `body` contains.
    pub(super) is_truncated: bool,
}

/// A response whose body is read in parts. Dropping it closes the connection.
pub(super) struct StreamedResponse {
    connection: HttpConnection,
    head: hyper::http::response::Parts,
    body: Incoming,
    end: Instant,
}

impl StreamedResponse {
    pub(super) fn head(&self) -> &hyper::http::response::Parts {
        &self.head
    }

    /// Returns the number of bytes that the body has at least, from its `Content-Length`.
    pub(super) fn announced_bytes(&self) -> u64 {
        hyper::body::Body::size_hint(&self.body).lower()
    }

    /// Returns the next bytes of the body; `None` at its end.
    pub(super) async fn next_bytes(&mut self) -> Result<Option<Bytes>, RequestError> {
        loop {
            let frame = timeout_at(self.end, self.connection.driver.drive(self.body.frame())).await;
            let Some(frame) = frame.map_err(|_| RequestError::Timeout(RequestPhase::Response))? else {
                return Ok(None);
            };
            let frame = frame.map_err(|error| RequestError::of(&error, self.connection.budget.is_spent()))?;
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }
}

/// Failure of an exchange before the head of the response was complete.
pub(super) struct ExchangeError {
    pub(super) error: RequestError,
    /// Whether the connection ended before the first byte of a response. The server may have closed the connection
    /// before it received the request.
    pub(super) is_before_response: bool,
}

impl HttpConnection {
    /// Starts HTTP/1.1 over a new stream, with a byte budget for each response. Sends no bytes.
    pub(super) async fn start(stream: HttpStream, response_bytes_max: usize) -> Result<Self, RequestError> {
        let budget = Arc::new(ReadBudget::new(response_bytes_max));
        let (sender, connection) = Builder::new()
            .max_buf_size(HEAD_BYTES_MAX)
            .max_header_size(HEAD_BYTES_MAX)
            .handshake(MeteredIo::new(stream, Arc::clone(&budget)))
            .await
            .map_err(|error| RequestError::of(&error, false))?;
        Ok(Self { sender, driver: Driver(Some(Box::new(connection))), budget, idle_since: Instant::now() })
    }

    /// Returns whether the connection can send a request. Polls it once, to detect that the server has closed it.
    pub(super) fn is_open(&mut self) -> bool {
        // No wake-up is necessary: the next request polls the connection again.
        self.driver.poll_once(&mut Context::from_waker(Waker::noop()));
        self.is_ready()
    }

    pub(super) fn idle_since(&self) -> Instant {
        self.idle_since
    }

    fn is_ready(&self) -> bool {
        self.driver.0.is_some() && self.sender.is_ready()
    }

    /// Sends a request and reads the response until `end`. Also returns the connection if it can send another request.
    ///
    /// After the head is complete, an incomplete or slow body is not an error: the bytes received so far are returned.
    pub(super) async fn exchange(
        mut self,
        request: Request<Full<Bytes>>,
        end: Instant,
    ) -> Result<(RawResponse, Option<Self>), ExchangeError> {
        let response = self.send(request, end).await?;
        let (raw, is_complete) = self.read(response, end).await;
        // After a 101 the connection no longer uses HTTP. This client never requests a protocol switch.
        if !is_complete || raw.head.status.is_informational() {
            return Ok((raw, None));
        }
        // One more poll makes the connection ready for the next request. Otherwise the connection is closing, or still
        // sends the request body, and is dropped.
        poll_fn(|cx| {
            self.driver.poll_once(cx);
            Poll::Ready(())
        })
        .await;
        self.idle_since = Instant::now();
        let is_ready = self.is_ready();
        Ok((raw, is_ready.then_some(self)))
    }

    /// Sends a request and returns the response when its head is complete.
    async fn send(&mut self, request: Request<Full<Bytes>>, end: Instant) -> Result<Response<Incoming>, ExchangeError> {
        self.budget.refill();
        let receiving = self.sender.send_request(request);
        match timeout_at(end, self.driver.drive(receiving)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                let error = RequestError::of(&error, self.budget.is_spent());
                let is_before_response = error == RequestError::Reset && self.budget.is_unused();
                Err(ExchangeError { error, is_before_response })
            }
            Err(_) => {
                Err(ExchangeError { error: RequestError::Timeout(RequestPhase::Response), is_before_response: false })
            }
        }
    }

    /// Sends the only request of the connection and returns the response, whose body is read in parts until `end`.
    pub(super) async fn open(
        mut self,
        request: Request<Full<Bytes>>,
        end: Instant,
    ) -> Result<StreamedResponse, RequestError> {
        let response = self.send(request, end).await.map_err(|failed| failed.error)?;
        let (head, body) = response.into_parts();
        Ok(StreamedResponse { connection: self, head, body, end })
    }

    /// Reads the body up to [`BODY_BYTES_MAX`] and returns whether it was complete.
    async fn read(&mut self, response: Response<Incoming>, end: Instant) -> (RawResponse, bool) {
        let (head, mut incoming) = response.into_parts();
        let mut body = Vec::new();
        let mut read_bytes = 0;
        let is_complete = loop {
            let frame = match timeout_at(end, self.driver.drive(incoming.frame())).await {
                Ok(None) => break true,
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) | Err(_) => break false,
            };
            let Some(data) = frame.data_ref() else { continue };
            read_bytes += data.len();
            let kept_bytes = data.len().min(BODY_BYTES_KEPT - body.len());
            body.extend_from_slice(&data[..kept_bytes]);
            if read_bytes > BODY_BYTES_MAX {
                break false;
            }
        };
        let is_truncated = read_bytes > body.len();
        (RawResponse { head, body, is_truncated }, is_complete)
    }
}

impl Driver {
    /// Polls the connection future once.
    fn poll_once(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.0
            && Pin::new(&mut **connection).poll(cx).is_ready()
        {
            // The future that waits for the response receives the error, if any.
            self.0 = None;
        }
    }

    /// Polls the connection until `future` is ready.
    async fn drive<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|cx| {
            self.poll_once(cx);
            future.as_mut().poll(cx)
        })
        .await
    }
}
