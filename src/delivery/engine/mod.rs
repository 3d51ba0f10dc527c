//! The delivery engine: the state that the dispatcher and the workers share, start and shutdown.
//!
//! One dispatcher task (`delivery/dispatcher.rs`) finds lanes and starts workers (`delivery/worker/mod.rs`). The table is
//! the queue: no group is in memory until a worker has leased it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

use super::cpu::CpuTimes;
use super::dispatcher::Dispatcher;
use super::figures::{OpeningCounts, SmtpAttemptCounts};
use super::host_store;
use super::leases::LeaseTracker;
use super::notifier::QueueNotifier;
use super::problems::Problems;
use super::queue::{self, Claimed, Due, LanePace, LaneRest};
use super::queue_depth::QueueDepth;
use super::rates::Rates;
use super::retry::RetrySchedule;
use super::return_path::ReturnPaths;
use super::routes::Routes;
use super::schedule::{LANES_MAX, Limits, Now, Schedule, SiteSnapshot, Taken};
use super::settle::{Settlement, has_lease, settle};
use super::smtp::{Timeouts, TlsConfigs};
use crate::base::id::{DomainId, TeamId};
use crate::base::sync;
use crate::broadcast_rows::BroadcastContentCache;
use crate::context::Context;
use crate::domains::{DomainRefusal, SigningKeyCache};
use crate::preferences::PreferenceLinks;
use crate::store::{Space, StoreError, WriteTx};
use crate::tracking::Tracker;

/// Memory for the messages that are being composed, wait for their turn, or are being sent, in KiB.
pub(super) const MESSAGE_MEMORY_KIB: usize = 256 << 10;
/// Maximum time that a shutdown waits for running workers.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time to store the last pauses of hosts at the end.
const PAUSES_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause before an outcome that could not be stored is tried again, after the store works again.
const OUTCOME_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Configuration of the engine.
#[derive(Clone)]
pub struct EngineSettings {
    /// The EHLO name of sessions without a source address.
    pub hostname: String,
    pub routes: Routes,
    pub schedule: RetrySchedule,
    /// Maximum number of concurrent sessions of all sites.
    pub sessions_max: usize,
    /// Limits of each site.
    pub rates: Rates,
    /// Time limits of each phase of a session.
    pub timeouts: Timeouts,
    /// Client configurations with the trusted root certificates.
    pub tls: TlsConfigs,
    pub flow: Flow,
    /// Makes the unsubscribe links of emails under a topic.
    pub links: PreferenceLinks,
    /// Notifies the owners of a domain whose mail was refused for authentication. A function, because `notices` sends emails
    /// and therefore uses this module.
    pub record_refusal: RecordDomainRefusal,
}

/// Records, in the transaction of the outcome, that a server could not authenticate the sender of an email.
pub type RecordDomainRefusal = fn(&WriteTx<'_>, &Context, TeamId, DomainId, DomainRefusal) -> Result<(), StoreError>;

/// Switch for the delivery of queued mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Due groups are delivered.
    Open,
    /// Mail is accepted and stays in the queue.
    Held,
}

/// The delivery engine. One instance a process.
pub struct Engine {
    pub(super) context: Context,
    pub(super) settings: EngineSettings,
    pub(super) notifier: QueueNotifier,
    pub(super) signing: SigningKeyCache,
    /// Contents of the broadcasts that are being sent.
    pub(super) contents: BroadcastContentCache,
    /// Adds the tracking of the sender's domain to messages.
    pub(super) tracker: Tracker,
    pub(super) return_paths: ReturnPaths,
    pub(super) problems: Problems,
    /// Leases of this node, with the holder of each.
    pub(super) leases: LeaseTracker,
    /// Memory budget of composed messages: one permit a KiB.
    pub(super) message_memory: Arc<Semaphore>,
    /// CPU times of composed messages.
    pub(super) cpu: CpuTimes,
    /// Workers, and tasks that settle groups without a session.
    pub(super) tasks: TaskTracker,
    /// Number of outcomes in memory that the store has rejected. At most one for each worker.
    waiting_outcomes: AtomicUsize,
    /// Ends [`Engine::run`] and all tasks.
    pub(super) stop: CancellationToken,
    pub(super) attempt_counts: SmtpAttemptCounts,
    pub(super) opening_counts: OpeningCounts,
    pub(super) queue_depth: Mutex<Option<Arc<QueueDepth>>>,
    /// Held by the task that stores the pauses of hosts.
    pub(super) host_writes: Arc<tokio::sync::Mutex<()>>,
    /// Start of the engine on the monotonic clock.
    pub(super) started_ms: i64,
    schedule: Mutex<Schedule>,
}

impl Engine {
    /// Returns an engine that [`Engine::run`] starts. `notifier` must be the instance that the
    /// writers of the queue use. `stop` ends it.
    pub fn new(
        context: Context,
        settings: EngineSettings,
        notifier: QueueNotifier,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let limits = Limits {
            sessions_max: settings.sessions_max,
            rates: settings.rates.clone(),
            pause_min: settings.schedule.delays.first().copied().unwrap_or(Duration::from_secs(60)),
            lanes_max: LANES_MAX,
        };
        Arc::new(Self {
            signing: SigningKeyCache::new(context.keyring.clone()),
            contents: BroadcastContentCache::default(),
            tracker: Tracker::new(&context.keyring, settings.links.settings()),
            return_paths: ReturnPaths::new(&context.keyring),
            problems: Problems::default(),
            leases: LeaseTracker::default(),
            message_memory: Arc::new(Semaphore::new(MESSAGE_MEMORY_KIB)),
            cpu: CpuTimes::default(),
            schedule: Mutex::new(Schedule::new(limits, settings.routes.table())),
            tasks: TaskTracker::new(),
            waiting_outcomes: AtomicUsize::new(0),
            stop,
            attempt_counts: SmtpAttemptCounts::default(),
            opening_counts: OpeningCounts::default(),
            queue_depth: Mutex::default(),
            host_writes: Arc::default(),
            started_ms: context.clock.elapsed_ms(),
            context,
            settings,
            notifier,
        })
    }

    /// Requeues the groups that nodes had leased which have ended, then delivers until the stop.
    ///
    /// Waits up to 30 seconds for running workers before it returns.
    ///
    /// # Errors
    /// [`StoreError`] if the queue cannot be read.
    pub async fn run(self: Arc<Self>) -> Result<(), StoreError> {
        let is_held = |(email, group)| self.leases.holds(email, group);
        let recovered = queue::recover(&self.context).await? + queue::recover_corrupt(&self.context, is_held).await?;
        if recovered > 0 {
            info!(groups = recovered, "requeued {recovered} deliveries that the last shutdown or crash interrupted");
        }
        if self.settings.flow == Flow::Held {
            self.stop.cancelled().await;
            return Ok(());
        }
        self.schedule().restart();
        let ended = Dispatcher::new(Arc::clone(&self)).run().await;
        self.tasks.close();
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, self.tasks.wait()).await.is_err() {
            warn!("shutdown interrupted some deliveries; the next start retries them");
        }
        let last_pauses = async {
            let _writing = self.host_writes.lock().await;
            host_store::store_changes(&self).await;
        };
        if tokio::time::timeout(PAUSES_TIMEOUT, last_pauses).await.is_err() {
            warn!("the last pauses of hosts were not stored; the next start tries these hosts once more");
        }
        self.cpu.log();
        ended
    }

    /// Stores the result of an attempt on a leased group, and notifies the dispatcher of the groups that returned to the
    /// queue. Returns whether it is stored.
    ///
    /// While the disk is full or failed, the outcome stays in memory and the write is repeated. The message is
    /// therefore not sent a second time. A stop makes the next try the last one. If the process ends before the outcome
    /// is stored, the next start requeues the group as a possible duplicate.
    pub(super) async fn settle(&self, settlement: Settlement) -> bool {
        self.attempt_counts.record(&settlement);
        let settlement = Arc::new(settlement);
        let mut waiting = None;
        loop {
            let is_last = self.is_stopping();
            match self.store_outcome(Arc::clone(&settlement)).await {
                Ok(requeued) => {
                    self.leases.settled(&settlement.claimed);
                    self.notifier.groups_queued(requeued);
                    if waiting.take().is_some() {
                        // Groups may be leased again.
                        self.notifier.wake();
                    }
                    return true;
                }
                Err(error) if error.is_outage() && !is_last => {
                    waiting.get_or_insert_with(|| WaitingOutcome::begin(&self.waiting_outcomes));
                    self.wait_for_store().await;
                }
                Err(error) => {
                    // The lease stays stored. A retry in this process would send the message again and again.
                    self.leases.settled(&settlement.claimed);
                    let email = settlement.claimed.key.email;
                    error!(%error, email.id = %email, "could not store the outcome of a delivery, which the next start repeats: {error}");
                    return false;
                }
            }
        }
    }

    async fn store_outcome(&self, settlement: Arc<Settlement>) -> Result<Vec<Due>, StoreError> {
        let (context, schedule) = (self.context.clone(), self.settings.schedule.clone());
        let record_refusal = self.settings.record_refusal;
        let store = move |tx: &WriteTx<'_>| {
            if let Some(refusal) = settlement.refusal.clone()
                && has_lease(tx, &context, &settlement.claimed)?
            {
                let Claimed { due, row, .. } = settlement.claimed.as_ref();
                record_refusal(tx, &context, due.team, row.domain, refusal)?;
            }
            settle(tx, &context, &schedule, &settlement)
        };
        self.context.store.write_bulk(store).await
    }

    /// Returns whether the engine is to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits until the store works again or the engine stops.
    pub(super) async fn wait_for_store(&self) {
        let available = async {
            self.context.store.available().await;
            tokio::time::sleep(OUTCOME_RETRY_PAUSE).await;
        };
        tokio::select! {
            () = available => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Returns whether groups may be leased for sessions: the store accepts commits, the disk has space for outcomes, and
    /// all outcomes are stored. Otherwise messages would be sent whose outcome is lost if the process ends.
    pub(super) fn can_lease(&self) -> bool {
        let store = &self.context.store;
        self.waiting_outcomes.load(Ordering::SeqCst) == 0 && store.is_available() && store.space() != Space::Exhausted
    }

    /// Returns the state of all sites, in no order. See [`SiteSnapshot`].
    pub fn sites(&self) -> Vec<SiteSnapshot> {
        self.schedule().sites(self.now())
    }

    /// Records the result of a claim in the schedule.
    pub(super) fn claimed(&self, taken: &Taken, rest: LaneRest, pace: LanePace) {
        let (mut schedule, now) = (self.schedule(), self.now());
        schedule.paced(taken.lane, pace, now);
        schedule.claimed(taken, rest, now);
    }

    pub(super) fn schedule(&self) -> MutexGuard<'_, Schedule> {
        sync::lock(&self.schedule)
    }

    pub(super) fn now(&self) -> Now {
        Now { wall_ms: self.context.now_ms(), elapsed_ms: self.context.clock.elapsed_ms() }
    }
}

/// An outcome in memory that the store has rejected.
struct WaitingOutcome<'a>(&'a AtomicUsize);

impl<'a> WaitingOutcome<'a> {
    fn begin(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for WaitingOutcome<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
pub(super) mod tests;
