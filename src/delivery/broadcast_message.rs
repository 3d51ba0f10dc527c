//! Content and headers of the message of a broadcast to one recipient.

use super::message::MessageError;
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::broadcast_rows::{self, BroadcastContentCache, MergeValues};
use crate::context::Context;
use crate::emails::{BroadcastSend, EmailContent, EmailRow};
use crate::preferences::{LinkScope, PreferenceLinks, UnsubscribeToken};
use crate::store::ReadTx;

/// Last part of the `Feedback-ID`, which names the sending system.
const FEEDBACK_SENDER: &str = "ringmail";

/// Returns the content of an email of a broadcast. Its headers contain the unsubscribe link of the recipient.
pub(super) fn content_of(
    tx: &ReadTx,
    context: &Context,
    contents: &BroadcastContentCache,
    links: &PreferenceLinks,
    (team, id): (TeamId, EmailId),
    row: &EmailRow,
    send: &BroadcastSend,
) -> Result<EmailContent, MessageError> {
    let content = contents.find(tx, &context.keyring, send.id)?.ok_or(MessageError::ContentDeleted)?;
    let address = row.recipients.first().and_then(|recipient| recipient.mailbox.address());
    let address: &EmailAddress =
        address.ok_or_else(|| MessageError::Invalid("a stored mailbox is invalid".to_owned()))?;
    let scope = row.topic.map_or(LinkScope::Everything, LinkScope::Topic);
    let link = links.link(&UnsubscribeToken { team, scope, email: Some(id), address: address.clone() });
    let bare = address.to_string();
    let values = MergeValues { address: &bare, values: &send.values };
    // The row has the subject with the values of the recipient.
    let rendered = broadcast_rows::render(&content, "", send.preview_text.as_deref(), values, Some(&link));
    let mut headers = link.headers();
    let domain = row.from.domain().unwrap_or("localhost");
    headers.push(("List-Id".to_owned(), format!("<{}.{domain}>", send.id)));
    headers.push(("Feedback-ID".to_owned(), format!("{}:{team}:broadcast:{FEEDBACK_SENDER}", send.id)));
    headers.push(("Precedence".to_owned(), "bulk".to_owned()));
    // Responders, such as those of vacations, should not answer such a message (RFC 3834 §2).
    headers.push(("Auto-Submitted".to_owned(), "auto-generated".to_owned()));
    Ok(EmailContent { html: rendered.html, text: rendered.text, headers })
}

/// Returns the date of a message of a broadcast: the time of its first attempt, because paced mail can wait for days.
pub(super) fn date_ms(row: &EmailRow, first_attempt_ms: TimestampMs) -> TimestampMs {
    first_attempt_ms.max(row.created_ms)
}
