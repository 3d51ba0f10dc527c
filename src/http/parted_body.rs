//! Response bodies that are read in parts while they are sent. A part is in memory only until the client has read it.

use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use salvo::conn::ConnCtrl;
use salvo::http::body::{Body, Frame, SizeHint};
use salvo::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use salvo::http::{HeaderValue, ResBody};
use salvo::hyper::body::Bytes;
use salvo::oapi::{Components, EndpointOutRegister, Operation, ToSchema};
use salvo::writing::Json;
use salvo::{BoxedError, Depot, Request, Response, Writer, async_trait};
use serde::Serialize;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::error::{ApiError, ErrorCode};
use super::response_limits::{BodyIsBudgeted, ReaderPace, ResponseLimits, connection_of};
use super::response_memory::{MemoryHolder, ResponsePermit};
use crate::base::blocking;

/// A part of a body, or the reason why it cannot be read.
pub type PartFuture = Pin<Box<dyn Future<Output = Result<Vec<u8>, ApiError>> + Send>>;
/// A part of a body with its part of the budget.
type ReservedPartFuture = Pin<Box<dyn Future<Output = Result<(Vec<u8>, ResponsePermit), ApiError>> + Send>>;
/// Function that reads a part by its number.
pub type ReadPart = Box<dyn Fn(u32) -> PartFuture + Send + Sync>;

/// JSON response whose body is read in parts. `T` is the type in the OpenAPI document.
pub struct PartedJson<T> {
    body: PartedBody,
    of: PhantomData<fn() -> T>,
}

impl<T> PartedJson<T> {
    /// Returns a response of `bytes` bytes in `parts` parts of up to `part_bytes` bytes. Reads the first part.
    ///
    /// # Errors
    /// The error of the first part, or 503 if the memory of responses is used up. If a later part fails, the connection
    /// is closed before the body is complete.
    pub async fn read(
        limits: Arc<ResponseLimits>,
        holder: MemoryHolder,
        bytes: u64,
        parts: u32,
        part_bytes: usize,
        read: ReadPart,
    ) -> Result<Self, ApiError> {
        let permit = limits.reserve(holder, part_bytes).await?;
        let first = read(0).await?;
        let state = Mutex::new(State::Ready(first, permit));
        let running = limits.running();
        let body = PartedBody {
            limits,
            holder,
            connection: None,
            bytes,
            next: 1,
            parts,
            part_bytes,
            read,
            state,
            pace: ReaderPace::new(),
            running,
        };
        Ok(Self { body, of: PhantomData })
    }
}

#[async_trait]
impl<T: Send + 'static> Writer for PartedJson<T> {
    async fn write(self, req: &mut Request, _depot: &mut Depot, res: &mut Response) {
        let mut body = self.body;
        body.connection = connection_of(req);
        let headers = res.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.bytes));
        res.body(body.into_response());
        res.extensions.insert(BodyIsBudgeted);
    }
}

impl<T: ToSchema + Serialize> EndpointOutRegister for PartedJson<T> {
    fn register(components: &mut Components, operation: &mut Operation) {
        Json::<T>::register(components, operation);
    }
}

/// JSON response whose body is rendered.
pub struct RenderedJson<T> {
    body: Vec<u8>,
    permit: Option<ResponsePermit>,
    limits: Arc<ResponseLimits>,
    of: PhantomData<fn() -> T>,
}

impl<T: Serialize> RenderedJson<T> {
    /// Makes a value of about this size and encodes it as JSON, within the memory of `permit`. A large one does not block
    /// other requests. Without a permit, the response is bounded like any other.
    ///
    /// # Errors
    /// 500 if the value cannot be encoded. `name` is its name in the message.
    pub async fn render(
        limits: &Arc<ResponseLimits>,
        permit: Option<ResponsePermit>,
        bytes: usize,
        name: &str,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self, ApiError> {
        let encode = move || serde_json::to_vec(&make());
        let body = blocking::run_sized(bytes, encode)
            .await
            .map_err(|_| ApiError::new(ErrorCode::InternalServerError, format!("The {name} cannot be rendered.")))?;
        Ok(Self { body, permit, limits: Arc::clone(limits), of: PhantomData })
    }
}

#[async_trait]
impl<T: Send + 'static> Writer for RenderedJson<T> {
    async fn write(self, req: &mut Request, _depot: &mut Depot, res: &mut Response) {
        res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        let Some(permit) = self.permit else {
            res.body(self.body);
            return;
        };
        res.body(ResBody::Once(self.limits.with_deadline_if_large(self.body.into(), permit, connection_of(req))));
        res.extensions.insert(BodyIsBudgeted);
    }
}

impl<T: ToSchema + Serialize> EndpointOutRegister for RenderedJson<T> {
    fn register(components: &mut Components, operation: &mut Operation) {
        Json::<T>::register(components, operation);
    }
}

/// Body that reads its next part when the connection can send it.
struct PartedBody {
    limits: Arc<ResponseLimits>,
    holder: MemoryHolder,
    connection: Option<ConnCtrl>,
    /// Bytes that are not sent yet.
    bytes: u64,
    /// Number of the next part to read.
    next: u32,
    parts: u32,
    part_bytes: usize,
    read: ReadPart,
    // A lock makes the future `Sync`. No two threads use it at the same time.
    state: Mutex<State>,
    /// Minimum rate of the reader over all parts.
    pace: ReaderPace,
    /// A shutdown waits for it.
    #[expect(dead_code, reason = "it acts on drop")]
    running: TaskTrackerToken,
}

enum State {
    /// A part has been read and is not sent yet.
    Ready(Vec<u8>, ResponsePermit),
    /// A later part is being read, since this time.
    Reading(ReservedPartFuture, Instant),
    /// The last part that was read has been sent.
    Idle,
}

impl PartedBody {
    /// Returns a complete body if it has one part, so that the request log stores it.
    fn into_response(mut self) -> ResBody {
        if self.parts == 1
            && let State::Ready(part, permit) = std::mem::replace(self.state_mut(), State::Idle)
        {
            return ResBody::Once(self.limits.with_deadline_if_large(part.into(), permit, self.connection));
        }
        ResBody::Boxed(Box::pin(self))
    }

    fn state_mut(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_next(&mut self) -> State {
        let (limits, holder, part_bytes) = (Arc::clone(&self.limits), self.holder, self.part_bytes);
        let part = (self.read)(self.next);
        self.next += 1;
        let read = Box::pin(async move {
            let permit = limits.reserve_part(holder, part_bytes).await?;
            Ok((part.await?, permit))
        });
        State::Reading(read, Instant::now())
    }
}

impl Body for PartedBody {
    type Data = Bytes;
    type Error = BoxedError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxedError>>> {
        let this = self.get_mut();
        if matches!(this.state_mut(), State::Idle) {
            if this.next >= this.parts {
                return Poll::Ready(None);
            }
            *this.state_mut() = this.start_next();
        }
        if let State::Reading(reading, since) = this.state_mut() {
            let part = ready!(reading.as_mut().poll(cx));
            let pause = since.elapsed();
            this.pace.exclude(pause);
            *this.state_mut() = match part {
                Ok((part, permit)) => State::Ready(part, permit),
                Err(error) => {
                    this.next = this.parts;
                    *this.state_mut() = State::Idle;
                    return Poll::Ready(Some(Err(io::Error::other(error.message).into())));
                }
            };
        }
        let State::Ready(part, permit) = std::mem::replace(this.state_mut(), State::Idle) else {
            return Poll::Ready(None);
        };
        this.bytes = this.bytes.saturating_sub(part.len() as u64);
        let part = this.limits.with_deadline(part.into(), permit, &mut this.pace, this.connection.clone());
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::base::id::Id;

    #[tokio::test]
    async fn a_reader_that_is_too_slow_over_all_parts_is_disconnected() {
        let limits = Arc::new(ResponseLimits::new(TaskTracker::new()));
        let read: ReadPart = Box::new(|_| Box::pin(async { Ok(vec![0; 10]) }));
        let holder = MemoryHolder::Team(Id::MIN);
        let mut body = PartedJson::<()>::read(limits, holder, 20, 2, 10, read).await.unwrap().body;
        let connection = ConnCtrl::new();
        body.connection = Some(connection.clone());
        let first = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        drop(first.unwrap().unwrap());
        assert!(!connection.is_aborted());

        body.pace = ReaderPace::since(Instant::now() - Duration::from_secs(60));
        let second = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;

        let aborted = async {
            while !connection.is_aborted() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), aborted).await.unwrap();
        drop(second);
    }
}
