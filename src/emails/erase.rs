//! Taking addresses out of emails.

use super::model::AttachmentInfo;
use super::retention::is_settled;
use super::store::{EmailRow, RecipientRow, delete_content_rows, has_content};
use crate::base::address::AddressSet;
use crate::base::id::{EmailId, TeamId};
use crate::events::ERASED;
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::EMAILS;

/// What taking addresses out of an email came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmailErasure {
    /// None of them is left in its row, nor any content when nobody else received it.
    Erased,
    /// It has not settled, and is as it was.
    NotSettled,
    /// There are more chunks of content than may be removed at once; its row is as it was.
    Unfinished,
}

/// Returns whether an email's row names or mentions one of the addresses.
pub(crate) fn mentions(row: &EmailRow, addresses: &AddressSet) -> bool {
    erased(row, addresses).is_some()
}

/// Returns whether an address has been taken out of an email's row, or is still to be.
pub(crate) fn is_concerned(row: &EmailRow, addresses: &AddressSet) -> bool {
    is_begun(row) || mentions(row, addresses)
}

/// Returns whether an address has been taken out of an email's row.
pub(super) fn is_begun(row: &EmailRow) -> bool {
    row.from == ERASED
        || row.reply_to.iter().any(|mailbox| mailbox == ERASED)
        || row.recipients.iter().any(|recipient| recipient.mailbox == ERASED)
        || row.subject == ERASED
        || row.attachments.iter().any(|attachment| attachment.filename == ERASED)
}

/// Takes addresses out of the row of an email that has settled; when every recipient has been
/// erased, its content and attachments go as retention takes them. `chunks_left` bounds the chunks
/// removed, and is lowered by them.
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
    // Deleted meanwhile, with all that was kept under it.
    let Some(row) = tx.get(&EMAILS, &(team, id))? else { return Ok(EmailErasure::Erased) };
    if !is_settled(&row) {
        return Ok(EmailErasure::NotSettled);
    }
    let erased = erased(&row, addresses);
    let row = erased.as_ref().unwrap_or(&row);
    // The content goes first: the row is what says that it has to.
    if row.recipients.iter().all(|recipient| recipient.mailbox == ERASED) && has_content(tx, id)? {
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

/// Returns the row without the addresses; `None` when it has none of them.
fn erased(row: &EmailRow, addresses: &AddressSet) -> Option<EmailRow> {
    let mailbox = |text: &str| addresses.contains(text);
    let mention = |text: &str| addresses.is_mentioned_in(text);
    let EmailRow {
        created_ms: _,
        from,
        domain: _,
        key: _,
        recipients,
        reply_to,
        subject,
        // The characters of a tag make no address.
        tags: _,
        topic: _,
        scheduled_ms: _,
        attachments,
        has_headers: _,
        last_event: _,
        hidden: _,
    } = row;
    let is_clean = !mailbox(from)
        && !recipients.iter().any(|recipient| mailbox(&recipient.mailbox))
        && !reply_to.iter().any(|text| mailbox(text))
        && !mention(subject)
        && !attachments.iter().any(|info| mention(&info.filename));
    if is_clean {
        return None;
    }
    let put = |is_meant: bool, text: &str| if is_meant { ERASED.to_owned() } else { text.to_owned() };
    Some(EmailRow {
        from: put(mailbox(from), from),
        recipients: recipients
            .iter()
            .map(|recipient| RecipientRow {
                mailbox: put(mailbox(&recipient.mailbox), &recipient.mailbox),
                ..recipient.clone()
            })
            .collect(),
        reply_to: reply_to.iter().map(|text| put(mailbox(text), text)).collect(),
        subject: put(mention(subject), subject),
        attachments: attachments
            .iter()
            .map(|info| AttachmentInfo { filename: put(mention(&info.filename), &info.filename), ..info.clone() })
            .collect(),
        ..row.clone()
    })
}
