//! `GET /captured` and `GET /captured/{id}`, extensions of the API.

use std::time::Duration;

use salvo::oapi::{Operation, ToSchema, endpoint};
use salvo::writing::Json;
use salvo::{Request, Writer};
use serde::Serialize;

use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::{CapturedId, resource};
use crate::delivery::capture::{
    CaptureMailbox, CapturedContent, CapturedFilter, CapturedPage, CapturedPart, CapturedSummary, CapturedWaitError,
    MailboxReader,
};
use crate::http::{
    ApiError, ApiResult, ErrorCode, FromParameters, ListQuery, MemoryHolder, Parameters, PathId, RenderedJson,
    ResourceNotFound, ResponseLimits, ResponsePermit, State, api_error, declare_query, query_value, schema,
};
use crate::store::page::{Cursor, PageQuery};

/// Longest wait of a request, in seconds.
const WAIT_S_MAX: u64 = 60;
/// Copies of a message that exist while its parts are read and rendered.
const MESSAGE_COPIES: usize = 4;
/// `Retry-After` of a refused wait, in seconds.
const RETRY_AFTER_S: u32 = 1;

/// A captured message in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CapturedEmail {
    /// Always `captured`.
    object: &'static str,
    /// The id.
    id: String,
    /// The email that the message was composed from; null for a message of another program.
    #[salvo(schema(required = true))]
    email_id: Option<String>,
    /// The sender in the header, or else the return path.
    from: String,
    /// The recipients of the envelope.
    to: Vec<String>,
    /// The subject.
    subject: String,
    /// The time of arrival.
    received_at: String,
    /// The size in bytes.
    size: u64,
    /// `captured`; `released` after the message was released for delivery; `other` for a message of another program.
    mode: &'static str,
    /// The time of the release for delivery; null if the message was not released.
    #[salvo(schema(required = true))]
    released_at: Option<String>,
}

/// A page of captured messages.
#[derive(Serialize, ToSchema)]
pub struct CapturedList {
    /// Always `list`.
    object: &'static str,
    /// Whether there are more items in the direction of the page.
    has_more: bool,
    /// The messages, newest first.
    data: Vec<CapturedEmail>,
    /// The position from which `after` continues, if the page ended early, because it read many other messages.
    #[salvo(schema(required = true))]
    position: Option<String>,
}

/// A captured message with its parts.
#[derive(Serialize, ToSchema)]
pub struct CapturedMessage {
    #[serde(flatten)]
    #[salvo(schema(inline = false))]
    summary: CapturedEmail,
    /// The header fields in the order of the message.
    headers: Vec<CapturedHeader>,
    /// The text part, or else the text of the HTML part.
    #[salvo(schema(required = true))]
    text: Option<String>,
    /// The HTML part.
    #[salvo(schema(required = true))]
    html: Option<String>,
    /// The links to web pages, in order, each once.
    links: Vec<String>,
    /// The first code of four to eight digits.
    #[salvo(schema(required = true))]
    code: Option<String>,
    /// The attached files and inline images, without their content.
    attachments: Vec<CapturedAttachment>,
}

/// A header field of a captured message.
#[derive(Serialize, ToSchema)]
pub struct CapturedHeader {
    /// The name.
    name: String,
    /// The value in one line.
    value: String,
}

/// A file or an inline image of a captured message.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CapturedAttachment {
    /// The position in the message, from 0.
    index: usize,
    /// The file name.
    filename: String,
    /// The media type.
    content_type: String,
    /// The size in bytes.
    size: usize,
    /// The content id of an inline image.
    #[salvo(schema(required = true))]
    content_id: Option<String>,
}

impl From<CapturedSummary> for CapturedEmail {
    fn from(CapturedSummary { id, row, from, subject }: CapturedSummary) -> Self {
        let mode = match (row.email, row.released_ms) {
            (None, _) => "other",
            (Some(_), Some(_)) => "released",
            (Some(_), None) => "captured",
        };
        Self {
            object: "captured",
            id: id.to_string(),
            email_id: row.email.map(|email| email.to_string()),
            from,
            to: row.recipients,
            subject,
            received_at: to_iso(row.received_ms),
            size: row.size,
            mode,
            released_at: row.released_ms.map(to_iso),
        }
    }
}

impl From<CapturedPage> for CapturedList {
    fn from(page: CapturedPage) -> Self {
        Self {
            object: "list",
            has_more: page.has_more,
            data: page.rows.into_iter().map(CapturedEmail::from).collect(),
            position: page.position.map(|id| id.to_string()),
        }
    }
}

impl CapturedAttachment {
    /// Returns the attachments of a message.
    pub(crate) fn list(parts: Vec<CapturedPart>) -> Vec<Self> {
        let attachment = |(index, part)| {
            let CapturedPart { filename, content_type, size, content_id } = part;
            Self { index, filename, content_type, size, content_id }
        };
        parts.into_iter().enumerate().map(attachment).collect()
    }
}

impl CapturedMessage {
    fn new(summary: CapturedSummary, content: CapturedContent) -> Self {
        let CapturedContent { headers, subject: _, text, html, parts, links, code } = content;
        Self {
            summary: summary.into(),
            headers: headers.into_iter().map(|(name, value)| CapturedHeader { name, value }).collect(),
            text,
            html,
            links,
            code,
            attachments: CapturedAttachment::list(parts),
        }
    }
}

/// The query parameters that select captured messages.
pub struct CapturedQuery {
    filter: CapturedFilter,
    wait: Option<Duration>,
}

impl FromParameters for CapturedQuery {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        let text = |name: &str| Ok::<_, ApiError>(query_value(req, name)?.map(str::to_owned));
        let filter = CapturedFilter { to: text("to")?, subject: text("subject")? };
        Ok(Self { filter, wait: text("wait")?.map(|text| parse_wait(&text)).transpose()? })
    }

    fn declare(operation: &mut Operation) {
        let to = "The recipient: a whole address, or a part of one.";
        declare_query(operation, "to", to, schema::text());
        declare_query(operation, "subject", "A part of the subject.", schema::text());
        let wait = "How long to wait for a message, up to `60s`, if none matches. With `before`, only for a newer one.";
        declare_query(operation, "wait", wait, schema::text().pattern("^[0-9]{1,2}s$"));
    }
}

/// Parses a number of seconds, such as `30s`.
fn parse_wait(text: &str) -> ApiResult<Duration> {
    let seconds = text.strip_suffix('s').and_then(|digits| digits.parse().ok());
    seconds.filter(|seconds| *seconds <= WAIT_S_MAX).map(Duration::from_secs).ok_or_else(|| {
        ApiError::validation(format!("The `wait` must be a number of seconds up to `{WAIT_S_MAX}s`, such as `30s`."))
    })
}

/// Lists captured messages, newest first, or waits for one.
///
/// An extension of the API. Messages are captured in capture mode, and for recipients that other routes capture.
#[endpoint(tags("Captured"))]
pub async fn list_captured(
    mailbox: State<CaptureMailbox>,
    limits: State<ResponseLimits>,
    caller: Caller,
    query: ListQuery<resource::Captured>,
    selected: Parameters<CapturedQuery>,
) -> ApiResult<Json<CapturedList>> {
    let (reader, PageQuery { limit, cursor }) = (MailboxReader::Team(caller.team), query.0);
    let CapturedQuery { filter, wait } = selected.0;
    let Some(wait) = wait else {
        return Ok(Json(mailbox.search(reader, filter, PageQuery { limit, cursor }).await?.into()));
    };
    let after: Option<CapturedId> = match cursor {
        Cursor::Newest => None,
        Cursor::Before(id) => Some(id),
        Cursor::After(_) => {
            return Err(ApiError::validation("Use `wait` without `after`: the messages after an item are older."));
        }
    };
    // A request that waits must not hold a turn of the reads of its team.
    drop(limits.reserve(MemoryHolder::Team(caller.team), 1).await?);
    Ok(Json(mailbox.wait(reader, filter, after, limit, wait).await?.into()))
}

/// Returns a captured message with its parts, its links and its code.
///
/// An extension of the API.
#[endpoint(tags("Captured"), responses(ResourceNotFound))]
pub async fn get_captured(
    mailbox: State<CaptureMailbox>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Captured>,
) -> ApiResult<RenderedJson<CapturedMessage>> {
    let permit = reserve_message(&mailbox, &limits, caller, id.0).await?;
    let (summary, content) = mailbox.content(MailboxReader::Team(caller.team), id.0).await?.ok_or_else(not_found)?;
    let (bytes, make) = (permit.bytes(), move || CapturedMessage::new(summary, content));
    RenderedJson::render(&limits, Some(permit), bytes, "message", make).await
}

/// Reserves the memory for reading a message of a team and rendering its parts.
pub(crate) async fn reserve_message(
    mailbox: &CaptureMailbox,
    limits: &ResponseLimits,
    caller: Caller,
    id: CapturedId,
) -> ApiResult<ResponsePermit> {
    let summary = mailbox.find(MailboxReader::Team(caller.team), id).await?.ok_or_else(not_found)?;
    let bytes = usize::try_from(summary.row.size).unwrap_or(usize::MAX).saturating_mul(MESSAGE_COPIES);
    limits.reserve(MemoryHolder::Team(caller.team), bytes).await
}

pub(crate) fn not_found() -> ApiError {
    ApiError::not_found("Captured message")
}

api_error!(CapturedWaitError {
    CapturedWaitError::TooMany => ApiError {
        retry_after_s: Some(RETRY_AFTER_S),
        ..ApiError::new(ErrorCode::RateLimitExceeded, "Too many requests wait for a message. Try again.")
    },
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_number_of_seconds() {
        for (text, expected) in [
            ("0s", Some(0)),
            ("30s", Some(30)),
            ("60s", Some(60)),
            ("61s", None),
            ("30", None),
            ("-1s", None),
            ("s", None),
        ] {
            assert_eq!(parse_wait(text).ok().map(|wait| wait.as_secs()), expected, "{text}");
        }
    }
}
