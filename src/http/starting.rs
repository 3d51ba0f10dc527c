//! The responses of a server that is not ready yet.

use salvo::http::HeaderValue;
use salvo::http::header::CONNECTION;
use salvo::{Request, Response, Router, Service, handler};

use super::discard::discard_rest;
use super::error::ApiError;

/// Builds the service of an instance whose store is not open yet. It responds to every request with 503.
pub(crate) fn starting() -> Service {
    Service::new(Router::new().push(Router::with_path("{**rest}").goal(not_ready)))
}

/// Responds with 503. Another server takes over the address, so that the connection ends.
#[handler]
async fn not_ready(req: &mut Request, res: &mut Response) {
    ApiError::unavailable("The server is starting: its store is not open yet. Try again.").render(req, res);
    discard_rest(req).await;
    res.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
}
