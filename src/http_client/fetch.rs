//! One file, requested with GET. Unlike the requests of a session, a fetch follows redirects.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION,
    USER_AGENT,
};
use hyper::{Method, Request, StatusCode};
use tokio::time::Instant;

use super::client::HttpClient;
use super::connection::{HttpConnection, StreamedResponse};
use super::failure::RequestError;
use super::session::USER_AGENT_VALUE;
use super::url::{CustomerUrl, UrlError};
use crate::base::clock::TimestampMs;

/// Maximum number of redirects of one fetch.
pub(super) const REDIRECTS_MAX: usize = 3;
/// Bytes of a response in addition to twice the file, for its head and the framing of its body.
const FRAMING_BYTES_MAX: usize = 64 * 1024;
/// First capacity of a file, unless the file is known to be smaller.
const CAPACITY_MIN: usize = 16 * 1024;
/// Factor by which the capacity grows. While a file is copied, both buffers need memory.
const CAPACITY_GROWTH: usize = 4;
/// Maximum length of a content type that is returned.
const CONTENT_TYPE_BYTES_MAX: usize = 255;

/// Limits of a fetch.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// Maximum size of the file.
    pub bytes_max: usize,
    /// Time for all requests together, from the first lookup to the last byte.
    pub overall: Duration,
}

/// A file that was fetched.
#[derive(Debug)]
pub struct FetchedFile {
    pub content: Vec<u8>,
    /// Last component of the path of the last URL, percent-decoded; `None` if it is empty or not UTF-8.
    pub filename: Option<String>,
    /// `Content-Type` of the response; `None` if it is absent, not ASCII or too long.
    pub content_type: Option<String>,
}

/// The reason that a file was not fetched. `Display` returns a lowercase fragment that the customer sees. The fragment
/// contains no text of the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("{0}")]
    Request(RequestError),
    /// A status other than 200 and a redirect.
    #[error("the response has the status {0}")]
    Status(u16),
    /// The redirect has no `Location` that is text.
    #[error("the response is a redirect without a valid `Location`")]
    NoLocation,
    #[error("the response is a redirect to a URL that is not allowed: {0}")]
    Redirect(UrlError),
    #[error("there are more than {REDIRECTS_MAX} redirects")]
    TooManyRedirects,
    /// The file is larger than [`FetchLimits::bytes_max`].
    #[error("the file is too large")]
    TooLarge,
    /// The body ended before the file was complete, or its framing is not valid.
    #[error("the response ended before the file was complete")]
    Incomplete,
    #[error("the response has a `Content-Encoding`, which the request did not accept")]
    Encoded,
    #[error("the server has no memory for the file")]
    NoMemory,
}

impl From<RequestError> for FetchError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl HttpClient {
    /// Fetches a file with GET. Follows at most [`REDIRECTS_MAX`] redirects. Each URL obeys the policy, and each
    /// address the guard.
    ///
    /// `reserve` is called with the size of each buffer before it is allocated, and returns its reservation; `None`
    /// without memory. While a file moves to a larger buffer, both buffers have a reservation. Returns the file with the
    /// reservation of its buffer; `None` if the file is empty.
    ///
    /// # Errors
    ///
    /// [`FetchError`]. Dropping the future closes the connection.
    pub async fn fetch<M>(
        &self,
        mut url: CustomerUrl,
        limits: FetchLimits,
        now_ms: TimestampMs,
        reserve: &mut (dyn FnMut(usize) -> Option<M> + Send),
    ) -> Result<(FetchedFile, Option<M>), FetchError> {
        let deadline = Instant::now() + limits.overall;
        for _ in 0..=REDIRECTS_MAX {
            let stream = self.dial(&url, now_ms, deadline).await?;
            let bytes_max = limits.bytes_max.saturating_mul(2).saturating_add(FRAMING_BYTES_MAX);
            let connection = HttpConnection::start(stream, bytes_max).await?;
            let response = connection.open(request(Method::GET, &url), deadline).await?;
            let status = response.head().status;
            if status == StatusCode::OK {
                return read(&url, response, limits.bytes_max, reserve).await;
            }
            if !is_redirect(status) {
                return Err(FetchError::Status(status.as_u16()));
            }
            url = self.redirect_of(&url, &response.head().headers)?;
        }
        Err(FetchError::TooManyRedirects)
    }

    /// Returns the target of a redirect.
    ///
    /// # Errors
    /// [`FetchError::NoLocation`] and [`FetchError::Redirect`].
    pub(super) fn redirect_of(&self, url: &CustomerUrl, headers: &HeaderMap) -> Result<CustomerUrl, FetchError> {
        let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).ok_or(FetchError::NoLocation)?;
        url.redirect(location, self.policy()).map_err(FetchError::Redirect)
    }
}

pub(super) fn is_redirect(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    )
}

/// Returns a request without a body.
pub(super) fn request(method: Method, url: &CustomerUrl) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.method_mut() = method;
    *request.uri_mut() = url.target.clone();
    let headers = request.headers_mut();
    // RFC 9110 §7.2: `Host` is the first field.
    headers.insert(HOST, url.host_header());
    headers.insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE));
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    request
}

async fn read<M>(
    url: &CustomerUrl,
    mut response: StreamedResponse,
    bytes_max: usize,
    reserve: &mut (dyn FnMut(usize) -> Option<M> + Send),
) -> Result<(FetchedFile, Option<M>), FetchError> {
    let headers = &response.head().headers;
    let is_identity = |value: &HeaderValue| {
        let encoding = value.as_bytes().trim_ascii();
        encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity")
    };
    if !headers.get_all(CONTENT_ENCODING).iter().all(is_identity) {
        return Err(FetchError::Encoded);
    }
    let content_type = text(headers, &CONTENT_TYPE).filter(|text| text.len() <= CONTENT_TYPE_BYTES_MAX);
    let content_type = content_type.map(ToOwned::to_owned);
    let announced = usize::try_from(response.announced_bytes()).unwrap_or(usize::MAX);
    if announced > bytes_max {
        return Err(FetchError::TooLarge);
    }
    // Without a `Content-Length`, the size is known at the end only.
    let expected_max = if announced > 0 { announced } else { bytes_max };
    let (mut content, mut reservation) = (Vec::new(), None);
    while let Some(bytes) = next_bytes(&mut response).await? {
        let needed = content.len() + bytes.len();
        if needed > bytes_max {
            return Err(FetchError::TooLarge);
        }
        if needed > content.capacity() {
            let grown = content.capacity().saturating_mul(CAPACITY_GROWTH).max(CAPACITY_MIN);
            let capacity = needed.max(grown).min(expected_max);
            let capacity = capacity.max(needed);
            let larger = reserve(capacity).ok_or(FetchError::NoMemory)?;
            content.reserve_exact(capacity - content.len());
            // The smaller buffer is free, and so is its reservation.
            reservation = Some(larger);
        }
        content.extend_from_slice(&bytes);
    }
    Ok((FetchedFile { content, filename: url.filename(), content_type }, reservation))
}

/// Returns the next bytes of a file; `None` at its end. After the head of the response, some errors have other reasons.
async fn next_bytes(response: &mut StreamedResponse) -> Result<Option<Bytes>, FetchError> {
    response.next_bytes().await.map_err(|error| match error {
        RequestError::Reset => FetchError::Incomplete,
        // The framing is larger than the file.
        RequestError::HeadersTooLarge => FetchError::TooLarge,
        error => FetchError::Request(error),
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim).filter(|text| !text.is_empty())
}
