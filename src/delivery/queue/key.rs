//! Keys of the queue: lanes and groups.

use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, Id, StreamId, TeamId};
use crate::delivery::rows::{Class, DueRow};
use crate::store::name_hash;

/// First half of the SHA-256 of a destination. A stranger cannot find a domain with the hash of another one.
pub(crate) type DestinationHash = [u8; 16];

/// Key of a queue row: destination, class, stream, due time, email, recipient group.
pub(crate) type QueueKey = (DestinationHash, u8, StreamId, u64, EmailId, u16);

/// First key of the queue.
pub(crate) const QUEUE_START: QueueKey = ([0; 16], 0, Id::MIN, 0, Id::MIN, 0);
/// Highest possible key of the queue.
pub(crate) const QUEUE_END: QueueKey = ([u8::MAX; 16], u8::MAX, Id::MAX, u64::MAX, Id::MAX, u16::MAX);

/// A lane: the queued groups of one destination, class and stream, in the order of their due times.
///
/// Lanes are separate ranges of the table, so that a destination without a working server costs nothing to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LaneKey {
    pub(crate) destination: DestinationHash,
    pub(crate) class: Class,
    /// Team of transactional email, or broadcast.
    pub(crate) stream: StreamId,
}

impl LaneKey {
    /// Returns the lane of a destination: a domain in lower-case A-labels, or the name of the simulated recipients.
    pub(crate) fn new(destination: &str, class: Class, stream: StreamId) -> Self {
        Self { destination: destination_hash(destination), class, stream }
    }

    /// Returns the key of the first group that is due at `due_ms` or later.
    pub(super) fn from(self, due_ms: TimestampMs) -> QueueKey {
        DueKey { lane: self, due_ms, email: EmailId::MIN, group: 0 }.parts()
    }

    /// Returns the highest possible key of the lane.
    pub(in crate::delivery) fn last(self) -> QueueKey {
        DueKey { lane: self, due_ms: i64::MAX, email: EmailId::MAX, group: u16::MAX }.parts()
    }
}

/// Returns the hash of a destination.
pub(in crate::delivery) fn destination_hash(name: &str) -> DestinationHash {
    let hash = name_hash(name);
    std::array::from_fn(|index| hash[index])
}

/// Key of a recipient group in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DueKey {
    pub(crate) lane: LaneKey,
    pub(crate) due_ms: TimestampMs,
    pub(crate) email: EmailId,
    pub(crate) group: u16,
}

impl DueKey {
    /// Returns the key in the table.
    pub(crate) fn parts(self) -> QueueKey {
        let LaneKey { destination, class, stream } = self.lane;
        let due_ms = u64::try_from(self.due_ms).unwrap_or(0);
        (destination, class.number(), stream, due_ms, self.email, self.group)
    }

    pub(in crate::delivery) fn from_parts((destination, class, stream, due_ms, email, group): QueueKey) -> Self {
        let due_ms = i64::try_from(due_ms).unwrap_or(i64::MAX);
        Self { lane: LaneKey { destination, class: Class::from_number(class), stream }, due_ms, email, group }
    }
}

/// The fields of a queued recipient group that the dispatcher needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub(crate) key: DueKey,
    pub(crate) team: TeamId,
    /// The recipients' domain.
    pub(crate) destination: String,
    /// Whether the destination did not exist at the last lookup. The next lookup bypasses the cache.
    pub(crate) vanished: bool,
}

impl Due {
    /// Returns the group with this key and row.
    pub(crate) fn new(key: DueKey, row: &DueRow) -> Self {
        Self { key, team: row.team, destination: row.destination.clone(), vanished: row.vanished_ms.is_some() }
    }
}
