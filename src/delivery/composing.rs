//! Composition of messages on the threads for blocking work, within the memory budget of all messages.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::engine::{Engine, MESSAGE_MEMORY_KIB};
use super::message::{self, Composed, MessageError, Unsigned};
use super::queue::Claimed;
use crate::base::blocking;
use crate::base::clock::thread_cpu_time;
use crate::emails::EmailRow;
use crate::mime::AddressForm;

/// Memory for a small message, in KiB.
const SMALL_KIB: u32 = 64;
/// Maximum size of a message that is composed before its turn.
const SMALL_BYTES_MAX: usize = (SMALL_KIB as usize) << 10;

impl Engine {
    /// Composes and signs the message of a claimed group. `form` is the form of non-ASCII recipients.
    pub(super) async fn compose(
        self: &Arc<Self>,
        claimed: Arc<Claimed>,
        form: AddressForm,
    ) -> Result<Composed, MessageError> {
        self.compose_together(claimed, Vec::new(), form).await.remove(0)
    }

    /// Composes the message of a group, and small messages of the groups behind it, and signs them together. Returns the
    /// result for the group, and those for the first groups behind it, up to a large message or one that cannot be composed
    /// now.
    pub(super) async fn compose_together(
        self: &Arc<Self>,
        first: Arc<Claimed>,
        behind: Vec<Arc<Claimed>>,
        form: AddressForm,
    ) -> Vec<Result<Composed, MessageError>> {
        let engine = Arc::clone(self);
        blocking::run(move || {
            let began = thread_cpu_time();
            let mut messages = match engine.compose_unsigned(&first, form) {
                Ok(message) => vec![message],
                Err(error) => return vec![Err(error)],
            };
            let behind = if is_small(&messages[0]) { behind } else { Vec::new() };
            for claimed in &behind {
                // If the composition fails or panics, the group gets this at its turn. A large message is composed once more,
                // because its row does not have its size.
                match catch_unwind(AssertUnwindSafe(|| engine.compose_unsigned(claimed, form))) {
                    Ok(Ok(message)) if is_small(&message) => messages.push(message),
                    _ => break,
                }
            }
            let (count, composed) = (messages.len(), thread_cpu_time());
            let results = message::sign(messages, engine.context.now_ms());
            engine.cpu.add(count, composed.saturating_sub(began), thread_cpu_time().saturating_sub(composed));
            results
        })
        .await
    }

    fn compose_unsigned(&self, claimed: &Claimed, form: AddressForm) -> Result<Unsigned, MessageError> {
        self.context.store.read_now(|tx| {
            let parts = (&self.settings.links, &self.contents, &self.tracker);
            message::compose(tx, &self.context, &self.signing, &self.return_paths, parts, claimed, form)
        })
    }

    /// Waits for a share of the memory budget that fits the message of an email. The permit holds
    /// the share until it is dropped; `None` if the semaphore is closed, which never happens.
    ///
    /// The share is 64 KiB and four times the attachments, which are in memory sealed, opened and
    /// in base64. It is at most the whole budget, so that a larger message does not wait forever.
    pub(super) async fn reserve_message_memory(&self, row: &EmailRow) -> Option<OwnedSemaphorePermit> {
        let files: u64 = row.attachments.iter().map(|file| file.size).sum();
        let kib = usize::try_from(files / 256 + u64::from(SMALL_KIB)).unwrap_or(MESSAGE_MEMORY_KIB);
        let kib = u32::try_from(kib.min(MESSAGE_MEMORY_KIB)).unwrap_or(u32::MAX);
        Arc::clone(&self.message_memory).acquire_many_owned(kib).await.ok()
    }

    /// Reserves memory for a message that is composed before its turn; `None` if it has attachments, or if messages use half
    /// of the budget. The messages behind those of slow servers therefore leave half of it to others.
    pub(super) fn reserve_early_message_memory(&self, row: &EmailRow) -> Option<OwnedSemaphorePermit> {
        let is_free = self.message_memory.available_permits() > MESSAGE_MEMORY_KIB / 2;
        let may_reserve = is_free && row.attachments.is_empty();
        may_reserve.then(|| Arc::clone(&self.message_memory).try_acquire_many_owned(SMALL_KIB).ok()).flatten()
    }
}

fn is_small(message: &Unsigned) -> bool {
    message.message.len() <= SMALL_BYTES_MAX
}
