//! A request that was answered, on its way into the log.

use std::sync::Arc;
use std::time::Duration;

use super::pending_entries::PendingEntryGuard;
use super::redact::{BodyCopy, redact_also};
use super::store::{COPY_BYTES_MAX, LogRow, PreparedLog};
use crate::base::id::{ApiKeyId, LogId, TeamId};
use crate::store::Keyring;

/// Bytes of a body that may wait in memory as it came. Of a larger one the copy is made at once.
pub const HELD_BYTES_MAX: usize = 64 << 10;
/// Characters of a path that are kept.
const ENDPOINT_CHARS_MAX: usize = 1_024;
/// Characters of a method that are kept; the API's own have six at most.
const METHOD_CHARS_MAX: usize = 16;
/// Characters of a user agent that are kept.
const USER_AGENT_CHARS_MAX: usize = 256;
/// What an entry takes in memory beside its texts and bodies.
const ENTRY_BYTES: usize = 512;

/// A body as a request hands it over.
pub enum LoggedBody {
    /// The bytes themselves, which the request shares.
    Held(Arc<dyn AsRef<[u8]> + Send + Sync>),
    /// A copy that was made already.
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

/// What is known of a request when it has been answered.
pub struct LoggedRequest<'a> {
    /// The request's id.
    pub id: LogId,
    /// Whose key it came with.
    pub team: TeamId,
    /// The key.
    pub key: ApiKeyId,
    /// The method.
    pub method: &'a str,
    /// The path as it was given, without the query.
    pub path: &'a str,
    /// The `User-Agent` header.
    pub user_agent: Option<&'a [u8]>,
    /// The status of the answer.
    pub status: u16,
    /// How long the answer took.
    pub duration: Duration,
    /// The body of the request, where there was one.
    pub request_body: Option<LoggedBody>,
    /// The body of the answer, where there was one.
    pub response_body: Option<LoggedBody>,
    /// The fields of the answer that are secret because of what was asked, beside those that always are.
    pub response_secrets: &'static [&'static str],
}

/// A request in the queue of the log.
pub(super) struct Entry {
    id: LogId,
    team: TeamId,
    row: LogRow,
    request_body: Option<LoggedBody>,
    response_body: Option<LoggedBody>,
    response_secrets: &'static [&'static str],
    begun: PendingEntryGuard,
}

impl Entry {
    pub(super) fn new(begun: PendingEntryGuard, answered: LoggedRequest<'_>) -> Self {
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
            response_secrets,
        } = answered;
        let user_agent = user_agent.map(|agent| cut(&String::from_utf8_lossy(agent), USER_AGENT_CHARS_MAX));
        let row = LogRow {
            method: cut(method, METHOD_CHARS_MAX),
            endpoint: cut(path, ENDPOINT_CHARS_MAX),
            status,
            key,
            duration_ms: u32::try_from(duration.as_millis()).unwrap_or(u32::MAX),
            user_agent: user_agent.filter(|agent| !agent.is_empty()),
        };
        Self { id, team, row, request_body, response_body, response_secrets, begun }
    }

    /// Returns about how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let bodies = [&self.request_body, &self.response_body];
        let held: usize = bodies.into_iter().flatten().map(LoggedBody::bytes).sum();
        ENTRY_BYTES + self.row.endpoint.len() + held
    }

    /// Makes the copies of the bodies and encodes what is written. It takes microseconds, and more
    /// for large bodies: it belongs on a thread that may block.
    pub(super) fn prepare(self, keyring: &Keyring) -> (PreparedLog, PendingEntryGuard) {
        let Self { id, team, row, request_body, response_body, response_secrets, begun } = self;
        let request = request_body.and_then(|body| body.into_json(&[]));
        let response = response_body.and_then(|body| body.into_json(response_secrets));
        (PreparedLog::new(keyring, (team, id), &row, request, response), begun)
    }
}

fn cut(text: &str, chars_max: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(chars_max).collect()
}
