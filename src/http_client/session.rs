//! Requests to one URL, one after the other.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use tokio::time::Instant;

use super::client::Client;
use super::connection::{ConnectionFailure, HttpConnection, RawResponse};
use super::failure::RequestError;
use super::response::HttpResponse;
use super::url::CustomerUrl;
use crate::base::clock::{TimestampMs, monotonic};

const AGENT: &str = concat!("Ringmail/", env!("CARGO_PKG_VERSION"));

/// Requests to one URL over a connection that is kept between them. For several at once there are several sessions.
///
/// Dropping it closes the connection. So does dropping a request halfway.
pub struct HttpSession {
    client: Client,
    url: CustomerUrl,
    host: HeaderValue,
    kept: Option<HttpConnection>,
}

impl HttpSession {
    pub(super) fn new(client: Client, url: CustomerUrl) -> Self {
        let host = HeaderValue::try_from(url.authority()).expect("a parsed host is printable ASCII");
        Self { client, url, host, kept: None }
    }

    /// Returns whom this session talks to.
    pub fn url(&self) -> &CustomerUrl {
        &self.url
    }

    /// Whether there is a connection that the next request will use: one that has not waited for too long, and that
    /// the other side has not been seen to close. Closes any other.
    pub fn is_open(&mut self) -> bool {
        let idle_max = self.client.inner.timings.idle;
        self.kept.take_if(|link| link.idle_since().elapsed() >= idle_max || !link.is_open());
        self.kept.is_some()
    }

    /// Sends `body` with a POST request and returns the answer, whatever its status is.
    ///
    /// `headers` stand beside `Host`, `User-Agent`, `Accept` and `Content-Length`, which are set here; `now_ms` is the
    /// wall clock, for remembered names and for dates in the answer.
    ///
    /// An open connection is used, else one is made. A server may close an open one at the same moment, so when it
    /// breaks before a byte of an answer has come, the request is sent once more over a fresh one: the receiver may see
    /// it twice, and tells by its id (RFC 9110 §9.2.2 leaves this to those who know that it is safe).
    ///
    /// # Errors
    ///
    /// When no answer came. The session can be used again.
    pub async fn post(
        &mut self,
        headers: &[(&str, &str)],
        body: Bytes,
        now_ms: TimestampMs,
    ) -> Result<HttpResponse, RequestError> {
        let began = monotonic();
        let deadline = Instant::now() + self.client.inner.timings.overall;
        let request = self.request(headers, body)?;
        let reply = self.exchange(request, now_ms, deadline).await?;
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(HttpResponse::of(&reply, duration_ms, now_ms))
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        now_ms: TimestampMs,
        deadline: Instant,
    ) -> Result<RawResponse, RequestError> {
        // The connection is taken out and put back after the answer, so that a request which is dropped halfway takes
        // it along.
        if self.is_open()
            && let Some(link) = self.kept.take()
        {
            match link.exchange(request.clone(), self.answer_by(deadline)).await {
                Ok((reply, link)) => {
                    self.kept = link;
                    return Ok(reply);
                }
                Err(ConnectionFailure { is_silent: true, .. }) => {}
                Err(ConnectionFailure { failure, .. }) => return Err(failure),
            }
        }
        let link = HttpConnection::over(self.client.dial(&self.url, now_ms, deadline).await?).await?;
        let (reply, link) = link.exchange(request, self.answer_by(deadline)).await.map_err(|broken| broken.failure)?;
        self.kept = link;
        Ok(reply)
    }

    /// Returns when an answer must have come whose request is sent at this moment.
    fn answer_by(&self, deadline: Instant) -> Instant {
        deadline.min(Instant::now() + self.client.inner.timings.answer)
    }

    fn request(&self, headers: &[(&str, &str)], body: Bytes) -> Result<Request<Full<Bytes>>, RequestError> {
        let mut fields = HeaderMap::with_capacity(headers.len() + 4);
        // RFC 9110 §7.2: Host stands first.
        fields.insert(HOST, self.host.clone());
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).map_err(|_| RequestError::InvalidHeader)?;
            let value = HeaderValue::try_from(*value).map_err(|_| RequestError::InvalidHeader)?;
            fields.append(name, value);
        }
        fields.insert(HOST, self.host.clone());
        fields.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        fields.insert(ACCEPT, HeaderValue::from_static("*/*"));

        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.target.clone();
        *request.headers_mut() = fields;
        Ok(request)
    }
}
