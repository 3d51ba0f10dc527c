//! Values of any length in rows of bounded size: bodies, attachments and captured messages.
//!
//! The chunks of a value have consecutive numbers from 0, in the last part of their keys. The value
//! is split before the transaction, so that the writer thread only copies bytes.

use super::StoreError;
use super::key::Key;
use super::reads::{NEXT, Order, Reads};
use super::table::Table;
use super::transaction::WriteTx;
use super::value::{Blob, Encoded};

/// Maximum size of a chunk, in bytes. Together with its key and a seal, it fits into 64 KiB of the file. The engine
/// rounds the space of a large row up to a power of two.
pub const CHUNK_BYTES: usize = 60 << 10;
/// Maximum number of chunks that one transaction deletes, so that other commands run between two: 15 MiB.
pub const CHUNKS_PER_COMMIT: usize = 256;

/// A value split into chunks, ready to be stored.
#[derive(Clone, Debug)]
pub struct Chunks {
    chunks: Vec<Encoded<Blob>>,
}

impl Chunks {
    /// Splits `bytes`. A value that fits into one chunk is not copied. An empty value is one empty chunk.
    pub fn of(bytes: Vec<u8>) -> Self {
        if bytes.len() <= CHUNK_BYTES {
            return Self { chunks: vec![Encoded::blob(bytes)] };
        }
        Self { chunks: bytes.chunks(CHUNK_BYTES).map(|chunk| Encoded::blob(chunk.to_vec())).collect() }
    }

    /// Returns chunks that are read one by one, each sealed for its own row.
    pub fn of_sealed(chunks: impl Iterator<Item = Vec<u8>>) -> Self {
        Self { chunks: chunks.map(Encoded::blob).collect() }
    }

    /// Returns the size of all chunks, in bytes.
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(Encoded::len).sum()
    }

    /// Stores the chunks; `key` returns the key of a chunk number.
    ///
    /// # Errors
    /// As [`WriteTx::put`].
    pub fn put<K: Key>(
        &self,
        tx: &WriteTx<'_>,
        table: &Table<K, Blob>,
        key: impl Fn(u32) -> K,
    ) -> Result<(), StoreError> {
        for (number, chunk) in (0..).zip(&self.chunks) {
            tx.put_encoded(table, &key(number), chunk)?;
        }
        Ok(())
    }
}

/// Reads and joins the chunks under `key`; `None` without a chunk.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn read_chunks<K: Key>(
    tx: &impl Reads,
    table: &Table<K, Blob>,
    key: impl Fn(u32) -> K,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut joined = None;
    tx.scan(table, &key(0), &key(u32::MAX), Order::Ascending, |_, chunk| {
        joined.get_or_insert_with(Vec::new).extend_from_slice(chunk.bytes());
        NEXT
    })?;
    Ok(joined)
}

/// Returns the size of the chunks under `key` without copying them; 0 without a chunk.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn chunk_bytes<K: Key>(
    tx: &impl Reads,
    table: &Table<K, Blob>,
    key: impl Fn(u32) -> K,
) -> Result<usize, StoreError> {
    let mut bytes = 0;
    tx.scan(table, &key(0), &key(u32::MAX), Order::Ascending, |_, chunk| {
        bytes += chunk.bytes().len();
        NEXT
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::store::{OpenOptions, Store, StoreKind};
    use crate::tables::CAPTURED_MESSAGES;

    #[tokio::test]
    async fn a_value_of_any_length_reads_back_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&OpenOptions {
            directory: directory.path().into(),
            kind: StoreKind::Dev,
            cache_bytes: 4 << 20,
        })
        .unwrap();
        for (count, length) in [(1, 0), (1, 1), (1, CHUNK_BYTES), (2, CHUNK_BYTES + 1), (4, 4 * CHUNK_BYTES)] {
            let id = Id::from_bytes([u8::try_from(length % 251).unwrap(); 16]);
            let bytes: Vec<u8> = (0..length).map(|index| u8::try_from(index % 251).unwrap()).collect();
            let chunks = Chunks::of(bytes.clone());
            assert_eq!((chunks.chunks.len(), chunks.bytes()), (count, length));

            store
                .write::<_, StoreError>(move |tx| chunks.put(tx, &CAPTURED_MESSAGES, |number| (id, number)))
                .await
                .unwrap();

            let read = |id| move |number| (id, number);
            let joined = store.read_now(|tx| read_chunks(tx, &CAPTURED_MESSAGES, read(id))).unwrap();
            assert_eq!(joined, Some(bytes));
            let size = store.read_now::<_, StoreError>(|tx| chunk_bytes(tx, &CAPTURED_MESSAGES, read(id)));
            assert_eq!(size.unwrap(), length);
            let none = store.read_now(|tx| read_chunks(tx, &CAPTURED_MESSAGES, read(Id::MAX))).unwrap();
            assert_eq!(none, None);
        }
    }
}
