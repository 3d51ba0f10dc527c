//! The stored messages of the mailbox: storing, listing, reading and deletion.

use tracing::error;

use super::content::Summary;
use super::waits::Waits;
use crate::base::blocking;
use crate::base::clock::TimestampMs;
use crate::base::id::{CapturedId, Id};
use crate::context::Context;
use crate::delivery::return_path::ReturnPaths;
use crate::delivery::rows::CapturedRow;
use crate::delivery::smtp::Envelope;
use crate::store::page::{Page, PageError, PageQuery, page_by_id};
use crate::store::{Chunks, Encoded, Keyring, Reads, StoreError, read_chunks};
use crate::tables::{CAPTURED, CAPTURED_MESSAGES};

/// Maximum number of rows of each table that one transaction deletes.
const PAGE_ROWS: usize = 200;
/// Maximum size of a message that is sealed on the async thread. Sealing a larger one takes longer than
/// passing it to another thread.
const INLINE_SEAL_BYTES_MAX: usize = 64 << 10;

/// The built-in mailbox.
pub struct CaptureMailbox {
    pub(super) context: Context,
    pub(super) return_paths: ReturnPaths,
    pub(super) waits: Waits,
}

impl CaptureMailbox {
    /// Returns the mailbox of an instance.
    pub fn new(context: Context) -> Self {
        Self { return_paths: ReturnPaths::new(&context.keyring), waits: Waits::default(), context }
    }

    /// Stores a message. Returns its id after the commit; `None` if the store failed, which is logged.
    pub(super) async fn store(&self, envelope: Envelope, message: Vec<u8>) -> Option<CapturedId> {
        let id = self.context.id();
        let Envelope { sender, recipients } = envelope;
        let Summary { from, subject } = Summary::of(&message);
        let row = Encoded::new(&CapturedRow {
            received_ms: self.context.now_ms(),
            email: self.return_paths.read(&sender).map(|(email, _group)| email),
            sender,
            recipients,
            size: message.len() as u64,
            released_ms: None,
            from,
            subject,
        });
        let chunks = if message.len() <= INLINE_SEAL_BYTES_MAX {
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
            Ok(()) => {
                self.waits.message_stored();
                Some(id)
            }
            Err(error) => {
                error!(%error, "could not store a message in the mailbox: {error}");
                None
            }
        }
    }

    /// Returns a page of the mailbox, newest first.
    pub async fn list(&self, query: PageQuery<CapturedId>) -> Result<Page<(CapturedId, CapturedRow)>, PageError> {
        self.context.store.read(move |tx| page_by_id(tx, &CAPTURED, query, |id, row| Ok(Some((id, row))))).await
    }

    /// Returns a message with its envelope, byte for byte as it was received.
    pub async fn message(&self, id: CapturedId) -> Result<Option<(CapturedRow, Vec<u8>)>, StoreError> {
        let keyring = self.context.keyring.clone();
        self.context.store.read(move |tx| read_message(tx, &keyring, id)).await
    }

    /// Deletes all messages that were stored before the call.
    ///
    /// # Errors
    /// [`StoreError`]. The messages deleted before the error stay deleted.
    pub async fn delete_all(&self) -> Result<(), StoreError> {
        delete_until(&self.context, self.context.id()).await
    }
}

/// Returns a message with its envelope.
pub(super) fn read_message(
    tx: &impl Reads,
    keyring: &Keyring,
    id: CapturedId,
) -> Result<Option<(CapturedRow, Vec<u8>)>, StoreError> {
    let Some(row) = tx.get(&CAPTURED, &(id,))? else { return Ok(None) };
    // A deletion in pages may have deleted the chunks and not yet the row.
    let Some(sealed) = read_chunks(tx, &CAPTURED_MESSAGES, |chunk| (id, chunk))? else { return Ok(None) };
    Ok(Some((row, keyring.open_sealed(&associated_data(id), &sealed)?)))
}

/// Deletes the messages that were received before a time.
pub(crate) async fn purge(context: &Context, before_ms: TimestampMs) -> Result<(), StoreError> {
    delete_until(context, Id::first_at(before_ms)).await
}

/// Deletes the messages below an id, one page a transaction. After an interruption, the next call
/// continues, because it deletes from the oldest row of each table.
async fn delete_until(context: &Context, until: CapturedId) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    loop {
        let removed = context
            .store
            .write_bulk::<_, StoreError>(move |tx| {
                let chunks = tx.delete_range(&CAPTURED_MESSAGES, &(Id::MIN, 0), &(until, 0), PAGE_ROWS)?;
                let rows = tx.delete_listed_range(&CAPTURED, &(Id::MIN,), &(until,), PAGE_ROWS, now_ms)?;
                Ok(chunks.max(rows))
            })
            .await?;
        if removed < PAGE_ROWS {
            return Ok(());
        }
    }
}

fn seal(keyring: &Keyring, id: CapturedId, message: &[u8]) -> Chunks {
    Chunks::of(keyring.seal(&associated_data(id), message))
}

/// Returns the associated data of a sealed message: `m` and the id.
fn associated_data(id: CapturedId) -> [u8; 17] {
    let mut data = [b'm'; 17];
    data[1..].copy_from_slice(id.as_bytes());
    data
}
