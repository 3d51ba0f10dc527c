//! The content and attachments of emails on disk: compressed, sealed, in chunks. They are encoded before
//! the transaction, so that the writer thread only copies bytes.

use std::cell::RefCell;

use crate::base::id::EmailId;
use crate::emails::model::EmailContent;
use crate::store::{Chunks, Keyring, Reads, StoreError, WriteTx, read_chunks};
use crate::tables::{ATTACHMENTS, EMAIL_BODIES};

/// Compression level. Higher levels cost much more time and save little space.
const ZSTD_LEVEL: i32 = 1;
/// Maximum decompressed size of content. The limit of requests is far lower.
const CONTENT_BYTES_MAX: usize = 64 << 20;

thread_local! {
    /// Reused, because creating a compressor takes longer than compressing a typical email.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

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
    let packed = COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some(compressor) => compressor,
            None => slot.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL).expect("the level is valid")),
        };
        compressor.compress(&plain).expect("compression into memory does not fail")
    });
    StoredBlob(Chunks::of(keyring.seal(&content_associated_data(id), &packed)))
}

/// Seals an attachment. Does not compress it, because most files are compressed.
pub(in crate::emails) fn seal_attachment(keyring: &Keyring, id: EmailId, number: u16, content: &[u8]) -> StoredBlob {
    StoredBlob(Chunks::of(keyring.seal(&attachment_associated_data(id, number), content)))
}

/// Returns the content of an email; `None` after retention has deleted it.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn read_content(
    tx: &impl Reads,
    keyring: &Keyring,
    id: EmailId,
) -> Result<Option<EmailContent>, StoreError> {
    let Some(sealed) = read_chunks(tx, &EMAIL_BODIES, |chunk| (id, chunk))? else { return Ok(None) };
    let packed = keyring.open_sealed(&content_associated_data(id), &sealed)?;
    let corrupt = |what: &str| StoreError::Corrupt(format!("content of email {id}: {what}"));
    let size = zstd::zstd_safe::get_frame_content_size(&packed)
        .ok()
        .flatten()
        .and_then(|size| usize::try_from(size).ok())
        .filter(|size| *size <= CONTENT_BYTES_MAX)
        .ok_or_else(|| corrupt("no size"))?;
    let plain = zstd::bulk::decompress(&packed, size).map_err(|error| corrupt(&error.to_string()))?;
    rmp_serde::from_slice(&plain).map(Some).map_err(|error| corrupt(&error.to_string()))
}

/// Returns the bytes of an attachment; `None` after retention has deleted them.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn read_attachment(
    tx: &impl Reads,
    keyring: &Keyring,
    id: EmailId,
    number: u16,
) -> Result<Option<Vec<u8>>, StoreError> {
    let sealed = read_chunks(tx, &ATTACHMENTS, |chunk| (id, number, chunk))?;
    let Some(sealed) = sealed else { return Ok(None) };
    keyring.open_sealed(&attachment_associated_data(id, number), &sealed).map(Some)
}

/// Replaces the content of an email. The attachments stay.
///
/// # Errors
/// [`StoreError`].
pub(in crate::emails) fn replace_content(
    tx: &WriteTx<'_>,
    id: EmailId,
    content: &StoredBlob,
) -> Result<(), StoreError> {
    tx.delete_range(&EMAIL_BODIES, &(id, 0), &(id, u32::MAX), usize::MAX)?;
    content.put_content(tx, id)
}

/// Returns whether the content is stored.
///
/// # Errors
/// [`StoreError`].
pub(in crate::emails) fn has_content(tx: &impl Reads, id: EmailId) -> Result<bool, StoreError> {
    tx.contains(&EMAIL_BODIES, &(id, 0))
}

/// Deletes the content and the attachments of an email.
///
/// # Errors
/// [`StoreError`].
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
    let attached = tx.delete_range(&ATTACHMENTS, &(id, 0, 0), &(id, u16::MAX, u32::MAX), rows_max)?;
    let left = rows_max.saturating_sub(attached);
    if left == 0 {
        return Ok(attached);
    }
    Ok(attached + tx.delete_range(&EMAIL_BODIES, &(id, 0), &(id, u32::MAX), left)?)
}

fn content_associated_data(id: EmailId) -> [u8; 17] {
    let mut data = [b'c'; 17];
    data[1..].copy_from_slice(id.as_bytes());
    data
}

fn attachment_associated_data(id: EmailId, number: u16) -> [u8; 19] {
    let mut data = [b'a'; 19];
    data[1..17].copy_from_slice(id.as_bytes());
    data[17..].copy_from_slice(&number.to_be_bytes());
    data
}
