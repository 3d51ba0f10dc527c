//! The transaction that accepts emails: what the store says about each of them, then every row of
//! all of them.
//!
//! It reads the sender's domain, the topic, the suppressions and the opt-outs, and writes the
//! emails, their content, their places in the queue, the idempotency row and the usage count, or
//! nothing.

use std::borrow::Cow;
use std::sync::Arc;

use super::idempotency::ReservationRow;
use super::model::bare;
use super::prepare::{EncodedEmail, PreparedEmail, SenderDomainCache};
use super::send::{SendBatchError, SendError, Sender};
use super::store::EmailRow;
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::TeamId;
use crate::context::Context;
use crate::delivery::Due;
use crate::store::{StoreError, WriteTx};
use crate::suppressions::{self, SendKind};
use crate::tables::AddressHash;
use crate::topics::{self, SendTopic, Subscription};
use crate::{contacts, domains, usage};

/// Why nothing was accepted.
#[derive(Debug)]
pub(super) enum AcceptError {
    /// What the store holds refuses an email.
    Item(SendBatchError),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for AcceptError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The emails of one request and what accepts them.
pub(super) struct AcceptTransaction {
    pub(super) context: Context,
    pub(super) senders: Arc<SenderDomainCache>,
    pub(super) sender: Sender,
    pub(super) now: TimestampMs,
    pub(super) prepared: Vec<PreparedEmail>,
    pub(super) key_row: Option<ReservationRow>,
}

impl AcceptTransaction {
    /// Returns what became due, for the delivery engine.
    pub(super) fn apply(&self, tx: &WriteTx<'_>) -> Result<Vec<Due>, AcceptError> {
        // Every check of every email comes before the first write: a refusal costs nothing.
        let mut drafts = Vec::with_capacity(self.prepared.len());
        for (index, email) in self.prepared.iter().enumerate() {
            let draft = self.check(tx, email).map_err(|error| match error {
                SendError::Store(error) => AcceptError::Store(error),
                error => AcceptError::Item(SendBatchError { index, error }),
            })?;
            drafts.push(draft);
        }
        let mut queued = Vec::with_capacity(self.prepared.len());
        for (email, draft) in self.prepared.iter().zip(drafts) {
            email.put(tx, &self.context, self.sender.team, &draft)?;
            queued.extend(draft.queued());
        }
        if let Some(key_row) = &self.key_row {
            key_row.put(tx)?;
        }
        let emails = self.prepared.len() as u64;
        usage::count(tx, self.sender.team, self.now, emails)?;
        Ok(queued)
    }

    /// Checks an email against what the store holds; returns what is to be written of it, without
    /// the recipients that may not be written to.
    fn check<'e>(&self, tx: &WriteTx<'_>, email: &'e PreparedEmail) -> Result<Cow<'e, EncodedEmail>, SendError> {
        let team = self.sender.team;
        let domain = domains::find_sender_hashed(tx, team, &email.sender_hash)?
            .filter(|domain| domain.verified)
            .ok_or_else(|| SendError::DomainNotVerified(email.sender_domain.clone()))?;
        if self.sender.domain.is_some_and(|scope| scope != domain.id) {
            return Err(SendError::KeyOfAnotherDomain);
        }
        let topic = match email.topic() {
            Some(id) => Some(topics::find_for_send(tx, team, id)?.ok_or(SendError::TopicNotFound)?),
            None => None,
        };
        email.link.clone().map_err(SendError::Link)?;
        let mut blocked = Vec::new();
        for (index, hash) in email.recipients.iter().enumerate() {
            let may_receive = match hash {
                Some(hash) => may_write_to(tx, team, hash, topic)?,
                None => false,
            };
            if !may_receive {
                blocked.push(index);
            }
        }
        if !email.reaches_anybody(&blocked) {
            return Err(SendError::AllRecipientsSuppressed);
        }
        Ok(email.draft(&self.senders, team, domain, &blocked))
    }
}

/// Returns whether the team may write to an address: it is not suppressed, and has not opted out.
fn may_write_to(
    tx: &WriteTx<'_>,
    team: TeamId,
    hash: &AddressHash,
    topic: Option<SendTopic>,
) -> Result<bool, StoreError> {
    let kind = if topic.is_some() { SendKind::Topic } else { SendKind::Transactional };
    if suppressions::blocks(tx, team, hash, kind)? {
        return Ok(false);
    }
    match topic {
        Some(topic) => contacts::receives_topic(tx, team, hash, topic),
        None => Ok(true),
    }
}

/// Returns those of an email's recipients (indexes into its row) whom the team may still write to.
/// What people chose about a topic outlives it; of one that has been deleted, those who never chose
/// receive what was accepted for them.
///
/// # Errors
/// [`StoreError`].
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
    let mut wanted = Vec::with_capacity(recipients.len());
    for index in recipients {
        let Ok(address) = EmailAddress::parse(bare(&row.recipients[*index].mailbox)) else { continue };
        if may_write_to(tx, team, &address.identity_hash(), topic)? {
            wanted.push(*index);
        }
    }
    Ok(wanted)
}
