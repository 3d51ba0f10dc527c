//! Sequential requests to one URL.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use tokio::time::Instant;

use super::client::HttpClient;
use super::connection::{ExchangeError, HttpConnection, RawResponse};
use super::failure::RequestError;
use super::metered_io::RESPONSE_BYTES_MAX;
use super::response::HttpResponse;
use super::url::CustomerUrl;
use crate::base::clock::{TimestampMs, monotonic};

pub(super) const USER_AGENT_VALUE: &str = concat!("Ringmail/", env!("CARGO_PKG_VERSION"));

/// Sequential requests to one URL over a connection that is reused. Concurrent requests need one session each.
///
/// Dropping the session closes the connection. Dropping a request before its response also closes it.
pub struct HttpSession {
    client: HttpClient,
    url: CustomerUrl,
    host: HeaderValue,
    idle_connection: Option<HttpConnection>,
}

impl HttpSession {
    pub(super) fn new(client: HttpClient, url: CustomerUrl) -> Self {
        let host = url.host_header();
        Self { client, url, host, idle_connection: None }
    }

    /// Returns the URL of the requests.
    pub fn url(&self) -> &CustomerUrl {
        &self.url
    }

    /// Returns whether the next request can reuse the connection. Closes a connection that has been idle for
    /// [`idle`](super::HttpTimeouts::idle) or longer, or that the server has closed.
    pub fn is_open(&mut self) -> bool {
        let idle_max = self.client.inner.timeouts.idle;
        self.idle_connection
            .take_if(|connection| connection.idle_since().elapsed() >= idle_max || !connection.is_open());
        self.idle_connection.is_some()
    }

    /// Sends `body` with a POST request and returns the response, with any status.
    ///
    /// `Host`, `User-Agent`, `Accept` and `Content-Length` are added to `headers`. `now_ms` is the wall clock, for the
    /// DNS cache and for a date in `Retry-After`.
    ///
    /// The request uses the open connection or opens one. The server can close an open connection at the same time. If
    /// the connection ends before the first byte of a response, the request is sent again once, over a new connection.
    /// The receiver may then get the request twice, and must recognize it by its id. RFC 9110 §9.2.2 allows this repeat
    /// if the client knows that it is safe.
    ///
    /// # Errors
    ///
    /// Returns an error if the head of a response was not received completely. The session can be used again.
    pub async fn post(
        &mut self,
        headers: &[(&str, &str)],
        body: Bytes,
        now_ms: TimestampMs,
    ) -> Result<HttpResponse, RequestError> {
        let started = monotonic();
        let deadline = Instant::now() + self.client.inner.timeouts.overall;
        let request = self.request(headers, body)?;
        let raw = self.exchange(request, now_ms, deadline).await?;
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(HttpResponse::of(&raw, now_ms.saturating_add_unsigned(duration_ms)))
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        now_ms: TimestampMs,
        deadline: Instant,
    ) -> Result<RawResponse, RequestError> {
        // The connection is taken out of the session until the response, so that dropping the request closes it.
        if self.is_open()
            && let Some(connection) = self.idle_connection.take()
        {
            match connection.exchange(request.clone(), self.response_deadline(deadline)).await {
                Ok((raw, connection)) => {
                    self.idle_connection = connection;
                    return Ok(raw);
                }
                Err(ExchangeError { is_before_response: true, .. }) => {}
                Err(ExchangeError { error, .. }) => return Err(error),
            }
        }
        let connection =
            HttpConnection::start(self.client.dial(&self.url, now_ms, deadline).await?, RESPONSE_BYTES_MAX).await?;
        let (raw, connection) =
            connection.exchange(request, self.response_deadline(deadline)).await.map_err(|failed| failed.error)?;
        self.idle_connection = connection;
        Ok(raw)
    }

    /// Returns the deadline of the response to a request that is sent now.
    fn response_deadline(&self, deadline: Instant) -> Instant {
        deadline.min(Instant::now() + self.client.inner.timeouts.response)
    }

    fn request(&self, headers: &[(&str, &str)], body: Bytes) -> Result<Request<Full<Bytes>>, RequestError> {
        let mut fields = HeaderMap::with_capacity(headers.len() + 4);
        // RFC 9110 §7.2: `Host` is the first field. The second insertion below replaces a `host` of the caller.
        fields.insert(HOST, self.host.clone());
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).map_err(|_| RequestError::InvalidHeader)?;
            let value = HeaderValue::try_from(*value).map_err(|_| RequestError::InvalidHeader)?;
            fields.append(name, value);
        }
        fields.insert(HOST, self.host.clone());
        fields.insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE));
        fields.insert(ACCEPT, HeaderValue::from_static("*/*"));

        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.target.clone();
        *request.headers_mut() = fields;
        Ok(request)
    }
}
