//! Limits of response bodies: the memory of all bodies together, and their rate.
//!
//! A read waits for its turn before its handler starts, so that few results are in memory at once. A large body reserves
//! a part of a shared memory budget, and releases it when it is sent or its connection ends. The reader must have a
//! minimum rate, so that an unread response releases its part of the budget. [`ResponseMemory`] bounds the reads and the
//! memory of one team. [`PartedJson`](super::parted_body::PartedJson) reserves one part at a time.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use salvo::conn::ConnCtrl;
use salvo::http::Method;
use salvo::hyper::body::Bytes;
use salvo::{Depot, FlowCtrl, Request, Response, handler};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::error::ApiError;
use super::response_memory::{MemoryHolder, ReadPermit, ResponseMemory, ResponsePermit};
use super::state::service;
use super::whole_body::whole_body;

/// Budget of all large bodies, in bytes. The server stays below 300 MiB with 10,000 connections, and many bodies of the
/// usual size fit.
const IN_FLIGHT_BYTES_MAX: usize = 64 << 20;
/// Maximum size of a body that needs no part of the budget. The number of connections bounds the memory of these
/// bodies.
const SMALL_BYTES_MAX: usize = 16 << 10;
/// Maximum wait of a read for its turn, and of any other response for its part of the budget.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Maximum wait of a rendered read for its part of the budget. Other reads of its team wait meanwhile.
const RENDERED_WAIT_MAX: Duration = Duration::from_millis(250);
/// Maximum wait of the next part of a response that has begun.
const PART_WAIT_MAX: Duration = Duration::from_secs(30);
/// Time that every response may take in addition to the minimum rate.
const LAG_MAX: Duration = Duration::from_secs(30);
/// Minimum rate of a reader, in bytes per second.
const BYTES_A_SECOND: u64 = 16 << 10;
/// Memory of all encoders of compressed bodies, with their results.
const ENCODERS_BYTES_MAX: usize = 32 << 20;

tokio::task_local! {
    /// Permit of the read that the task responds to. [`ResponseLimits::reserve`] releases it.
    static READ_PERMIT: RefCell<Option<ReadPermit>>;
}

/// Limits of response bodies.
#[derive(Debug)]
pub struct ResponseLimits {
    memory: ResponseMemory,
    /// Memory of encoders, one permit a byte.
    encoders: Arc<Semaphore>,
    wait_max: Duration,
    rendered_wait_max: Duration,
    lag_max: Duration,
    /// Owner of the timers of bodies. A shutdown waits for it.
    tasks: TaskTracker,
}

impl ResponseLimits {
    /// Returns the limits of a server. A shutdown waits for `tasks`.
    pub fn new(tasks: TaskTracker) -> Self {
        Self::with_budget(IN_FLIGHT_BYTES_MAX, tasks)
    }

    pub(super) fn with_budget(bytes_max: usize, tasks: TaskTracker) -> Self {
        Self {
            memory: ResponseMemory::new(bytes_max),
            encoders: Arc::new(Semaphore::new(ENCODERS_BYTES_MAX)),
            wait_max: WAIT_MAX,
            rendered_wait_max: RENDERED_WAIT_MAX,
            lag_max: LAG_MAX,
            tasks,
        }
    }

    /// Reserves `bytes` of the budget, or half of it for a larger body. Waits up to [`WAIT_MAX`]. Ends the turn of the
    /// read that the task responds to, because the budget then bounds its memory.
    ///
    /// # Errors
    /// 503 if the budget, or the part of its holder, is used up, or if too many requests wait.
    pub async fn reserve(&self, holder: MemoryHolder, bytes: usize) -> Result<ResponsePermit, ApiError> {
        // Outside a read, such as in a test, there is no permit.
        let _ = READ_PERMIT.try_with(RefCell::take);
        let _place = self.memory.start_wait(holder).ok_or_else(busy)?;
        self.reserve_within(holder, bytes, self.wait_max).await
    }

    /// Reserves `bytes` for the next part of a body that has begun.
    ///
    /// # Errors
    /// 503 if the budget, or the part of its holder, is used up for [`PART_WAIT_MAX`].
    pub(super) async fn reserve_part(&self, holder: MemoryHolder, bytes: usize) -> Result<ResponsePermit, ApiError> {
        self.reserve_within(holder, bytes, PART_WAIT_MAX).await
    }

    async fn reserve_within(
        &self,
        holder: MemoryHolder,
        bytes: usize,
        wait_max: Duration,
    ) -> Result<ResponsePermit, ApiError> {
        match tokio::time::timeout(wait_max, self.memory.reserve(holder, bytes)).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }

    /// Reserves the memory of an encoder with its result; `None` if it is not free now.
    pub(super) fn try_reserve_encoder(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.encoders).try_acquire_many_owned(u32::try_from(bytes).ok()?).ok()
    }

    /// Returns a token of a response that is not sent completely. A shutdown waits for it.
    pub(super) fn running(&self) -> TaskTrackerToken {
        self.tasks.token()
    }

    /// Returns `body` as bytes that hold its part of the budget until they are dropped. Aborts the connection if they
    /// are not dropped at the end of `pace`, which then includes them.
    pub(super) fn with_deadline(
        &self,
        body: Bytes,
        mut permit: ResponsePermit,
        pace: &mut ReaderPace,
        connection: Option<ConnCtrl>,
    ) -> Bytes {
        permit.shrink(body.len());
        let deadline = pace.deadline(body.len(), self.lag_max);
        let timer = self.tasks.spawn(async move {
            tokio::time::sleep_until(deadline).await;
            if let Some(connection) = connection {
                connection.abort();
            }
        });
        Bytes::from_owner(BudgetedBytes { body, _permit: permit, timer: timer.abort_handle() })
    }

    /// Does the same as [`ResponseLimits::with_deadline`] for a complete body, but releases the budget immediately if
    /// it is small.
    pub(super) fn with_deadline_if_large(
        &self,
        body: Bytes,
        permit: ResponsePermit,
        connection: Option<ConnCtrl>,
    ) -> Bytes {
        if body.len() <= SMALL_BYTES_MAX {
            body
        } else {
            self.with_deadline(body, permit, &mut ReaderPace::new(), connection)
        }
    }

    /// Reserves the memory of a complete body, if it is large. `None` if the memory is not free now.
    pub(super) async fn try_budget(
        &self,
        holder: MemoryHolder,
        body: Bytes,
        connection: Option<ConnCtrl>,
    ) -> Option<Bytes> {
        if body.len() <= SMALL_BYTES_MAX {
            return Some(body);
        }
        let permit = self.reserve_within(holder, body.len(), Duration::ZERO).await.ok()?;
        Some(self.with_deadline(body, permit, &mut ReaderPace::new(), connection))
    }

    /// Waits up to [`WAIT_MAX`] for the turn of a read; `None` if it does not come, or if too many requests wait.
    async fn admit_read(&self, holder: MemoryHolder) -> Option<ReadPermit> {
        let _place = self.memory.start_wait(holder)?;
        tokio::time::timeout(self.wait_max, self.memory.admit_read(holder)).await.ok()?.ok()
    }

    /// Runs the handler of a read in its turn, which ends when the body is small or has its part of the budget.
    /// Responds with 503 if too many reads wait.
    async fn respond_to_read(
        &self,
        holder: MemoryHolder,
        req: &mut Request,
        depot: &mut Depot,
        res: &mut Response,
        ctrl: &mut FlowCtrl,
    ) {
        let Some(permit) = self.admit_read(holder).await else {
            too_many_reads().render(req, res);
            ctrl.skip_rest();
            return;
        };
        let respond = async {
            ctrl.call_next(req, depot, res).await;
            self.bound(Effect::Read, holder, req, res).await;
        };
        READ_PERMIT.scope(RefCell::new(Some(permit)), respond).await;
    }

    /// Reserves the memory of a body that is complete. Replaces the body of a read by a 503 if the budget is used up.
    async fn bound(&self, effect: Effect, holder: MemoryHolder, req: &Request, res: &mut Response) {
        if res.extensions.get::<BodyIsBudgeted>().is_some() {
            return;
        }
        let Some(body) = whole_body(res).filter(|body| body.len() > SMALL_BYTES_MAX) else { return };
        let wait_max = match effect {
            Effect::Read => self.rendered_wait_max,
            Effect::Change => self.wait_max,
        };
        match self.reserve_within(holder, body.len(), wait_max).await {
            Ok(permit) => {
                let whole = std::mem::take(body);
                *body = self.with_deadline(whole, permit, &mut ReaderPace::new(), connection_of(req));
                res.extensions.insert(BodyIsBudgeted);
            }
            Err(error) if effect == Effect::Read => error.render(req, res),
            // The response of a change is sent in any case, so that the client does not repeat the change.
            Err(_) => {}
        }
    }
}

/// Effect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The request changes nothing, so that an error response is correct after the handler.
    Read,
    /// The request may change something.
    Change,
}

impl Effect {
    fn of(method: &Method) -> Self {
        if matches!(*method, Method::GET | Method::HEAD) { Self::Read } else { Self::Change }
    }
}

/// Minimum rate of the reader of one response.
#[derive(Debug)]
pub(super) struct ReaderPace {
    /// Start of the response, later by the time that the server took to read the parts.
    start: Instant,
    /// Bytes that were given to the connection.
    bytes: u64,
}

impl ReaderPace {
    /// Returns the pace of a response that starts now.
    pub(super) fn new() -> Self {
        Self::since(Instant::now())
    }

    pub(super) fn since(start: Instant) -> Self {
        Self { start, bytes: 0 }
    }

    /// Excludes a time in which the reader had nothing to read.
    pub(super) fn exclude(&mut self, pause: Duration) {
        self.start += pause;
    }

    /// Adds bytes that are given to the connection. Returns the time by which the reader must have them.
    fn deadline(&mut self, bytes: usize, lag_max: Duration) -> Instant {
        self.bytes += bytes as u64;
        self.start + lag_max + Duration::from_millis(self.bytes.saturating_mul(1_000) / BYTES_A_SECOND)
    }
}

/// Mark in the extensions of a response whose body has its part of the budget, or needs no memory of its own.
#[derive(Clone, Copy)]
pub(super) struct BodyIsBudgeted;

/// Returns the control of the connection of a request.
pub(super) fn connection_of(req: &Request) -> Option<ConnCtrl> {
    req.extensions().get::<ConnCtrl>().cloned()
}

fn busy() -> ApiError {
    ApiError::unavailable("The server is sending too many large responses. Read them, and try again in a moment.")
}

fn too_many_reads() -> ApiError {
    ApiError::unavailable("The server has too many read requests of this team at once. Try again in a moment.")
}

/// Bytes that hold a part of the budget.
struct BudgetedBytes {
    body: Bytes,
    _permit: ResponsePermit,
    timer: AbortHandle,
}

impl AsRef<[u8]> for BudgetedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for BudgetedBytes {
    fn drop(&mut self) {
        self.timer.abort();
    }
}

/// Bounds the memory of the responses of a route. A GET or HEAD request is a read.
#[handler]
pub(crate) async fn bound_response(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    let effect = Effect::of(req.method());
    respond(effect, req, depot, res, ctrl).await;
}

/// Bounds the memory of the responses of a route that only reads, although its method is POST.
#[handler]
pub(crate) async fn bound_read(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    respond(Effect::Read, req, depot, res, ctrl).await;
}

async fn respond(effect: Effect, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    let Ok(limits) = service::<ResponseLimits>(depot) else {
        ctrl.call_next(req, depot, res).await;
        return;
    };
    let holder = MemoryHolder::of(req, depot);
    match effect {
        Effect::Read => limits.respond_to_read(holder, req, depot, res, ctrl).await,
        Effect::Change => {
            ctrl.call_next(req, depot, res).await;
            limits.bound(effect, holder, req, res).await;
        }
    }
}

#[cfg(test)]
mod tests;
