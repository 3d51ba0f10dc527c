//! Deletion of the emails of broadcasts, by age and with their team, and the scan of an erasure.

use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, EmailId, TeamId};
use crate::context::Context;
use crate::emails::change::{cancel_queued, put_settled};
use crate::emails::removal::DeletedEmails;
use crate::emails::retention::{EVENTS_PER_COMMIT, PAGE_ROWS, delete_email};
use crate::emails::store::{BroadcastEmailRow, EmailRow};
use crate::emails::stored::{delete_row, joined};
use crate::events;
use crate::store::{MatchPage, Reads, StoreError, WriteTx, match_page, rows_after};
use crate::tables::{BROADCAST_EMAILS, BROADCAST_OUTCOMES};

/// Deletes the emails of broadcasts that were queued before `before`, with their timelines and SMTP transcripts. Emails
/// that are not settled stay.
pub(in crate::emails) async fn purge_broadcast_emails(
    context: &Context,
    team: TeamId,
    before: TimestampMs,
) -> Result<(), StoreError> {
    let (now_ms, until) = (context.now_ms(), EmailId::first_at(before));
    context.store.write_pages(EmailId::MIN, move |tx, after| purge_page(tx, team, after, until, now_ms)).await
}

/// Deletes a page of settled emails. Returns the email after which the next page starts; `None` at the end. If the page has
/// too many events, the rest of it is in the next page.
fn purge_page(
    tx: &WriteTx<'_>,
    team: TeamId,
    after: EmailId,
    until: EmailId,
    now_ms: TimestampMs,
) -> Result<Option<EmailId>, StoreError> {
    let page = rows_after(tx, &BROADCAST_EMAILS, (team, after), (team, until), tx.page_items(PAGE_ROWS))?;
    let mut events_left = EVENTS_PER_COMMIT;
    let mut done = None;
    for ((_, id), row) in page {
        if row.is_some_and(|row| row.wait_ms.is_none() && !row.is_in_flight) {
            events_left -= events::delete_email_events(tx, id, events_left)?;
            if events_left == 0 {
                return Ok(Some(done.unwrap_or(after)));
            }
            delete_email(tx, team, id)?;
            tx.keep_cursor(&BROADCAST_EMAILS, &(team, id), now_ms)?;
        }
        done = Some(id);
    }
    Ok(done)
}

/// Deletes a page of the emails of broadcasts of a removed team, with their timelines and attempts. Queued emails are
/// canceled. An email in flight is hidden, and deleted when its delivery ends.
pub(crate) fn delete_broadcast_emails_of_team(
    tx: &WriteTx<'_>,
    team: TeamId,
    after: EmailId,
    now_ms: TimestampMs,
) -> Result<DeletedEmails, StoreError> {
    let page = rows_after(tx, &BROADCAST_EMAILS, (team, after), (team, EmailId::MAX), tx.page_items(PAGE_ROWS))?;
    let mut events_left = EVENTS_PER_COMMIT;
    let mut deleted = DeletedEmails::default();
    for ((_, id), row) in page {
        deleted.found += 1;
        // The row stays if its timeline needs another page.
        events_left -= events::delete_email_events(tx, id, events_left)?;
        if events_left == 0 {
            deleted.last = Some(deleted.last.unwrap_or(after));
            return Ok(deleted);
        }
        deleted.last = Some(id);
        let Some(row) = row else {
            delete_row(tx, team, id)?;
            continue;
        };
        let mut row = joined(tx, team, id, row)?;
        cancel_queued(tx, team, id, &mut row)?;
        row.hidden = true;
        put_settled(tx, team, id, &row, now_ms)?;
    }
    Ok(deleted)
}

/// Deletes up to `rows_max` index rows of a broadcast of a removed team; returns their number. The index rows of a valid email
/// are deleted with the email. Those of a corrupt one are deleted only here, because its lists are unknown.
pub(crate) fn delete_broadcast_outcomes(
    tx: &WriteTx<'_>,
    broadcast: BroadcastId,
    rows_max: usize,
) -> Result<usize, StoreError> {
    let (from, to) = ((broadcast, 0, EmailId::MIN), (broadcast, u8::MAX, EmailId::MAX));
    tx.delete_range(&BROADCAST_OUTCOMES, &from, &to, rows_max)
}

/// Reads up to `rows_max` emails of broadcasts after an email and up to another one, and returns those that match. A
/// corrupt row is passed as `None`. The emails have no field of their broadcast.
pub(crate) fn match_broadcast_emails(
    tx: &impl Reads,
    team: TeamId,
    (after, until): (EmailId, EmailId),
    rows_max: usize,
    mut matches: impl FnMut((TeamId, EmailId), Option<EmailRow>) -> Result<bool, StoreError>,
) -> Result<MatchPage<EmailId>, StoreError> {
    let visit =
        |key: (TeamId, EmailId), row: Option<BroadcastEmailRow>| matches(key, row.map(|row| row.join(key.1, None)));
    let page = match_page(tx, &BROADCAST_EMAILS, (team, after), (team, until), rows_max, visit)?;
    Ok(page.map(|(_, id)| id))
}
