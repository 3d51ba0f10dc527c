//! The worker of broadcasts: starts them, stores their recipients, puts these into the queue, and removes the waiting emails
//! of canceled broadcasts.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::info;

use super::cancel::cancel_page;
use super::enqueue::{Enqueued, enqueue_page};
use super::jobs::{Job, JobList};
use super::page::{FanOutPage, FinishedFanOut, PageResult, PageSource};
use super::start::{fail_if_incomplete, hold, start};
use super::walk::Walk;
use crate::base::clock::{TimestampMs, monotonic};
use crate::base::id::BroadcastId;
use crate::base::wakeup::Wakeup;
use crate::broadcasts::estimates::SendEstimates;
use crate::context::Context;
use crate::delivery::{DeliverOnly, Due, QueueNotifier};
use crate::emails::SendingGuard;
use crate::store::{LARGE_BULK_BYTES, ScanLimit, StoreError, WriteTx};

/// Time after which the table is read again while broadcasts are in progress.
const TURNS_TIME: Duration = Duration::from_millis(250);
/// Interval of reads of the table, which need no notification.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum time between two checks of the clock.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// Number of emails that one transaction puts into the queue, without requests beside it.
const QUEUE_ROWS_MAX: usize = 256;
/// Size of a page for the writer. No other bulk command follows a page in its commit, and the commit after it has only
/// accepts and small commands. Accepts therefore wait for one page at most.
const PAGE_COMMIT_BYTES: usize = LARGE_BULK_BYTES;

/// The parts of the instance that the worker uses.
#[derive(Clone)]
pub struct BroadcastWorkerSettings {
    pub estimates: SendEstimates,
    /// Recipients for real delivery beside the built-in mailbox.
    pub deliver_only: DeliverOnly,
    /// Decides whether broadcasts can start and continue.
    pub guard: Arc<dyn SendingGuard>,
    /// Notified when a broadcast is sent or canceled.
    pub notifier: Arc<Wakeup>,
    /// Notifies the delivery engine of queued recipients.
    pub queue_notifier: QueueNotifier,
}

/// The worker of broadcasts.
pub struct BroadcastWorker {
    source: PageSource,
    guard: Arc<dyn SendingGuard>,
    notifier: Arc<Wakeup>,
    queue_notifier: QueueNotifier,
}

impl BroadcastWorker {
    /// Returns the worker over the store of `context`.
    pub fn new(context: Context, settings: BroadcastWorkerSettings) -> Self {
        let BroadcastWorkerSettings { estimates, deliver_only, guard, notifier, queue_notifier } = settings;
        let source = PageSource { context, estimates, deliver_only, scan_limit: ScanLimit::STEP };
        Self { source, guard, notifier, queue_notifier }
    }

    /// Works on broadcasts until the stop. The stop drops the work at an await: each commit leaves a position from which
    /// the next start continues.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        let run = async {
            loop {
                let next_due_ms = self.work().await?;
                let polled = monotonic();
                while !self.notifier.notified_within(WAIT_MAX).await {
                    let is_due =
                        next_due_ms.is_some_and(|due_ms| due_ms <= self.source.context.confirmed_time().now_ms);
                    if is_due || polled.elapsed() >= POLL_INTERVAL {
                        break;
                    }
                }
            }
        };
        stop.run_until_cancelled(run).await.unwrap_or(Ok(()))
    }

    /// Works until no broadcast is due or the sending limits have no room. Returns the start of the next broadcast.
    pub(super) async fn work(&self) -> Result<Option<TimestampMs>, StoreError> {
        loop {
            let list = self.list().await?;
            if list.jobs.is_empty() || !self.work_round_robin(list.jobs.into()).await? {
                return Ok(list.next_due_ms);
            }
        }
    }

    /// Starts the due broadcasts, and returns those in progress.
    async fn list(&self) -> Result<JobList, StoreError> {
        let context = &self.source.context;
        let read = || {
            let (now_ms, guard) = (context.confirmed_time().now_ms, Arc::clone(&self.guard));
            context.store.read(move |tx| JobList::read(tx, now_ms, &*guard))
        };
        let mut list = read().await?;
        for id in std::mem::take(&mut list.held) {
            let guard = Arc::clone(&self.guard);
            context.store.write_bulk(move |tx| hold(tx, id, &*guard)).await?;
        }
        if !list.unstarted.is_empty() || !list.incomplete.is_empty() {
            let now_ms = context.now_ms();
            for id in list.unstarted {
                let guard = Arc::clone(&self.guard);
                context.store.write_bulk(move |tx| start(tx, id, now_ms, &*guard)).await?;
            }
            for id in list.incomplete {
                context.store.write_bulk(move |tx| fail_if_incomplete(tx, id)).await?;
            }
            list = read().await?;
        }
        if self.source.estimates.is_limited() {
            // The first broadcast uses the room first, so that a later one does not delay it.
            list.keep_first_walk();
        }
        Ok(list)
    }

    /// Works on the broadcasts in turn, one page each, for some time. Returns whether a page was read or removed.
    async fn work_round_robin(&self, mut jobs: VecDeque<Job>) -> Result<bool, StoreError> {
        let ends = monotonic() + TURNS_TIME;
        let mut has_worked = false;
        // A page that is read and not stored yet. It is stored while the next one is read.
        let mut waiting = None;
        while monotonic() < ends
            && let Some(job) = jobs.pop_front()
        {
            let mut walk = match job {
                Job::Walk(walk) => walk,
                Job::Enqueue(id) => {
                    let Enqueued { due, has_more } = self.enqueue(id).await?;
                    has_worked |= has_more || !due.is_empty();
                    self.queue_notifier.groups_queued(first_of_lanes(due));
                    if has_more {
                        jobs.push_back(job);
                    }
                    continue;
                }
                Job::Cancel(id) => {
                    has_worked = true;
                    if !self.cancel(id).await? {
                        jobs.push_back(job);
                    }
                    continue;
                }
            };
            let (read, moved) = tokio::join!(self.read(walk.clone()), self.store(waiting.take()));
            if let Some(moved) = moved? {
                jobs.retain(|job| !matches!(job, Job::Walk(walk) if walk.rules.id == moved));
                if walk.rules.id == moved {
                    continue;
                }
            }
            let Some(page) = read? else {
                jobs.push_back(Job::Enqueue(walk.rules.id));
                continue;
            };
            has_worked = true;
            (walk.after, walk.planned_ms) = (page.to, page.planned_ms);
            let (id, is_last) = (page.id, page.is_last);
            waiting = Some(page);
            // The next page is placed behind this one, which must be stored for that.
            if self.source.estimates.is_limited() && self.store(waiting.take()).await? == Some(id) {
                continue;
            }
            if !is_last {
                jobs.push_back(Job::Walk(walk));
            }
        }
        self.store(waiting).await?;
        Ok(has_worked)
    }

    async fn read(&self, walk: Walk) -> Result<Option<FanOutPage>, StoreError> {
        let source = self.source.clone();
        self.source.context.store.read(move |tx| source.read(tx, &walk)).await
    }

    /// Stores a page and notifies the delivery engine. Returns the broadcast if it is not at the position of the page.
    async fn store(&self, page: Option<FanOutPage>) -> Result<Option<BroadcastId>, StoreError> {
        let Some(page) = page else { return Ok(None) };
        let (id, bytes, page) = (page.id, page.bytes.max(PAGE_COMMIT_BYTES), Arc::new(page));
        let mut first = 0;
        loop {
            let stored = Arc::clone(&page);
            match self.source.context.store.write_bulk_sized(bytes, move |tx| stored.store(tx, first)).await? {
                PageResult::Stored { due, next, finished } => {
                    self.queue_notifier.groups_queued(first_of_lanes(due));
                    if let Some(FinishedFanOut { recipients, duration_ms }) = finished {
                        let what = format_args!("queued {recipients} recipients of broadcast {id} in {duration_ms} ms");
                        info!(broadcast.id = %id, recipients, duration_ms, "{what}");
                    }
                    let Some(next) = next else { return Ok(None) };
                    first = next;
                }
                PageResult::Moved => return Ok(Some(id)),
            }
        }
    }

    /// Puts stored emails into the queue.
    async fn enqueue(&self, id: BroadcastId) -> Result<Enqueued, StoreError> {
        let context = self.source.context.clone();
        let enqueue = move |tx: &WriteTx<'_>| enqueue_page(tx, id, QUEUE_ROWS_MAX, context.now_ms());
        self.source.context.store.write_bulk_sized(PAGE_COMMIT_BYTES, enqueue).await
    }

    /// Removes a page of waiting emails of a canceled broadcast. Returns whether none is left.
    async fn cancel(&self, id: BroadcastId) -> Result<bool, StoreError> {
        let is_finished =
            self.source.context.store.write_bulk_sized(PAGE_COMMIT_BYTES, move |tx| cancel_page(tx, id)).await?;
        if is_finished {
            info!(broadcast.id = %id, "removed the queued emails of broadcast {id}");
        }
        Ok(is_finished)
    }
}

/// Returns the first group of each lane. The dispatcher reads the others from the table.
fn first_of_lanes(mut due: Vec<Due>) -> Vec<Due> {
    due.sort_unstable_by_key(|due| due.key);
    due.dedup_by_key(|due| due.key.lane);
    due
}
