//! Queue rows of the stored emails of a broadcast.

use crate::base::clock::{CLOCK_STEP_MS, TimestampMs};
use crate::base::id::{BroadcastId, EmailId, TeamId};
use crate::delivery::{Class, Due, DueKey, DueRow, LaneKey};
use crate::emails::queue_keys::destination_of;
use crate::emails::store::BroadcastEmailRow;
use crate::emails::stored::count_corrupt;
use crate::store::{Encoded, NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::{BROADCAST_EMAILS, DUE};

/// Number of rows that one transaction reads, without requests beside it. Emails of other broadcasts of the team can be among
/// them.
const READ_MAX: usize = 5_000;

/// Emails of a broadcast that were put into the queue.
#[derive(Debug, Default)]
pub(crate) struct EnqueuedPage {
    /// First email that was not read; `None` at the end.
    pub(crate) next: Option<EmailId>,
    /// Their groups.
    pub(crate) due: Vec<Due>,
}

/// An email without a queue row.
struct Unqueued {
    row: BroadcastEmailRow,
    due: Due,
}

/// Puts up to `groups_max` waiting emails of a broadcast into the queue. `range` are the first email to read and the last
/// one of the broadcast. Emails that are in the queue stay as they are. A corrupt row counts as a failed email, so that the
/// broadcast can end.
pub(crate) fn enqueue_broadcast_page(
    tx: &WriteTx<'_>,
    team: TeamId,
    broadcast: BroadcastId,
    range: (EmailId, EmailId),
    groups_max: usize,
    now_ms: TimestampMs,
) -> Result<EnqueuedPage, StoreError> {
    let mut page = EnqueuedPage::default();
    let (mut unqueued, mut corrupt, mut read): (Vec<Unqueued>, Vec<EmailId>, _) = (Vec::new(), Vec::new(), 0);
    let read_max = tx.page_items(READ_MAX);
    tx.scan(&BROADCAST_EMAILS, &(team, range.0), &(team, range.1), Order::Ascending, |(_, id), stored| {
        if unqueued.len() == groups_max || read == read_max {
            page.next = Some(id);
            return STOP;
        }
        read += 1;
        let Some(row) = stored.valid() else {
            corrupt.push(id);
            return NEXT;
        };
        if row.broadcast == broadcast && row.wait_ms.is_some() {
            let due = group_of(team, id, &row);
            if !tx.contains(&DUE, &due.key.parts())? {
                unqueued.push(Unqueued { row, due });
            }
        }
        NEXT
    })?;
    for id in corrupt {
        count_corrupt(tx, team, broadcast, id, false, now_ms)?;
    }
    let due_row = Encoded::new(&DueRow::of_broadcast(team));
    // Rows of one lane are neighbours, so that the transaction changes fewer leaves of the table.
    unqueued.sort_unstable_by_key(|email| email.due.key);
    for Unqueued { mut row, mut due } in unqueued {
        let id = due.key.email;
        if let Some(wait_ms) = wait_after_step(id, &row, now_ms) {
            // The small row has no wait: it would follow from the id, which is ahead of the clock.
            due.key.due_ms = now_ms + wait_ms;
            row.wait_ms = Some(due.key.due_ms - id.created_ms());
            tx.put(&BROADCAST_EMAILS, &(team, id), &row)?;
            let whole = DueRow::fresh(team, due.destination.clone(), due.key.due_ms);
            let whole = DueRow { wait_ms: Some(wait_ms).filter(|wait_ms| *wait_ms > 0), ..whole };
            tx.put(&DUE, &due.key.parts(), &whole)?;
        } else {
            tx.put_encoded(&DUE, &due.key.parts(), &due_row)?;
        }
        page.due.push(due);
    }
    Ok(page)
}

/// Returns the wait of an email that was stored before the clock was set back. It begins again now. `None` without such a
/// step.
fn wait_after_step(id: EmailId, row: &BroadcastEmailRow, now_ms: TimestampMs) -> Option<i64> {
    let (ahead_ms, wait_ms) = (id.created_ms() - now_ms, row.wait_ms?);
    // The ids of a process never go back, so that an email can be due before its id.
    (ahead_ms > CLOCK_STEP_MS && wait_ms > -CLOCK_STEP_MS).then_some(wait_ms.max(0))
}

/// Returns the group of a waiting email.
pub(super) fn group_of(team: TeamId, id: EmailId, row: &BroadcastEmailRow) -> Due {
    let destination = destination_of(&row.recipient(id)).into_owned();
    let lane = LaneKey::new(&destination, Class::Broadcast, row.broadcast.cast());
    let due_ms = id.created_ms() + row.wait_ms.unwrap_or_default();
    Due { key: DueKey { lane, due_ms, email: id, group: 0 }, team, destination, vanished: false }
}
