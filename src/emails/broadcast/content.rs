//! The content of an email: of the API as stored, of a broadcast with the values of the recipient.

use crate::base::id::EmailId;
use crate::broadcast_rows::{self, MergeValues};
use crate::emails::model::EmailContent;
use crate::emails::store::{BoundedContent, EmailRow, OPENED_COPIES, RENDERED_COPIES, read_content_within};
use crate::store::{Keyring, Reads, StoreError};

/// Returns the content of an email if reading and rendering it need at most about `memory_max` bytes. The placeholders of
/// the unsubscribe link stay. An email whose recipient has been erased has no content.
pub(in crate::emails) fn content_within(
    tx: &impl Reads,
    keyring: &Keyring,
    id: EmailId,
    row: &EmailRow,
    memory_max: usize,
) -> Result<BoundedContent, StoreError> {
    let Some(send) = &row.broadcast else { return read_content_within(tx, keyring, id, memory_max) };
    let address = row.recipients.first().and_then(|recipient| recipient.mailbox.address());
    let Some(address) = address else { return Ok(BoundedContent::Read(None)) };
    if memory_max < usize::MAX {
        let stored = broadcast_rows::stored_content_bytes(tx, send.id)?;
        if stored * OPENED_COPIES > memory_max {
            return Ok(BoundedContent::Needs(stored * (OPENED_COPIES + 4 * RENDERED_COPIES)));
        }
    }
    let Some(content) = broadcast_rows::read_content(tx, keyring, send.id)? else {
        return Ok(BoundedContent::Read(None));
    };
    let needed = content.bytes() * (1 + RENDERED_COPIES);
    if needed > memory_max {
        return Ok(BoundedContent::Needs(needed));
    }
    let address = address.to_string();
    let values = MergeValues { address: &address, values: &send.values };
    let rendered = broadcast_rows::render(&content, "", send.preview_text.as_deref(), values, None);
    let content = EmailContent { html: rendered.html, text: rendered.text, headers: Vec::new() };
    Ok(BoundedContent::Read(Some(content)))
}
