//! A request for the status of a URL, without its content. Follows redirects.

use std::time::Duration;

use hyper::Method;
use hyper::StatusCode;
use tokio::time::Instant;

use super::client::HttpClient;
use super::connection::HttpConnection;
use super::failure::RequestError;
use super::fetch::{FetchError, REDIRECTS_MAX, is_redirect, request};
use super::metered_io::RESPONSE_BYTES_MAX;
use super::url::CustomerUrl;
use crate::base::clock::TimestampMs;

impl HttpClient {
    /// Returns the status of a URL after its redirects, at most [`REDIRECTS_MAX`]. Sends HEAD, and GET if the response
    /// to HEAD is an error: some servers accept GET only. Reads no content. Each URL obeys the policy, and each
    /// address the guard. `overall` is the time for each of the two methods.
    ///
    /// # Errors
    ///
    /// [`FetchError`]. Dropping the future closes the connection.
    pub async fn probe(&self, url: CustomerUrl, overall: Duration, now_ms: TimestampMs) -> Result<u16, FetchError> {
        match self.status_of(Method::HEAD, url.clone(), Instant::now() + overall, now_ms).await {
            Ok(status) if status.is_client_error() || status.is_server_error() => {}
            Err(FetchError::Request(RequestError::Reset | RequestError::Protocol)) => {}
            result => return result.map(|status| status.as_u16()),
        }
        let status = self.status_of(Method::GET, url, Instant::now() + overall, now_ms).await?;
        Ok(status.as_u16())
    }

    async fn status_of(
        &self,
        method: Method,
        mut url: CustomerUrl,
        deadline: Instant,
        now_ms: TimestampMs,
    ) -> Result<StatusCode, FetchError> {
        for _ in 0..=REDIRECTS_MAX {
            let stream = self.dial(&url, now_ms, deadline).await?;
            let connection = HttpConnection::start(stream, RESPONSE_BYTES_MAX).await?;
            let response = connection.open(request(method.clone(), &url), deadline).await?;
            let status = response.head().status;
            if !is_redirect(status) {
                return Ok(status);
            }
            url = self.redirect_of(&url, &response.head().headers)?;
        }
        Err(FetchError::TooManyRedirects)
    }
}
