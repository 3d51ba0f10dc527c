//! The transaction that accepts emails. It checks every email against the store, then writes the
//! rows of all of them.
//!
//! It reads the idempotency row, the rates of the team, the sender's domain, the topic, the suppressions and the
//! opt-outs. It writes the emails, their content, their queue rows, the idempotency row and the usage count, or nothing.

use std::sync::Arc;

use super::guard::SendingGuard;
use super::idempotency::{IdempotentResponse, KeyClaim};
use super::model::RecipientKind;
use super::prepare::{EmailChecks, PreparedEmail};
use super::queue_keys::destination_of;
use super::send::{BlockReason, BlockedRecipient, SendBatchError, SendError, Sender};
use super::store::{EmailRow, QueueDestination};
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, TeamId};
use crate::context::Context;
use crate::delivery::{Class, DeliverOnly, Due, DueKey, DueRow, LaneKey};
use crate::domains::SenderDomainRow;
use crate::email_metrics::{CountedRecipients, EmailMetric};
use crate::events::{self, EmailEventKind, Event, EventDetail};
use crate::store::{Reads, StoreError, WriteTx, from_store_error};
use crate::suppressions::{self, SendKind};
use crate::tables::{AddressHash, DUE, EMAILS};
use crate::topics::{self, SendTopic, Subscription};
use crate::{contacts, domains, email_metrics, teams, usage};

/// Failure to accept the emails of a request.
#[derive(Debug)]
pub(super) enum AcceptError {
    /// One email is rejected.
    Item(SendBatchError),
    Store(StoreError),
}

from_store_error!(AcceptError);

/// The emails of one request, with the input of their transaction.
pub(super) struct AcceptTransaction {
    pub(super) context: Context,
    pub(super) sender: Sender,
    pub(super) now: TimestampMs,
    pub(super) emails: Vec<PreparedEmail>,
    /// Index in the request of each email.
    pub(super) indexes: Vec<u32>,
    pub(super) suppressed: SuppressedItems,
    /// Items that were refused before: index in the request and message.
    pub(super) refused: Vec<(u32, String)>,
    /// The idempotency key.
    pub(super) key: Option<KeyClaim>,
    pub(super) deliver_only: DeliverOnly,
    /// Decides whether the team can send; `None` for emails that no pause refuses.
    pub(super) guard: Option<Arc<dyn SendingGuard>>,
}

/// Effect of an item without a deliverable `to` recipient on the other items of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuppressedItems {
    /// The whole request is refused.
    RefuseAll,
    /// The item is listed as refused, and the others are accepted.
    List,
}

/// Message of an email without a deliverable `to` recipient.
pub const ALL_RECIPIENTS_SUPPRESSED: &str = "All recipients are suppressed";

/// The result of the checks of one email.
pub(super) struct CheckedEmail {
    domain: SenderDomainRow,
    /// Indexes of the recipients that the email is not sent to.
    blocked: Vec<usize>,
}

impl AcceptTransaction {
    /// Checks all emails, then stores them. Returns the response, and the queued groups for the delivery engine. If the
    /// idempotency key has been used, returns the response to its first request, and stores nothing.
    pub(super) fn apply(&self, tx: &WriteTx<'_>) -> Result<(IdempotentResponse, Vec<Due>), AcceptError> {
        if let Some(key) = &self.key
            && let Some(earlier) = key.find(tx)?
        {
            let replayed = earlier.map_err(SendError::Key).and_then(|response| self.sender.replay(response));
            let refused = |error| AcceptError::Item(SendBatchError { index: 0, error });
            return Ok((replayed.map_err(refused)?, Vec::new()));
        }
        // All checks run before the first write: a failure after a write makes the writer repeat its group.
        let refuse = |index, error| Err(AcceptError::Item(SendBatchError { index, error }));
        if let Some(guard) = &self.guard
            && let Some(pause) = guard.sending_pause(tx, self.sender.team)?
        {
            return refuse(0, SendError::SendingPaused(pause));
        }
        let is_team_removed = teams::is_removed(tx, self.sender.team)?;
        let mut accepted = Vec::with_capacity(self.emails.len());
        let mut refused = self.refused.clone();
        for (index, email) in self.emails.iter().enumerate() {
            let address = |recipient: usize| email.row.recipients[recipient].mailbox.bare();
            let checked = match is_team_removed {
                // A removed team has no domains. The worker deletes their rows.
                true => Err(SendError::DomainNotVerified(email.checks.sender_domain.clone())),
                false => check(tx, self.sender, &email.checks, address),
            };
            match checked {
                Ok(checked) => accepted.push((email, checked)),
                Err(SendError::AllRecipientsSuppressed(_)) if self.suppressed == SuppressedItems::List => {
                    refused.push((self.indexes[index], ALL_RECIPIENTS_SUPPRESSED.to_owned()));
                }
                Err(SendError::Store(error)) => return Err(AcceptError::Store(error)),
                Err(error) => return refuse(self.indexes[index], error),
            }
        }
        refused.sort_by_key(|(index, _)| *index);
        let mut queued = Vec::with_capacity(accepted.len());
        for (email, accepted) in &accepted {
            self.put(tx, email, accepted, &mut queued)?;
        }
        let mut domains: Vec<DomainId> = accepted.iter().map(|(_, accepted)| accepted.domain.id).collect();
        domains.sort_unstable();
        domains.dedup();
        let emails = accepted.iter().map(|(email, _)| email.id).collect();
        let response = IdempotentResponse { emails, refused, domains: domains.into() };
        if let Some(key) = &self.key {
            key.put(tx, &response)?;
        }
        usage::count(tx, self.sender.team, self.now, accepted.len() as u64)?;
        Ok((response, queued))
    }

    /// Stores an email and adds its groups to `queued`.
    fn put(
        &self,
        tx: &WriteTx<'_>,
        email: &PreparedEmail,
        accepted: &CheckedEmail,
        queued: &mut Vec<Due>,
    ) -> Result<(), StoreError> {
        let team = self.sender.team;
        let (row, groups) = queue_rows(team, email, accepted, self.now, &self.deliver_only);
        tx.put(&EMAILS, &(team, email.id), &row)?;
        for (due, row) in groups {
            tx.put(&DUE, &due.key.parts(), &row)?;
            queued.push(due);
        }
        email.content.put_content(tx, email.id)?;
        for (number, attachment) in (0..).zip(&email.attachments) {
            attachment.put_attachment(tx, email.id, number)?;
        }
        let blocked = CountedRecipients::Real(accepted.blocked.len() as u64);
        email_metrics::count(tx, row.metric_source(team), self.now, EmailMetric::Suppressed, blocked)?;
        let Some(data) = &email.event_data else { return Ok(()) };
        let recipients = row.recipients.iter().map(|recipient| recipient.mailbox.bare()).collect();
        let event =
            Event { kind: EmailEventKind::Scheduled, at_ms: row.created_ms, recipients, detail: EventDetail::None };
        events::record(tx, &self.context, team, email.id, event, || Ok(data.clone()))?;
        Ok(())
    }
}

/// Checks an email against the store: the sender's domain, the topic, the unsubscribe link, the suppressions and the
/// opt-outs. `address` returns the address of a recipient by its index.
///
/// # Errors
/// [`SendError`] of the first broken rule.
pub(super) fn check(
    tx: &impl Reads,
    sender: Sender,
    email: &EmailChecks,
    address: impl Fn(usize) -> String,
) -> Result<CheckedEmail, SendError> {
    let team = sender.team;
    let domain = domains::find_sender_hashed(tx, team, &email.sender_hash)?
        .filter(|domain| domain.verified)
        .ok_or_else(|| SendError::DomainNotVerified(email.sender_domain.clone()))?;
    if !sender.may_use(domain.id) {
        return Err(SendError::KeyOfAnotherDomain);
    }
    let topic = match email.topic {
        Some(id) => Some(topics::find_for_send(tx, team, id)?.ok_or(SendError::TopicNotFound)?),
        None => None,
    };
    email.link.clone().map_err(SendError::Link)?;
    let (mut blocked, mut reasons) = (Vec::new(), Vec::new());
    let mut is_to_left = false;
    for (index, (kind, hash)) in email.recipients.iter().enumerate() {
        let reason = match hash {
            Some(hash) => block_reason(tx, team, hash, topic)?,
            None => Some(BlockReason::Simulated),
        };
        match reason {
            None => is_to_left |= *kind == RecipientKind::To,
            Some(reason) => {
                blocked.push(index);
                reasons.push(reason);
            }
        }
    }
    if is_to_left {
        return Ok(CheckedEmail { domain, blocked });
    }
    let blocked = blocked.into_iter().map(address).zip(reasons);
    let blocked = blocked.map(|(address, reason)| BlockedRecipient { address, reason });
    Err(SendError::AllRecipientsSuppressed(blocked.collect()))
}

/// Returns the row of an email and its queue rows, without the blocked recipients.
fn queue_rows(
    team: TeamId,
    email: &PreparedEmail,
    accepted: &CheckedEmail,
    now: TimestampMs,
    deliver_only: &DeliverOnly,
) -> (EmailRow, Vec<(Due, DueRow)>) {
    let CheckedEmail { domain, blocked } = accepted;
    let mut row = EmailRow { domain: domain.id, ..email.row.clone() };
    let mut index = 0..;
    row.recipients.retain(|_| index.next().is_some_and(|index| !blocked.contains(&index)));
    if !deliver_only.is_empty() {
        for recipient in &mut row.recipients {
            let selects = |address| deliver_only.selects_alone(address);
            if recipient.mailbox.address().is_some_and(selects) {
                recipient.destination = QueueDestination::Address;
            }
        }
    }
    let due_ms = row.scheduled_ms.unwrap_or(now);
    let groups = assign_groups(&mut row, email.has_link || domain.tracked);
    let queue_row = |(group, destination)| {
        let due = DueRow::fresh(team, destination, due_ms);
        let lane = LaneKey::new(&due.destination, Class::Transactional, team.cast());
        (Due::new(DueKey { lane, due_ms, email: email.id, group }, &due), due)
    };
    let queued = groups.into_iter().map(queue_row).collect();
    (row, queued)
}

/// Numbers the recipient groups of an email; returns the number and the destination of each group.
///
/// If `is_personal`, each recipient is a group, because its message has its own tokens: under a topic, with an
/// unsubscribe placeholder, or with tracking. Otherwise the recipients of one destination are a group.
fn assign_groups(row: &mut EmailRow, is_personal: bool) -> Vec<(u16, String)> {
    let mut groups: Vec<(u16, String)> = Vec::new();
    for recipient in &mut row.recipients {
        let destination = destination_of(recipient);
        let shared = groups.iter().find(|(_, other)| !is_personal && *other == destination).map(|(group, _)| *group);
        let group = shared.unwrap_or_else(|| {
            let group = u16::try_from(groups.len()).expect("an email has at most 50 recipients");
            groups.push((group, destination.into_owned()));
            group
        });
        recipient.group = group;
    }
    groups
}

/// Returns the reason not to send to an address: it is suppressed, or does not receive `topic`.
fn block_reason(
    tx: &impl Reads,
    team: TeamId,
    hash: &AddressHash,
    topic: Option<SendTopic>,
) -> Result<Option<BlockReason>, StoreError> {
    let kind = if topic.is_some() { SendKind::Topic } else { SendKind::Transactional };
    if let Some(origin) = suppressions::blocking_origin(tx, team, hash, kind)? {
        return Ok(Some(BlockReason::Suppressed(origin)));
    }
    let receives = match topic {
        Some(topic) => contacts::receives_topic(tx, team, hash, topic)?,
        None => true,
    };
    Ok((!receives).then_some(BlockReason::OptedOut))
}

/// Returns the indexes of `recipients` that can still be sent to: not suppressed, and not opted out.
///
/// Topic choices stay valid after the topic is deleted. Recipients without a choice still receive
/// emails that were accepted under the deleted topic.
pub(crate) fn still_deliverable(
    tx: &WriteTx<'_>,
    team: TeamId,
    row: &EmailRow,
    recipients: &[usize],
) -> Result<Vec<usize>, StoreError> {
    let topic = match row.topic {
        Some(id) => {
            let deleted = SendTopic { id, default_subscription: Subscription::OptIn };
            Some(topics::find_for_send(tx, team, id)?.unwrap_or(deleted))
        }
        None => None,
    };
    let mut deliverable = Vec::with_capacity(recipients.len());
    for index in recipients {
        let Some(address) = row.recipients[*index].mailbox.address() else { continue };
        if block_reason(tx, team, &address.identity_hash(), topic)?.is_none() {
            deliverable.push(*index);
        }
    }
    Ok(deliverable)
}
