//! Pages of the emails of a broadcast, newest first.

use crate::base::clock::monotonic;
use crate::base::id::{BroadcastId, EmailId, TeamId};
use crate::broadcasts::{self, BroadcastOutcome};
use crate::emails::store::{BroadcastEmailRow, EmailRow, StoredMailbox};
use crate::store::page::{Cursor, Page, PageError, PageQuery};
use crate::store::{NEXT, Order, ReadBounds, Reads, STOP, StoreError, was_listed};
use crate::tables::{BROADCAST_EMAILS, BROADCAST_OUTCOMES};

/// Emails of a broadcast that a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroadcastEmailList {
    /// Every email.
    All,
    /// Emails that the delivery engine has claimed.
    Attempted,
    /// Emails that a person opened.
    Opened,
    /// Emails with a link that a person followed.
    Clicked,
    /// Emails with a counted opt-out.
    Unsubscribed,
    /// Emails with one outcome. Those of a rare outcome are read from an index.
    Outcome(BroadcastOutcome),
}

impl BroadcastEmailList {
    fn includes(self, row: &BroadcastEmailRow) -> bool {
        match self {
            Self::All => true,
            Self::Attempted => row.is_attempted,
            Self::Opened => row.is_opened,
            Self::Clicked => row.is_clicked,
            Self::Unsubscribed => row.unsubscribed_ms.is_some(),
            Self::Outcome(outcome) => BroadcastOutcome::of(row.last_event) == outcome,
        }
    }
}

/// A page of emails that is read in steps. Each step is a short read transaction, so that a list with few emails of a large
/// broadcast does not occupy the store.
#[derive(Debug, Default)]
pub struct BroadcastEmailScan {
    rows: Vec<(EmailId, EmailRow)>,
    has_more: bool,
    /// Last email that was read.
    position: Option<EmailId>,
    /// Whether the page is complete.
    pub is_complete: bool,
}

impl BroadcastEmailScan {
    /// Returns the complete page.
    pub fn into_page(mut self) -> Page<(EmailId, EmailRow)> {
        self.rows.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        Page { rows: self.rows, has_more: self.has_more }
    }
}

/// Reads the next step of a page of the emails of a broadcast, newest first. `keep` selects among their addresses. A step
/// ends at [`ReadBounds::REQUEST`].
///
/// A cursor is any email of the broadcast, or an email that was removed in the last 24 hours.
///
/// # Errors
/// [`PageError::UnknownCursor`]; [`StoreError`].
pub fn broadcast_emails_step(
    tx: &impl Reads,
    team: TeamId,
    broadcast: BroadcastId,
    list: BroadcastEmailList,
    query: PageQuery<EmailId>,
    mut scan: BroadcastEmailScan,
    keep: impl Fn(EmailId, &StoredMailbox) -> Result<bool, StoreError>,
) -> Result<BroadcastEmailScan, PageError> {
    let cursor = match query.cursor {
        Cursor::Newest => None,
        Cursor::After(id) | Cursor::Before(id) => Some(id),
    };
    if scan.position.is_none()
        && let Some(id) = cursor
    {
        let is_listed = match tx.get(&BROADCAST_EMAILS, &(team, id))? {
            Some(row) => row.broadcast == broadcast,
            None => was_listed(tx, &BROADCAST_EMAILS, &(team, id))?,
        };
        if !is_listed {
            return Err(PageError::UnknownCursor);
        }
    }
    scan.is_complete = true;
    let Some((first, last)) = broadcasts::read_counts(tx, broadcast)?.range else { return Ok(scan) };
    let end = scan.position.or(cursor);
    let (from, to, order) = match query.cursor {
        Cursor::Newest | Cursor::After(_) => (first, end.map_or(last, |id| last.min(id)), Order::Descending),
        Cursor::Before(_) => (end.map_or(first, |id| first.max(id)), last, Order::Ascending),
    };
    let shared = broadcasts::find_valid(tx, team, broadcast)?;
    let (mut read, started) = (0, monotonic());
    let mut visit = |id: EmailId, row: BroadcastEmailRow| {
        if end == Some(id) {
            return NEXT;
        }
        if ReadBounds::REQUEST.are_reached(read, started) {
            scan.is_complete = false;
            return STOP;
        }
        read += 1;
        scan.position = Some(id);
        let is_listed = row.broadcast == broadcast && !row.hidden && list.includes(&row);
        if !is_listed || !keep(id, &row.mailbox)? {
            return NEXT;
        }
        if scan.rows.len() == query.limit {
            scan.has_more = true;
            return STOP;
        }
        scan.rows.push((id, row.join(id, shared.as_ref())));
        NEXT
    };
    match list {
        BroadcastEmailList::Outcome(outcome) if outcome.is_rare() => {
            let key = |id: EmailId| (broadcast, outcome.number(), id);
            tx.scan(&BROADCAST_OUTCOMES, &key(from), &key(to), order, |(_, _, id), _| {
                match tx.get_valid(&BROADCAST_EMAILS, &(team, id))? {
                    Some(row) => visit(id, row),
                    None => NEXT,
                }
            })?;
        }
        BroadcastEmailList::All
        | BroadcastEmailList::Attempted
        | BroadcastEmailList::Opened
        | BroadcastEmailList::Clicked
        | BroadcastEmailList::Unsubscribed
        | BroadcastEmailList::Outcome(_) => {
            tx.scan_valid(&BROADCAST_EMAILS, &(team, from), &(team, to), order, |(_, id), row| visit(id, row))?;
        }
    }
    Ok(scan)
}
