//! Erasure of addresses from emails.

use super::model::AttachmentInfo;
use super::retention::is_settled;
use super::store::{EmailRow, RecipientRow, StoredMailbox, delete_content_rows, has_content};
use crate::base::address::AddressSet;
use crate::base::id::{EmailId, TeamId};
use crate::events::ERASED;
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::EMAILS;

/// Result of erasing addresses from an email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmailErasure {
    /// The row contains none of the addresses. If all recipients are erased, the content is deleted.
    Erased,
    /// The email is not settled and is unchanged.
    NotSettled,
    /// The content has more chunks than one transaction may delete. The row is unchanged.
    Unfinished,
}

/// Returns whether the row of an email contains one of the addresses.
pub(crate) fn mentions(row: &EmailRow, addresses: &AddressSet) -> bool {
    erased(row, addresses).is_some()
}

/// Returns whether the row of an email contains one of the addresses, or an erased address.
pub(crate) fn is_erased_or_mentions(row: &EmailRow, addresses: &AddressSet) -> bool {
    is_erased(row) || mentions(row, addresses)
}

/// Returns whether an address has been erased from the row of an email.
pub(super) fn is_erased(row: &EmailRow) -> bool {
    row.from.is_erased()
        || row.reply_to.iter().any(StoredMailbox::is_erased)
        || row.recipients.iter().any(|recipient| recipient.mailbox.is_erased())
        || row.subject == ERASED
        || row.attachments.iter().any(|attachment| attachment.filename == ERASED)
}

/// Erases addresses from the row of a settled email. If every recipient is erased, deletes its content
/// and attachments as retention does. Subtracts the deleted chunks from `chunks_left`, which limits them.
/// A missing or corrupt row counts as erased.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn erase(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    addresses: &AddressSet,
    chunks_left: &mut usize,
) -> Result<EmailErasure, StoreError> {
    let Some(row) = tx.get_valid(&EMAILS, &(team, id))? else { return Ok(EmailErasure::Erased) };
    if !is_settled(&row) {
        return Ok(EmailErasure::NotSettled);
    }
    let erased = erased(&row, addresses);
    let row = erased.as_ref().unwrap_or(&row);
    // The row is written after the content is deleted: until then, the next scan finds the email again.
    if row.recipients.iter().all(|recipient| recipient.mailbox.is_erased()) && has_content(tx, id)? {
        *chunks_left = chunks_left.saturating_sub(delete_content_rows(tx, id, *chunks_left)?);
        if has_content(tx, id)? {
            return Ok(EmailErasure::Unfinished);
        }
    }
    if erased.is_some() {
        tx.put(&EMAILS, &(team, id), row)?;
    }
    Ok(EmailErasure::Erased)
}

/// Returns the row without the addresses; `None` if it contains none of them.
fn erased(row: &EmailRow, addresses: &AddressSet) -> Option<EmailRow> {
    let is_meant = |mailbox: &StoredMailbox| mailbox.address().is_some_and(|it| addresses.contains_address(it));
    let mention = |text: &str| addresses.is_mentioned_in(text);
    let EmailRow {
        created_ms: _,
        from,
        domain: _,
        key: _,
        recipients,
        reply_to,
        subject,
        // A tag cannot contain an `@`.
        tags: _,
        topic: _,
        scheduled_ms: _,
        attachments,
        has_headers: _,
        last_event: _,
        hidden: _,
    } = row;
    let mentions_in_id = |info: &AttachmentInfo| info.content_id.as_deref().is_some_and(&mention);
    let is_clean = !is_meant(from)
        && !recipients.iter().any(|recipient| is_meant(&recipient.mailbox))
        && !reply_to.iter().any(is_meant)
        && !mention(subject)
        && !attachments.iter().any(|info| mention(&info.filename) || mentions_in_id(info));
    if is_clean {
        return None;
    }
    let mailbox = |it: &StoredMailbox| if is_meant(it) { StoredMailbox::erased() } else { it.clone() };
    let text = |text: &str| if mention(text) { ERASED.to_owned() } else { text.to_owned() };
    Some(EmailRow {
        from: mailbox(from),
        recipients: recipients
            .iter()
            .map(|recipient| RecipientRow { mailbox: mailbox(&recipient.mailbox), ..recipient.clone() })
            .collect(),
        reply_to: reply_to.iter().map(mailbox).collect(),
        subject: text(subject),
        attachments: attachments
            .iter()
            .map(|info| AttachmentInfo {
                filename: text(&info.filename),
                // Without its content id, the image is a file of the message.
                content_id: info.content_id.clone().filter(|_| !mentions_in_id(info)),
                ..info.clone()
            })
            .collect(),
        ..row.clone()
    })
}
