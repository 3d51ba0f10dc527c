//! The content and attachments of emails on disk: compressed, sealed, in chunks. They are encoded before
//! the transaction, so that the writer thread only copies bytes.

use super::rows::EmailRow;
use crate::base::id::EmailId;
use crate::emails::model::EmailContent;
use crate::store::{
    Blob, CHUNK_BYTES, Chunks, Keyring, Reads, StoreError, WriteTx, chunk_bytes, compress, decompress, read_chunks,
    skip_corrupt,
};
use crate::tables::{ATTACHMENTS, EMAIL_BODIES};

/// Copies of the stored bytes that exist while content is opened: the joined chunks, and the opened bytes.
pub(in crate::emails) const OPENED_COPIES: usize = 2;
/// Copies of the content that exist while it is decoded and rendered as JSON.
pub(in crate::emails) const RENDERED_COPIES: usize = 3;
/// Maximum decompressed size of content. The limit of requests is far lower.
const CONTENT_BYTES_MAX: usize = 64 << 20;

/// Content or an attachment, sealed and ready to be stored.
#[derive(Clone, Debug)]
pub(in crate::emails) struct StoredBlob(Chunks);

impl StoredBlob {
    /// Returns the size on disk, in bytes.
    pub(in crate::emails) fn len(&self) -> usize {
        self.0.bytes()
    }

    /// Stores it as the content of an email.
    pub(in crate::emails) fn put_content(&self, tx: &WriteTx<'_>, id: EmailId) -> Result<(), StoreError> {
        self.0.put(tx, &EMAIL_BODIES, |chunk| (id, chunk))
    }

    /// Stores it as an attachment of an email.
    pub(in crate::emails) fn put_attachment(
        &self,
        tx: &WriteTx<'_>,
        id: EmailId,
        number: u16,
    ) -> Result<(), StoreError> {
        self.0.put(tx, &ATTACHMENTS, |chunk| (id, number, chunk))
    }
}

/// Compresses and seals the content of an email.
pub(in crate::emails) fn seal_content(keyring: &Keyring, id: EmailId, content: &EmailContent) -> StoredBlob {
    let plain = rmp_serde::to_vec_named(content).expect("encoding into memory does not fail");
    let packed = compress(&plain);
    StoredBlob(Chunks::of(keyring.seal(&content_associated_data(id), &packed)))
}

/// Seals each chunk of an attachment, so that a response reads one chunk at a time. Does not compress them, because
/// most files are compressed.
pub(in crate::emails) fn seal_attachment(keyring: &Keyring, id: EmailId, number: u16, content: &[u8]) -> StoredBlob {
    let sealed = (0..attachment_chunks(content.len() as u64)).map(|chunk| {
        let from = (chunk as usize * CHUNK_BYTES).min(content.len());
        let to = (from + CHUNK_BYTES).min(content.len());
        keyring.seal(&attachment_associated_data(id, number, chunk), &content[from..to])
    });
    StoredBlob(Chunks::of_sealed(sealed))
}

/// Returns the number of chunks of an attachment of `size` bytes. An empty one has one empty chunk.
pub(in crate::emails) fn attachment_chunks(size: u64) -> u32 {
    u32::try_from(size.div_ceil(CHUNK_BYTES as u64)).unwrap_or(u32::MAX).max(1)
}

/// Content of an email that was read within a bound of memory.
#[derive(Debug)]
pub(in crate::emails) enum BoundedContent {
    /// The content; `None` after retention has deleted it.
    Read(Option<EmailContent>),
    /// The content needs more memory: approximately this number of bytes.
    Needs(usize),
}

/// Returns the content of an email; `None` after retention has deleted it.
pub(crate) fn read_content(
    tx: &impl Reads,
    keyring: &Keyring,
    id: EmailId,
) -> Result<Option<EmailContent>, StoreError> {
    match read_content_within(tx, keyring, id, usize::MAX)? {
        BoundedContent::Read(content) => Ok(content),
        BoundedContent::Needs(_) => Err(StoreError::Corrupt(format!("content of email {id}: its size"))),
    }
}

/// Does the same as [`read_content`]. Corrupt content is logged, and returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn valid_content(
    tx: &impl Reads,
    keyring: &Keyring,
    id: EmailId,
) -> Result<Option<EmailContent>, StoreError> {
    Ok(skip_corrupt(read_content(tx, keyring, id), format_args!("content of email {id}"))?.flatten())
}

/// Returns the content of an email if reading and rendering it need at most about `memory_max` bytes.
pub(in crate::emails) fn read_content_within(
    tx: &impl Reads,
    keyring: &Keyring,
    id: EmailId,
    memory_max: usize,
) -> Result<BoundedContent, StoreError> {
    if memory_max < usize::MAX {
        let stored = chunk_bytes(tx, &EMAIL_BODIES, |chunk| (id, chunk))?;
        // The size of the content is unknown until the stored bytes are opened. Text compresses to about a quarter.
        if stored * OPENED_COPIES > memory_max {
            return Ok(BoundedContent::Needs(stored * (OPENED_COPIES + 4 * RENDERED_COPIES)));
        }
    }
    let Some(sealed) = read_chunks(tx, &EMAIL_BODIES, |chunk| (id, chunk))? else {
        return Ok(BoundedContent::Read(None));
    };
    let packed = keyring.open_sealed(&content_associated_data(id), &sealed)?;
    let corrupt = |what: &str| StoreError::Corrupt(format!("content of email {id}: {what}"));
    let size = zstd::zstd_safe::get_frame_content_size(&packed)
        .ok()
        .flatten()
        .and_then(|size| usize::try_from(size).ok())
        .filter(|size| *size <= CONTENT_BYTES_MAX)
        .ok_or_else(|| corrupt("no size"))?;
    let needed = sealed.len() * OPENED_COPIES + size * RENDERED_COPIES;
    if needed > memory_max {
        return Ok(BoundedContent::Needs(needed));
    }
    let plain = decompress(&packed, size).map_err(|error| corrupt(&error.to_string()))?;
    let content = rmp_serde::from_slice(&plain).map_err(|error| corrupt(&error.to_string()))?;
    Ok(BoundedContent::Read(Some(content)))
}

/// Returns the bytes of an attachment of `size` bytes; `None` after retention has deleted them.
pub(crate) fn read_attachment(
    tx: &impl Reads,
    keyring: &Keyring,
    id: EmailId,
    number: u16,
    size: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    for chunk in 0..attachment_chunks(size) {
        let Some(bytes) = read_attachment_chunk(tx, keyring, id, number, chunk)? else { return Ok(None) };
        content.extend_from_slice(&bytes);
    }
    Ok(Some(content))
}

/// Returns the bytes of one chunk of an attachment; `None` after retention has deleted it.
pub(in crate::emails) fn read_attachment_chunk(
    tx: &impl Reads,
    keyring: &Keyring,
    id: EmailId,
    number: u16,
    chunk: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(Blob(sealed)) = tx.get(&ATTACHMENTS, &(id, number, chunk))? else { return Ok(None) };
    keyring.open_sealed(&attachment_associated_data(id, number, chunk), &sealed).map(Some)
}

/// Replaces the content of an email. The attachments stay.
pub(in crate::emails) fn replace_content(
    tx: &WriteTx<'_>,
    id: EmailId,
    content: &StoredBlob,
) -> Result<(), StoreError> {
    tx.delete_range(&EMAIL_BODIES, &(id, 0), &(id, u32::MAX), usize::MAX)?;
    content.put_content(tx, id)
}

/// Returns whether the content is stored.
pub(crate) fn has_content(tx: &impl Reads, id: EmailId) -> Result<bool, StoreError> {
    tx.contains(&EMAIL_BODIES, &(id, 0))
}

/// Returns whether the content and the attachments of an email are stored.
pub(crate) fn is_complete(tx: &impl Reads, id: EmailId, row: &EmailRow) -> Result<bool, StoreError> {
    // The first chunk is deleted first.
    let has_attachments = row.attachments.is_empty() || tx.contains(&ATTACHMENTS, &(id, 0, 0))?;
    Ok(has_attachments && has_content(tx, id)?)
}

/// Deletes the content and the attachments of an email.
pub(in crate::emails) fn delete_content(tx: &WriteTx<'_>, id: EmailId) -> Result<(), StoreError> {
    delete_content_rows(tx, id, usize::MAX)?;
    Ok(())
}

/// Deletes up to `rows_max` chunks of the attachments and the content of an email; returns their number.
/// The content is deleted last, because a later call finds remaining chunks by it.
pub(in crate::emails) fn delete_content_rows(
    tx: &WriteTx<'_>,
    id: EmailId,
    rows_max: usize,
) -> Result<usize, StoreError> {
    let attached = delete_attachment_rows(tx, id, rows_max)?;
    let left = rows_max.saturating_sub(attached);
    if left == 0 {
        return Ok(attached);
    }
    Ok(attached + tx.delete_range(&EMAIL_BODIES, &(id, 0), &(id, u32::MAX), left)?)
}

/// Deletes up to `rows_max` chunks of the attachments of an email, the first chunk first; returns their number.
pub(in crate::emails) fn delete_attachment_rows(
    tx: &WriteTx<'_>,
    id: EmailId,
    rows_max: usize,
) -> Result<usize, StoreError> {
    tx.delete_range(&ATTACHMENTS, &(id, 0, 0), &(id, u16::MAX, u32::MAX), rows_max)
}

fn content_associated_data(id: EmailId) -> [u8; 17] {
    let mut data = [b'c'; 17];
    data[1..].copy_from_slice(id.as_bytes());
    data
}

fn attachment_associated_data(id: EmailId, number: u16, chunk: u32) -> [u8; 23] {
    let mut data = [b'a'; 23];
    data[1..17].copy_from_slice(id.as_bytes());
    data[17..19].copy_from_slice(&number.to_be_bytes());
    data[19..].copy_from_slice(&chunk.to_be_bytes());
    data
}
