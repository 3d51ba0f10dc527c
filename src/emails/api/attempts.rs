//! `GET /emails/{id}/attempts`, an extension of the API.

use salvo::Writer;
use salvo::oapi::{ToSchema, endpoint};
use serde::{Deserialize, Serialize};

use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::{AttemptId, resource};
use crate::delivery::{AttemptTlsRow, QueueControl, SmtpAttemptRow, WaitingGroup};
use crate::emails::{EmailAttempt, Emails, ListAttemptsError};
use crate::http::{
    ApiError, ApiResult, ListQuery, MemoryHolder, PathId, RenderedJson, ResponseLimits, State, api_error,
};
use crate::store::page::{Page, PageError};

/// Memory of an attempt while a page is read and rendered. A transcript has at most 8 KiB for each connection.
const ATTEMPT_BYTES: usize = 32 << 10;

/// An attempt to deliver an email over SMTP.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "EmailAttempt"))]
pub struct EmailAttemptResponse {
    /// Always `email_attempt`.
    pub object: String,
    /// The id.
    #[salvo(schema(value_type = String))]
    pub id: AttemptId,
    /// The end of the attempt.
    pub created_at: String,
    /// The number of the attempt for these recipients, from 1.
    pub number: u16,
    /// The recipients.
    pub to: Vec<String>,
    /// The name of the server; null if none was found.
    #[salvo(schema(required = true))]
    pub host: Option<String>,
    /// The IP address and the port of the server; null if none was found.
    #[salvo(schema(required = true))]
    pub address: Option<String>,
    /// The encryption; null in clear text, or without a session.
    #[salvo(schema(required = true))]
    pub tls: Option<AttemptTls>,
    /// Whether the session was in clear text although the server had TLS within the last 7 days.
    pub tls_downgraded: bool,
    /// Whether an earlier attempt may have delivered the message.
    pub possible_duplicate: bool,
    /// The result in one line.
    pub result: String,
    /// The commands and the replies without the message, one line each. A line starts with `C:` (command), `S:`
    /// (reply) or `--` (remark).
    pub transcript: String,
}

/// A page of the attempts, and the recipients that wait.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "EmailAttempts"))]
pub struct EmailAttemptsResponse {
    /// Always `list`.
    object: &'static str,
    /// Whether there are more items in the direction of the page.
    has_more: bool,
    /// The attempts, newest first.
    data: Vec<EmailAttemptResponse>,
    /// The recipients in the queue, with the reason why they wait. The same on each page.
    waiting: Vec<EmailWaitingResponse>,
}

/// The recipients of an email at one domain that wait for an attempt.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "EmailWaiting"))]
pub struct EmailWaitingResponse {
    /// The recipients.
    pub to: Vec<String>,
    /// Their domain.
    pub domain: String,
    /// The number of attempts for them so far.
    pub attempts: u16,
    /// The state: `scheduled`, `fan_out`, `retry`, `session`, `lookup`, `lookup_failed`, `hosts_paused`, `site_paused`,
    /// `rate_limited`, `warm_up`, `slowed`, `held`, `queue_held`, or `stopped`. Later versions can add further ones.
    pub state: String,
    /// The expected time of the next attempt; null if it is not known.
    #[salvo(schema(required = true))]
    pub until: Option<String>,
    /// The reason in one or two sentences.
    pub reason: String,
}

impl EmailAttemptsResponse {
    fn new(page: Page<EmailAttempt>, waiting: Vec<WaitingGroup>) -> Self {
        Self {
            object: "list",
            has_more: page.has_more,
            data: page.rows.into_iter().map(EmailAttemptResponse::from).collect(),
            waiting: waiting.into_iter().map(EmailWaitingResponse::from).collect(),
        }
    }
}

impl From<WaitingGroup> for EmailWaitingResponse {
    fn from(group: WaitingGroup) -> Self {
        let WaitingGroup { recipients, domain, attempts, state, until_ms, reason } = group;
        let (state, until) = (state.as_str().to_owned(), until_ms.map(to_iso));
        Self { to: recipients, domain, attempts, state, until, reason }
    }
}

/// The encryption of an SMTP session.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AttemptTls {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: String,
    /// The cipher suite.
    pub cipher: String,
    /// Whether the certificate was verified.
    pub verified: bool,
}

impl From<EmailAttempt> for EmailAttemptResponse {
    fn from(EmailAttempt { id, row, recipients }: EmailAttempt) -> Self {
        let SmtpAttemptRow {
            at_ms,
            group: _,
            // The part of the schedule that the host belongs to, and the source address that it depends on.
            site: _,
            source: _,
            number,
            host,
            address,
            tls,
            tls_downgraded,
            possible_duplicate,
            // The recipients have been read with them.
            tried_recipients: _,
            summary,
            deferral_reason: _,
            transcript,
        } = row;
        Self {
            object: "email_attempt".to_owned(),
            id,
            created_at: to_iso(at_ms),
            number,
            to: recipients,
            host,
            address,
            tls: tls.map(AttemptTls::from),
            tls_downgraded,
            possible_duplicate,
            result: summary,
            transcript,
        }
    }
}

impl From<AttemptTlsRow> for AttemptTls {
    fn from(AttemptTlsRow { version, cipher, verified }: AttemptTlsRow) -> Self {
        Self { version, cipher, verified }
    }
}

/// Lists the SMTP attempts to deliver an email, newest first, and why its other recipients wait.
///
/// An extension of the API. Simulated recipients have no attempts.
#[endpoint(tags("Emails"), responses(ListAttemptsError))]
pub async fn list_email_attempts(
    emails: State<Emails>,
    queue: State<QueueControl>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Email>,
    query: ListQuery<resource::Attempt>,
) -> ApiResult<RenderedJson<EmailAttemptsResponse>> {
    let bytes = query.0.limit * ATTEMPT_BYTES;
    let permit = limits.reserve(MemoryHolder::Team(caller.team), bytes).await?;
    let page = emails.attempts(caller.team, id.0, query.0).await?;
    let waiting = queue.waiting(caller.team, id.0).await?;
    let make = move || EmailAttemptsResponse::new(page, waiting);
    RenderedJson::render(&limits, Some(permit), bytes, "attempts", make).await
}

api_error!(ListAttemptsError: NotFound, Validation {
    ListAttemptsError::EmailNotFound => ApiError::not_found("Email"),
    ListAttemptsError::UnknownCursor => PageError::UnknownCursor.into(),
});
