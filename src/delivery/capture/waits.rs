//! Waits for a message of the mailbox.
//!
//! A wait polls the list after each message that this process stores, and once a second for those of other processes. Its
//! number is bounded for the instance and for one reader, so that the waits of a team leave room for those of others.

use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::mailbox::CaptureMailbox;
use super::reads::{CapturedFilter, CapturedPage, MailboxReader, search};
use crate::base::id::CapturedId;
use crate::base::keyed::KeyedValues;
use crate::store::page::{Cursor, PageQuery};
use crate::store::{ScanLimit, StoreError, from_store_error};

/// Maximum number of waits at once.
const WAITS_MAX: usize = 400;
/// Maximum number of these waits of one reader.
const WAITS_OF_READER_MAX: usize = 100;
/// Longest time between two polls of a wait, for messages that another process stores.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time by which the id of a message can be older than its commit.
const COMMIT_LAG_MS: i64 = 60_000;

/// State of the waits of a mailbox.
#[derive(Debug)]
pub(super) struct Waits {
    /// Marked at each message that this process stores.
    arrivals: watch::Sender<()>,
    permits: Semaphore,
    readers: KeyedValues<MailboxReader, Semaphore>,
    end: CancellationToken,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            arrivals: watch::Sender::new(()),
            permits: Semaphore::new(WAITS_MAX),
            readers: KeyedValues::default(),
            end: CancellationToken::new(),
        }
    }
}

impl Waits {
    /// Notifies the waits of a message, after its commit.
    pub(super) fn message_stored(&self) {
        self.arrivals.send_replace(());
    }
}

/// Reason why a wait does not begin.
#[derive(Debug)]
pub enum CapturedWaitError {
    /// Too many requests wait.
    TooMany,
    Store(StoreError),
}

from_store_error!(CapturedWaitError);

impl CaptureMailbox {
    /// Does the same as [`CaptureMailbox::search`] from the newest message. If no message matches, waits for one, up to
    /// `wait_max`.
    pub async fn wait(
        &self,
        reader: MailboxReader,
        filter: CapturedFilter,
        after: Option<CapturedId>,
        limit: usize,
        wait_max: Duration,
    ) -> Result<CapturedPage, CapturedWaitError> {
        let of_reader = self.waits.readers.get_or_insert_with(reader, || Semaphore::new(WAITS_OF_READER_MAX));
        let Ok(_of_reader) = of_reader.try_acquire() else { return Err(CapturedWaitError::TooMany) };
        let Ok(_permit) = self.waits.permits.try_acquire() else { return Err(CapturedWaitError::TooMany) };
        let (filter, deadline) = (filter.normalized(), tokio::time::Instant::now() + wait_max);
        let mut arrivals = self.waits.arrivals.subscribe();
        let mut newer_than = after.unwrap_or(CapturedId::MIN);
        let began_ms = self.context.now_ms();
        loop {
            arrivals.mark_unchanged();
            let selected = filter.clone();
            let query = PageQuery { limit, cursor: Cursor::Newest };
            let read =
                self.context.store.read(move |tx| search(tx, reader, &selected, query, newer_than, ScanLimit::REQUEST));
            let page = read.await?;
            let is_over = tokio::time::Instant::now() >= deadline || self.waits.end.is_cancelled();
            if !page.rows.is_empty() || is_over {
                return Ok(page);
            }
            // The first read has compared the older messages.
            newer_than = newer_than.max(CapturedId::first_at(began_ms - COMMIT_LAG_MS));
            let poll_at = deadline.min(tokio::time::Instant::now() + POLL_INTERVAL);
            tokio::select! {
                _ = arrivals.changed() => {}
                () = tokio::time::sleep_until(poll_at) => {}
                () = self.waits.end.cancelled() => {}
            }
        }
    }

    /// Ends all waits, because the server stops. Later waits end at once.
    pub fn end_waits(&self) {
        self.waits.end.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::TeamId;
    use crate::context::Context;

    #[tokio::test]
    async fn waits_are_bounded_for_each_reader_and_for_all() {
        let (_directory, context) = Context::temporary();
        let mailbox = CaptureMailbox::new(context);
        let wait = |reader| mailbox.wait(reader, CapturedFilter::default(), None, 1, Duration::ZERO);
        let (one, other) = (MailboxReader::Team(TeamId::MIN), MailboxReader::Team(TeamId::MAX));
        let of_one = mailbox.waits.readers.get_or_insert_with(one, || Semaphore::new(WAITS_OF_READER_MAX));
        let held = of_one.try_acquire_many(u32::try_from(WAITS_OF_READER_MAX).unwrap()).unwrap();

        assert!(matches!(wait(one).await, Err(CapturedWaitError::TooMany)));
        assert!(wait(other).await.is_ok(), "the waits of a team leave room for others");
        drop(held);
        assert!(wait(one).await.is_ok());
        let held = mailbox.waits.permits.try_acquire_many(u32::try_from(WAITS_MAX).unwrap()).unwrap();
        assert!(matches!(wait(other).await, Err(CapturedWaitError::TooMany)));
        drop((held, of_one));
        assert_eq!(mailbox.waits.readers.len(), 0);
    }
}
