use std::sync::atomic::{AtomicUsize, Ordering};

use salvo::{Handler, async_trait};
use tokio::sync::Notify;

use super::*;
use crate::base::id::Id;
use crate::http::response_memory::READS_OF_HOLDER_MAX;

const TEAM: MemoryHolder = MemoryHolder::Team(Id::MIN);

fn limits(bytes_max: usize) -> ResponseLimits {
    let limits = ResponseLimits::with_budget(bytes_max, TaskTracker::new());
    ResponseLimits { wait_max: Duration::from_millis(50), rendered_wait_max: Duration::from_millis(50), ..limits }
}

/// Returns the response of a handler with a body of `bytes` bytes.
async fn respond(limits: &ResponseLimits, method: Method, bytes: usize) -> Response {
    let mut req = Request::new();
    *req.method_mut() = method;
    let mut res = Response::new();
    res.body(vec![b'.'; bytes]);
    limits.bound(Effect::of(req.method()), TEAM, &req, &mut res).await;
    res
}

#[tokio::test]
async fn a_response_that_is_not_sent_keeps_its_part_of_the_budget() {
    let limits = limits(400_000);
    let held = respond(&limits, Method::GET, 60_000).await;
    assert_eq!(limits.memory.free_bytes(), 340_000);

    for method in [Method::GET, Method::HEAD] {
        let refused = respond(&limits, method, 60_000).await;
        assert_eq!(refused.status_code.unwrap().as_u16(), 503);
        assert!(refused.headers().contains_key("retry-after"));
    }
    let small = respond(&limits, Method::GET, SMALL_BYTES_MAX).await;
    assert_eq!(small.status_code, None);

    drop(held);
    assert_eq!(limits.memory.free_bytes(), 400_000);
    assert_eq!(respond(&limits, Method::GET, 60_000).await.status_code, None);
}

#[tokio::test]
async fn a_rendered_read_waits_for_a_budget_that_is_used_up_for_a_moment() {
    let limits = ResponseLimits { rendered_wait_max: Duration::from_secs(20), ..limits(400_000) };
    let held = respond(&limits, Method::GET, 60_000).await;

    let (waited, ()) = tokio::join!(respond(&limits, Method::GET, 60_000), async { drop(held) });

    assert_eq!((waited.status_code, waited.body.size()), (None, Some(60_000)));
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

    let body = Bytes::from_static(&[0; 10]);
    let held = limits.with_deadline(body, permit, &mut ReaderPace::new(), Some(connection.clone()));

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

    drop(limits.with_deadline(Bytes::from_static(&[0; 10]), permit, &mut ReaderPace::new(), None));

    limits.tasks.close();
    tokio::time::timeout(Duration::from_secs(20), limits.tasks.wait()).await.unwrap();
}

#[test]
fn the_minimum_rate_applies_to_all_parts_together() {
    let start = Instant::now();
    let mut pace = ReaderPace::since(start);
    let second = usize::try_from(BYTES_A_SECOND).unwrap();

    assert_eq!(pace.deadline(5 * second, LAG_MAX), start + LAG_MAX + Duration::from_secs(5));
    assert_eq!(pace.deadline(2 * second, LAG_MAX), start + LAG_MAX + Duration::from_secs(7));
    pace.exclude(Duration::from_secs(3));
    assert_eq!(pace.deadline(second, LAG_MAX), start + LAG_MAX + Duration::from_secs(3 + 8));
}

#[test]
fn the_encoders_have_a_bounded_memory_that_is_not_the_budget() {
    let limits = limits(100_000);

    let encoder = limits.try_reserve_encoder(ENCODERS_BYTES_MAX - 10);

    assert!(encoder.is_some());
    assert!(limits.try_reserve_encoder(11).is_none());
    assert_eq!(limits.memory.free_bytes(), 100_000);
    drop(encoder);
    assert!(limits.try_reserve_encoder(11).is_some());
}

/// Handler that waits for `end` with a result in memory.
#[derive(Default)]
struct Slow {
    running: AtomicUsize,
    started: Notify,
    end: Notify,
}

#[async_trait]
impl Handler for Slow {
    async fn handle(&self, _req: &mut Request, _depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.started.notify_one();
        self.end.notified().await;
        res.body("done");
    }
}

/// Runs a read with a handler, and returns its status.
async fn read(limits: Arc<ResponseLimits>, holder: MemoryHolder, handler: Arc<dyn Handler>) -> u16 {
    let (mut req, mut depot, mut res) = (Request::new(), Depot::new(), Response::new());
    let mut ctrl = FlowCtrl::new(vec![handler]);
    limits.respond_to_read(holder, &mut req, &mut depot, &mut res, &mut ctrl).await;
    res.status_code.map_or(200, |status| status.as_u16())
}

#[tokio::test]
async fn a_read_waits_for_its_turn_before_its_handler_starts() {
    let limits = Arc::new(limits(400_000));
    let slow = Arc::new(Slow::default());
    let reads = TaskTracker::new();
    let running: Vec<_> = (0..READS_OF_HOLDER_MAX)
        .map(|_| reads.spawn(read(Arc::clone(&limits), TEAM, Arc::<Slow>::clone(&slow))))
        .collect();
    while slow.running.load(Ordering::Relaxed) < READS_OF_HOLDER_MAX {
        slow.started.notified().await;
    }

    assert_eq!(read(Arc::clone(&limits), TEAM, Arc::<Slow>::clone(&slow)).await, 503);
    assert_eq!(slow.running.load(Ordering::Relaxed), READS_OF_HOLDER_MAX);
    let other = MemoryHolder::Team(Id::MAX);
    let of_other = reads.spawn(read(Arc::clone(&limits), other, Arc::<Slow>::clone(&slow)));
    while slow.running.load(Ordering::Relaxed) == READS_OF_HOLDER_MAX {
        slow.started.notified().await;
    }

    slow.end.notify_waiters();
    for read in running.into_iter().chain([of_other]) {
        assert_eq!(read.await.unwrap(), 200);
    }
}

/// Handler that reserves memory before it reads.
struct Reserving(Arc<ResponseLimits>, Arc<Slow>);

#[async_trait]
impl Handler for Reserving {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        let _permit = self.0.reserve(TEAM, 10).await.unwrap();
        self.1.handle(req, depot, res, ctrl).await;
    }
}

#[tokio::test]
async fn a_read_that_reserves_its_memory_itself_ends_its_turn() {
    let limits = Arc::new(limits(400_000));
    let slow = Arc::new(Slow::default());
    let reserving = Arc::new(Reserving(Arc::clone(&limits), Arc::clone(&slow)));
    let count = READS_OF_HOLDER_MAX + 1;
    let reads = TaskTracker::new();

    let running: Vec<_> =
        (0..count).map(|_| reads.spawn(read(Arc::clone(&limits), TEAM, Arc::<Reserving>::clone(&reserving)))).collect();
    while slow.running.load(Ordering::Relaxed) < count {
        slow.started.notified().await;
    }

    slow.end.notify_waiters();
    for read in running {
        assert_eq!(read.await.unwrap(), 200);
    }
}
