//! Deletion of the emails of a removed team.

use super::change::cancel_queued;
use super::retention::{EVENTS_PER_COMMIT, PAGE_ROWS, delete_email, is_settled};
use super::store::{EmailRow, delete_content_rows};
use crate::base::id::{EmailId, TeamId};
use crate::events;
use crate::store::{CHUNKS_PER_COMMIT, StoreError, WriteTx, rows_after};
use crate::tables::EMAILS;

/// A page of the deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeletedEmails {
    /// Emails in the page, including those in flight.
    pub(crate) found: usize,
    /// Email after which the next page starts; `None` at the end.
    pub(crate) last: Option<EmailId>,
}

/// Deletes a page of the emails of a team, with their content, timelines and attempts. Queued groups are
/// canceled. An email in flight is hidden, and deleted when its delivery ends.
pub(crate) fn delete_page_of_team(tx: &WriteTx<'_>, team: TeamId, after: EmailId) -> Result<DeletedEmails, StoreError> {
    let page = rows_after(tx, &EMAILS, (team, after), (team, EmailId::MAX), tx.page_items(PAGE_ROWS))?;
    let (mut left, mut events_left) = (CHUNKS_PER_COMMIT, EVENTS_PER_COMMIT);
    let mut deleted = DeletedEmails::default();
    for ((_, id), row) in page {
        deleted.found += 1;
        if let Some(mut row) = row {
            cancel_queued(tx, team, id, &mut row)?;
            if !is_settled(&row) {
                tx.put(&EMAILS, &(team, id), &EmailRow { hidden: true, ..row })?;
                deleted.last = Some(id);
                continue;
            }
            // The row stays if its content or its timeline needs another page.
            tx.put(&EMAILS, &(team, id), &row)?;
        }
        left -= delete_content_rows(tx, id, left)?;
        events_left -= events::delete_email_events(tx, id, events_left)?;
        if left == 0 || events_left == 0 {
            deleted.last = Some(deleted.last.unwrap_or(after));
            return Ok(deleted);
        }
        delete_email(tx, team, id)?;
        deleted.last = Some(id);
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::emails::model::LastEvent;
    use crate::emails::put_settled;
    use crate::emails::store::{RecipientRow, RecipientState};
    use crate::store::{Blob, Reads};
    use crate::tables::{ATTACHMENTS, EMAIL_BODIES};

    const TEAM: TeamId = Id::MIN;

    fn row(state: RecipientState) -> EmailRow {
        let recipient = RecipientRow::example("ada@example.com", state, LastEvent::Queued);
        EmailRow::example(vec![recipient], LastEvent::Queued)
    }

    /// Returns the emails that are left, and the number of their chunks.
    fn left(tx: &impl Reads) -> Result<(Vec<EmailId>, usize), StoreError> {
        let ids = tx.keys(&EMAILS)?.into_iter().map(|(_, id)| id).collect();
        Ok((ids, tx.keys(&EMAIL_BODIES)?.len() + tx.keys(&ATTACHMENTS)?.len()))
    }

    #[tokio::test]
    async fn a_page_beside_a_request_is_smaller() {
        let (_directory, context) = Context::temporary();
        let ids: Vec<EmailId> = (0..PAGE_ROWS).map(|_| context.id()).collect();
        let work = move |tx: &WriteTx<'_>| {
            ids.iter().try_for_each(|id| tx.put(&EMAILS, &(TEAM, *id), &row(RecipientState::Settled)))?;
            delete_page_of_team(tx, TEAM, EmailId::MIN)
        };

        let page = context.commit(work).await;

        assert_eq!(page.found, 25);
    }

    #[tokio::test]
    async fn pages_delete_a_bounded_number_of_chunks_and_leave_only_emails_in_flight() {
        let (_directory, context) = Context::temporary();
        let states = [RecipientState::Settled, RecipientState::Waiting { due_ms: 1 }, RecipientState::InFlight];
        let emails: Vec<(EmailId, RecipientState)> = states.map(|state| (context.id(), state)).into();
        let in_flight = emails[2].0;
        let work = move |tx: &WriteTx<'_>| {
            for (id, state) in &emails {
                tx.put(&EMAILS, &(TEAM, *id), &row(*state))?;
                tx.put(&EMAIL_BODIES, &(*id, 0), &Blob(vec![1]))?;
                (0..600).try_for_each(|chunk| tx.put(&ATTACHMENTS, &(*id, 0, chunk), &Blob(vec![1])))?;
            }
            let (mut after, mut pages) = (EmailId::MIN, 0);
            loop {
                let (_, before) = left(tx)?;
                let page = delete_page_of_team(tx, TEAM, after)?;
                assert!(before - left(tx)?.1 <= CHUNKS_PER_COMMIT + 1, "a page deletes too much");
                let Some(last) = page.last else { break };
                (after, pages) = (last, pages + 1);
                assert!(pages < 20, "the deletion does not end");
            }
            assert_eq!(left(tx)?, (vec![in_flight], 601));
            put_settled(tx, TEAM, in_flight, &EmailRow { hidden: true, ..row(RecipientState::Settled) }, 0)?;
            assert_eq!(left(tx)?, (Vec::new(), 0));
            Ok(())
        };
        context.commit(work).await;
    }
}
