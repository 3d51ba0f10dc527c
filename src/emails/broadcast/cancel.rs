//! Removal of the queued emails of a canceled broadcast.

use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, EmailId, TeamId};
use crate::emails::broadcast::enqueue::group_of;
use crate::emails::model::LastEvent;
use crate::emails::store::BroadcastEmailRow;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::{BROADCAST_EMAILS, DUE};

/// Number of emails that one transaction cancels, without requests beside it.
const CANCELED_MAX: usize = 500;
/// Number of rows that one transaction reads.
const READ_MAX: usize = 5_000;

/// Result of a page of cancellations.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CanceledPage {
    /// Last email that was read; `None` if no email follows.
    pub(crate) last: Option<EmailId>,
    /// Due times of the emails that were canceled.
    pub(crate) due_times: Vec<TimestampMs>,
}

/// Cancels the emails of a broadcast after `after` that wait without an attempt, up to a limit. `range` are the
/// first and the last email of the broadcast. The caller counts them.
pub(crate) fn cancel_broadcast_page(
    tx: &WriteTx<'_>,
    team: TeamId,
    broadcast: BroadcastId,
    range: (EmailId, EmailId),
    after: Option<EmailId>,
) -> Result<CanceledPage, StoreError> {
    let from = after.map_or(range.0, |after| after.max(range.0));
    let (mut queued, mut read): (Vec<(EmailId, BroadcastEmailRow)>, usize) = (Vec::new(), 0);
    let mut page = CanceledPage::default();
    let canceled_max = tx.page_items(CANCELED_MAX);
    tx.scan_valid(&BROADCAST_EMAILS, &(team, from), &(team, range.1), Order::Ascending, |(_, id), row| {
        if Some(id) == after {
            return NEXT;
        }
        read += 1;
        if row.broadcast == broadcast && row.wait_ms.is_some() && !row.is_attempted {
            queued.push((id, row));
        }
        if queued.len() < canceled_max && read < READ_MAX {
            return NEXT;
        }
        page.last = Some(id);
        STOP
    })?;
    for (id, row) in queued {
        let key = group_of(team, id, &row).key;
        tx.delete(&DUE, &key.parts())?;
        let canceled = BroadcastEmailRow { wait_ms: None, last_event: LastEvent::Canceled, ..row };
        tx.put(&BROADCAST_EMAILS, &(team, id), &canceled)?;
        page.due_times.push(key.due_ms);
    }
    Ok(page)
}
