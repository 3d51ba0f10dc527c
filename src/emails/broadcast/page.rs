//! Pages of the emails of a broadcast, newest first.

use crate::base::address::StoredMailbox;
use crate::base::clock::monotonic;
use crate::base::id::{BroadcastId, EmailId, TeamId};
use crate::broadcast_rows::{self, BroadcastOutcome};
use crate::emails::store::{BroadcastEmailRow, EmailRow};
use crate::store::page::{Cursor, Page, PageError, PageQuery};
use crate::store::{NEXT, Order, Reads, STOP, ScanLimit, StoreError, was_listed};
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
    /// Emails with one outcome.
    Outcome(BroadcastOutcome),
}

impl BroadcastEmailList {
    /// The lists that an index has. The others have most emails of a broadcast, so that the table of the emails is read.
    pub(in crate::emails) const INDEXED: [Self; 7] = [
        Self::Outcome(BroadcastOutcome::Bounced),
        Self::Outcome(BroadcastOutcome::Complained),
        Self::Outcome(BroadcastOutcome::Suppressed),
        Self::Outcome(BroadcastOutcome::Failed),
        Self::Opened,
        Self::Clicked,
        Self::Unsubscribed,
    ];

    /// Returns the number of the list in the keys of the index, which never changes; `None` if no index has the list.
    pub(in crate::emails) fn index_number(self) -> Option<u8> {
        match self {
            Self::All | Self::Attempted => None,
            Self::Outcome(outcome) => outcome.is_rare().then(|| outcome.number()),
            // After the numbers of the outcomes.
            Self::Opened => Some(8),
            Self::Clicked => Some(9),
            Self::Unsubscribed => Some(10),
        }
    }

    /// Returns whether only emails that the delivery engine has claimed are in the list.
    fn is_attempted(self) -> bool {
        match self {
            Self::Attempted => true,
            Self::Outcome(outcome) => outcome.is_attempted(),
            Self::All | Self::Opened | Self::Clicked | Self::Unsubscribed => false,
        }
    }

    /// Returns whether the list has an email.
    pub(in crate::emails) fn includes(self, row: &BroadcastEmailRow) -> bool {
        match self {
            Self::All => true,
            Self::Attempted => row.is_attempted,
            Self::Opened => row.is_opened,
            Self::Clicked => row.is_clicked,
            Self::Unsubscribed => row.unsubscribed_ms.is_some(),
            Self::Outcome(outcome) => BroadcastOutcome::from(row.last_event) == outcome,
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
/// ends at [`ScanLimit::REQUEST`].
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
    let counts = broadcast_rows::read_counts(tx, broadcast)?;
    let Some((first, newest)) = counts.range else { return Ok(scan) };
    if list.is_attempted() && counts.attempted == 0 {
        return Ok(scan);
    }
    // The emails after the last claimed one wait in the queue, which can be most of a broadcast that is being sent.
    let last = counts.last_attempted.filter(|_| list.is_attempted()).unwrap_or(newest);
    let end = scan.position.or(cursor);
    let (from, to, order) = match query.cursor {
        Cursor::Newest | Cursor::After(_) => (first, end.map_or(last, |id| last.min(id)), Order::Descending),
        Cursor::Before(_) => (end.map_or(first, |id| first.max(id)), last, Order::Ascending),
    };
    let shared = broadcast_rows::find_valid(tx, team, broadcast)?;
    let (mut read, started) = (0, monotonic());
    let mut visit = |id: EmailId, row: BroadcastEmailRow| {
        if end == Some(id) {
            return NEXT;
        }
        if ScanLimit::REQUEST.is_reached(read, started) {
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
    match list.index_number() {
        Some(number) => {
            let key = |id: EmailId| (broadcast, number, id);
            tx.scan(&BROADCAST_OUTCOMES, &key(from), &key(to), order, |(_, _, id), _| {
                match tx.get_valid(&BROADCAST_EMAILS, &(team, id))? {
                    Some(row) => visit(id, row),
                    None => NEXT,
                }
            })?;
        }
        None => {
            tx.scan_valid(&BROADCAST_EMAILS, &(team, from), &(team, to), order, |(_, id), row| visit(id, row))?;
        }
    }
    Ok(scan)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::id::Id;
    use crate::broadcast_rows::BroadcastCountsRow;
    use crate::context::Context;
    use crate::store::{ReadTx, WriteTx};
    use crate::tables::BROADCAST_COUNTS;

    const TEAM: TeamId = Id::MIN;

    /// Reads the first step of a list.
    fn step(context: &Context, broadcast: BroadcastId, list: BroadcastEmailList) -> BroadcastEmailScan {
        let query = PageQuery { cursor: Cursor::Newest, limit: 20 };
        let read = |tx: &ReadTx| {
            let scan = BroadcastEmailScan::default();
            broadcast_emails_step(tx, TEAM, broadcast, list, query, scan, |_, _| Ok(true))
        };
        context.store.read_now::<_, PageError>(read).unwrap()
    }

    #[tokio::test]
    async fn the_list_of_attempted_emails_ends_at_the_last_claimed_one() {
        let (_directory, context) = Context::temporary();
        let (broadcast, ids): (BroadcastId, Vec<EmailId>) = (context.id(), (0..4).map(|_| context.id()).collect());
        let stored = ids.clone();
        let put = move |tx: &WriteTx<'_>| {
            for id in &stored {
                let row = json!({ "b": broadcast, "c": Id::<()>::MAX, "a": "ada@example.net", "e": "sent", "t": true });
                tx.put(&BROADCAST_EMAILS, &(TEAM, *id), &serde_json::from_value(row).unwrap())?;
            }
            let (range, last_attempted) = (Some((stored[0], stored[3])), Some(stored[1]));
            let counts = BroadcastCountsRow { range, last_attempted, attempted: 2, ..BroadcastCountsRow::default() };
            tx.put(&BROADCAST_COUNTS, &(broadcast,), &counts)
        };
        context.commit(put).await;
        let listed = |list: BroadcastEmailList| {
            let page = step(&context, broadcast, list).into_page();
            page.rows.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
        };

        assert_eq!(listed(BroadcastEmailList::All), [ids[3], ids[2], ids[1], ids[0]]);
        assert_eq!(listed(BroadcastEmailList::Attempted), [ids[1], ids[0]]);
        assert_eq!(listed(BroadcastEmailList::Outcome(BroadcastOutcome::Sent)), [ids[1], ids[0]]);
    }

    #[tokio::test]
    async fn the_list_of_attempted_emails_reads_no_email_before_the_first_claim() {
        let (_directory, context) = Context::temporary();
        let (broadcast, email): (BroadcastId, EmailId) = (context.id(), context.id());
        let put = move |tx: &WriteTx<'_>| {
            let row = json!({ "b": broadcast, "c": Id::<()>::MAX, "a": "ada@example.net", "e": "queued", "t": false });
            tx.put(&BROADCAST_EMAILS, &(TEAM, email), &serde_json::from_value(row).unwrap())?;
            let counts = BroadcastCountsRow { range: Some((email, email)), queued: 1, ..BroadcastCountsRow::default() };
            tx.put(&BROADCAST_COUNTS, &(broadcast,), &counts)
        };
        context.commit(put).await;
        let last_read = |list: BroadcastEmailList| step(&context, broadcast, list).position;

        assert_eq!(last_read(BroadcastEmailList::All), Some(email));
        assert_eq!(last_read(BroadcastEmailList::Attempted), None);
        assert_eq!(last_read(BroadcastEmailList::Outcome(BroadcastOutcome::Delivered)), None);
    }

    #[test]
    fn each_indexed_list_has_a_number_of_its_own() {
        let mut numbers: Vec<u8> = BroadcastEmailList::INDEXED.iter().filter_map(|list| list.index_number()).collect();
        numbers.dedup();

        assert_eq!(numbers, [3, 4, 5, 6, 8, 9, 10]);
        for outcome in BroadcastOutcome::RARE {
            assert!(BroadcastEmailList::INDEXED.contains(&BroadcastEmailList::Outcome(outcome)));
        }
    }
}
