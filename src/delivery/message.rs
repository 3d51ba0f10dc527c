//! From a stored email to the bytes of its message: content read and opened, MIME composed,
//! signatures made. Runs on threads that may block.

use super::queue::Claimed;
use super::return_path::ReturnPaths;
use super::smtp::Envelope;
use crate::base::address::Mailbox;
use crate::base::clock::TimestampMs;
use crate::base::id::TopicId;
use crate::context::Context;
use crate::domains::SigningKeyCache;
use crate::emails::{self, EmailContent, EmailRow, RecipientKind, message_id};
use crate::mime::dkim::{self, Signature};
use crate::mime::{self, Message, MimeAttachment, MimeMailbox};
use crate::preferences::{Links, UnsubscribeToken};
use crate::store::{ReadTx, StoreError};

/// A message ready for its envelope.
pub(super) struct Composed {
    pub(super) envelope: Envelope,
    /// The DKIM-Signature fields.
    pub(super) signatures: Vec<u8>,
    /// Everything after them.
    pub(super) message: Vec<u8>,
}

/// Why a message cannot be made. None of these goes away by waiting.
#[derive(Debug)]
pub(super) enum MessageError {
    /// Retention or a deletion has removed the content.
    ContentGone,
    /// The sender's domain has been deleted.
    DomainGone,
    /// The parts do not make a message, which the API should have refused.
    Invalid(String),
    /// The store failed; this may go away.
    Store(StoreError),
}

impl From<StoreError> for MessageError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Composes and signs the message of a claimed group.
pub(super) fn compose(
    tx: &ReadTx,
    context: &Context,
    signing: &SigningKeyCache,
    return_paths: &ReturnPaths,
    links: &Links,
    claimed: &Claimed,
) -> Result<Composed, MessageError> {
    let (row, id) = (&claimed.row, claimed.key.email);
    let mut content = emails::read_content(tx, &context.keyring, id)?.ok_or(MessageError::ContentGone)?;
    if let Some(topic) = row.topic {
        content = with_link(content, links, claimed, topic)?;
    }
    let domain = signing.find(tx, claimed.due.team, row.domain)?.ok_or(MessageError::DomainGone)?;
    let mut files = Vec::with_capacity(row.attachments.len());
    for (number, info) in (0..).zip(&row.attachments) {
        let bytes = emails::read_attachment(tx, &context.keyring, id, number)?.ok_or(MessageError::ContentGone)?;
        files.push((info, bytes));
    }
    let lines = Lines::parse(row)?;
    let attachments: Vec<MimeAttachment<'_>> = files
        .iter()
        .map(|(info, bytes)| MimeAttachment {
            filename: Some(&info.filename),
            content_type: Some(&info.content_type),
            content: bytes,
        })
        .collect();
    let headers: Vec<(&str, &str)> =
        content.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let message_id = message_id(id, &row.from);
    let message = Message {
        from: party(&lines.from),
        to: &parties(&lines.to),
        cc: &parties(&lines.cc),
        reply_to: &parties(&lines.reply_to),
        subject: &row.subject,
        date_ms: date_ms(row),
        message_id: &message_id,
        headers: &headers,
        text: content.text.as_deref(),
        html: content.html.as_deref(),
        attachments: &attachments,
    };
    let bytes = mime::compose(&message, boundary_seed(claimed)).map_err(|error| invalid(&error))?;
    let signatures: Vec<Signature<'_>> =
        domain.keys.iter().map(|(selector, key)| Signature { domain: &domain.domain, selector, key }).collect();
    let time_s = u64::try_from(context.now_ms() / 1000).unwrap_or(0);
    let signatures = dkim::sign(&bytes, &signatures, time_s).map_err(|error| invalid(&error))?;
    let envelope = Envelope {
        sender: return_paths.address(id, claimed.key.group, &domain.return_path),
        recipients: claimed.addresses(),
    };
    Ok(Composed { envelope, signatures, message: bytes })
}

/// Gives an email under a topic its recipient's unsubscribe link. Such an email goes out to one
/// recipient at a time.
fn with_link(
    content: EmailContent,
    links: &Links,
    claimed: &Claimed,
    topic: TopicId,
) -> Result<EmailContent, MessageError> {
    let Some(index) = claimed.recipients.first() else { return Ok(content) };
    let mailbox = Mailbox::parse(&claimed.row.recipients[*index].mailbox).map_err(|error| invalid(&error))?;
    let token = UnsubscribeToken::of_topic(claimed.due.team, topic, mailbox.address().clone());
    let link = links.link(&token);
    let EmailContent { html, text, mut headers } = content;
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("List-Unsubscribe")) {
        headers.extend(link.headers());
    }
    Ok(EmailContent {
        html: html.map(|html| link.fill_html(html)),
        text: text.map(|text| link.fill_text(text)),
        headers,
    })
}

fn invalid(error: &dyn std::fmt::Display) -> MessageError {
    MessageError::Invalid(error.to_string())
}

/// A mailbox as a header line shows it.
struct Shown {
    name: Option<String>,
    address: String,
}

/// The mailboxes of the header lines.
struct Lines {
    from: Shown,
    to: Vec<Shown>,
    cc: Vec<Shown>,
    reply_to: Vec<Shown>,
}

impl Lines {
    fn parse(row: &EmailRow) -> Result<Self, MessageError> {
        let one = |text: &str| {
            let mailbox = Mailbox::parse(text).map_err(|error| invalid(&error))?;
            Ok(Shown { name: mailbox.name().map(ToOwned::to_owned), address: mailbox.address().to_string() })
        };
        let line = |kind: RecipientKind| -> Result<Vec<Shown>, MessageError> {
            row.line(kind).iter().map(|text| one(text)).collect()
        };
        Ok(Self {
            from: one(&row.from)?,
            to: line(RecipientKind::To)?,
            cc: line(RecipientKind::Cc)?,
            reply_to: row.reply_to.iter().map(|text| one(text)).collect::<Result<_, _>>()?,
        })
    }
}

fn parties(shown: &[Shown]) -> Vec<MimeMailbox<'_>> {
    shown.iter().map(party).collect()
}

fn party(shown: &Shown) -> MimeMailbox<'_> {
    MimeMailbox { name: shown.name.as_deref(), address: &shown.address }
}

/// The date of the message is the same in every attempt.
fn date_ms(row: &EmailRow) -> TimestampMs {
    row.scheduled_ms.map_or(row.created_ms, |scheduled_ms| scheduled_ms.max(row.created_ms))
}

/// Boundaries differ between emails and are the same in every attempt of one.
fn boundary_seed(claimed: &Claimed) -> u64 {
    let mut seed = [0; 8];
    seed.copy_from_slice(&claimed.key.email.as_bytes()[8..]);
    u64::from_be_bytes(seed)
}
