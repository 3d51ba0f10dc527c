//! The two write queues: their bounds, and the selection of the next group of commands.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::StoreError;
use super::transaction::WriteTx;
use crate::base::boxed::Boxed;

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

/// Size of a large bulk command. A commit contains one of them at most, as its last command.
pub const LARGE_BULK_BYTES: usize = GROUP_BULK_BYTES_MAX;
/// Time after the answers to requests in which more requests are expected.
const FOREGROUND_FOLLOWS: Duration = Duration::from_millis(20);

/// The queue of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteQueue {
    /// Commands of requests, whose callers wait: accepts and all others.
    Foreground,
    /// Background work of this server: leases, outcomes, retention, imports.
    Bulk,
}

/// The closure of a caller, which may run more than once.
pub(super) type Command = Box<dyn Fn(&WriteTx<'_>) -> CommandResult + Send>;

/// Result of one run of a command.
pub(super) struct CommandResult {
    pub(super) is_ok: bool,
    /// The `Result` of the closure.
    pub(super) result: Boxed,
}

/// A command that has been queued, with its permit.
pub(super) struct QueuedCommand {
    command: Command,
    result: Option<Boxed>,
    answer: oneshot::Sender<Result<Boxed, StoreError>>,
    bytes: usize,
    /// Permit of the queue, released when the caller is answered.
    _permit: OwnedSemaphorePermit,
}

impl QueuedCommand {
    pub(super) fn new(
        command: Command,
        answer: oneshot::Sender<Result<Boxed, StoreError>>,
        bytes: usize,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { command, result: None, answer, bytes, _permit: permit }
    }

    /// Applies the command and keeps its result; `Err` if it was rejected or failed.
    pub(super) fn apply(&mut self, tx: &WriteTx<'_>) -> Result<(), ()> {
        let CommandResult { is_ok, result } = (self.command)(tx);
        self.result = Some(result);
        if is_ok { Ok(()) } else { Err(()) }
    }

    /// Sends the caller `failure`, or the result of `apply` if `failure` is `None`.
    pub(super) fn answer(self, failure: Option<StoreError>) {
        let answer = match failure {
            Some(failure) => Err(failure),
            None => self.result.ok_or(StoreError::Closed),
        };
        // The caller may have dropped its future. The commit stays.
        let _ = self.answer.send(answer);
    }
}

/// Both write queues.
#[derive(Default)]
pub(super) struct WriteQueues {
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
    /// Whether the last group had foreground commands.
    had_foreground: bool,
    /// Time of the answers to the last group with foreground commands.
    foreground_at: Option<Instant>,
}

impl WriteQueues {
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

    /// Does the same as [`WriteQueues::abandon`], until [`WriteQueues::resume`].
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

    /// Records that the callers of the last group have their answers.
    pub(super) fn answered(&mut self, now: Instant) {
        if self.had_foreground {
            self.foreground_at = Some(now);
        }
    }

    /// Returns whether further foreground commands are expected soon, because the last ones were answered a moment ago.
    pub(super) fn expects_foreground(&self, now: Instant) -> bool {
        self.foreground_at.is_some_and(|at| now.saturating_duration_since(at) < FOREGROUND_FOLLOWS)
    }

    /// Removes the commands of the next commit, foreground first. Beside foreground commands, a large bulk command,
    /// such as a page of a broadcast, is left for the commit after this one. So are the bulk commands behind it.
    /// Accepts that have waited for such a command therefore do not wait for a second one.
    pub(super) fn gather(&mut self) -> Vec<QueuedCommand> {
        let mut group = Vec::new();
        take_from(&mut self.foreground, GROUP_MAX, GROUP_BYTES_MAX, &mut group);
        self.had_foreground = !group.is_empty();
        let large = self.bulk.iter().take(GROUP_BULK_MAX).position(|command| command.bytes >= LARGE_BULK_BYTES);
        let left = large.filter(|_| self.had_foreground && !self.is_large_bulk_due);
        self.is_large_bulk_due = left.is_some();
        take_from(&mut self.bulk, left.unwrap_or(GROUP_BULK_MAX), GROUP_BULK_BYTES_MAX, &mut group);
        group
    }
}

/// Returns the number of commands that hold a permit of a queue.
pub(super) fn waiting(permits: &Semaphore) -> usize {
    WAITING_MAX.saturating_sub(permits.available_permits())
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::clock::monotonic;

    const LARGE: usize = LARGE_BULK_BYTES;

    fn push(queues: &mut WriteQueues, queue: WriteQueue, bytes: usize) {
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("the permit is free");
        let command = Box::new(|_: &WriteTx<'_>| CommandResult { is_ok: true, result: Box::new(()) });
        let queued = QueuedCommand::new(command, oneshot::channel().0, bytes, permit);
        queues.push(queue, queued).expect("the queues are open");
    }

    /// Returns the sizes of the commands of the next group.
    fn gathered(queues: &mut WriteQueues) -> Vec<usize> {
        queues.gather().iter().map(|command| command.bytes).collect()
    }

    #[test]
    fn a_large_bulk_command_is_left_for_every_second_group_of_accepts() {
        let mut queues = WriteQueues::default();
        for bytes in [1, 2, LARGE, 3, LARGE + 1] {
            push(&mut queues, WriteQueue::Bulk, bytes);
        }
        let mut groups = Vec::new();
        for accept in 100..105 {
            push(&mut queues, WriteQueue::Foreground, accept);
            groups.push(gathered(&mut queues));
        }

        assert_eq!(groups, [vec![100, 1, 2], vec![101, LARGE], vec![102, 3], vec![103, LARGE + 1], vec![104]]);
    }

    #[test]
    fn a_large_bulk_command_is_not_left_without_accepts() {
        let mut queues = WriteQueues::default();
        for bytes in [1, LARGE, LARGE] {
            push(&mut queues, WriteQueue::Bulk, bytes);
        }

        assert_eq!([gathered(&mut queues), gathered(&mut queues)], [vec![1, LARGE], vec![LARGE]]);
    }

    #[test]
    fn requests_are_expected_for_a_moment_after_the_answers_to_others() {
        let (began, mut queues) = (monotonic(), WriteQueues::default());
        let after_ms = |ms| began + Duration::from_millis(ms);
        push(&mut queues, WriteQueue::Bulk, 1);
        queues.gather();
        queues.answered(began);
        assert!(!queues.expects_foreground(began), "no request");

        push(&mut queues, WriteQueue::Foreground, 1);
        queues.gather();
        assert!(!queues.expects_foreground(began), "not answered");
        // The commit took 30 ms.
        queues.answered(after_ms(30));
        push(&mut queues, WriteQueue::Bulk, 1);
        queues.gather();
        queues.answered(after_ms(40));

        let expects = [30, 49, 50, 90].map(|ms| queues.expects_foreground(after_ms(ms)));
        assert_eq!(expects, [true, true, false, false]);
    }
}
