//! The broadcasts in progress, and those that can start.

use std::collections::BTreeMap;

use super::enqueue::reads_contacts;
use super::rows::FanOutRow;
use super::walk::Walk;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, DomainId, Id, TeamId};
use crate::broadcast_rows::{self, BroadcastStatus};
use crate::emails::SendingGuard;
use crate::store::{NEXT, Order, ReadTx, Reads, STOP, StoreError};
use crate::tables::BROADCAST_FAN_OUTS;

/// Maximum number of broadcasts that get pages in turn. Further ones wait for the end of one of them. Broadcasts that
/// cannot queue a recipient now do not count.
pub(super) const JOBS_MAX: usize = 256;
/// Maximum number of rows that one scan reads.
const SCANNED_MAX: usize = 50_000;

/// Work on one broadcast.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// Store the next page of recipients.
    Walk(Walk),
    /// Put the next stored emails into the queue.
    Enqueue(BroadcastId),
    /// Remove the next page of waiting emails.
    Cancel(BroadcastId),
}

/// The work that the table shows.
#[derive(Debug, Default)]
pub(super) struct JobList {
    /// Due broadcasts that have not been started.
    pub(super) unstarted: Vec<BroadcastId>,
    /// Broadcasts with a position that cannot be read on.
    pub(super) incomplete: Vec<BroadcastId>,
    /// Broadcasts in progress that are held, without a notice to the owners yet. At most [`JOBS_MAX`].
    pub(super) held: Vec<BroadcastId>,
    /// Broadcasts in progress, by the time of their start.
    pub(super) jobs: Vec<Job>,
    /// Start of the next broadcast that is not due.
    pub(super) next_due_ms: Option<TimestampMs>,
}

/// The rules by which a scan sorts broadcasts in progress.
struct JobScan<'a> {
    guard: &'a dyn SendingGuard,
    /// Whether broadcasts of a team and a domain are held, as far as the scan has read it.
    held: BTreeMap<(TeamId, Option<DomainId>), bool>,
}

/// State of a broadcast in progress.
enum StartedJob {
    Walk(Walk),
    Enqueue,
    Held,
    Incomplete,
}

impl JobScan<'_> {
    fn started(&mut self, tx: &ReadTx, id: BroadcastId, fan_out: &FanOutRow) -> Result<StartedJob, StoreError> {
        // A broadcast that has ended, or whose row is corrupt, still gets the queue rows of its emails.
        let rest = if fan_out.to_enqueue.is_some() { StartedJob::Enqueue } else { StartedJob::Incomplete };
        let row = broadcast_rows::find_valid(tx, fan_out.team, id)?;
        let Some(row) = row.filter(|row| row.status == BroadcastStatus::Queued) else { return Ok(rest) };
        let key = (fan_out.team, row.domain);
        let is_held = match self.held.get(&key) {
            Some(is_held) => *is_held,
            None => self.guard.is_fan_out_held(tx, fan_out.team, row.domain)?,
        };
        self.held.insert(key, is_held);
        if is_held {
            return Ok(StartedJob::Held);
        }
        if !reads_contacts(&row) {
            return Ok(rest);
        }
        Ok(Walk::load(tx, id, fan_out)?.map_or(StartedJob::Incomplete, StartedJob::Walk))
    }
}

impl JobList {
    /// Reads the table. Broadcasts that are scheduled for `now_ms` or earlier can start. A broadcast that is held neither
    /// counts for [`JOBS_MAX`] nor is a job, so that it does not delay the others.
    pub(super) fn read(tx: &ReadTx, now_ms: TimestampMs, guard: &dyn SendingGuard) -> Result<Self, StoreError> {
        let mut list = Self::default();
        let mut scan = JobScan { guard, held: BTreeMap::new() };
        let (mut walks, mut to_enqueue): (Vec<(TimestampMs, Walk)>, Vec<BroadcastId>) = (Vec::new(), Vec::new());
        let mut scanned = 0;
        tx.scan_valid(&BROADCAST_FAN_OUTS, &(Id::MIN,), &(Id::MAX,), Order::Ascending, |(id,), row| {
            scanned += 1;
            if row.is_canceled {
                list.jobs.push(Job::Cancel(id));
            } else if row.last.is_some() {
                match scan.started(tx, id, &row)? {
                    StartedJob::Walk(walk) => walks.push((row.due_ms, walk)),
                    StartedJob::Enqueue => to_enqueue.push(id),
                    StartedJob::Held if !row.is_held && list.held.len() < JOBS_MAX => list.held.push(id),
                    StartedJob::Held => {}
                    StartedJob::Incomplete => list.incomplete.push(id),
                }
            } else if row.is_due(now_ms) {
                list.unstarted.push(id);
            } else {
                list.next_due_ms = Some(list.next_due_ms.map_or(row.due_ms, |due_ms| due_ms.min(row.due_ms)));
            }
            let started = list.jobs.len() + walks.len() + to_enqueue.len();
            let in_progress = started + list.unstarted.len() + list.incomplete.len();
            if in_progress < JOBS_MAX && scanned < SCANNED_MAX { NEXT } else { STOP }
        })?;
        walks.sort_unstable_by_key(|(due_ms, walk)| (*due_ms, walk.rules.id));
        list.jobs.extend(walks.into_iter().map(|(_, walk)| Job::Walk(walk)));
        list.jobs.extend(to_enqueue.into_iter().map(Job::Enqueue));
        Ok(list)
    }

    /// Keeps the first broadcast that reads contacts. The stored emails of the others are only put into the queue.
    pub(super) fn keep_first_walk(&mut self) {
        let mut has_walk = false;
        for job in &mut self.jobs {
            if let Job::Walk(walk) = job
                && std::mem::replace(&mut has_walk, true)
            {
                *job = Job::Enqueue(walk.rules.id);
            }
        }
    }
}
