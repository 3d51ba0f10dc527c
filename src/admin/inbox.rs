//! The inbox of captured mail, for tests of programs that send email. It belongs to the instance, not to a team.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::Actor;
use crate::base::blocking;
use crate::base::clock::to_iso;
use crate::base::id::{CapturedId, EmailId};
use crate::delivery::capture::{
    CapturedContent, CapturedFilter, CapturedPart, CapturedSummary, CapturedWaitError, MailboxReader,
};
use crate::store::page::{Cursor, PageQuery};

/// Rows of one page.
const PAGE_ROWS: usize = 100;
/// Reads of one list that find no message. Each reads some ten thousand rows.
const EMPTY_READS_MAX: usize = 50;
/// Longest wait of one request. The verb repeats it.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Bytes of a message in one response.
const RAW_BYTES_MAX: usize = 8 << 20;
/// Bytes of the text and of the HTML of a message in a response.
const SHOWN_BYTES_MAX: usize = 1 << 20;

/// Messages to find.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct InboxFilter {
    /// A recipient: a whole address, or a part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Part of the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum InboxVerb {
    #[serde(rename = "inbox_list")]
    List { filter: InboxFilter, after: Option<CapturedId> },
    #[serde(rename = "inbox_show")]
    Show { id: String },
    /// Returns a part of the source, from a byte.
    #[serde(rename = "inbox_raw")]
    Raw { id: String, offset: usize },
    /// Returns the newest message above `newer_than`, and waits for one up to a time.
    #[serde(rename = "inbox_wait")]
    Wait { filter: InboxFilter, newer_than: Option<CapturedId>, wait_ms: u64 },
    #[serde(rename = "inbox_clear")]
    Clear,
}

/// A captured message without its content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxRowView {
    pub id: CapturedId,
    /// Email that the message was composed from; `None` if another program sent the message.
    pub email_id: Option<EmailId>,
    pub from: String,
    pub to: Vec<String>,
    pub subject: String,
    pub received_at: String,
    /// Size in bytes.
    pub size: u64,
    /// Time of the release; `None` if the message was not released.
    pub released_at: Option<String>,
}

/// A captured message with its parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxMessageView {
    #[serde(flatten)]
    pub row: InboxRowView,
    /// Names and values of the header fields.
    pub headers: Vec<(String, String)>,
    pub text: Option<String>,
    pub html: Option<String>,
    /// Whether the text or the HTML is only the beginning.
    pub is_truncated: bool,
    pub links: Vec<String>,
    /// First code of four to eight digits.
    pub code: Option<String>,
    pub attachments: Vec<InboxAttachmentView>,
}

/// A file or an inline image of a captured message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxAttachmentView {
    pub filename: String,
    pub content_type: String,
    /// Size in bytes.
    pub size: usize,
    pub content_id: Option<String>,
}

/// A part of the source of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxRawView {
    /// The bytes in base64.
    pub base64: String,
    /// Position of the next part; `None` at the end.
    pub next: Option<usize>,
}

/// Result of a wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxWaitView {
    /// The message; `None` if none arrived.
    pub message: Option<InboxMessageView>,
}

/// Result of the deletion of all messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxClearedView {
    /// Number of deleted messages.
    pub deleted: usize,
}

impl From<InboxFilter> for CapturedFilter {
    fn from(InboxFilter { to, subject }: InboxFilter) -> Self {
        Self { to, subject }
    }
}

impl From<CapturedSummary> for InboxRowView {
    fn from(CapturedSummary { id, row, from, subject }: CapturedSummary) -> Self {
        Self {
            id,
            email_id: row.email,
            from,
            to: row.recipients,
            subject,
            received_at: to_iso(row.received_ms),
            size: row.size,
            released_at: row.released_ms.map(to_iso),
        }
    }
}

impl InboxMessageView {
    fn new(summary: CapturedSummary, content: CapturedContent) -> Self {
        let CapturedContent { headers, subject: _, mut text, mut html, parts, links, code } = content;
        let mut is_truncated = false;
        for part in text.iter_mut().chain(html.iter_mut()) {
            is_truncated |= truncate(part, SHOWN_BYTES_MAX);
        }
        let attachment = |part| {
            let CapturedPart { filename, content_type, size, content_id } = part;
            InboxAttachmentView { filename, content_type, size, content_id }
        };
        let attachments = parts.into_iter().map(attachment).collect();
        Self { row: summary.into(), headers, text, html, is_truncated, links, code, attachments }
    }
}

/// Cuts a text after a number of bytes. Returns whether it was longer.
fn truncate(text: &mut String, bytes_max: usize) -> bool {
    if text.len() <= bytes_max {
        return false;
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    true
}

pub(super) async fn execute(services: &AdminServices, verb: InboxVerb) -> VerbResult {
    let mailbox = &services.mailbox;
    match verb {
        InboxVerb::List { filter, after } => Ok(list(services, filter, after).await?.into()),
        InboxVerb::Show { id } => Ok(message(services, parse(&id)?).await?.into()),
        InboxVerb::Raw { id, offset } => {
            let id = parse(&id)?;
            let (_, bytes) = mailbox.read(MailboxReader::Operator, id).await?.ok_or_else(|| not_found(id))?;
            let from = offset.min(bytes.len());
            let to = from.saturating_add(RAW_BYTES_MAX).min(bytes.len());
            let next = (to < bytes.len()).then_some(to);
            let base64 = blocking::run_sized(to - from, move || STANDARD.encode(&bytes[from..to])).await;
            Ok(InboxRawView { base64, next }.into())
        }
        InboxVerb::Wait { filter, newer_than, wait_ms } => {
            let wait = Duration::from_millis(wait_ms).min(WAIT_MAX);
            let page = mailbox.wait(MailboxReader::Operator, filter.into(), newer_than, 1, wait).await;
            let page = page.map_err(|error| match error {
                CapturedWaitError::TooMany => AdminError::failed("too many requests wait for a message; try again"),
                CapturedWaitError::Store(error) => error.into(),
            })?;
            let message = match page.rows.first() {
                Some(row) => Some(message(services, row.id).await?),
                None => None,
            };
            Ok(InboxWaitView { message }.into())
        }
        InboxVerb::Clear => {
            let deleted = mailbox.clear(MailboxReader::Operator, Actor::CommandLine).await?;
            Ok(InboxClearedView { deleted }.into())
        }
    }
}

/// Returns a page of messages. Continues over rows without a match, so that an empty page is the end.
async fn list(
    services: &AdminServices,
    filter: InboxFilter,
    after: Option<CapturedId>,
) -> Result<Rows<InboxRowView>, AdminError> {
    let mut cursor = after.map_or(Cursor::Newest, Cursor::After);
    for _ in 0..EMPTY_READS_MAX {
        let query = PageQuery { limit: PAGE_ROWS, cursor };
        let page = services.mailbox.search(MailboxReader::Operator, filter.clone().into(), query).await?;
        match page.position {
            Some(position) if page.rows.is_empty() => cursor = Cursor::After(position),
            _ => {
                let data = page.rows.into_iter().map(InboxRowView::from).collect();
                return Ok(Rows { data, has_more: page.has_more });
            }
        }
    }
    Err(AdminError::failed("no message matches among the newest ones; use a narrower filter or `ringmail inbox clear`"))
}

async fn message(services: &AdminServices, id: CapturedId) -> Result<InboxMessageView, AdminError> {
    let found = services.mailbox.content(MailboxReader::Operator, id).await?;
    let (summary, content) = found.ok_or_else(|| not_found(id))?;
    Ok(InboxMessageView::new(summary, content))
}

fn parse(text: &str) -> Result<CapturedId, AdminError> {
    CapturedId::parse(text)
        .ok_or_else(|| AdminError::not_found(format!("`{text}` is not the id of a captured message")))
}

fn not_found(id: CapturedId) -> AdminError {
    AdminError::not_found(format!("the inbox has no message {id}; `ringmail inbox list` lists the messages"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, expected, is_longer) in [("abc", "abc", false), ("abcd", "abc", true), ("abé", "ab", true)] {
            let mut cut = text.to_owned();

            let was_longer = truncate(&mut cut, 3);
            assert_eq!((was_longer, cut.as_str()), (is_longer, expected), "{text}");
        }
    }
}
