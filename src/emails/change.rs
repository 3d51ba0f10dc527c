//! Changing an email that has not gone out: another time, called off, deleted. Each is one
//! transaction with the queue, so that it wins or loses against a send that begins, never half.

use super::event_recorder;
use super::model::LastEvent;
use super::read::visible;
use super::retention::{delete_email, is_settled};
use super::send::Emails;
use super::store::{EmailRow, RecipientState};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::delivery::{Class, DueKey};
use crate::events::{Detail, EmailEventKind, Event};
use crate::store::{Reads, StoreError, WriteTx, from_store_error};
use crate::tables::{DUE, EMAILS};

/// Why an email cannot be changed.
#[derive(Debug)]
pub enum ChangeEmailError {
    /// The team has no such email.
    NotFound,
    /// It is not scheduled, or its delivery has begun.
    NotScheduled(LastEvent),
    /// The store failed.
    Store(StoreError),
}

from_store_error!(ChangeEmailError);

impl Emails {
    /// Moves a scheduled email to another time.
    ///
    /// # Errors
    /// [`ChangeEmailError`].
    pub async fn reschedule(&self, team: TeamId, id: EmailId, due_ms: TimestampMs) -> Result<(), ChangeEmailError> {
        self.context
            .store
            .write::<_, ChangeEmailError>(move |tx| {
                let mut row = scheduled(tx, team, id)?;
                for (old_ms, group) in waiting_groups(&row) {
                    let Some(mut due) = tx.get(&DUE, &due_key(old_ms, id, group))? else { continue };
                    due.first_due_ms = due_ms;
                    tx.delete(&DUE, &due_key(old_ms, id, group))?;
                    tx.put(&DUE, &due_key(due_ms, id, group), &due)?;
                }
                row.scheduled_ms = Some(due_ms);
                for recipient in &mut row.recipients {
                    recipient.state = RecipientState::Waiting { due_ms };
                }
                tx.put(&EMAILS, &(team, id), &row)?;
                Ok(())
            })
            .await?;
        self.bell.rescan();
        Ok(())
    }

    /// Calls off a scheduled email.
    ///
    /// # Errors
    /// [`ChangeEmailError`].
    pub async fn cancel(&self, team: TeamId, id: EmailId) -> Result<(), ChangeEmailError> {
        let context = self.context.clone();
        self.context
            .store
            .write(move |tx| {
                let mut row = scheduled(tx, team, id)?;
                cancel_queued(tx, id, &mut row)?;
                let recipients = row.recipients.iter().map(|recipient| recipient.mailbox.bare()).collect();
                let event =
                    Event { kind: EmailEventKind::Canceled, at_ms: context.now_ms(), recipients, detail: Detail::None };
                event_recorder::record(tx, &context, team, id, &row, event)?;
                tx.put(&EMAILS, &(team, id), &row)?;
                Ok(())
            })
            .await
    }

    /// Deletes an email with all that is kept of it. What waits is called off; a delivery under way
    /// finishes unseen, and the email goes when it has. `false` when the team has none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete(&self, team: TeamId, id: EmailId) -> Result<bool, StoreError> {
        self.context
            .store
            .write(move |tx| {
                let Some(mut row) = visible(tx, team, id)? else { return Ok(false) };
                cancel_queued(tx, id, &mut row)?;
                if is_settled(&row) {
                    delete_email(tx, team, id)?;
                    return Ok(true);
                }
                row.hidden = true;
                tx.put(&EMAILS, &(team, id), &row)?;
                Ok(true)
            })
            .await
    }
}

/// Writes the row of an email of which a delivery has ended; one that was deleted meanwhile goes
/// with its last delivery.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn put_settled(tx: &WriteTx<'_>, team: TeamId, id: EmailId, row: &EmailRow) -> Result<(), StoreError> {
    if row.hidden && is_settled(row) {
        return delete_email(tx, team, id);
    }
    tx.put(&EMAILS, &(team, id), row)
}

/// Returns an email all of which still waits for its time.
fn scheduled(tx: &WriteTx<'_>, team: TeamId, id: EmailId) -> Result<EmailRow, ChangeEmailError> {
    let row = visible(tx, team, id)?.ok_or(ChangeEmailError::NotFound)?;
    if row.last_event == LastEvent::Scheduled { Ok(row) } else { Err(ChangeEmailError::NotScheduled(row.last_event)) }
}

/// Takes what waits out of the queue.
fn cancel_queued(tx: &WriteTx<'_>, id: EmailId, row: &mut EmailRow) -> Result<(), StoreError> {
    for (due_ms, group) in waiting_groups(row) {
        tx.delete(&DUE, &due_key(due_ms, id, group))?;
    }
    let mut called_off = false;
    for recipient in &mut row.recipients {
        if matches!(recipient.state, RecipientState::Waiting { .. }) {
            recipient.state = RecipientState::Settled;
            recipient.last_event.advance(LastEvent::Canceled);
            called_off = true;
        }
    }
    if called_off {
        row.last_event.advance(LastEvent::Canceled);
    }
    Ok(())
}

/// Returns the due time and number of each group that waits.
fn waiting_groups(row: &EmailRow) -> Vec<(TimestampMs, u16)> {
    let mut groups: Vec<(TimestampMs, u16)> = row
        .recipients
        .iter()
        .filter_map(|recipient| match recipient.state {
            RecipientState::Waiting { due_ms } => Some((due_ms, recipient.group)),
            RecipientState::InFlight | RecipientState::Settled => None,
        })
        .collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

fn due_key(due_ms: TimestampMs, email: EmailId, group: u16) -> (u64, u8, EmailId, u16) {
    DueKey { due_ms, class: Class::Transactional, email, group }.parts()
}

#[cfg(test)]
mod tests {
    use crate::preferences::{LinkAudience, LinkSettings, Links};
    use std::sync::Arc;

    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::delivery::QueueNotifier;
    use crate::emails::Idempotency;
    use crate::emails::store::RecipientRow;
    use crate::store::Blob;
    use crate::store::page::{Cursor, PageError, PageQuery};
    use crate::tables::{EMAIL_BODIES, EVENTS};

    const TEAM: TeamId = Id::MIN;

    /// An email to one recipient.
    fn row(state: RecipientState) -> EmailRow {
        let recipient = RecipientRow::example("ada@example.com", state, LastEvent::Queued);
        EmailRow::example(vec![recipient], LastEvent::Queued)
    }

    async fn put(context: &Context, state: RecipientState) -> EmailId {
        let id = context.id();
        let ids = context.clone();
        let write = move |tx: &WriteTx<'_>| {
            tx.put(&EMAILS, &(TEAM, id), &row(state))?;
            tx.put(&EMAIL_BODIES, &(id, 0), &Blob(vec![1]))?;
            let event =
                Event { kind: EmailEventKind::Scheduled, at_ms: 0, recipients: Vec::new(), detail: Detail::None };
            event_recorder::record(tx, &ids, TEAM, id, &row(state), event)
        };
        context.store.write::<_, StoreError>(write).await.unwrap();
        id
    }

    /// Whether the row, the content and the timeline of an email are there.
    fn kept(context: &Context, id: EmailId) -> [bool; 3] {
        let look = |tx: &crate::store::ReadTx| {
            let mut told = false;
            tx.scan(&EVENTS, &(id, Id::MIN), &(id, Id::MAX), crate::store::Order::Ascending, |_, _| {
                told = true;
                crate::store::STOP
            })?;
            Ok([tx.contains(&EMAILS, &(TEAM, id))?, tx.contains(&EMAIL_BODIES, &(id, 0))?, told])
        };
        context.store.read_now::<_, StoreError>(look).unwrap()
    }

    #[tokio::test]
    async fn a_deleted_email_goes_at_once_or_with_its_last_delivery() {
        let (_directory, context) = Context::temporary();
        let idempotency = Arc::new(Idempotency::new(context.clone()));
        let settings = LinkSettings { public_url: "http://localhost".into(), audience: LinkAudience::Captured };
        let links = Links::new(context.keyring.clone(), settings);
        let emails = Emails::new(context.clone(), QueueNotifier::default(), idempotency, TaskTracker::new(), links);
        let settled = put(&context, RecipientState::Settled).await;
        let waiting = put(&context, RecipientState::Waiting { due_ms: 1 }).await;
        let under_way = put(&context, RecipientState::InFlight).await;

        for id in [settled, waiting, under_way] {
            assert!(emails.delete(TEAM, id).await.unwrap());
            assert!(!emails.delete(TEAM, id).await.unwrap());
            let page = emails.list(TEAM, PageQuery { limit: 1, cursor: Cursor::After(id) }).await;
            assert!(matches!(page, Err(PageError::UnknownCursor)));
        }

        assert_eq!(kept(&context, settled), [false; 3]);
        assert_eq!(kept(&context, waiting), [false; 3]);
        assert_eq!(kept(&context, under_way), [true; 3]);
        let end = move |tx: &WriteTx<'_>| {
            let row = EmailRow { hidden: true, ..row(RecipientState::Settled) };
            put_settled(tx, TEAM, under_way, &row)
        };
        context.store.write::<_, StoreError>(end).await.unwrap();
        assert_eq!(kept(&context, under_way), [false; 3]);
    }
}
