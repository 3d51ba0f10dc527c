//! Taking in a request body: its size, its share of the memory of all bodies, its pace.
//!
//! A body takes its share of a common budget before its bytes are kept, and keeps it until its
//! request ends. So that nobody holds a share by standing still, a body may not pause for long and
//! must keep up a least rate; one that does not is answered like one that broke off.
//!
//! Bodies that prove themselves by a signature have a budget of their own, because whoever sends them
//! is not known before they have been read.

use std::sync::Arc;
use std::time::Duration;

use salvo::http::ReqBody;
use salvo::http::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::{ApiError, ErrorCode};

/// Bytes set aside for a body on the strength of its announcement alone.
const RESERVED_BYTES_MAX: usize = 64 << 10;
/// Bytes of all signed bodies being read or worked on at once: a few of the largest.
const SIGNED_IN_FLIGHT_BYTES_MAX: usize = 16 << 20;

/// What bodies may cost.
#[derive(Debug)]
pub struct BodyLimits {
    /// Bytes of a body on the routes that take emails.
    pub email_bytes_max: usize,
    /// Bytes of a body on every other route.
    pub other_bytes_max: usize,
    /// How slowly a body may come.
    pub pace: BodyPace,
    /// Bytes of all bodies being read or worked on at once.
    in_flight: Arc<Semaphore>,
    /// The same of signed bodies.
    signed_in_flight: Arc<Semaphore>,
}

/// How slowly a body may come.
#[derive(Clone, Copy, Debug)]
pub struct BodyPace {
    /// How long nothing may come.
    pub pause_max: Duration,
    /// How far the whole may lie behind the least rate.
    pub lag_max: Duration,
    /// The least rate: how long these bytes may take.
    pub bytes_a_second: u32,
}

impl Default for BodyPace {
    fn default() -> Self {
        Self { pause_max: Duration::from_secs(30), lag_max: Duration::from_secs(30), bytes_a_second: 16 << 10 }
    }
}

impl BodyPace {
    /// Returns how long `bytes` may take in all.
    fn time_for(self, bytes: usize) -> Duration {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let rate = u64::from(self.bytes_a_second.max(1));
        self.lag_max + Duration::from_millis(bytes.saturating_mul(1_000) / rate)
    }
}

impl BodyLimits {
    /// Returns limits with a common budget of `in_flight_bytes_max`.
    pub fn new(email_bytes_max: usize, other_bytes_max: usize, in_flight_bytes_max: usize) -> Self {
        let in_flight = Arc::new(Semaphore::new(in_flight_bytes_max.min(Semaphore::MAX_PERMITS)));
        let signed_in_flight = Arc::new(Semaphore::new(SIGNED_IN_FLIGHT_BYTES_MAX));
        Self { email_bytes_max, other_bytes_max, pace: BodyPace::default(), in_flight, signed_in_flight }
    }

    /// Reads a body of up to `bytes_max`.
    ///
    /// # Errors
    /// 413 when it is larger; 503 when the budget is spent; 400 when it breaks off or comes too
    /// slowly. The compatible table of errors has no 408.
    pub(super) async fn read(&self, body: &mut ReqBody, bytes_max: usize) -> Result<(Vec<u8>, BudgetShare), ApiError> {
        self.read_within(&self.in_flight, body, bytes_max).await
    }

    /// Reads a signed body of up to `bytes_max`.
    ///
    /// # Errors
    /// As [`BodyLimits::read`].
    pub(super) async fn read_signed(
        &self,
        body: &mut ReqBody,
        bytes_max: usize,
    ) -> Result<(Vec<u8>, BudgetShare), ApiError> {
        self.read_within(&self.signed_in_flight, body, bytes_max).await
    }

    async fn read_within(
        &self,
        budget: &Arc<Semaphore>,
        body: &mut ReqBody,
        bytes_max: usize,
    ) -> Result<(Vec<u8>, BudgetShare), ApiError> {
        let too_large = || {
            let message = format!("The request body is larger than the {bytes_max} bytes this endpoint takes.");
            ApiError::new(ErrorCode::PayloadTooLarge, message)
        };
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > bytes_max {
            return Err(too_large());
        }
        let mut share = BudgetShare::of(budget, announced.min(RESERVED_BYTES_MAX))?;
        let mut raw = Vec::with_capacity(share.bytes());
        let end = tokio::time::sleep(self.pace.time_for(0));
        tokio::pin!(end);
        let start = end.deadline() - self.pace.time_for(0);
        loop {
            let bytes = tokio::select! {
                bytes = next_bytes(body, self.pace.pause_max) => bytes?,
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
            end.as_mut().reset(start + self.pace.time_for(length));
        }
    }
}

/// A body's share of the budget, given back when it is dropped.
#[derive(Debug)]
pub(super) struct BudgetShare(OwnedSemaphorePermit);

impl BudgetShare {
    fn of(budget: &Arc<Semaphore>, bytes: usize) -> Result<Self, ApiError> {
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permit = Arc::clone(budget).try_acquire_many_owned(permits).map_err(|_| {
            ApiError::unavailable("The server has too many request bodies in hand. Try again in a moment.")
        })?;
        Ok(Self(permit))
    }

    fn bytes(&self) -> usize {
        self.0.num_permits()
    }

    fn join(&mut self, more: Self) {
        self.0.merge(more.0);
    }
}

fn broken(why: &str) -> ApiError {
    ApiError::new(ErrorCode::MalformedJson, format!("The request body broke off: {why}."))
}

/// Returns the next bytes of a body; `None` at its end.
pub(super) async fn next_bytes(
    body: &mut ReqBody,
    pause_max: Duration,
) -> Result<Option<impl AsRef<[u8]> + use<>>, ApiError> {
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
    use salvo::{Depot, FlowCtrl, Handler, Request, Response, Router, Server, Writer as _, async_trait};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio_util::task::TaskTracker;

    use super::*;

    /// Answers with the length of the body it took in.
    struct Counted(Arc<BodyLimits>);

    #[async_trait]
    impl Handler for Counted {
        async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
            match self.0.read(req.body_mut(), self.0.other_bytes_max).await {
                Ok((raw, _share)) => res.render(raw.len().to_string()),
                Err(error) => error.write(req, depot, res).await,
            }
        }
    }

    #[tokio::test]
    async fn signed_bodies_take_nothing_from_the_others() {
        let limits = limits(BodyPace::default());
        let body = |bytes: usize| ReqBody::Once(vec![b' '; bytes].into());
        let mut shares = Vec::new();
        for _ in 0..16 {
            shares.push(limits.read_signed(&mut body(1 << 20), 1 << 20).await.unwrap().1);
        }

        let refused = limits.read_signed(&mut body(1), 1 << 20).await.unwrap_err();

        assert_eq!(refused.code.status(), 503);
        assert_eq!(limits.read(&mut body(3), 1 << 20).await.unwrap().0.len(), 3);
        shares.pop();
        assert!(limits.read_signed(&mut body(1), 1 << 20).await.is_ok());
    }

    fn limits(pace: BodyPace) -> Arc<BodyLimits> {
        let mut limits = BodyLimits::new(0, 1 << 20, 1 << 20);
        limits.pace = pace;
        Arc::new(limits)
    }

    async fn connect(tasks: &TaskTracker, limits: &Arc<BodyLimits>) -> TcpStream {
        let acceptor = TcpListener::new("127.0.0.1:0").bind().await;
        let address = acceptor.holdings()[0].local_addr.clone().into_std().unwrap();
        tasks.spawn(Server::new(acceptor).serve(Router::new().goal(Counted(Arc::clone(limits)))));
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
    async fn a_body_that_pauses_gives_its_share_back() {
        let pace = BodyPace { pause_max: Duration::from_millis(20), ..BodyPace::default() };
        let (tasks, limits) = (TaskTracker::new(), limits(pace));
        let mut stream = connect(&tasks, &limits).await;

        stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab").await.unwrap();
        let answer = answer(&mut stream).await;

        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains("broke off"), "{answer}");
        assert_eq!(limits.in_flight.available_permits(), 1 << 20);
    }

    #[tokio::test]
    async fn a_body_that_trickles_is_cut_off_however_short_its_pauses() {
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
    async fn a_large_announcement_alone_takes_little_of_the_budget() {
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
