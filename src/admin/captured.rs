//! The messages in the built-in mailbox, as captured mail and as an inbox for tests of programs that send email. The
//! mailbox belongs to the instance, not to a team.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use super::pages::page_after;
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::Actor;
use crate::base::blocking;
use crate::base::clock::to_iso;
use crate::base::id::{CapturedId, EmailId};
use crate::config;
use crate::delivery::CapturedRow;
use crate::delivery::capture::{
    CapturedContent, CapturedFilter, CapturedPart, CapturedSummary, CapturedWaitError, MailboxReader, ReleaseError,
    ReleasedMessage,
};

/// Maximum number of bytes of a message that `ringmail captured show` prints.
const SHOWN_BYTES_MAX: usize = 256 << 10;
/// Reads of one list that find no message. Each reads some ten thousand rows.
const EMPTY_READS_MAX: usize = 50;
/// Longest wait of one request. The verb repeats it.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(10);
/// Bytes of a message in one response.
const RAW_BYTES_MAX: usize = 8 << 20;
/// Bytes of the text and of the HTML of a message in a response.
const TEXT_BYTES_MAX: usize = 1 << 20;

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum CapturedVerb {
    /// List the captured messages, newest first.
    #[serde(rename = "captured_list")]
    List {
        /// Maximum number of messages.
        #[arg(long, value_name = "N", default_value_t = super::LISTED_DEFAULT, value_parser = super::listed_max())]
        #[serde(skip)]
        limit: usize,
        #[arg(skip)]
        after: Option<CapturedId>,
    },
    /// Show a captured message as it was received.
    #[serde(rename = "captured_show")]
    Show {
        /// Id of the message.
        id: String,
    },
    /// Deliver a captured message to its recipients, through the transport of --release.
    #[serde(rename = "captured_release")]
    Release {
        /// Id of the message.
        id: String,
    },
}

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum InboxVerb {
    /// List the captured messages, newest first.
    #[serde(rename = "inbox_list")]
    List {
        #[command(flatten)]
        filter: InboxFilter,
        /// Maximum number of messages.
        #[arg(long, value_name = "N", default_value_t = super::LISTED_DEFAULT, value_parser = super::listed_max())]
        #[serde(skip)]
        limit: usize,
        #[arg(skip)]
        after: Option<CapturedId>,
    },
    /// Show a captured message with its text, its links and its attachments.
    #[serde(rename = "inbox_show")]
    Show {
        /// Id of the message.
        id: String,
    },
    /// Print a captured message as it was received.
    #[serde(rename = "inbox_raw")]
    Raw {
        /// Id of the message.
        id: String,
        // First byte of the returned part.
        #[arg(skip)]
        offset: usize,
    },
    /// Wait for a captured message, and print it or the first link or code in it.
    #[serde(rename = "inbox_wait")]
    Wait(InboxWait),
    /// Delete all captured messages.
    #[serde(rename = "inbox_clear")]
    Clear,
    /// Deliver a captured message to its recipients, through the transport of --release.
    #[serde(rename = "inbox_release")]
    Release {
        /// Id of the message.
        id: String,
    },
}

// Messages to find. A doc comment would replace the description of the verb.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize)]
pub struct InboxFilter {
    /// Recipient: a whole address, or a part of one.
    #[arg(long, value_name = "ADDRESS")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,

    /// Part of the subject.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

// A message to wait for. A doc comment would replace the description of the verb.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InboxWait {
    /// Recipient: a whole address, or a part of one.
    #[arg(long, value_name = "ADDRESS")]
    pub to: String,

    /// Part of the subject.
    #[arg(long, value_name = "TEXT")]
    pub subject: Option<String>,

    /// Longest wait, up to a day.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = config::wait)]
    #[serde(skip)]
    pub timeout: Duration,

    /// Wait for a message that arrives from now on, although earlier ones match.
    #[arg(long = "new")]
    #[serde(skip)]
    pub is_new: bool,

    /// Print only the first link of the message.
    #[arg(long = "link", conflicts_with = "is_code")]
    #[serde(skip)]
    pub is_link: bool,

    /// Print only the first code of the message: four to eight digits.
    #[arg(long = "code")]
    #[serde(skip)]
    pub is_code: bool,

    // The message is above this one.
    #[arg(skip)]
    pub newer_than: Option<CapturedId>,

    // Wait of one request.
    #[arg(skip)]
    pub wait_ms: u64,
}

/// A captured message without its content, as `ringmail captured` prints it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapturedView {
    pub id: CapturedId,
    pub received_at: String,
    /// Return path.
    pub sender: String,
    pub recipients: Vec<String>,
    /// Email that the message was composed from; `None` if another program sent the message.
    pub email_id: Option<EmailId>,
    /// Size in bytes.
    pub size: u64,
    /// Time of the release; `None` if the message was not released.
    pub released_at: Option<String>,
}

/// A captured message as it was received.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapturedMessageView {
    #[serde(flatten)]
    pub captured: CapturedView,
    /// The message with its header. Bytes that are not UTF-8 are replaced.
    pub message: String,
    /// Whether `message` is only the beginning.
    pub is_truncated: bool,
}

/// A released message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReleasedView {
    pub id: CapturedId,
    pub email_id: EmailId,
    pub recipients: Vec<String>,
    /// Transport that delivers the message.
    pub transport: String,
}

impl From<(CapturedId, CapturedRow)> for CapturedView {
    fn from((id, row): (CapturedId, CapturedRow)) -> Self {
        let CapturedRow { received_ms, sender, recipients, email, size, released_ms, from: _, subject: _ } = row;
        let (received_at, released_at) = (to_iso(received_ms), released_ms.map(to_iso));
        Self { id, received_at, sender, recipients, email_id: email, size, released_at }
    }
}

/// A captured message without its content, as `ringmail inbox` prints it.
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
    pub attachments: Vec<CapturedPart>,
}

/// A part of the source of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxRawView {
    /// The bytes in base64.
    pub base64: String,
    /// Position of the next part; `None` at the end.
    pub next: Option<usize>,
}

/// Result of the deletion of all messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxClearedView {
    /// Number of deleted messages.
    pub deleted: usize,
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

pub(super) async fn execute(services: &AdminServices, verb: CapturedVerb) -> VerbResult {
    let mailbox = &services.mailbox;
    match verb {
        CapturedVerb::List { limit: _, after } => {
            Ok(Rows::of(mailbox.list(page_after(after)).await?, CapturedView::from).into())
        }
        CapturedVerb::Show { id } => {
            let id = parse(&id)?;
            let (row, mut bytes) = mailbox.message(id).await?.ok_or_else(|| not_found(id))?;
            let is_truncated = bytes.len() > SHOWN_BYTES_MAX;
            bytes.truncate(SHOWN_BYTES_MAX);
            let message = String::from_utf8_lossy(&bytes).into_owned();
            Ok(CapturedMessageView { captured: (id, row).into(), message, is_truncated }.into())
        }
        CapturedVerb::Release { id } => release(services, &id).await,
    }
}

pub(super) async fn execute_inbox(services: &AdminServices, verb: InboxVerb) -> VerbResult {
    let mailbox = &services.mailbox;
    match verb {
        InboxVerb::List { filter, limit: _, after } => list(services, filter, after).await,
        InboxVerb::Show { id } => Ok(message(services, parse(&id)?).await?.into()),
        InboxVerb::Raw { id, offset } => {
            let id = parse(&id)?;
            let (_, bytes) = mailbox.read(MailboxReader::Operator, id).await?.ok_or_else(|| not_in_inbox(id))?;
            let from = offset.min(bytes.len());
            let to = from.saturating_add(RAW_BYTES_MAX).min(bytes.len());
            let next = (to < bytes.len()).then_some(to);
            let base64 = blocking::run_sized(to - from, move || STANDARD.encode(&bytes[from..to])).await;
            Ok(InboxRawView { base64, next }.into())
        }
        InboxVerb::Wait(InboxWait { to, subject, newer_than, wait_ms, .. }) => {
            let filter = CapturedFilter { to: Some(to), subject };
            let wait = Duration::from_millis(wait_ms).min(WAIT_MAX);
            let page = mailbox.wait(MailboxReader::Operator, filter, newer_than, 1, wait).await;
            let page = page.map_err(|error| match error {
                CapturedWaitError::TooMany => AdminError::failed("too many requests wait for a message; try again"),
                CapturedWaitError::Store(error) => error.into(),
            })?;
            let mut messages = Vec::new();
            for row in page.rows {
                messages.push(message(services, row.id).await?);
            }
            Ok(Rows::whole(messages).into())
        }
        InboxVerb::Clear => {
            let deleted = mailbox.clear(MailboxReader::Operator, Actor::CommandLine).await?;
            Ok(InboxClearedView { deleted }.into())
        }
        InboxVerb::Release { id } => release(services, &id).await,
    }
}

/// Returns a page of messages. Continues over rows without a match, so that an empty page is the end.
async fn list(services: &AdminServices, filter: InboxFilter, mut after: Option<CapturedId>) -> VerbResult {
    let filter = CapturedFilter { to: filter.to, subject: filter.subject };
    for _ in 0..EMPTY_READS_MAX {
        let page = services.mailbox.search(MailboxReader::Operator, filter.clone(), page_after(after)).await?;
        if page.rows.is_empty() && page.position.is_some() {
            after = page.position;
            continue;
        }
        let data = page.rows.into_iter().map(InboxRowView::from).collect();
        return Ok(Rows { data, has_more: page.has_more }.into());
    }
    Err(AdminError::failed("no message matches among the newest ones; use a narrower filter or `ringmail inbox clear`"))
}

async fn message(services: &AdminServices, id: CapturedId) -> Result<InboxMessageView, AdminError> {
    let found = services.mailbox.content(MailboxReader::Operator, id).await?;
    let (summary, content) = found.ok_or_else(|| not_in_inbox(id))?;
    let CapturedContent { headers, subject: _, mut text, mut html, parts: attachments, links, code } = content;
    let mut is_truncated = false;
    for part in text.iter_mut().chain(html.iter_mut()) {
        is_truncated |= part.len() > TEXT_BYTES_MAX;
        part.truncate(part.floor_char_boundary(TEXT_BYTES_MAX));
    }
    Ok(InboxMessageView { row: summary.into(), headers, text, html, is_truncated, links, code, attachments })
}

async fn release(services: &AdminServices, id: &str) -> VerbResult {
    let id = parse(id)?;
    let transport = services.release.clone().ok_or_else(|| {
        AdminError::failed(
            "no transport is set for released messages; start the server with --release direct (or RINGMAIL_RELEASE), \
             or with the name of a smarthost",
        )
    })?;
    let released = services.mailbox.release(Actor::CommandLine, id, &services.queue_notifier).await;
    let ReleasedMessage { email, recipients } = released.map_err(|error| refusal(id, error))?;
    Ok(ReleasedView { id, email_id: email, recipients, transport }.into())
}

fn parse(text: &str) -> Result<CapturedId, AdminError> {
    CapturedId::parse(text)
        .ok_or_else(|| AdminError::not_found(format!("`{text}` is not the id of a captured message")))
}

fn not_found(id: CapturedId) -> AdminError {
    AdminError::not_found(format!("the mailbox has no message {id}; `ringmail captured list` lists the messages"))
}

fn not_in_inbox(id: CapturedId) -> AdminError {
    AdminError::not_found(format!("the inbox has no message {id}; `ringmail inbox list` lists the messages"))
}

fn refusal(id: CapturedId, error: ReleaseError) -> AdminError {
    match error {
        ReleaseError::NotFound => not_found(id),
        ReleaseError::Released(at_ms) => {
            AdminError::conflict(format!("the message {id} was released at {}", to_iso(at_ms)))
        }
        ReleaseError::NoEmail => AdminError::conflict(format!(
            "another program sent the message {id} to the mailbox, so that no email can be sent; send it again with the \
             API"
        )),
        ReleaseError::EmailDeleted => AdminError::conflict(format!(
            "the email of the message {id} or its content was deleted, so that it cannot be sent; send it again with the \
             API"
        )),
        ReleaseError::NoRecipient => AdminError::conflict(format!(
            "no recipient of the message {id} can be sent to: each has another outcome since, or was erased; \
             `ringmail email show` has the outcomes"
        )),
        ReleaseError::Store(error) => error.into(),
    }
}
