//! Release of a captured message: its email is queued again for real delivery, through the transport of `--release`.
//!
//! The message is composed again from its email, so that its signatures are new. One transaction marks the captured
//! message as released and queues the group, so that it is not released twice.

use super::mailbox::CaptureMailbox;
use crate::audit::{self, Actor, AuditAction, AuditEntry, AuditTargetKind};
use crate::base::clock::TimestampMs;
use crate::base::id::{CapturedId, EmailId, TeamId};
use crate::context::Context;
use crate::delivery::QueueNotifier;
use crate::delivery::pattern::released_destination;
use crate::delivery::queue::{Due, DueKey, find_email};
use crate::delivery::rows::{CapturedRow, DueRow};
use crate::emails::{self, LastEvent, QueueDestination, RecipientRow, RecipientState};
use crate::store::{Reads as _, StoreError, WriteTx, from_store_error};
use crate::tables::{CAPTURED, DUE};

/// Reason why a captured message is not released.
#[derive(Debug)]
pub enum ReleaseError {
    /// The mailbox has no such message.
    NotFound,
    /// The message was released at this time.
    Released(TimestampMs),
    /// Another program sent the message to the mailbox.
    NoEmail,
    /// The email of the message, its content, or its attachments were deleted.
    EmailDeleted,
    /// Each recipient has another outcome since, was released with another copy of the message, or was erased.
    NoRecipient,
    Store(StoreError),
}

from_store_error!(ReleaseError);

/// A released message.
#[derive(Clone, Debug)]
pub struct ReleasedMessage {
    pub email: EmailId,
    /// Recipients that the message is delivered to.
    pub recipients: Vec<String>,
}

impl CaptureMailbox {
    /// Queues a captured message for real delivery to its recipients.
    ///
    /// # Errors
    /// [`ReleaseError`]. Nothing is stored.
    pub async fn release(
        &self,
        by: Actor,
        id: CapturedId,
        notifier: &QueueNotifier,
    ) -> Result<ReleasedMessage, ReleaseError> {
        let (context, return_paths) = (self.context.clone(), self.return_paths.clone());
        let released = move |tx: &WriteTx<'_>| {
            let captured = tx.get(&CAPTURED, &(id,))?.ok_or(ReleaseError::NotFound)?;
            if let Some(at_ms) = captured.released_ms {
                return Err(ReleaseError::Released(at_ms));
            }
            let (email, group) = return_paths.read(&captured.sender).ok_or(ReleaseError::NoEmail)?;
            let (team, released) = release(tx, &context, id, captured, email, group)?;
            let entry = AuditEntry::new(AuditAction::CapturedReleased)
                .of(AuditTargetKind::Captured, id)
                .with("email_id", email.to_string());
            audit::record(tx, &context, by.in_team(team), entry)?;
            Ok(released)
        };
        let (message, due) = self.context.store.write(released).await?;
        notifier.groups_queued(vec![due]);
        Ok(message)
    }
}

fn release(
    tx: &WriteTx<'_>,
    context: &Context,
    id: CapturedId,
    captured: CapturedRow,
    email: EmailId,
    group: u16,
) -> Result<(TeamId, (ReleasedMessage, Due)), ReleaseError> {
    let now_ms = context.now_ms();
    let (team, mut row) = find_email(tx, email)?.ok_or(ReleaseError::EmailDeleted)?;
    let is_stored = row.broadcast.is_some() || emails::is_complete(tx, email, &row)?;
    if row.hidden || !is_stored {
        return Err(ReleaseError::EmailDeleted);
    }
    let mut recipients = Vec::new();
    let mut destination = String::new();
    for recipient in row.recipients.iter_mut().filter(|recipient| recipient.group == group && was_captured(recipient)) {
        recipients.push(recipient.mailbox.bare());
        destination = released_destination(recipient.mailbox.domain().unwrap_or_default());
        recipient.destination = QueueDestination::Release;
        recipient.state = RecipientState::Waiting { due_ms: now_ms };
        recipient.last_event = LastEvent::Queued;
    }
    if recipients.is_empty() {
        return Err(ReleaseError::NoRecipient);
    }
    let events = row.recipients.iter().map(|recipient| recipient.last_event);
    row.last_event = events.max().unwrap_or(LastEvent::Queued);
    let lane = emails::lane_of(team, row.broadcast.as_ref(), &destination);
    let key = DueKey { lane, due_ms: now_ms, email, group };
    let due = DueRow::fresh(team, destination, now_ms);
    tx.put(&DUE, &key.parts(), &due)?;
    emails::put_row(tx, team, email, &row, now_ms)?;
    tx.put(&CAPTURED, &(id,), &CapturedRow { released_ms: Some(now_ms), ..captured })?;
    Ok((team, (ReleasedMessage { email, recipients }, Due::new(key, &due))))
}

/// Returns whether the last outcome of a recipient is the delivery to the mailbox. After a release it is not. The
/// mailbox can have a second copy of the message, if the process was killed before the outcome of the first one was
/// stored.
fn was_captured(recipient: &RecipientRow) -> bool {
    let is_delivered = matches!(recipient.last_event, LastEvent::Delivered | LastEvent::Opened | LastEvent::Clicked);
    let is_released = recipient.destination == QueueDestination::Release;
    recipient.state == RecipientState::Settled && is_delivered && !is_released && recipient.mailbox.address().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::TeamId;
    use crate::emails::EmailRow;
    use crate::store::Blob;
    use crate::tables::{EMAIL_BODIES, EMAILS};
    use crate::teams::{self, Team};

    const TEAM: TeamId = TeamId::from_bytes([1; 16]);

    #[tokio::test]
    async fn a_second_copy_of_a_released_message_is_not_released() {
        let (_directory, context) = Context::temporary();
        let (mailbox, notifier) = (CaptureMailbox::new(context.clone()), QueueNotifier::default());
        let email: EmailId = context.id();
        let captured = CapturedRow {
            received_ms: context.now_ms(),
            sender: mailbox.return_paths.address(email, 0, "bounces.example.com"),
            recipients: vec!["ada@example.com".into()],
            email: Some(email),
            size: 1,
            released_ms: None,
            from: None,
            subject: None,
        };
        let copies: [CapturedId; 2] = [context.id(), context.id()];
        let put = move |tx: &WriteTx<'_>| {
            let recipient = RecipientRow::example("ada@example.com", RecipientState::Settled, LastEvent::Delivered);
            teams::put(tx, &Team { id: TEAM, name: "one".into(), created_ms: 0 })?;
            tx.put(&EMAILS, &(TEAM, email), &EmailRow::example(vec![recipient], LastEvent::Delivered))?;
            tx.put(&EMAIL_BODIES, &(email, 0), &Blob(vec![1]))?;
            copies.iter().try_for_each(|id| tx.put(&CAPTURED, &(*id,), &captured))
        };
        context.commit(put).await;
        mailbox.release(Actor::Server, copies[0], &notifier).await.unwrap();
        // The released message is delivered.
        let deliver = move |tx: &WriteTx<'_>| {
            let mut row = tx.get(&EMAILS, &(TEAM, email))?.unwrap();
            (row.recipients[0].state, row.recipients[0].last_event) = (RecipientState::Settled, LastEvent::Delivered);
            tx.put(&EMAILS, &(TEAM, email), &row)
        };
        context.commit(deliver).await;

        let again = mailbox.release(Actor::Server, copies[1], &notifier).await;

        assert!(matches!(again, Err(ReleaseError::NoRecipient)), "{again:?}");
    }
}
