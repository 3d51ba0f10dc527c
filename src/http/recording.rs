//! The hoop around the routes behind a key that hands each request to the request log: who asked what,
//! what was answered, and how long that took.
//!
//! It adds no read and no copy to a request: small bodies are shared with the log, which redacts them
//! later; of a large one the copy is made where it is read anyway, off the runtime's threads.

use std::sync::Arc;

use salvo::http::header::USER_AGENT;
use salvo::http::{ResBody, StatusCode};
use salvo::{Depot, FlowCtrl, Handler, Request, Response, async_trait};

use crate::api_keys::Caller;
use crate::base::clock::monotonic;
use crate::base::id::LogId;
use crate::logs::{BodyCopy, HELD_BYTES_MAX, LoggedBody, LoggedRequest, RequestLog};

/// Method, matched path, and the fields of the answer that are secret there and nowhere else.
const SECRETS_OF_ANSWERS: &[(&str, &str, &[&str])] = &[
    // The link holds a token that never expires, and opens its page to everyone who has it.
    ("POST", "contacts/{id}/preferences-link", &["url"]),
];

/// Hands requests to the log.
pub(crate) struct RequestRecorder(pub(crate) Arc<RequestLog>);

/// Whose request it is, known before it is known whether the key may do what it asks.
#[derive(Clone, Copy)]
pub(super) struct KnownCaller(pub(super) Caller);

/// What of the request's body goes to the log. It stands in the depot while the request is recorded.
#[derive(Default)]
struct RequestBody(Option<LoggedBody>);

/// In which form a request's body goes to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyCapture {
    /// Not at all.
    Nothing,
    /// Its bytes, shared.
    Bytes,
    /// A copy that is made at once, because the body is large.
    Copy,
}

/// Returns in which form the log wants a body of `bytes`.
pub(super) fn form_of(depot: &Depot, bytes: usize) -> BodyCapture {
    match depot.get_typed::<RequestBody>() {
        Err(_) => BodyCapture::Nothing,
        Ok(_) if bytes <= HELD_BYTES_MAX => BodyCapture::Bytes,
        Ok(_) => BodyCapture::Copy,
    }
}

/// Keeps a request's body for the log.
pub(super) fn keep(depot: &mut Depot, body: LoggedBody) {
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
            response_secrets: secrets_of(req.method().as_str(), req.matched_path()),
        };
        self.0.enqueue(begun, answered);
    }
}

/// Returns the fields that are secret in the answers of a route.
fn secrets_of(method: &str, matched_path: &str) -> &'static [&'static str] {
    SECRETS_OF_ANSWERS
        .iter()
        .find(|(its_method, path, _)| *its_method == method && *path == matched_path)
        .map_or(&[], |(_, _, fields)| fields)
}

/// Returns the status the answer leaves with: one that no handler set follows from its body.
fn status_of(res: &Response) -> StatusCode {
    let follows = if res.body.is_none() { StatusCode::NOT_FOUND } else { StatusCode::OK };
    res.status_code.unwrap_or(follows)
}

/// Shares the body of the answer with the log; a large one is only counted, and a stream is none.
fn body_of(res: &Response) -> Option<LoggedBody> {
    let bytes = res.body.size().and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes > 0)?;
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
