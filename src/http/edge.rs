//! Handling of every request, with or without a matching route: its id, its span, the rate limit headers, and CORS.
//! Also creates the errors of absent routes, and reshapes the error responses of salvo.

use std::borrow::Cow;
use std::sync::Arc;

use salvo::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW, CONNECTION,
    CONTENT_TYPE, HOST, ORIGIN, VARY,
};
use salvo::http::uri::Authority;
use salvo::http::{HeaderValue, Method, StatusCode, Version};
use salvo::{Depot, FlowCtrl, Handler, Request, Response, async_trait, handler};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::counters::HttpCounters;
use super::discard::{BodyRest, discard_rest};
use super::error::{ApiError, ErrorCode};
use super::query::QueryParameters;
use super::rate_limit::{RateLimitState, RateLimiter};
use super::recording::status_of;
use super::state::service;
use crate::base::clock::monotonic;
use crate::base::id::{IdSource, LogId};

/// Handler that adds the id and the services to a request and the headers to its response.
pub(crate) struct Edge<S> {
    pub(crate) services: Arc<S>,
    pub(crate) limiter: Arc<RateLimiter>,
    pub(crate) ids: IdSource,
    pub(crate) cors: Cors,
    pub(crate) counters: Arc<HttpCounters>,
    /// Tracks the requests that are running, so that a shutdown waits for them only.
    pub(crate) in_flight: TaskTracker,
}

#[async_trait]
impl<S: Send + Sync + 'static> Handler for Edge<S> {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        let _in_flight = self.in_flight.token();
        let started = monotonic();
        let id: LogId = self.ids.draw();
        let span = tracing::info_span!("request", request.id = %id, method = %req.method(), path = &*redacted_path(req.uri().path()));
        depot.insert_typed(Arc::clone(&self.services));
        // The request log stores the request under this id.
        depot.insert_typed(id);
        self.cors.write_headers(req, res);
        if let Err(error) = check_host(req) {
            error.render(req, res);
            ctrl.skip_rest();
        } else if self.cors.is_preflight(req) {
            res.status_code(StatusCode::OK);
            res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
            res.body("{}");
            ctrl.skip_rest();
        } else {
            ctrl.call_next(req, depot, res).instrument(span).await;
        }
        if discard_rest(req).await == BodyRest::Unread {
            res.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let state = depot.get_typed::<RateLimitState>().copied().unwrap_or_else(|_| self.limiter.unused());
        state.write_headers(res);
        if let Ok(value) = HeaderValue::try_from(id.to_string()) {
            res.headers_mut().insert("x-request-id", value);
        }
        let is_routed = !req.matched_path().is_empty() || req.uri().path() == "/";
        let route = is_routed.then(|| req.matched_path());
        self.counters.request_ended(req.method(), route, status_of(res), started.elapsed());
    }
}

/// Checks that a request of HTTP/1.1 has exactly one valid `Host` header (RFC 9112 §3.2).
fn check_host(req: &Request) -> Result<(), ApiError> {
    let refused = |problem: &str| {
        let message = format!("The request has {problem}. Send one `Host` header with the name of this server.");
        ApiError::new(ErrorCode::MalformedJson, message)
    };
    let mut hosts = req.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if host.is_empty() || Authority::try_from(host.as_bytes()).is_ok() => Ok(()),
        (Some(_), None) => Err(refused("an invalid `Host` header")),
        (Some(_), Some(_)) => Err(refused("more than one `Host` header")),
        (None, _) if req.version() >= Version::HTTP_11 => Err(refused("no `Host` header")),
        (None, _) => Ok(()),
    }
}

/// Returns the path for the log, without addresses, tokens of recipients, and secrets of one-time links. An unsubscribe
/// token opts its recipient out, a tracking token records an event, and an erasure does not change the log.
fn redacted_path(path: &str) -> Cow<'_, str> {
    const AT_SIGNS: [&str; 2] = ["@", "%40"];
    let is_address = |segment: &str| AT_SIGNS.iter().any(|sign| segment.contains(sign));
    const SECRETS: [(&str, &str); 6] = [
        ("unsubscribe/", "/unsubscribe/…"),
        ("t/o/", "/t/o/…"),
        ("t/c/", "/t/c/…"),
        ("dashboard/setup/", "/dashboard/setup/…"),
        ("dashboard/link/", "/dashboard/link/…"),
        ("dashboard/open/", "/dashboard/open/…"),
    ];
    let after_slashes = path.trim_start_matches('/');
    if let Some((_, shown)) = SECRETS.iter().find(|(prefix, _)| after_slashes.starts_with(prefix)) {
        return Cow::Borrowed(shown);
    }
    if !is_address(path) {
        return Cow::Borrowed(path);
    }
    let segments: Vec<&str> =
        path.split('/').map(|segment| if is_address(segment) { "[address]" } else { segment }).collect();
    Cow::Owned(segments.join("/"))
}

/// Origins of web pages that can call the API from a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cors {
    /// No origin. No CORS header is sent.
    Off,
    /// Every origin.
    Any,
    /// These origins.
    Origins(Vec<String>),
}

impl Cors {
    /// Parses the setting: an empty text, `*`, or origins separated by commas.
    pub fn parse(setting: &str) -> Self {
        let origins: Vec<String> = setting
            .split(',')
            .map(|origin| origin.trim().trim_end_matches('/').to_owned())
            .filter(|origin| !origin.is_empty())
            .collect();
        if origins.is_empty() {
            Self::Off
        } else if origins.iter().any(|origin| origin == "*") {
            Self::Any
        } else {
            Self::Origins(origins)
        }
    }

    fn allows(&self, origin: &str) -> bool {
        match self {
            Self::Off => false,
            Self::Any => true,
            Self::Origins(origins) => origins.iter().any(|allowed| allowed == origin),
        }
    }

    fn is_preflight(&self, req: &Request) -> bool {
        *self != Self::Off
            && req.method() == Method::OPTIONS
            && req.headers().contains_key(ORIGIN)
            && req.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    fn write_headers(&self, req: &Request, res: &mut Response) {
        if *self == Self::Off {
            return;
        }
        let headers = res.headers_mut();
        headers.insert(VARY, HeaderValue::from_static("origin"));
        let Some(origin) = req.headers().get(ORIGIN) else { return };
        if !origin.to_str().is_ok_and(|origin| self.allows(origin)) {
            return;
        }
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        let exposed =
            "x-request-id, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, ratelimit-policy";
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
        if self.is_preflight(req) {
            let allowed = "authorization, content-type, idempotency-key, x-batch-validation";
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PATCH, DELETE"));
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
    }
}

/// Returns the error of a method that a path with only a POST route does not support. For all other paths, salvo finds
/// the methods of `Allow` (RFC 9110 §10.2.1) itself.
#[handler]
pub(crate) async fn only_post(res: &mut Response) {
    res.status_code(StatusCode::METHOD_NOT_ALLOWED);
    res.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
}

/// Does the same as [`only_post`] for a path with only a GET route, which answers HEAD too.
#[handler]
pub(crate) async fn only_get(res: &mut Response) {
    res.status_code(StatusCode::METHOD_NOT_ALLOWED);
    res.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
}

/// Returns the error of an unknown path.
#[handler]
pub(crate) async fn unknown(res: &mut Response) {
    res.status_code(StatusCode::NOT_FOUND);
}

/// Renders the error responses that salvo creates as [`ApiError`]s.
#[handler]
pub(crate) async fn shape_errors(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    let status = res.status_code.unwrap_or(StatusCode::NOT_FOUND);
    let error = match status {
        StatusCode::NOT_FOUND => unknown_path(req, depot),
        StatusCode::METHOD_NOT_ALLOWED => {
            ApiError::new(ErrorCode::MethodNotAllowed, "Method is not allowed for the requested path.")
        }
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::new(ErrorCode::PayloadTooLarge, "The request body is larger than this endpoint takes.")
        }
        StatusCode::SERVICE_UNAVAILABLE => ApiError::unavailable("The server is busy. Try again."),
        status if status.is_client_error() => ApiError::validation("The request cannot be read."),
        _ => ApiError::new(
            ErrorCode::InternalServerError,
            "Something went wrong on our side. The `x-request-id` header names this request in the log.",
        ),
    };
    error.render(req, res);
    ctrl.skip_rest();
}

/// Returns the error of an unknown path, with the path that it is likely a misspelling of.
fn unknown_path(req: &Request, depot: &Depot) -> ApiError {
    let paths = service::<QueryParameters>(depot);
    let nearest = paths.ok().and_then(|paths| paths.nearest_path(req.uri().path()));
    let suggestion = nearest.map_or_else(String::new, |path| format!(" Did you mean `{path}`?"));
    ApiError::new(ErrorCode::NotFound, format!("The requested endpoint does not exist.{suggestion}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logged_path_has_no_address_and_no_token() {
        for (path, expected) in [
            ("/contacts/ada@example.com", "/contacts/[address]"),
            ("/contacts/ada%40example.com/topics", "/contacts/[address]/topics"),
            ("/audiences/x/contacts/ada%40example.com", "/audiences/x/contacts/[address]"),
            ("/a@b/c/d@e", "/[address]/c/[address]"),
            ("/emails/0190a6c0-0000-7000-8000-000000000001", "/emails/0190a6c0-0000-7000-8000-000000000001"),
            ("/", "/"),
            ("/unsubscribe/abc", "/unsubscribe/…"),
            ("//unsubscribe/abc@d", "/unsubscribe/…"),
            ("/t/o/abc", "/t/o/…"),
            ("//t/c/abc", "/t/c/…"),
            ("/dashboard/setup/abc", "/dashboard/setup/…"),
            ("//dashboard/link/abc", "/dashboard/link/…"),
            ("/dashboard/open/abc", "/dashboard/open/…"),
            ("/dashboard/login", "/dashboard/login"),
        ] {
            assert_eq!(redacted_path(path), expected, "{path}");
        }
    }
}
