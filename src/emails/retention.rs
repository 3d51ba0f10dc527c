//! Deletion of old emails: their content first, their rows later.
//!
//! Both passes start at the old end of a table and delete from there. The cost of a pass depends on
//! the number of deleted rows, not on the size of the table.

use std::sync::Arc;

use super::broadcast::purge_broadcast_emails;
use super::search;
use super::store::{EmailRow, delete_attachment_rows, delete_content, delete_content_rows};
use super::stored::delete_row;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, Id, TeamId};
use crate::context::Context;
use crate::emails::store::RecipientState;
use crate::store::{CHUNKS_PER_COMMIT, Order, Reads, StoreError, WriteTx, rows_after};
use crate::tables::{ATTACHMENTS, ATTEMPTS, EMAIL_BODIES, EMAIL_INSIGHTS, EMAILS};
use crate::{events, teams};

/// Emails per transaction, without requests beside it.
pub(super) const PAGE_ROWS: usize = 200;
/// Events of timelines per transaction. The timeline of one email can have some thousand.
pub(super) const EVENTS_PER_COMMIT: usize = 2_000;

/// Deletes the content, the attachments and the rows of old emails, each by its own bound on the time of acceptance.
/// The timelines and SMTP transcripts are deleted with the rows. Emails that are not settled keep all.
pub async fn purge(
    context: &Context,
    content_before_ms: TimestampMs,
    attachments_before_ms: TimestampMs,
    rows_before_ms: TimestampMs,
) -> Result<(), StoreError> {
    let teams = context.store.read(teams::ids).await?;
    purge_content(context, &teams, content_before_ms).await?;
    if attachments_before_ms > content_before_ms {
        purge_attachments(context, &teams, attachments_before_ms).await?;
    }
    for team in teams {
        purge_rows(context, team, rows_before_ms).await?;
        purge_broadcast_emails(context, team, rows_before_ms).await?;
    }
    Ok(())
}

async fn purge_content(context: &Context, teams: &[TeamId], before: TimestampMs) -> Result<(), StoreError> {
    let (until, teams) = (EmailId::first_at(before), Arc::<[TeamId]>::from(teams));
    context.store.write_pages(EmailId::MIN, move |tx, after| purge_content_page(tx, &teams, after, until)).await
}

async fn purge_attachments(context: &Context, teams: &[TeamId], before: TimestampMs) -> Result<(), StoreError> {
    let (until, teams) = (EmailId::first_at(before), Arc::<[TeamId]>::from(teams));
    context.store.write_pages(EmailId::MIN, move |tx, after| purge_attachments_page(tx, &teams, after, until)).await
}

/// Deletes the content of one page of emails. Returns the id after which the next page starts; `None` at
/// the end. An email with more chunks than the bound is in the next page again.
fn purge_content_page(
    tx: &WriteTx<'_>,
    teams: &[TeamId],
    after: EmailId,
    until: EmailId,
) -> Result<Option<EmailId>, StoreError> {
    purge_settled(tx, teams, (after, until), next_with_content, delete_content_rows)
}

/// Does the same as [`purge_content_page`], for the attachments. The content stays.
fn purge_attachments_page(
    tx: &WriteTx<'_>,
    teams: &[TeamId],
    after: EmailId,
    until: EmailId,
) -> Result<Option<EmailId>, StoreError> {
    purge_settled(tx, teams, (after, until), next_with_attachments, delete_attachment_rows)
}

/// Deletes chunks of the settled emails of a page. `next` returns the first email with chunks after the first of two ids and
/// before the second one. `delete` gets the number of chunks that it may delete, and returns the number that it deleted.
/// Returns the id after which the next page starts; `None` at the end.
///
/// Reads one chunk of each email to find it, and stops at the email that reaches the bound. A page of large emails is
/// therefore not read in full for each deletion.
fn purge_settled(
    tx: &WriteTx<'_>,
    teams: &[TeamId],
    (after, until): (EmailId, EmailId),
    next: fn(&WriteTx<'_>, EmailId, EmailId) -> Result<Option<EmailId>, StoreError>,
    delete: fn(&WriteTx<'_>, EmailId, usize) -> Result<usize, StoreError>,
) -> Result<Option<EmailId>, StoreError> {
    let mut left = CHUNKS_PER_COMMIT;
    let mut done = None;
    for _ in 0..tx.page_items(PAGE_ROWS) {
        let position = done.unwrap_or(after);
        let Some(id) = next(tx, position, until)? else { break };
        if !has_unsettled(tx, teams, id)? {
            left -= delete(tx, id, left)?;
            if left == 0 {
                return Ok(Some(position));
            }
        }
        done = Some(id);
    }
    Ok(done)
}

/// Returns the first email after `after` and before `until` that has content.
fn next_with_content(tx: &WriteTx<'_>, after: EmailId, until: EmailId) -> Result<Option<EmailId>, StoreError> {
    Ok(tx.first_key(&EMAIL_BODIES, ((after, u32::MAX), (until, 0)), Order::Ascending)?.map(|(id, _)| id))
}

/// Does the same as [`next_with_content`], for attachments.
fn next_with_attachments(tx: &WriteTx<'_>, after: EmailId, until: EmailId) -> Result<Option<EmailId>, StoreError> {
    Ok(tx.first_key(&ATTACHMENTS, ((after, u16::MAX, u32::MAX), (until, 0, 0)), Order::Ascending)?.map(|(id, ..)| id))
}

fn has_unsettled(tx: &impl Reads, teams: &[TeamId], id: EmailId) -> Result<bool, StoreError> {
    for team in teams {
        // An email whose row is corrupt is never sent, so that its content has no use.
        // The emails of broadcasts have no content of their own.
        if let Some(row) = tx.get_valid(&EMAILS, &(*team, id))? {
            return Ok(!is_settled(&row));
        }
    }
    Ok(false)
}

/// Returns whether all recipients of an email are settled.
pub(super) fn is_settled(row: &EmailRow) -> bool {
    row.recipients.iter().all(|recipient| recipient.state == RecipientState::Settled)
}

async fn purge_rows(context: &Context, team: TeamId, before: TimestampMs) -> Result<(), StoreError> {
    let (now_ms, until) = (context.now_ms(), EmailId::first_at(before));
    context.store.write_pages(EmailId::MIN, move |tx, after| purge_rows_page(tx, team, after, until, now_ms)).await
}

/// Does the same as [`purge_content_page`], for the rows with their timelines and attempts. An email with more events
/// than the bound is in the next page again too.
fn purge_rows_page(
    tx: &WriteTx<'_>,
    team: TeamId,
    after: EmailId,
    until: EmailId,
    now_ms: TimestampMs,
) -> Result<Option<EmailId>, StoreError> {
    let page = rows_after(tx, &EMAILS, (team, after), (team, until), tx.page_items(PAGE_ROWS))?;
    let (mut left, mut events_left) = (CHUNKS_PER_COMMIT, EVENTS_PER_COMMIT);
    let mut done = None;
    for ((_, id), row) in page {
        if row.is_some_and(|row| is_settled(&row)) {
            left -= delete_content_rows(tx, id, left)?;
            events_left -= events::delete_email_events(tx, id, events_left)?;
            if left == 0 || events_left == 0 {
                return Ok(Some(done.unwrap_or(after)));
            }
            delete_email(tx, team, id)?;
            tx.keep_cursor(&EMAILS, &(team, id), now_ms)?;
        }
        done = Some(id);
    }
    Ok(done)
}

/// Deletes an email with its content, timeline, attempts and insights.
pub(super) fn delete_email(tx: &WriteTx<'_>, team: TeamId, id: EmailId) -> Result<(), StoreError> {
    delete_content(tx, id)?;
    events::delete_email_events(tx, id, usize::MAX)?;
    tx.delete_range(&ATTEMPTS, &(id, Id::MIN), &(id, Id::MAX), usize::MAX)?;
    tx.delete(&EMAIL_INSIGHTS, &(team, id))?;
    if delete_row(tx, team, id)? { search::forget_email(tx, team, id) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emails::store::has_content;
    use crate::emails::{LastEvent, RecipientRow};
    use crate::store::{Blob, Encoded};
    use crate::tables::EVENTS;

    /// Stores `chunks` chunks of content of an email.
    fn put_chunks(tx: &WriteTx<'_>, id: EmailId, chunks: u32) -> Result<(), StoreError> {
        tx.put(&EMAIL_BODIES, &(id, 0), &Blob(vec![1]))?;
        (1..chunks).try_for_each(|chunk| tx.put(&ATTACHMENTS, &(id, 0, chunk), &Blob(vec![1])))
    }

    fn chunks(tx: &impl Reads) -> Result<usize, StoreError> {
        Ok(tx.keys(&EMAIL_BODIES)?.len() + tx.keys(&ATTACHMENTS)?.len())
    }

    #[tokio::test]
    async fn each_command_deletes_a_bounded_number_of_chunks_until_none_is_left() {
        let (_directory, context) = Context::temporary();
        let ids: Vec<EmailId> = (0..4).map(|_| context.id()).collect();

        let sizes = [1, 600, 255, 256];
        let until = EmailId::MAX;
        let work = move |tx: &WriteTx<'_>| {
            for (id, chunks) in ids.iter().zip(sizes) {
                put_chunks(tx, *id, chunks)?;
            }
            let mut left = chunks(tx)?;
            assert_eq!(left, 1_112);
            let (mut after, mut commands) = (EmailId::MIN, 0);
            while let Some(next) = purge_content_page(tx, &[], after, until)? {
                let before = std::mem::replace(&mut left, chunks(tx)?);
                assert!(before - left <= CHUNKS_PER_COMMIT);
                (after, commands) = (next, commands + 1);
                assert!(commands < 20, "the purge does not end");
            }
            assert_eq!(left, 0);
            Ok(())
        };
        context.commit(work).await;
    }

    #[tokio::test]
    async fn each_command_deletes_a_bounded_number_of_events_until_no_email_is_left() {
        let (_directory, context) = Context::temporary();
        let team = TeamId::MIN;
        let ids: Vec<EmailId> = (0..3).map(|_| context.id()).collect();
        let (until, drawing) = (EmailId::MAX, context.clone());
        let recipient = RecipientRow::example("ada@example.com", RecipientState::Settled, LastEvent::Delivered);
        let row = EmailRow::example(vec![recipient], LastEvent::Delivered);
        let work = move |tx: &WriteTx<'_>| {
            for (id, events) in ids.iter().zip([2_500, 10, 1_990]) {
                tx.put(&EMAILS, &(team, *id), &row)?;
                for _ in 0..events {
                    tx.put_encoded(&EVENTS, &(*id, drawing.id()), &Encoded::unreadable())?;
                }
            }
            let (mut after, mut commands, mut left) = (EmailId::MIN, 0, tx.keys(&EVENTS)?.len());
            assert_eq!(left, 4_500);
            while let Some(next) = purge_rows_page(tx, team, after, until, 0)? {
                let before = std::mem::replace(&mut left, tx.keys(&EVENTS)?.len());
                assert!(before - left <= EVENTS_PER_COMMIT);
                (after, commands) = (next, commands + 1);
                assert!(commands < 20, "the purge does not end");
            }
            assert_eq!(left, 0);
            for id in &ids {
                assert!(!tx.contains(&EMAILS, &(team, *id))?);
            }
            Ok(())
        };
        context.commit(work).await;
    }

    #[tokio::test]
    async fn attachments_can_be_deleted_before_the_content() {
        let (_directory, context) = Context::temporary();
        let team = teams::create(&context, "Shop").await.unwrap().unwrap().id;
        let (settled, waiting): (EmailId, EmailId) = (context.id(), context.id());
        let put = move |tx: &WriteTx<'_>| {
            for (id, state) in [(settled, RecipientState::Settled), (waiting, RecipientState::Waiting { due_ms: 1 })] {
                let recipient = RecipientRow::example("ada@example.com", state, LastEvent::Queued);
                tx.put(&EMAILS, &(team, id), &EmailRow::example(vec![recipient], LastEvent::Queued))?;
                put_chunks(tx, id, 600)?;
            }
            Ok(())
        };
        context.commit(put).await;
        let (now_ms, later_ms) = (context.now_ms(), context.now_ms() + 1_000);
        let left = || {
            context.read(|tx| {
                let rest = |id| Ok::<_, StoreError>((has_content(tx, id)?, tx.contains(&ATTACHMENTS, &(id, 0, 599))?));
                Ok((rest(settled)?, rest(waiting)?, chunks(tx)?))
            })
        };

        purge(&context, now_ms - 1_000, now_ms - 1_000, 0).await.unwrap();
        assert_eq!(left(), ((true, true), (true, true), 1_200));
        purge(&context, now_ms - 1_000, later_ms, 0).await.unwrap();
        assert_eq!(left(), ((true, false), (true, true), 601));
    }

    #[tokio::test]
    async fn a_page_passes_emails_that_are_not_settled_and_continues_after_them() {
        let (_directory, context) = Context::temporary();
        let team = TeamId::MIN;
        let ids: Vec<EmailId> = (0..=PAGE_ROWS).map(|_| context.id()).collect();
        let work = move |tx: &WriteTx<'_>| {
            // The transaction is that of a request.
            let page_rows = tx.page_items(PAGE_ROWS);
            assert!(page_rows < PAGE_ROWS);
            let ids = &ids[..=page_rows];
            for (number, id) in ids.iter().enumerate() {
                let state =
                    if number < page_rows { RecipientState::Waiting { due_ms: 1 } } else { RecipientState::Settled };
                let recipient = RecipientRow::example("ada@example.com", state, LastEvent::Queued);
                tx.put(&EMAILS, &(team, *id), &EmailRow::example(vec![recipient], LastEvent::Queued))?;
                put_chunks(tx, *id, 3)?;
            }
            let page = |after| purge_attachments_page(tx, &[team], after, EmailId::MAX);

            let rows_page = purge_rows_page(tx, team, EmailId::MIN, EmailId::MAX, 0)?;
            assert_eq!([page(EmailId::MIN)?, rows_page], [Some(ids[page_rows - 1]); 2]);
            assert_eq!(page(ids[page_rows - 1])?, Some(ids[page_rows]));
            assert_eq!(page(ids[page_rows])?, None);
            assert_eq!(chunks(tx)?, 3 * page_rows + 1);
            Ok(())
        };
        context.commit(work).await;
    }

    #[tokio::test]
    async fn a_corrupt_email_stays_and_the_others_are_deleted() {
        let (_directory, context) = Context::temporary();
        let team = teams::create(&context, "Shop").await.unwrap().unwrap().id;
        let (corrupt, settled): (EmailId, EmailId) = (context.id(), context.id());
        let recipient = RecipientRow::example("ada@example.com", RecipientState::Settled, LastEvent::Delivered);
        let row = EmailRow::example(vec![recipient], LastEvent::Delivered);
        let put = move |tx: &WriteTx<'_>| {
            tx.put_encoded(&EMAILS, &(team, corrupt), &Encoded::unreadable())?;
            tx.put(&EMAILS, &(team, settled), &row)?;
            put_chunks(tx, corrupt, 1)?;
            put_chunks(tx, settled, 1)
        };
        context.commit(put).await;

        let later_ms = context.now_ms() + 1_000;
        purge(&context, later_ms, later_ms, later_ms).await.unwrap();

        let left = context.read(|tx| {
            Ok((tx.contains(&EMAILS, &(team, corrupt))?, tx.contains(&EMAILS, &(team, settled))?, chunks(tx)?))
        });
        assert_eq!(left, (true, false, 0));
    }
}
