//! The two write queues: their bounds, and the selection of the next group of commands.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::StoreError;
use super::transaction::WriteTx;
use crate::base::clock::monotonic;

/// Commands per queue. At one commit per millisecond, a full queue is a few tenths of a second of
/// work. A longer queue would hide an overload from callers.
pub const WAITING_MAX: usize = 4_096;
/// Maximum number of foreground commands in one commit.
const GROUP_MAX: usize = 512;
/// Maximum number of bulk commands in one commit. Small, because accepts wait for them.
const GROUP_BULK_MAX: usize = 64;
/// Payload bytes of foreground commands after which a commit takes no further one.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// Payload bytes of bulk commands after which a commit takes no further one. Counted separately, because
/// outcomes of deliveries must be stored even while large accepts fill every commit.
const GROUP_BULK_BYTES_MAX: usize = 1 << 20;

/// Time after commands of requests in which more are expected.
const FOREGROUND_FOLLOWS: Duration = Duration::from_millis(20);

/// The queue of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteQueue {
    /// Commands of requests, whose callers wait: accepts and all others.
    Foreground,
    /// Background work of this server: leases, outcomes, retention, imports.
    Bulk,
}

/// A command that has been queued.
pub(super) trait Command: Send {
    /// Applies the command and keeps its result; `Err` if it was rejected or failed.
    fn apply(&mut self, tx: &WriteTx<'_>) -> Result<(), ()>;
    /// Sends the caller `failure`, or the result of `apply` if `failure` is `None`.
    fn answer(self: Box<Self>, failure: Option<StoreError>);
}

/// A command with its permit.
pub(super) struct QueuedCommand {
    pub(super) command: Box<dyn Command>,
    bytes: usize,
    /// Permit of the queue, released when the caller is answered.
    _permit: OwnedSemaphorePermit,
}

impl QueuedCommand {
    pub(super) fn new(command: Box<dyn Command>, bytes: usize, permit: OwnedSemaphorePermit) -> Self {
        Self { command, bytes, _permit: permit }
    }
}

/// The closure of a caller, with its result.
pub(super) struct Typed<F, T, E> {
    work: F,
    outcome: Option<Result<T, E>>,
    answer: oneshot::Sender<Result<T, E>>,
}

impl<F, T, E> Typed<F, T, E> {
    pub(super) fn new(work: F, answer: oneshot::Sender<Result<T, E>>) -> Self {
        Self { work, outcome: None, answer }
    }
}

impl<F, T, E> Command for Typed<F, T, E>
where
    F: Fn(&WriteTx<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn apply(&mut self, tx: &WriteTx<'_>) -> Result<(), ()> {
        let outcome = (self.work)(tx);
        let applied = if outcome.is_ok() { Ok(()) } else { Err(()) };
        self.outcome = Some(outcome);
        applied
    }

    fn answer(self: Box<Self>, failure: Option<StoreError>) {
        let outcome = match (failure, self.outcome) {
            (Some(failure), _) => Err(failure.into()),
            (None, Some(outcome)) => outcome,
            (None, None) => Err(StoreError::Closed.into()),
        };
        // The caller may have dropped its future. The commit stays.
        let _ = self.answer.send(outcome);
    }
}

/// Both write queues.
#[derive(Default)]
pub(super) struct Queues {
    foreground: VecDeque<QueuedCommand>,
    bulk: VecDeque<QueuedCommand>,
    /// Error for later commands, once the queues are closed.
    closed: Option<StoreError>,
    /// Whether the file is being opened again.
    is_suspended: bool,
    /// Whether a read found that the engine failed.
    has_failed: bool,
    /// Whether the next group takes a large bulk command, because the last one did not.
    is_large_bulk_due: bool,
    /// Time of the last group with foreground commands.
    foreground_at: Option<Instant>,
}

impl Queues {
    /// Queues a command.
    ///
    /// # Errors
    /// The reason of the closing, if the queues are closed; [`StoreError::Unavailable`] if they are suspended.
    pub(super) fn push(&mut self, queue: WriteQueue, command: QueuedCommand) -> Result<(), StoreError> {
        if let Some(why) = &self.closed {
            return Err(why.clone());
        }
        if self.is_suspended {
            return Err(StoreError::Unavailable);
        }
        match queue {
            WriteQueue::Foreground => self.foreground.push_back(command),
            WriteQueue::Bulk => self.bulk.push_back(command),
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.foreground.is_empty() && self.bulk.is_empty()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Rejects later commands. Queued commands are still applied.
    pub(super) fn close(&mut self) {
        self.closed.get_or_insert(StoreError::Closed);
    }

    /// Rejects later commands and removes the queued ones, which have not been applied.
    pub(super) fn abandon(&mut self, why: &StoreError) -> Vec<QueuedCommand> {
        self.closed = Some(why.clone());
        self.drain()
    }

    /// As [`Queues::abandon`], until [`Queues::resume`].
    pub(super) fn suspend(&mut self) -> Vec<QueuedCommand> {
        self.is_suspended = true;
        self.drain()
    }

    /// Accepts commands again.
    pub(super) fn resume(&mut self) {
        (self.is_suspended, self.has_failed) = (false, false);
    }

    /// Records that a read found a failure of the engine.
    pub(super) fn report_failure(&mut self) {
        self.has_failed = true;
    }

    /// Returns whether a read found a failure of the engine since the file was opened.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn drain(&mut self) -> Vec<QueuedCommand> {
        self.foreground.drain(..).chain(self.bulk.drain(..)).collect()
    }

    /// Returns whether further foreground commands are expected soon, because the last ones were taken a moment ago.
    pub(super) fn expects_foreground(&self) -> bool {
        self.foreground_at.is_some_and(|at| at.elapsed() < FOREGROUND_FOLLOWS)
    }

    /// Removes the commands of the next commit, foreground first. A large bulk command, such as a page of a broadcast, is
    /// left for the commit after it: accepts that have waited for such a command do not wait for a second one.
    pub(super) fn gather(&mut self) -> Vec<QueuedCommand> {
        let mut group = Vec::new();
        take_from(&mut self.foreground, GROUP_MAX, GROUP_BYTES_MAX, &mut group);
        if !group.is_empty() {
            self.foreground_at = Some(monotonic());
        }
        let is_large = self.bulk.front().is_some_and(|command| command.bytes >= GROUP_BULK_BYTES_MAX);
        self.is_large_bulk_due = is_large && !group.is_empty() && !self.is_large_bulk_due;
        if self.is_large_bulk_due {
            return group;
        }
        take_from(&mut self.bulk, GROUP_BULK_MAX, GROUP_BULK_BYTES_MAX, &mut group);
        group
    }
}

/// Moves commands to `group` until one of the limits is reached. The first command is moved whatever
/// its size.
fn take_from(
    queue: &mut VecDeque<QueuedCommand>,
    commands_max: usize,
    bytes_max: usize,
    group: &mut Vec<QueuedCommand>,
) {
    let mut bytes = 0;
    for _ in 0..commands_max {
        if bytes >= bytes_max {
            return;
        }
        let Some(command) = queue.pop_front() else { return };
        bytes += command.bytes;
        group.push(command);
    }
}
