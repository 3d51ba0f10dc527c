//! Recording of authenticated requests in the request log: caller, request, response and duration.
//!
//! Recording does not delay a request. Small bodies are shared with the log, which redacts them later.
//! A large body is copied where it is parsed, on a blocking thread.

use std::sync::Arc;

use salvo::http::header::{CONTENT_LENGTH, USER_AGENT};
use salvo::http::{ResBody, StatusCode};
use salvo::{Depot, FlowCtrl, Handler, Request, Response, async_trait};

use crate::api_keys::Caller;
use crate::base::clock::monotonic;
use crate::base::id::LogId;
use crate::logs::{BodyCopy, HELD_BYTES_MAX, LoggedBody, LoggedRequest, RequestLog};

/// Method, matched path, and the response fields that are secret only on this route.
const SECRETS_OF_ANSWERS: &[(&str, &str, &[&str])] = &[
    // The link contains a token that does not expire and gives access to the page.
    ("POST", "contacts/{id}/preferences-link", &["url"]),
];

/// Handler that adds requests to the log.
pub(crate) struct RequestRecorder(pub(crate) Arc<RequestLog>);

/// Caller of a request, set before its permission is checked.
#[derive(Clone, Copy)]
pub(super) struct KnownCaller(pub(super) Caller);

/// Body of the request for the log, in the depot.
#[derive(Default)]
struct RequestBody(Option<LoggedBody>);

/// Detail of an error for the log, in the depot.
struct ErrorDetail(String);

/// Stores the detail of an error in the depot, for the log.
pub(super) fn put_detail(depot: &mut Depot, detail: String) {
    depot.insert_typed(ErrorDetail(detail));
}

/// Form in which the log stores a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyCapture {
    /// The log does not store the body.
    Nothing,
    /// The log shares the bytes of the body.
    Bytes,
    /// A redacted copy, made immediately because the body is large.
    Copy,
}

/// Returns the form for a body of `bytes` bytes.
pub(super) fn capture_of(depot: &Depot, bytes: usize) -> BodyCapture {
    match depot.get_typed::<RequestBody>() {
        Err(_) => BodyCapture::Nothing,
        Ok(_) if bytes <= HELD_BYTES_MAX => BodyCapture::Bytes,
        Ok(_) => BodyCapture::Copy,
    }
}

/// Stores the body of a request in the depot, for the log.
pub(super) fn put_body(depot: &mut Depot, body: LoggedBody) {
    if let Ok(slot) = depot.get_typed_mut::<RequestBody>() {
        slot.0 = Some(body);
    }
}

#[async_trait]
impl Handler for RequestRecorder {
    async fn handle(&self, req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        let Some(begun) = self.0.begin() else { return };
        let started = monotonic();
        depot.insert_typed(RequestBody::default());
        ctrl.call_next(req, depot, res).await;
        let Ok(RequestBody(request_body)) = depot.remove_typed::<RequestBody>() else { return };
        let detail = depot.remove_typed::<ErrorDetail>().ok().map(|ErrorDetail(detail)| detail);
        let (Ok(id), Ok(KnownCaller(caller))) = (depot.get_typed::<LogId>(), depot.get_typed::<KnownCaller>()) else {
            return;
        };
        let answered = LoggedRequest {
            id: *id,
            team: caller.team,
            key: caller.key,
            method: req.method().as_str(),
            path: req.uri().path(),
            user_agent: req.headers().get(USER_AGENT).map(|agent| agent.as_bytes()),
            status: status_of(res).as_u16(),
            duration: started.elapsed(),
            request_body,
            response_body: body_of(res),
            detail,
            response_secrets: secrets_of(req.method().as_str(), req.matched_path()),
        };
        self.0.enqueue(begun, answered);
    }
}

/// Returns the secret fields in the responses of a route.
fn secrets_of(method: &str, matched_path: &str) -> &'static [&'static str] {
    SECRETS_OF_ANSWERS
        .iter()
        .find(|(its_method, path, _)| *its_method == method && *path == matched_path)
        .map_or(&[], |(_, _, fields)| fields)
}

/// Returns the status of the response. If no handler set one, it depends on the body.
pub(super) fn status_of(res: &Response) -> StatusCode {
    let follows = if res.body.is_none() { StatusCode::NOT_FOUND } else { StatusCode::OK };
    res.status_code.unwrap_or(follows)
}

/// Returns the body of the response for the log: shared if it is small, only its size if it is large. `None` for a
/// stream of unknown size.
fn body_of(res: &Response) -> Option<LoggedBody> {
    let length = || res.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
    let bytes = res.body.size().or_else(length).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.filter(|bytes| *bytes > 0)?;
    if bytes > HELD_BYTES_MAX {
        return Some(LoggedBody::Copied(BodyCopy::TooLarge { bytes }));
    }
    match &res.body {
        ResBody::Once(body) => Some(LoggedBody::Held(Arc::new(body.clone()))),
        ResBody::Chunks(chunks) => {
            let mut body = Vec::with_capacity(bytes);
            chunks.iter().for_each(|chunk| body.extend_from_slice(chunk));
            Some(LoggedBody::Held(Arc::new(body)))
        }
        _ => None,
    }
}
