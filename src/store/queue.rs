//! Commands that wait for the writer: two lanes, their bounds, and how a group is taken from them.

use std::collections::VecDeque;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::StoreError;
use super::transaction::WriteTx;

/// Commands that may wait per lane. At the pace of one commit per millisecond a full lane is a
/// few tenths of a second of work; more would only hide an overload from callers.
pub const WAITING_MAX: usize = 4_096;
/// Foreground commands in one commit.
const GROUP_MAX: usize = 512;
/// Bulk commands that ride along in one commit, so that an accept never waits long behind them.
const GROUP_BULK_MAX: usize = 64;
/// Payload bytes of foreground commands in one commit.
const GROUP_BYTES_MAX: usize = 4 << 20;
/// Payload bytes of bulk commands in one commit. They are counted on their own: a steady stream of
/// large accepts would leave them no room, and outcomes must reach the disk under any load.
const GROUP_BULK_BYTES_MAX: usize = 1 << 20;

/// Which queue a command waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteQueue {
    /// Somebody waits for the answer: accepts and every other request.
    Foreground,
    /// Work of our own: leases, outcomes, retention, imports.
    Bulk,
}

/// A command that has been queued.
pub(super) trait Command: Send {
    /// Applies the command; `Err` when it refused or failed, and the answer is kept inside.
    fn apply(&mut self, tx: &WriteTx<'_>) -> Result<(), ()>;
    /// Answers the caller: with the outcome of `apply` after the commit, or with `failure`.
    fn answer(self: Box<Self>, failure: Option<StoreError>);
}

/// A command in its place.
pub(super) struct QueuedCommand {
    pub(super) command: Box<dyn Command>,
    bytes: usize,
    /// Frees the command's place in the lane once it is answered.
    _place: OwnedSemaphorePermit,
}

impl QueuedCommand {
    pub(super) fn new(command: Box<dyn Command>, bytes: usize, place: OwnedSemaphorePermit) -> Self {
        Self { command, bytes, _place: place }
    }
}

/// The command of a caller, with what it answered.
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
        // The caller may have gone away; what was committed stays committed.
        let _ = self.answer.send(outcome);
    }
}

/// The two lanes.
#[derive(Default)]
pub(super) struct Queues {
    foreground: VecDeque<QueuedCommand>,
    bulk: VecDeque<QueuedCommand>,
    /// Why nothing is queued any more.
    closed: Option<StoreError>,
}

impl Queues {
    /// Queues a command.
    ///
    /// # Errors
    /// Why nothing is queued any more.
    pub(super) fn push(&mut self, lane: WriteQueue, waiting: QueuedCommand) -> Result<(), StoreError> {
        if let Some(why) = &self.closed {
            return Err(why.clone());
        }
        match lane {
            WriteQueue::Foreground => self.foreground.push_back(waiting),
            WriteQueue::Bulk => self.bulk.push_back(waiting),
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.foreground.is_empty() && self.bulk.is_empty()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Queues nothing any more; what waits is still taken.
    pub(super) fn close(&mut self) {
        self.closed.get_or_insert(StoreError::Closed);
    }

    /// Queues nothing any more, and returns what waits unapplied.
    pub(super) fn abandon(&mut self, why: &StoreError) -> Vec<QueuedCommand> {
        self.closed = Some(why.clone());
        self.foreground.drain(..).chain(self.bulk.drain(..)).collect()
    }

    /// Takes the next group, foreground first.
    pub(super) fn gather(&mut self) -> Vec<QueuedCommand> {
        let mut group = Vec::new();
        take_from(&mut self.foreground, GROUP_MAX, GROUP_BYTES_MAX, &mut group);
        take_from(&mut self.bulk, GROUP_BULK_MAX, GROUP_BULK_BYTES_MAX, &mut group);
        group
    }
}

/// Moves commands into the group until one of the limits is reached. The first is always taken,
/// whatever its size.
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
        let Some(waiting) = queue.pop_front() else { return };
        bytes += waiting.bytes;
        group.push(waiting);
    }
}
