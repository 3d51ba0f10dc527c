//! Limits of response bodies: the memory of all bodies together, and their rate.
//!
//! A large body reserves a part of a shared memory budget, and releases it when it is sent or its connection ends. The
//! reader must have a minimum rate, so that an unread response releases its part of the budget. `response_memory.rs`
//! bounds the part of one team. [`PartedJson`](super::parted_body::PartedJson) reserves one part at a time.

use std::time::Duration;

use salvo::conn::ConnCtrl;
use salvo::http::{Method, ResBody};
use salvo::hyper::body::Bytes;
use salvo::{Depot, FlowCtrl, Request, Response, handler};
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::error::ApiError;
use super::response_memory::{MemoryHolder, ResponseMemory, ResponsePermit};
use super::state::service;

/// Budget of all large bodies, in bytes. The server stays below 300 MiB with 10,000 connections, and many bodies of the
/// usual size fit.
const IN_FLIGHT_BYTES_MAX: usize = 64 << 20;
/// Maximum size of a body that needs no part of the budget. The number of connections bounds the memory of these
/// bodies.
const SMALL_BYTES_MAX: usize = 16 << 10;
/// Maximum wait of a response for its part of the budget.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Maximum wait of the next part of a response that has begun.
const PART_WAIT_MAX: Duration = Duration::from_secs(30);
/// Time that every body may take in addition to the minimum rate.
const LAG_MAX: Duration = Duration::from_secs(30);
/// Minimum rate of a reader, in bytes per second.
const BYTES_A_SECOND: u64 = 16 << 10;
/// Matched paths of POST requests that only read, so that an error response is correct after the handler.
const READS_BY_POST: &[&str] = &["contacts/batch/get"];

/// Limits of response bodies.
#[derive(Debug)]
pub struct ResponseLimits {
    memory: ResponseMemory,
    wait_max: Duration,
    lag_max: Duration,
    /// Owner of the timers of bodies. A shutdown waits for it.
    tasks: TaskTracker,
}

impl ResponseLimits {
    /// Returns the limits of a server. A shutdown waits for `tasks`.
    pub fn new(tasks: TaskTracker) -> Self {
        Self::with_budget(IN_FLIGHT_BYTES_MAX, tasks)
    }

    fn with_budget(bytes_max: usize, tasks: TaskTracker) -> Self {
        Self { memory: ResponseMemory::new(bytes_max), wait_max: WAIT_MAX, lag_max: LAG_MAX, tasks }
    }

    /// Reserves `bytes` of the budget, or half of it for a larger body. Waits up to [`WAIT_MAX`].
    ///
    /// # Errors
    /// 503 if the budget, or the part of its holder, is used up.
    pub async fn reserve(&self, holder: MemoryHolder, bytes: usize) -> Result<ResponsePermit, ApiError> {
        self.reserve_within(holder, bytes, self.wait_max).await
    }

    /// Reserves `bytes` for the next part of a body that has begun.
    ///
    /// # Errors
    /// 503 if the budget, or the part of its holder, is used up for [`PART_WAIT_MAX`].
    pub(super) async fn reserve_part(&self, holder: MemoryHolder, bytes: usize) -> Result<ResponsePermit, ApiError> {
        self.reserve_within(holder, bytes, PART_WAIT_MAX).await
    }

    /// Reserves `bytes` of the budget; `None` if they are not free now.
    pub(super) async fn try_reserve(&self, holder: MemoryHolder, bytes: usize) -> Option<ResponsePermit> {
        self.reserve_within(holder, bytes, Duration::ZERO).await.ok()
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

    /// Returns a token of a response that is not sent completely. A shutdown waits for it.
    pub(super) fn running(&self) -> TaskTrackerToken {
        self.tasks.token()
    }

    /// Returns `body` as bytes that hold its part of the budget until they are dropped. Aborts the connection if they
    /// are not sent at the minimum rate.
    pub(super) fn hold(&self, body: Bytes, mut permit: ResponsePermit, connection: Option<ConnCtrl>) -> Bytes {
        permit.shrink(body.len());
        let time_max = self.lag_max + Duration::from_secs(body.len() as u64 / BYTES_A_SECOND);
        let timer = self.tasks.spawn(async move {
            tokio::time::sleep(time_max).await;
            if let Some(connection) = connection {
                connection.abort();
            }
        });
        Bytes::from_owner(HeldBytes { body, _permit: permit, timer: timer.abort_handle() })
    }

    /// As [`ResponseLimits::hold`], but releases the budget immediately if the body is small.
    pub(super) fn hold_large(&self, body: Bytes, permit: ResponsePermit, connection: Option<ConnCtrl>) -> Bytes {
        if body.len() <= SMALL_BYTES_MAX { body } else { self.hold(body, permit, connection) }
    }

    /// Reserves the memory of a body that is complete. Replaces the body by a 503 if the budget is used up and the
    /// request changed nothing.
    async fn bound(&self, holder: MemoryHolder, req: &Request, res: &mut Response) {
        let ResBody::Once(body) = &mut res.body else { return };
        if body.len() <= SMALL_BYTES_MAX || res.extensions.get::<Held>().is_some() {
            return;
        }
        let is_read = req.method() == Method::GET || READS_BY_POST.contains(&req.matched_path());
        let wait_max = if is_read { Duration::ZERO } else { self.wait_max };
        match self.reserve_within(holder, body.len(), wait_max).await {
            Ok(permit) => *body = self.hold(std::mem::take(body), permit, connection_of(req)),
            Err(error) if is_read => error.render(req, res),
            // The response of a change is sent in any case, so that the client does not repeat the change.
            Err(_) => {}
        }
    }
}

/// Mark in the extensions of a response whose body holds its part of the budget.
#[derive(Clone, Copy)]
pub(super) struct Held;

/// Returns the control of the connection of a request.
pub(super) fn connection_of(req: &Request) -> Option<ConnCtrl> {
    req.extensions().get::<ConnCtrl>().cloned()
}

fn busy() -> ApiError {
    ApiError::unavailable("The server is sending too many large responses. Read them, and try again in a moment.")
}

/// Bytes that hold a part of the budget.
struct HeldBytes {
    body: Bytes,
    _permit: ResponsePermit,
    timer: AbortHandle,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.timer.abort();
    }
}

/// Bounds the memory of the responses of a route.
#[handler]
pub(crate) async fn bound_response(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    ctrl.call_next(req, depot, res).await;
    if let Ok(limits) = service::<ResponseLimits>(depot) {
        limits.bound(MemoryHolder::of(req, depot), req, res).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;

    const TEAM: MemoryHolder = MemoryHolder::Team(Id::MIN);

    fn limits(bytes_max: usize) -> ResponseLimits {
        let limits = ResponseLimits::with_budget(bytes_max, TaskTracker::new());
        ResponseLimits { wait_max: Duration::from_millis(50), ..limits }
    }

    /// Returns the response of a handler with a body of `bytes` bytes.
    async fn respond(limits: &ResponseLimits, method: Method, bytes: usize) -> Response {
        let mut req = Request::new();
        *req.method_mut() = method;
        let mut res = Response::new();
        res.body(vec![b'.'; bytes]);
        limits.bound(TEAM, &req, &mut res).await;
        res
    }

    #[tokio::test]
    async fn a_response_that_is_not_sent_keeps_its_part_of_the_budget() {
        let limits = limits(400_000);
        let held = respond(&limits, Method::GET, 60_000).await;
        assert_eq!(limits.memory.free_bytes(), 340_000);

        let refused = respond(&limits, Method::GET, 60_000).await;
        assert_eq!(refused.status_code.unwrap().as_u16(), 503);
        assert!(refused.headers().contains_key("retry-after"));
        let small = respond(&limits, Method::GET, SMALL_BYTES_MAX).await;
        assert_eq!(small.status_code, None);

        drop(held);
        assert_eq!(limits.memory.free_bytes(), 400_000);
        assert_eq!(respond(&limits, Method::GET, 60_000).await.status_code, None);
    }

    #[tokio::test]
    async fn the_response_of_a_change_is_sent_without_a_part_of_the_budget() {
        let limits = limits(400_000);
        let _held = respond(&limits, Method::GET, 60_000).await;

        let changed = respond(&limits, Method::POST, 60_000).await;

        assert_eq!((changed.status_code, changed.body.size()), (None, Some(60_000)));
    }

    #[tokio::test]
    async fn a_body_larger_than_half_of_the_budget_takes_half_of_it() {
        let limits = limits(200_000);

        let permit = limits.reserve(TEAM, 260_000).await.unwrap();

        assert_eq!(permit.bytes(), 100_000);
        assert!(limits.reserve(TEAM, 60_000).await.is_err());
        drop(permit);
        assert!(limits.reserve(TEAM, 60_000).await.is_ok());
    }

    #[tokio::test]
    async fn the_connection_of_a_slow_reader_is_aborted() {
        let limits = ResponseLimits { lag_max: Duration::from_millis(20), ..limits(100_000) };
        let permit = limits.reserve(TEAM, 100).await.unwrap();
        let connection = ConnCtrl::new();

        let held = limits.hold(Bytes::from_static(&[0; 10]), permit, Some(connection.clone()));

        assert_eq!(limits.memory.free_bytes(), 100_000 - 10);
        limits.tasks.close();
        tokio::time::timeout(Duration::from_secs(20), limits.tasks.wait()).await.unwrap();
        assert!(connection.is_aborted());
        drop(held);
        assert_eq!(limits.memory.free_bytes(), 100_000);
    }

    #[tokio::test]
    async fn a_body_that_is_sent_ends_its_timer() {
        let limits = limits(100_000);
        let permit = limits.reserve(TEAM, 10).await.unwrap();

        drop(limits.hold(Bytes::from_static(&[0; 10]), permit, None));

        limits.tasks.close();
        tokio::time::timeout(Duration::from_secs(20), limits.tasks.wait()).await.unwrap();
    }
}
