//! Limits of request bodies: their size, the memory of all bodies together, and their rate.
//!
//! A body reserves a part of a shared memory budget before its bytes are stored, and releases it when its request ends.
//! A body must not pause for long and must have a minimum rate. A slow client therefore does not hold its part of the
//! budget. A slow body gets the same response as an incomplete one.
//!
//! Signed bodies have a separate budget, because their sender is unknown until they are read.

use std::sync::Arc;
use std::time::Duration;

use salvo::Request;
use salvo::http::ReqBody;
use salvo::http::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::{ApiError, ErrorCode};

/// Maximum number of bytes that `Content-Length` reserves before they arrive.
const RESERVED_BYTES_MAX: usize = 64 << 10;
/// Budget of all signed bodies, in bytes: a few of the largest.
const SIGNED_IN_FLIGHT_BYTES_MAX: usize = 16 << 20;

/// Limits of request bodies.
#[derive(Debug)]
pub struct BodyLimits {
    /// Maximum size of a body on the routes that accept emails.
    pub email_bytes_max: usize,
    /// Maximum size of a body on all other routes.
    pub other_bytes_max: usize,
    /// Minimum rate of a body.
    pub pace: BodyPace,
    /// Minimum rate of a signed body.
    pub signed_pace: BodyPace,
    /// Budget of unsigned bodies, one permit a byte.
    in_flight: Arc<Semaphore>,
    /// Budget of signed bodies, one permit a byte.
    signed_in_flight: Arc<Semaphore>,
}

/// Minimum rate of a body.
#[derive(Clone, Copy, Debug)]
pub struct BodyPace {
    /// Maximum pause between two chunks.
    pub pause_max: Duration,
    /// Time that every body may take in addition to the minimum rate.
    pub lag_max: Duration,
    /// Minimum rate, in bytes per second.
    pub bytes_a_second: u32,
}

impl Default for BodyPace {
    fn default() -> Self {
        Self { pause_max: Duration::from_secs(30), lag_max: Duration::from_secs(30), bytes_a_second: 16 << 10 }
    }
}

impl BodyPace {
    /// Pace of a body whose sender is unknown until it has arrived: five seconds at any size.
    const SIGNED: Self =
        Self { pause_max: Duration::from_secs(5), lag_max: Duration::from_secs(5), bytes_a_second: u32::MAX };

    /// Returns the maximum time of a body of `bytes` bytes.
    fn time_for(self, bytes: usize) -> Duration {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let rate = u64::from(self.bytes_a_second.max(1));
        self.lag_max + Duration::from_millis(bytes.saturating_mul(1_000) / rate)
    }
}

impl BodyLimits {
    /// Returns limits with a budget of `in_flight_bytes_max` bytes for unsigned bodies.
    pub fn new(email_bytes_max: usize, other_bytes_max: usize, in_flight_bytes_max: usize) -> Self {
        let in_flight = Arc::new(Semaphore::new(in_flight_bytes_max.min(Semaphore::MAX_PERMITS)));
        let signed_in_flight = Arc::new(Semaphore::new(SIGNED_IN_FLIGHT_BYTES_MAX));
        Self {
            email_bytes_max,
            other_bytes_max,
            pace: BodyPace::default(),
            signed_pace: BodyPace::SIGNED,
            in_flight,
            signed_in_flight,
        }
    }

    /// Reads a body of up to `bytes_max`. Marks the request with [`BodyBrokeOff`] if the body is incomplete or too slow.
    ///
    /// # Errors
    /// 413 if the body is larger; 503 if the budget is used up; 400 if the body is incomplete or too
    /// slow. The error table of the compatible API has no 408.
    pub(super) async fn read(&self, req: &mut Request, bytes_max: usize) -> Result<(Vec<u8>, BudgetShare), ApiError> {
        let read = self.read_within(&self.in_flight, self.pace, req.body_mut(), bytes_max).await;
        read.map_err(|failure| failure.mark(req))
    }

    /// Reads a signed body of up to `bytes_max`.
    ///
    /// # Errors
    /// As [`BodyLimits::read`].
    pub(super) async fn read_signed(
        &self,
        req: &mut Request,
        bytes_max: usize,
    ) -> Result<(Vec<u8>, BudgetShare), ApiError> {
        let read = self.read_within(&self.signed_in_flight, self.signed_pace, req.body_mut(), bytes_max).await;
        read.map_err(|failure| failure.mark(req))
    }

    /// Returns an empty part of the budget of unsigned bodies, for bytes that a request adds to its body.
    pub(crate) fn empty_share(&self) -> BudgetShare {
        self.share(0).expect("no permits are always available")
    }

    /// Reserves a part of the budget of unsigned bodies; `None` if the budget is used up.
    pub(crate) fn share(&self, bytes: usize) -> Option<BudgetShare> {
        BudgetShare::of(&self.in_flight, bytes).ok()
    }

    async fn read_within(
        &self,
        budget: &Arc<Semaphore>,
        pace: BodyPace,
        body: &mut ReqBody,
        bytes_max: usize,
    ) -> Result<(Vec<u8>, BudgetShare), BodyFailure> {
        let too_large = || {
            let message = format!("The request body is larger than the {bytes_max} bytes this endpoint takes.");
            BodyFailure::Refused(ApiError::new(ErrorCode::PayloadTooLarge, message))
        };
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > bytes_max {
            return Err(too_large());
        }
        let mut share = BudgetShare::of(budget, announced.min(RESERVED_BYTES_MAX))?;
        let mut raw = Vec::with_capacity(share.bytes());
        let end = tokio::time::sleep(pace.time_for(0));
        tokio::pin!(end);
        let start = end.deadline() - pace.time_for(0);
        loop {
            let bytes = tokio::select! {
                bytes = next_bytes(body, pace.pause_max) => bytes?,
                () = &mut end => return Err(broken("it came too slowly")),
            };
            let Some(bytes) = bytes else { return Ok((raw, share)) };
            let bytes = bytes.as_ref();
            let length = raw.len() + bytes.len();
            if length > bytes_max {
                return Err(too_large());
            }
            if length > share.bytes() {
                share.join(BudgetShare::of(budget, length - share.bytes())?);
            }
            raw.extend_from_slice(bytes);
            end.as_mut().reset(start + pace.time_for(length));
        }
    }
}

/// Part of the budget that a body has reserved, released on drop.
#[derive(Debug)]
pub(crate) struct BudgetShare(OwnedSemaphorePermit);

impl BudgetShare {
    fn of(budget: &Arc<Semaphore>, bytes: usize) -> Result<Self, ApiError> {
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permit = Arc::clone(budget).try_acquire_many_owned(permits).map_err(|_| Self::exhausted())?;
        Ok(Self(permit))
    }

    /// Returns the 503 of a request for which the budget has no bytes left.
    pub(crate) fn exhausted() -> ApiError {
        ApiError::unavailable("The server has no memory for further request bodies. Try again in a moment.")
    }

    fn bytes(&self) -> usize {
        self.0.num_permits()
    }

    /// Adds another part of the same budget.
    pub(crate) fn join(&mut self, more: Self) {
        self.0.merge(more.0);
    }
}

/// Reason why a body was not read.
#[derive(Debug)]
pub(super) enum BodyFailure {
    /// The body came too slowly, or it is incomplete.
    BrokeOff(ApiError),
    /// The server does not accept the body.
    Refused(ApiError),
}

impl From<ApiError> for BodyFailure {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

impl BodyFailure {
    /// Marks the request of a body that broke off. Returns the error of the response.
    fn mark(self, req: &mut Request) -> ApiError {
        match self {
            Self::BrokeOff(error) => {
                req.extensions_mut().insert(BodyBrokeOff);
                error
            }
            Self::Refused(error) => error,
        }
    }
}

/// Mark in the extensions of a request whose body came too slowly or is incomplete. The rest of the body is not read.
#[derive(Clone, Copy)]
pub(super) struct BodyBrokeOff;

fn broken(why: &str) -> BodyFailure {
    BodyFailure::BrokeOff(ApiError::new(ErrorCode::MalformedJson, format!("The request body broke off: {why}.")))
}

/// Returns the next bytes of a body; `None` at its end.
pub(super) async fn next_bytes(
    body: &mut ReqBody,
    pause_max: Duration,
) -> Result<Option<impl AsRef<[u8]> + use<>>, BodyFailure> {
    loop {
        let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *body).poll_frame(cx));
        let Ok(frame) = tokio::time::timeout(pause_max, frame).await else {
            return Err(broken(&format!("nothing came for {} seconds", pause_max.as_secs())));
        };
        let Some(frame) = frame else { return Ok(None) };
        if let Ok(bytes) = frame.map_err(|error| broken(&error.to_string()))?.into_data() {
            return Ok(Some(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use salvo::conn::{Acceptor as _, Listener as _, TcpListener};
    use salvo::{Depot, FlowCtrl, Handler, Response, Router, Server, Writer as _, async_trait};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio_util::task::TaskTracker;

    use super::*;

    /// Handler that returns the length of the body. The body is signed at `/signed`.
    struct Counted(Arc<BodyLimits>);

    #[async_trait]
    impl Handler for Counted {
        async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
            let is_signed = req.uri().path() == "/signed";
            let bytes_max = self.0.other_bytes_max;
            let read =
                if is_signed { self.0.read_signed(req, bytes_max).await } else { self.0.read(req, bytes_max).await };
            match read {
                Ok((raw, _share)) => res.render(raw.len().to_string()),
                Err(error) => error.write(req, depot, res).await,
            }
        }
    }

    #[tokio::test]
    async fn signed_bodies_do_not_use_the_budget_of_others() {
        let limits = limits(BodyPace::default());
        let request = |bytes: usize| {
            let mut req = Request::new();
            *req.body_mut() = ReqBody::Once(vec![b' '; bytes].into());
            req
        };
        let mut shares = Vec::new();
        for _ in 0..16 {
            shares.push(limits.read_signed(&mut request(1 << 20), 1 << 20).await.unwrap().1);
        }

        let refused = limits.read_signed(&mut request(1), 1 << 20).await.unwrap_err();

        assert_eq!(refused.code.status(), 503);
        assert_eq!(limits.read(&mut request(3), 1 << 20).await.unwrap().0.len(), 3);
        shares.pop();
        assert!(limits.read_signed(&mut request(1), 1 << 20).await.is_ok());
    }

    fn limits(pace: BodyPace) -> Arc<BodyLimits> {
        let mut limits = BodyLimits::new(0, 1 << 20, 1 << 20);
        limits.pace = pace;
        Arc::new(limits)
    }

    async fn connect(tasks: &TaskTracker, limits: &Arc<BodyLimits>) -> TcpStream {
        let acceptor = TcpListener::new("127.0.0.1:0").bind().await;
        let address = acceptor.holdings()[0].local_addr.clone().into_std().unwrap();
        tasks.spawn(Server::new(acceptor).serve(Router::with_path("{**rest}").goal(Counted(Arc::clone(limits)))));
        TcpStream::connect(address).await.unwrap()
    }

    async fn answer(stream: &mut TcpStream) -> String {
        let mut answer = vec![0; 4_096];
        let mut length = 0;
        while !answer[..length].ends_with(b"}") && !answer[..length].ends_with(b"\r\n\r\n3") {
            let read = stream.read(&mut answer[length..]).await.unwrap();
            assert!(read > 0, "the answer broke off: {:?}", String::from_utf8_lossy(&answer[..length]));
            length += read;
        }
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }

    #[tokio::test]
    async fn a_body_that_pauses_releases_its_budget() {
        let pace = BodyPace { pause_max: Duration::from_millis(20), ..BodyPace::default() };
        let (tasks, limits) = (TaskTracker::new(), limits(pace));
        let mut stream = connect(&tasks, &limits).await;

        stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab").await.unwrap();
        let answer = answer(&mut stream).await;

        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains("broke off"), "{answer}");
        assert_eq!(limits.in_flight.available_permits(), 1 << 20);
    }

    #[test]
    fn a_signed_body_has_five_seconds_at_any_size() {
        let limits = BodyLimits::new(0, 0, 0);

        for bytes in [0, 4 << 20] {
            assert_eq!(limits.signed_pace.time_for(bytes).as_secs(), 5);
        }
        assert_eq!(limits.signed_pace.pause_max, Duration::from_secs(5));
    }

    #[tokio::test]
    async fn a_signed_body_that_pauses_releases_its_budget() {
        let mut limits = BodyLimits::new(0, 1 << 20, 1 << 20);
        limits.signed_pace = BodyPace { pause_max: Duration::from_millis(20), ..BodyPace::SIGNED };
        let (tasks, limits) = (TaskTracker::new(), Arc::new(limits));
        let mut stream = connect(&tasks, &limits).await;

        stream.write_all(b"POST /signed HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab").await.unwrap();
        let answer = answer(&mut stream).await;

        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert_eq!(limits.signed_in_flight.available_permits(), SIGNED_IN_FLIGHT_BYTES_MAX);
    }

    #[tokio::test]
    async fn a_body_below_the_minimum_rate_is_rejected() {
        let pace = BodyPace { lag_max: Duration::from_millis(50), ..BodyPace::default() };
        let (tasks, limits) = (TaskTracker::new(), limits(pace));
        let mut stream = connect(&tasks, &limits).await;

        stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
        let (mut reading, mut writing) = stream.into_split();
        let trickle = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(5));
            loop {
                ticks.tick().await;
                if writing.write_all(b"1\r\na\r\n").await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let mut answer = vec![0; 1_024];
        let length = tokio::select! {
            read = reading.read(&mut answer) => read.unwrap(),
            () = trickle => 0,
        };

        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("too slowly"), "{answer}");
        assert_eq!(limits.in_flight.available_permits(), 1 << 20);
    }

    #[tokio::test]
    async fn a_large_content_length_reserves_little_of_the_budget() {
        let (tasks, limits) = (TaskTracker::new(), limits(BodyPace::default()));
        let mut stream = connect(&tasks, &limits).await;
        let mut other = connect(&tasks, &limits).await;

        stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\nab").await.unwrap();
        other.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc").await.unwrap();
        let answer = answer(&mut other).await;

        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with('3'), "{answer}");
        assert!(limits.in_flight.available_permits() >= (1 << 20) - RESERVED_BYTES_MAX);
    }
}
