//! The broadcasts in progress, and those that can start.

use super::walk::Walk;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, Id};
use crate::broadcasts::rows::FanOutRow;
use crate::store::{NEXT, Order, ReadTx, Reads, STOP, StoreError};
use crate::tables::BROADCAST_FAN_OUTS;

/// Maximum number of broadcasts that get pages in turn. Further ones wait for the end of one of them.
pub(super) const JOBS_MAX: usize = 256;
/// Maximum number of rows that one scan reads.
const SCANNED_MAX: usize = 50_000;

/// Work on one broadcast.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// Queue the next page of recipients.
    Walk(Walk),
    /// Remove the next page of queued emails.
    Cancel(BroadcastId),
}

/// The work that the table shows.
#[derive(Debug, Default)]
pub(super) struct JobList {
    /// Due broadcasts that have not been started.
    pub(super) unstarted: Vec<BroadcastId>,
    /// Broadcasts with a position that cannot be read on.
    pub(super) incomplete: Vec<BroadcastId>,
    /// Broadcasts in progress, by the time of their start.
    pub(super) jobs: Vec<Job>,
    /// Start of the next broadcast that is not due.
    pub(super) next_due_ms: Option<TimestampMs>,
}

impl JobList {
    /// Reads the table.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn read(tx: &ReadTx, now_ms: TimestampMs) -> Result<Self, StoreError> {
        let mut list = Self::default();
        let mut started: Vec<(TimestampMs, BroadcastId, FanOutRow)> = Vec::new();
        let mut scanned = 0;
        tx.scan_valid(&BROADCAST_FAN_OUTS, &(Id::MIN,), &(Id::MAX,), Order::Ascending, |(id,), row| {
            scanned += 1;
            if row.is_canceled {
                list.jobs.push(Job::Cancel(id));
            } else if row.last.is_some() {
                started.push((row.due_ms, id, row));
            } else if row.is_due(now_ms) {
                list.unstarted.push(id);
            } else {
                list.next_due_ms = Some(list.next_due_ms.map_or(row.due_ms, |due_ms| due_ms.min(row.due_ms)));
            }
            let in_progress = list.jobs.len() + started.len() + list.unstarted.len();
            if in_progress < JOBS_MAX && scanned < SCANNED_MAX { NEXT } else { STOP }
        })?;
        started.sort_unstable_by_key(|(due_ms, id, _)| (*due_ms, *id));
        for (_, id, row) in started {
            match Walk::load(tx, id, &row)? {
                Some(walk) => list.jobs.push(Job::Walk(walk)),
                None => list.incomplete.push(id),
            }
        }
        Ok(list)
    }

    /// Removes all broadcasts except the first one that queues recipients. Cancellations stay.
    pub(super) fn keep_first_walk(&mut self) {
        let mut walks = 0;
        self.jobs.retain(|job| {
            walks += usize::from(matches!(job, Job::Walk(_)));
            matches!(job, Job::Cancel(_)) || walks == 1
        });
    }
}
