//! Rescheduling, cancellation and deletion of emails. Each changes the email and its queue rows in one
//! transaction, so that either the change or a starting delivery wins.

use std::sync::Arc;

use super::event_recorder;
use super::model::LastEvent;
use super::queue_keys::queued_groups;
use super::read::visible;
use super::retention::{delete_email, is_settled};
use super::send::{Emails, Sender};
use super::store::{EmailRow, RecipientState};
use super::stored::{keep_cursor, put_row};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::delivery::DueKey;
use crate::events::{EmailEventKind, Event, EventDetail};
use crate::store::{Reads, StoreError, WriteTx, from_store_error};
use crate::tables::DUE;

/// Failure to change an email.
#[derive(Debug)]
pub enum ChangeEmailError {
    /// The team has no such email.
    NotFound,
    /// The email is of another domain than the key's.
    KeyOfAnotherDomain,
    /// The email is not scheduled, or its delivery has started.
    NotScheduled(LastEvent),
    Store(StoreError),
}

from_store_error!(ChangeEmailError);

impl Emails {
    /// Changes the due time of a scheduled email.
    pub async fn reschedule(&self, by: Sender, id: EmailId, due_ms: TimestampMs) -> Result<(), ChangeEmailError> {
        let (team, notifier, now_ms) = (by.team, self.notifier.clone(), self.context.now_ms());
        self.context
            .store
            .write::<_, ChangeEmailError>(move |tx| {
                let mut row = scheduled(tx, by, id)?;
                for key in queued_groups(team, id, &row) {
                    let Some(mut due) = tx.get(&DUE, &key.parts())? else { continue };
                    due.first_due_ms = due_ms;
                    tx.delete(&DUE, &key.parts())?;
                    tx.put(&DUE, &DueKey { due_ms, ..key }.parts(), &due)?;
                }
                row.scheduled_ms = Some(due_ms);
                for recipient in &mut row.recipients {
                    recipient.state = RecipientState::Waiting { due_ms };
                }
                put_row(tx, team, id, &row, now_ms)?;
                let notifier = notifier.clone();
                tx.after_commit(move || notifier.rescan());
                Ok(())
            })
            .await
    }

    /// Cancels a scheduled email.
    pub async fn cancel(&self, by: Sender, id: EmailId) -> Result<(), ChangeEmailError> {
        let (team, context, guard) = (by.team, self.context.clone(), Arc::clone(&self.guard));
        self.context
            .store
            .write(move |tx| {
                let mut row = scheduled(tx, by, id)?;
                let before = row.clone();
                cancel_queued(tx, team, id, &mut row)?;
                guard.recipients_canceled(tx, team, id, &before, &row)?;
                let recipients = row.recipients.iter().map(|recipient| recipient.mailbox.bare()).collect();
                let event = Event {
                    kind: EmailEventKind::Canceled,
                    at_ms: context.now_ms(),
                    recipients,
                    detail: EventDetail::None,
                };
                event_recorder::record(tx, &context, team, id, &row, event)?;
                put_row(tx, team, id, &row, context.now_ms())?;
                Ok(())
            })
            .await
    }

    /// Deletes an email with its content, timeline and attempts. Queued groups are canceled. If a delivery
    /// is in flight, the email is hidden, and deleted when the delivery ends. Returns `false` if the team
    /// has no such email.
    pub async fn delete(&self, team: TeamId, id: EmailId) -> Result<bool, StoreError> {
        let (now_ms, guard) = (self.context.now_ms(), Arc::clone(&self.guard));
        self.context
            .store
            .write(move |tx| {
                let Some(mut row) = visible(tx, team, id)? else { return Ok(false) };
                let before = row.clone();
                keep_cursor(tx, team, id, now_ms)?;
                cancel_queued(tx, team, id, &mut row)?;
                guard.recipients_canceled(tx, team, id, &before, &row)?;
                row.hidden = true;
                put_settled(tx, team, id, &row, now_ms)?;
                Ok(true)
            })
            .await
    }
}

/// Stores the row of an email after a delivery ended. If the email was deleted and is now settled,
/// deletes it.
pub(crate) fn put_settled(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    row: &EmailRow,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    // The counts of a broadcast include a deleted email.
    let is_deleted = row.hidden && is_settled(row);
    if !is_deleted || row.broadcast.is_some() {
        put_row(tx, team, id, row, now_ms)?;
    }
    if is_deleted { delete_email(tx, team, id) } else { Ok(()) }
}

/// Returns the row of a scheduled email of which no delivery has started.
fn scheduled(tx: &WriteTx<'_>, by: Sender, id: EmailId) -> Result<EmailRow, ChangeEmailError> {
    let row = visible(tx, by.team, id)?.ok_or(ChangeEmailError::NotFound)?;
    if !by.may_use(row.domain) {
        return Err(ChangeEmailError::KeyOfAnotherDomain);
    }
    if row.last_event == LastEvent::Scheduled { Ok(row) } else { Err(ChangeEmailError::NotScheduled(row.last_event)) }
}

/// Deletes the queue rows of an email, and settles their recipients as canceled.
pub(super) fn cancel_queued(tx: &WriteTx<'_>, team: TeamId, id: EmailId, row: &mut EmailRow) -> Result<(), StoreError> {
    for key in queued_groups(team, id, row) {
        tx.delete(&DUE, &key.parts())?;
    }
    let mut is_canceled = false;
    for recipient in &mut row.recipients {
        if matches!(recipient.state, RecipientState::Waiting { .. }) {
            recipient.state = RecipientState::Settled;
            recipient.last_event.advance(LastEvent::Canceled);
            is_canceled = true;
        }
    }
    if is_canceled {
        row.last_event.advance(LastEvent::Canceled);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::preferences::{LinkAudience, LinkSettings, PreferenceLinks};

    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::delivery::QueueNotifier;
    use crate::emails::Idempotency;
    use crate::emails::store::RecipientRow;
    use crate::store::Blob;
    use crate::store::page::{Cursor, PageQuery};
    use crate::tables::{EMAIL_BODIES, EMAILS, EVENTS};

    const TEAM: TeamId = Id::MIN;

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
                Event { kind: EmailEventKind::Scheduled, at_ms: 0, recipients: Vec::new(), detail: EventDetail::None };
            event_recorder::record(tx, &ids, TEAM, id, &row(state), event)
        };
        context.commit(write).await;
        id
    }

    /// Returns whether the row, the content and the timeline of an email exist.
    fn stored_parts(context: &Context, id: EmailId) -> [bool; 3] {
        let has_events = context.keys(&EVENTS).iter().any(|(email, _)| *email == id);
        context.read(|tx| Ok([tx.contains(&EMAILS, &(TEAM, id))?, tx.contains(&EMAIL_BODIES, &(id, 0))?, has_events]))
    }

    #[tokio::test]
    async fn a_deleted_email_is_removed_immediately_or_after_its_last_delivery() {
        let (_directory, context) = Context::temporary();
        let idempotency = Arc::new(Idempotency::new(context.clone()));
        let settings = LinkSettings { public_url: "http://localhost".into(), audience: LinkAudience::Captured };
        let links = PreferenceLinks::new(context.keyring.clone(), settings);
        let emails = Emails::new(context.clone(), QueueNotifier::default(), idempotency, TaskTracker::new(), links);
        let settled = put(&context, RecipientState::Settled).await;
        let queued = put(&context, RecipientState::Waiting { due_ms: 1 }).await;
        let in_flight = put(&context, RecipientState::InFlight).await;

        for id in [settled, queued, in_flight] {
            assert!(emails.delete(TEAM, id).await.unwrap());
            assert!(!emails.delete(TEAM, id).await.unwrap());
            let page = emails.list(TEAM, PageQuery { limit: 10, cursor: Cursor::Before(id) }).await.unwrap();
            assert!(page.rows.iter().all(|(listed, _)| *listed > id));
        }

        assert_eq!(stored_parts(&context, settled), [false; 3]);
        assert_eq!(stored_parts(&context, queued), [false; 3]);
        assert_eq!(stored_parts(&context, in_flight), [true; 3]);
        let end = move |tx: &WriteTx<'_>| {
            let row = EmailRow { hidden: true, ..row(RecipientState::Settled) };
            put_settled(tx, TEAM, in_flight, &row, 0)
        };
        context.commit(end).await;
        assert_eq!(stored_parts(&context, in_flight), [false; 3]);
    }
}
