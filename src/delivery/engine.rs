//! The engine: what the dispatcher and its session tasks share, and their start and end.
//!
//! One dispatcher task (`dispatcher.rs`) decides; session tasks (`worker.rs`) do. The table is the
//! queue; what is in memory is a part of it that is about to go, and is found there again after any
//! stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

use super::dispatcher::Dispatcher;
use super::lane::{Lanes, Refill};
use super::leases::LeaseTracker;
use super::notifier::QueueNotifier;
use super::queue::{self, DueKey};
use super::retry::RetrySchedule;
use super::return_path::ReturnPaths;
use super::settle::{Settlement, settle};
use super::smtp::{Timeouts, TlsConfigs};
use super::transport::Transport;
use crate::context::Context;
use crate::domains::SigningKeyCache;
use crate::emails::EmailRow;
use crate::preferences::Links;
use crate::store::StoreError;

/// Memory for the messages that are being composed and sent, in KiB.
pub(super) const MESSAGE_ROOM_KIB: usize = 256 << 10;
/// How long a stop waits for conversations that have passed DATA.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// How the engine delivers.
#[derive(Clone)]
pub struct EngineSettings {
    /// The EHLO name.
    pub hostname: String,
    /// Where mail goes.
    pub transport: Transport,
    /// When what was deferred is tried again.
    pub schedule: RetrySchedule,
    /// Sessions at once, over all sites.
    pub sessions_max: usize,
    /// Sessions at once with one site.
    pub sessions_per_site: usize,
    /// How long each step of a conversation may take.
    pub timeouts: Timeouts,
    /// Certificates trusted beside the public ones.
    pub tls: TlsConfigs,
    /// Whether anything is delivered at all.
    pub flow: Flow,
    /// Makes the unsubscribe links of emails under a topic.
    pub links: Links,
}

/// Whether the queue is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It is.
    Open,
    /// Mail is accepted and kept; nothing leaves.
    Held,
}

/// The delivery engine.
pub struct Engine {
    pub(super) context: Context,
    pub(super) settings: EngineSettings,
    pub(super) bell: QueueNotifier,
    pub(super) signing: SigningKeyCache,
    pub(super) return_paths: ReturnPaths,
    /// Leases of this boot and who holds them.
    pub(super) held: LeaseTracker,
    /// Room for the messages under way, in KiB.
    pub(super) message_room: Arc<Semaphore>,
    /// A place for each session, over all sites.
    pub(super) sessions: Arc<Semaphore>,
    /// Sessions, and what is settled without one.
    pub(super) tasks: TaskTracker,
    lanes: Mutex<Lanes>,
}

impl Engine {
    /// Returns an engine over the queue; [`Engine::run`] starts it.
    pub fn new(context: Context, settings: EngineSettings, bell: QueueNotifier) -> Arc<Self> {
        let rest_min = settings.schedule.delays.first().copied().unwrap_or(Duration::from_secs(60));
        Arc::new(Self {
            signing: SigningKeyCache::new(context.keyring.clone()),
            return_paths: ReturnPaths::new(&context.keyring),
            held: LeaseTracker::default(),
            message_room: Arc::new(Semaphore::new(MESSAGE_ROOM_KIB)),
            lanes: Mutex::new(Lanes::new(settings.sessions_per_site, rest_min)),
            sessions: Arc::new(Semaphore::new(settings.sessions_max)),
            tasks: TaskTracker::new(),
            context,
            settings,
            bell,
        })
    }

    /// Delivers until `stop`, then lets the conversations under way come to their end.
    ///
    /// # Errors
    /// [`StoreError`] when the queue cannot be read.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        let recovered = queue::recover(&self.context).await?;
        if recovered > 0 {
            info!(groups = recovered, "took up {recovered} deliveries that the last stop had cut off");
        }
        if self.settings.flow == Flow::Held {
            stop.cancelled().await;
            return Ok(());
        }
        // A dispatcher that failed has taken what it knew with it.
        self.lanes().forget_orphans();
        let ended = Dispatcher::new(Arc::clone(&self), stop).run().await;
        self.tasks.close();
        if tokio::time::timeout(STOP_WITHIN, self.tasks.wait()).await.is_err() {
            warn!("some deliveries were cut off by the stop; they are tried again after the next start");
        }
        ended
    }

    /// Waits until there is memory for the message of an email, and keeps it for as long as the
    /// answer lives. A message takes its attachments sealed, opened and in base64.
    pub(super) async fn reserve_message_room(&self, row: &EmailRow) -> Option<OwnedSemaphorePermit> {
        let files: u64 = row.attachments.iter().map(|file| file.size).sum();
        let kib = usize::try_from(files / 256 + 64).unwrap_or(MESSAGE_ROOM_KIB).min(MESSAGE_ROOM_KIB);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX);
        Arc::clone(&self.message_room).acquire_many_owned(kib).await.ok()
    }

    /// Stores what an attempt on a leased group came to, and rings for what went back into the queue.
    pub(super) async fn settle(&self, settlement: Settlement) {
        let (context, schedule) = (self.context.clone(), self.settings.schedule.clone());
        let claimed = Arc::clone(&settlement.claimed);
        let settled =
            self.context.store.write_bulk::<_, StoreError>(move |tx| settle(tx, &context, &schedule, &settlement));
        match settled.await {
            Ok(requeued) => {
                self.held.settled(&claimed);
                self.bell.groups_queued(requeued);
            }
            // The lease stays; the reconciliation puts it back as a possible duplicate.
            Err(error) => {
                self.held.abandon(&claimed);
                error!(%error, "the outcome of a delivery could not be stored: {error}");
            }
        }
    }

    /// Forgets groups that have left memory, and has the table read again when that made room.
    pub(super) fn forget(&self, keys: &[DueKey]) {
        if self.lanes().forget(keys) == Refill::Needed {
            self.bell.wake();
        }
    }

    pub(super) fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
