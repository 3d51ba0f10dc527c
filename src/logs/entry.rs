//! The entry of one request, before it is stored.

use std::sync::Arc;
use std::time::Duration;

use super::pending_entries::PendingEntryGuard;
use super::redact::{BodyCopy, redact_also};
use super::store::{COPY_BYTES_MAX, DETAIL_CHARS_MAX, LogBodies, LogRow, PreparedLog};
use crate::base::id::{ApiKeyId, LogId, TeamId};
use crate::store::Keyring;

/// Largest body in bytes that waits in the queue unchanged. A larger one is copied and redacted before.
pub const HELD_BYTES_MAX: usize = 64 << 10;
/// Characters of a path in the log. The rest is cut.
const ENDPOINT_CHARS_MAX: usize = 1_024;
/// Characters of a method in the log. The methods of the API have at most six.
const METHOD_CHARS_MAX: usize = 16;
/// Characters of a user agent in the log.
const USER_AGENT_CHARS_MAX: usize = 256;
/// Bytes of an entry in memory without its path and bodies.
const ENTRY_BYTES: usize = 512;

/// A body of a request or response.
pub enum LoggedBody {
    /// The bytes, shared with the request.
    Held(Arc<dyn AsRef<[u8]> + Send + Sync>),
    /// The redacted copy.
    Copied(BodyCopy),
}

impl LoggedBody {
    fn bytes(&self) -> usize {
        match self {
            Self::Held(bytes) => (**bytes).as_ref().len(),
            Self::Copied(BodyCopy::Json(json)) => json.len(),
            Self::Copied(BodyCopy::TooLarge { .. } | BodyCopy::NotJson) => 0,
        }
    }

    fn into_json(self, secrets: &'static [&'static str]) -> Option<String> {
        match self {
            Self::Held(bytes) => redact_also((*bytes).as_ref(), COPY_BYTES_MAX, secrets).into_json(),
            Self::Copied(copy) => copy.into_json(),
        }
    }
}

/// A request and its response.
pub struct LoggedRequest<'a> {
    pub id: LogId,
    /// The team of the API key.
    pub team: TeamId,
    pub key: ApiKeyId,
    pub method: &'a str,
    /// The path without the query, not decoded.
    pub path: &'a str,
    /// The `User-Agent` header.
    pub user_agent: Option<&'a [u8]>,
    pub status: u16,
    /// Time until the response was ready.
    pub duration: Duration,
    /// `None` if the request has no body.
    pub request_body: Option<LoggedBody>,
    /// `None` if the response has no body.
    pub response_body: Option<LoggedBody>,
    /// More about the cause of an error than the response contains.
    pub detail: Option<String>,
    /// Names of response fields to redact for this endpoint, in addition to the fields that are always
    /// redacted.
    pub response_secrets: &'static [&'static str],
}

/// A request in the queue of the log.
pub(super) struct LogEntry {
    id: LogId,
    team: TeamId,
    row: LogRow,
    request_body: Option<LoggedBody>,
    response_body: Option<LoggedBody>,
    detail: Option<String>,
    response_secrets: &'static [&'static str],
    guard: PendingEntryGuard,
}

impl LogEntry {
    pub(super) fn new(guard: PendingEntryGuard, request: LoggedRequest<'_>) -> Self {
        let LoggedRequest {
            id,
            team,
            key,
            method,
            path,
            user_agent,
            status,
            duration,
            request_body,
            response_body,
            detail,
            response_secrets,
        } = request;
        let user_agent = user_agent.map(|agent| cut(&String::from_utf8_lossy(agent), USER_AGENT_CHARS_MAX));
        let row = LogRow {
            method: cut(method, METHOD_CHARS_MAX),
            endpoint: cut(path, ENDPOINT_CHARS_MAX),
            status,
            key,
            duration_ms: u32::try_from(duration.as_millis()).unwrap_or(u32::MAX),
            user_agent: user_agent.filter(|agent| !agent.is_empty()),
        };
        let detail = detail.map(|detail| cut(&detail, DETAIL_CHARS_MAX));
        Self { id, team, row, request_body, response_body, detail, response_secrets, guard }
    }

    /// Returns the approximate size in memory.
    pub(super) fn bytes(&self) -> usize {
        let bodies = [&self.request_body, &self.response_body];
        let held: usize = bodies.into_iter().flatten().map(LoggedBody::bytes).sum();
        ENTRY_BYTES + self.row.endpoint.len() + held + self.detail.as_ref().map_or(0, String::len)
    }

    /// Redacts and seals the bodies and encodes the row. Takes microseconds, or longer for large bodies:
    /// call it on a blocking thread.
    pub(super) fn prepare(self, keyring: &Keyring) -> (PreparedLog, PendingEntryGuard) {
        let Self { id, team, row, request_body, response_body, detail, response_secrets, guard } = self;
        let request = request_body.and_then(|body| body.into_json(&[]));
        let response = response_body.and_then(|body| body.into_json(response_secrets));
        (PreparedLog::new(keyring, (team, id), &row, &LogBodies { request, response, detail }), guard)
    }
}

/// Returns the first `chars_max` characters of a text, without control characters.
fn cut(text: &str, chars_max: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(chars_max).collect()
}
