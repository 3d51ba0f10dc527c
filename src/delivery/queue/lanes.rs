//! Reading the lanes of the queue.

use super::key::{Due, DueKey, LaneKey, QUEUE_END, QUEUE_START};
use super::stored_rows::{complete, rebuilt_row};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::delivery::rows::DueRow;
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::{DUE, LEASES};

/// Number of further due groups that a claim counts: `TAKE_MAX` for each of the 20 sessions of a smarthost. With more
/// sessions, each gets fewer groups of a long lane.
pub(in crate::delivery) const READY_COUNTED_MAX: usize = 160;
/// Number of groups that cannot be read with which a page of a scan ends. One transaction removes them. The replacement
/// of a corrupt row of a broadcast reads all teams.
pub(super) const UNREADABLE_MAX: usize = 50;

/// The first groups of a lane that are due, and what follows them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::delivery) struct LaneHead {
    /// Due groups in the order of their due times.
    pub(in crate::delivery) keys: Vec<DueKey>,
    /// The groups behind them.
    pub(in crate::delivery) rest: LaneRest,
}

/// The groups of a lane after those that were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::delivery) struct LaneRest {
    /// Number of further due groups, at most [`READY_COUNTED_MAX`].
    pub(in crate::delivery) ready: usize,
    /// Due time of the next group; `None` if the lane has no further group.
    pub(in crate::delivery) next_due_ms: Option<TimestampMs>,
}

impl LaneRest {
    /// Returns whether no further group is due than those that were counted.
    pub(in crate::delivery) fn is_exact(&self) -> bool {
        self.ready < READY_COUNTED_MAX
    }
}

/// Returns up to `groups_max` groups of a lane that are due at `now_ms`.
pub(in crate::delivery) fn read_head(
    tx: &impl Reads,
    lane: LaneKey,
    now_ms: TimestampMs,
    groups_max: usize,
) -> Result<LaneHead, StoreError> {
    let mut head = LaneHead::default();
    tx.scan(&DUE, &lane.from(0), &lane.last(), Order::Ascending, |key, _| {
        let key = DueKey::from_parts(key);
        if key.due_ms <= now_ms && head.keys.len() < groups_max {
            head.keys.push(key);
            return NEXT;
        }
        let rest = &mut head.rest;
        rest.next_due_ms = rest.next_due_ms.or(Some(key.due_ms));
        if key.due_ms > now_ms || rest.ready == READY_COUNTED_MAX {
            return STOP;
        }
        rest.ready += 1;
        NEXT
    })?;
    Ok(head)
}

/// Lanes that a scan found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::delivery) struct LanePage {
    /// Lanes, each by its first group that can be claimed.
    pub(in crate::delivery) lanes: Vec<Due>,
    /// Groups before them whose fields can neither be read nor rebuilt: the email is corrupt, deleted or erased, or no
    /// recipient waits. With [`UNREADABLE_MAX`] of them, the page ends, also within a lane.
    pub(in crate::delivery) unreadable: Vec<DueKey>,
    /// Whether the table has no further lane.
    pub(in crate::delivery) is_end: bool,
}

/// Returns up to `lanes_max` lanes after the lane `after`. Ends after [`UNREADABLE_MAX`] groups that cannot be read.
///
/// Reads the rows of each lane up to the first group that can be claimed, so that the cost does not depend on the
/// number of queued groups. A corrupt row is replaced as for a claim.
pub(in crate::delivery) fn scan_lanes(
    tx: &impl Reads,
    after: Option<LaneKey>,
    lanes_max: usize,
) -> Result<LanePage, StoreError> {
    let mut page = LanePage::default();
    let is_end = visit_lanes(tx, after, |key, row| {
        match row {
            Some(row) => page.lanes.push(Due::new(key, &row)),
            None => page.unreadable.push(key),
        }
        page.lanes.len() == lanes_max || page.unreadable.len() == UNREADABLE_MAX
    })?;
    Ok(LanePage { is_end, ..page })
}

/// Returns up to `lanes_max` lanes after the lane `after`, whatever the number of groups that cannot be read.
pub(in crate::delivery) fn read_lanes(
    tx: &impl Reads,
    after: Option<LaneKey>,
    lanes_max: usize,
) -> Result<Vec<Due>, StoreError> {
    let mut lanes = Vec::new();
    visit_lanes(tx, after, |key, row| {
        lanes.extend(row.map(|row| Due::new(key, &row)));
        lanes.len() == lanes_max
    })?;
    Ok(lanes)
}

/// Calls `visit` with groups of each lane after the lane `after`, until it returns `true`: with `None` for a group that
/// cannot be read, and at last with the row of the first group that can be claimed. Returns whether the table has no
/// further lane.
fn visit_lanes(
    tx: &impl Reads,
    after: Option<LaneKey>,
    mut visit: impl FnMut(DueKey, Option<DueRow>) -> bool,
) -> Result<bool, StoreError> {
    let mut from = after.map_or(QUEUE_START, LaneKey::last);
    loop {
        let (mut lane, mut is_stopped) = (None, false);
        tx.scan(&DUE, &from, &QUEUE_END, Order::Ascending, |key, stored| {
            let key = DueKey::from_parts(key);
            if *lane.get_or_insert(key.lane) != key.lane {
                return STOP;
            }
            let row = match stored.valid() {
                Some(row) => complete(tx, key, row)?,
                None => rebuilt_row(tx, key)?,
            };
            let is_found = row.is_some();
            is_stopped = visit(key, row);
            if is_found || is_stopped { STOP } else { NEXT }
        })?;
        if is_stopped {
            return Ok(false);
        }
        let Some(lane) = lane else { return Ok(true) };
        from = lane.last();
    }
}

/// Returns up to `rows_max` due groups of a lane after `after`, with their rows.
pub(in crate::delivery) fn read_rows(
    tx: &impl Reads,
    lane: LaneKey,
    after: Option<DueKey>,
    now_ms: TimestampMs,
    rows_max: usize,
) -> Result<Vec<(DueKey, DueRow)>, StoreError> {
    let mut rows = Vec::new();
    let from = after.map_or(lane.from(0), DueKey::parts);
    tx.scan_valid(&DUE, &from, &lane.last(), Order::Ascending, |key, row| {
        let key = DueKey::from_parts(key);
        if key.due_ms > now_ms {
            return STOP;
        }
        if Some(key) != after {
            rows.extend(complete(tx, key, row)?.map(|row| (key, row)));
        }
        if rows.len() == rows_max { STOP } else { NEXT }
    })?;
    Ok(rows)
}

/// Returns whether a group of a team is queued or in flight. A queued group that cannot be read does not count. Reads
/// one row of each lane, those before it that cannot be read, and the leases.
pub(crate) fn has_groups_of(tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
    let mut found = false;
    visit_lanes(tx, None, |_, row| {
        found = row.is_some_and(|row| row.team == team);
        found
    })?;
    if found {
        return Ok(true);
    }
    tx.scan_valid(&LEASES, &(EmailId::MIN, 0), &(EmailId::MAX, u16::MAX), Order::Ascending, |_, row| {
        found = row.due.team == team;
        if found { STOP } else { NEXT }
    })?;
    Ok(found)
}
