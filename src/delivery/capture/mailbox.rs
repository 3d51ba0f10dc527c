//! The messages in the mailbox: kept, listed, read, removed.

use tracing::error;

use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::id::{CapturedId, Id};
use crate::context::Context;
use crate::delivery::return_path::ReturnPaths;
use crate::delivery::rows::CapturedRow;
use crate::delivery::smtp::Envelope;
use crate::store::page::{Page, PageError, PageQuery, page_by_id};
use crate::store::{Chunks, Encoded, Keyring, Reads as _, StoreError, read_chunks};
use crate::tables::{CAPTURED, CAPTURED_MESSAGES};

/// Rows of either table removed in one transaction.
const PAGE_ROWS: usize = 200;
/// A message up to here is sealed where it arrives: sooner done than handed to another thread.
const SEALED_AT_ONCE_BYTES: usize = 64 << 10;

/// The built-in mailbox.
pub struct CaptureMailbox {
    context: Context,
    return_paths: ReturnPaths,
}

impl CaptureMailbox {
    /// Returns the mailbox of an instance.
    pub fn new(context: Context) -> Self {
        Self { return_paths: ReturnPaths::new(&context.keyring), context }
    }

    /// Keeps a message; its id once it is committed, `None` when the store has failed.
    pub(super) async fn keep(&self, envelope: Envelope, message: Vec<u8>) -> Option<CapturedId> {
        let id = self.context.id();
        let Envelope { sender, recipients } = envelope;
        let row = Encoded::new(&CapturedRow {
            received_ms: self.context.now_ms(),
            email: self.return_paths.read(&sender).map(|(email, _group)| email),
            sender,
            recipients,
            size: message.len() as u64,
        });
        let chunks = if message.len() <= SEALED_AT_ONCE_BYTES {
            seal(&self.context.keyring, id, &message)
        } else {
            let keyring = self.context.keyring.clone();
            blocking::run(move || seal(&keyring, id, &message)).await
        };
        let written = self.context.store.write_bulk_sized::<_, StoreError>(row.len() + chunks.bytes(), move |tx| {
            tx.put_encoded(&CAPTURED, &(id,), &row)?;
            chunks.put(tx, &CAPTURED_MESSAGES, |chunk| (id, chunk))
        });
        match written.await {
            Ok(()) => Some(id),
            Err(error) => {
                error!(%error, "a message could not be put into the mailbox: {error}");
                None
            }
        }
    }

    /// Returns a page of the mailbox, newest first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list(&self, query: PageQuery<CapturedId>) -> Result<Page<(CapturedId, CapturedRow)>, PageError> {
        self.context
            .store
            .read(move |tx| page_by_id(tx, &CAPTURED, query, |id, row| Ok(Some((id, row.decode()?)))))
            .await
    }

    /// Returns a message with its envelope, byte for byte as it arrived.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn message(&self, id: CapturedId) -> Result<Option<(CapturedRow, Vec<u8>)>, StoreError> {
        let keyring = self.context.keyring.clone();
        self.context
            .store
            .read(move |tx| {
                let Some(row) = tx.get(&CAPTURED, &(id,))? else { return Ok(None) };
                // A removal in pages may have come as far as the message and not to its row.
                let Some(sealed) = read_chunks(tx, &CAPTURED_MESSAGES, |chunk| (id, chunk))? else { return Ok(None) };
                Ok(Some((row, keyring.open_sealed(&place(id), &sealed)?)))
            })
            .await
    }

    /// Empties the mailbox of what is in it by now.
    ///
    /// # Errors
    /// [`StoreError`]. What has been removed until then stays so.
    pub async fn delete_all(&self) -> Result<(), StoreError> {
        delete_until(&self.context, self.context.id()).await
    }
}

/// Removes what arrived before a time.
///
/// # Errors
/// [`StoreError`].
pub(crate) async fn purge(context: &Context, before_ms: TimestampMs) -> Result<(), StoreError> {
    delete_until(context, Id::first_at(before_ms)).await
}

/// Removes the messages below an id, in bounded pages. A stop between two of them leaves what the
/// next call finds: either table is walked from its own old end.
async fn delete_until(context: &Context, until: CapturedId) -> Result<(), StoreError> {
    loop {
        let removed = context
            .store
            .write_bulk::<_, StoreError>(move |tx| {
                let chunks = tx.delete_range(&CAPTURED_MESSAGES, &(Id::MIN, 0), &(until, 0), PAGE_ROWS)?;
                let rows = tx.delete_range(&CAPTURED, &(Id::MIN,), &(until,), PAGE_ROWS)?;
                Ok(chunks.max(rows))
            })
            .await?;
        if removed < PAGE_ROWS {
            return Ok(());
        }
    }
}

fn seal(keyring: &Keyring, id: CapturedId, message: &[u8]) -> Chunks {
    Chunks::of(keyring.seal(&place(id), message))
}

fn place(id: CapturedId) -> [u8; 17] {
    let mut place = [b'm'; 17];
    place[1..].copy_from_slice(id.as_bytes());
    place
}
