//! The rows of emails. `rows.rs`: the row without content. `content.rs`: content and attachments. `broadcast.rs`: the
//! emails of broadcasts.

mod broadcast;
mod content;
mod rows;

pub use broadcast::{BroadcastEmailRow, BroadcastSend};
pub(super) use content::{
    BoundedContent, OPENED_COPIES, RENDERED_COPIES, StoredBlob, attachment_chunks, delete_attachment_rows,
    delete_content, delete_content_rows, read_attachment_chunk, read_content_within, replace_content, seal_attachment,
    seal_content,
};
pub(crate) use content::{has_content, is_complete, read_attachment, read_content, valid_content};
pub use rows::{EmailRow, ErasureMark, IdempotencyRow, QueueDestination, RecipientRow, RecipientState};
