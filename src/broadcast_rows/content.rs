//! The content of broadcasts on disk: compressed, sealed, in chunks. It does not change after the broadcast is sent.

use serde::{Deserialize, Serialize};

use crate::base::id::BroadcastId;
use crate::store::{Chunks, Keyring, Reads, StoreError, WriteTx, chunk_bytes, read_chunks};
use crate::tables::BROADCAST_BODIES;

/// Compression level. The content is written seldom and read often.
const ZSTD_LEVEL: i32 = 3;
/// Maximum decompressed size of content. The limit of requests is far lower.
const CONTENT_BYTES_MAX: usize = 64 << 20;

/// Content of a broadcast, with merge fields and placeholders of the unsubscribe link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroadcastContent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Markdown that the composer of the dashboard edits; `None` for HTML. Not in the public API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl BroadcastContent {
    /// Returns whether nothing can be sent.
    pub fn is_empty(&self) -> bool {
        self.html.as_deref().unwrap_or_default().is_empty() && self.text.as_deref().unwrap_or_default().is_empty()
    }

    /// Returns the size of the parts, in bytes.
    pub fn bytes(&self) -> usize {
        [&self.html, &self.text, &self.source].into_iter().flatten().map(String::len).sum()
    }
}

/// Content that is compressed and sealed, ready to be stored. It is encoded before the transaction.
#[derive(Clone, Debug)]
pub struct SealedBroadcastContent(Chunks);

/// Compresses and seals the content of a broadcast.
pub fn seal_content(keyring: &Keyring, id: BroadcastId, content: &BroadcastContent) -> SealedBroadcastContent {
    let plain = rmp_serde::to_vec_named(content).expect("encoding into memory does not fail");
    let packed = zstd::bulk::compress(&plain, ZSTD_LEVEL).expect("compression into memory does not fail");
    SealedBroadcastContent(Chunks::of(keyring.seal(&associated_data(id), &packed)))
}

/// Stores the content of a broadcast, and replaces earlier content.
pub fn put_content(tx: &WriteTx<'_>, id: BroadcastId, content: &SealedBroadcastContent) -> Result<(), StoreError> {
    delete_content(tx, id)?;
    content.0.put(tx, &BROADCAST_BODIES, |chunk| (id, chunk))
}

/// Returns the content of a broadcast; `None` if none is stored.
pub fn read_content(
    tx: &impl Reads,
    keyring: &Keyring,
    id: BroadcastId,
) -> Result<Option<BroadcastContent>, StoreError> {
    let Some(sealed) = read_chunks(tx, &BROADCAST_BODIES, |chunk| (id, chunk))? else { return Ok(None) };
    let packed = keyring.open_sealed(&associated_data(id), &sealed)?;
    let corrupt = |what: String| StoreError::Corrupt(format!("content of broadcast {id}: {what}"));
    let size = zstd::zstd_safe::get_frame_content_size(&packed).ok().flatten();
    let size = size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= CONTENT_BYTES_MAX);
    let size = size.ok_or_else(|| corrupt("no size".to_owned()))?;
    let plain = zstd::bulk::decompress(&packed, size).map_err(|error| corrupt(error.to_string()))?;
    rmp_serde::from_slice(&plain).map(Some).map_err(|error| corrupt(error.to_string()))
}

/// Returns the size of the content on disk, in bytes; 0 if none is stored.
pub fn stored_content_bytes(tx: &impl Reads, id: BroadcastId) -> Result<usize, StoreError> {
    chunk_bytes(tx, &BROADCAST_BODIES, |chunk| (id, chunk))
}

/// Deletes the content of a broadcast. It has at most a few hundred chunks, which the limit of requests bounds.
pub(super) fn delete_content(tx: &WriteTx<'_>, id: BroadcastId) -> Result<(), StoreError> {
    tx.delete_range(&BROADCAST_BODIES, &(id, 0), &(id, u32::MAX), usize::MAX)?;
    Ok(())
}

fn associated_data(id: BroadcastId) -> [u8; 17] {
    let mut data = [b'b'; 17];
    data[1..].copy_from_slice(id.as_bytes());
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    #[tokio::test]
    async fn content_of_any_size_is_read_as_it_was_stored_and_only_under_its_id() {
        let (_directory, context) = Context::temporary();
        let (id, other): (BroadcastId, BroadcastId) = (context.id(), context.id());
        for bytes in [0, 10, 300_000] {
            let html = Some((0..bytes).map(|number| char::from(b'a' + (number % 23) as u8)).collect());
            let content = BroadcastContent { html, text: None, source: Some("# Hi".into()) };
            let sealed = seal_content(&context.keyring, id, &content);
            context.commit(move |tx| put_content(tx, id, &sealed)).await;

            let read = context.read(|tx| read_content(tx, &context.keyring, id));
            assert_eq!(read, Some(content));
        }
        let sealed = seal_content(&context.keyring, other, &BroadcastContent::default());
        context.commit(move |tx| put_content(tx, id, &sealed)).await;
        let read = context.store.read_now(|tx| read_content(tx, &context.keyring, id));
        assert!(matches!(read, Err(StoreError::Corrupt(_))));

        context.commit(move |tx| delete_content(tx, id)).await;
        let read = context.read(|tx| read_content(tx, &context.keyring, id));
        assert_eq!(read, None);
    }
}
