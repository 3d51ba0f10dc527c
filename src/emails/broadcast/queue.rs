//! Storage of the emails of a broadcast. The rows are encoded before the transaction, so that the writer thread only
//! copies bytes.
//!
//! The emails of a page are neighbours in their table, so that many of them take one commit little time. Their queue rows
//! are in a leaf for each destination. They follow in later transactions: `enqueue.rs`.

use std::ops::Range;

use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, ContactId, EmailId, TeamId};
use crate::broadcast_rows;
#[cfg(test)]
use crate::broadcast_rows::BroadcastRow;
use crate::context::Context;
use crate::delivery::DeliverOnly;
#[cfg(test)]
use crate::delivery::Due;
#[cfg(test)]
use crate::emails::broadcast::enqueue_broadcast_page;
use crate::emails::model::LastEvent;
use crate::emails::store::{BroadcastEmailRow, QueueDestination};
use crate::store::{Encoded, StoreError, WriteTx};
use crate::tables::BROADCAST_EMAILS;
use crate::usage;

/// An email of a broadcast to one contact, before it is queued.
#[derive(Clone, Debug)]
pub struct NewBroadcastEmail {
    pub contact: ContactId,
    pub address: EmailAddress,
    /// Values of [`fields`](crate::broadcast_rows::BroadcastRow::fields), in their order, with the fallbacks of the
    /// properties. An empty value is missing.
    pub values: Vec<String>,
    /// Due time.
    pub due_ms: TimestampMs,
}

/// Emails of a page of contacts, encoded. Their ids are in the order of the contacts.
pub(crate) struct PreparedBroadcastEmails {
    team: TeamId,
    broadcast: BroadcastId,
    emails: Vec<(EmailId, Encoded<BroadcastEmailRow>)>,
}

/// Draws the ids of emails and encodes their rows. `deliver_only` selects recipients for real delivery.
pub(crate) fn prepare_broadcast_emails(
    context: &Context,
    team: TeamId,
    broadcast: BroadcastId,
    deliver_only: &DeliverOnly,
    new: impl IntoIterator<Item = NewBroadcastEmail>,
) -> PreparedBroadcastEmails {
    let mut emails = Vec::new();
    for NewBroadcastEmail { contact, address, values, due_ms } in new {
        let id: EmailId = context.id();
        let is_alone = deliver_only.selects_alone(&address);
        let row = BroadcastEmailRow {
            broadcast,
            contact,
            mailbox: address.to_string().as_str().into(),
            wait_ms: Some(due_ms - id.created_ms()),
            is_in_flight: false,
            last_event: LastEvent::Queued,
            is_attempted: false,
            is_opened: false,
            is_clicked: false,
            unsubscribed_ms: None,
            values,
            destination: if is_alone { QueueDestination::Address } else { QueueDestination::Domain },
            hidden: false,
            erasure: None,
        };
        emails.push((id, Encoded::new(&row)));
    }
    PreparedBroadcastEmails { team, broadcast, emails }
}

impl PreparedBroadcastEmails {
    /// Returns the number of emails.
    pub(crate) const fn len(&self) -> usize {
        self.emails.len()
    }

    /// Stores the emails of a range and counts them. Returns the first one; `None` for an empty range.
    pub(crate) fn put(&self, tx: &WriteTx<'_>, range: Range<usize>) -> Result<Option<EmailId>, StoreError> {
        let emails = &self.emails[range];
        let (Some((first, _)), Some((last, _))) = (emails.first(), emails.last()) else { return Ok(None) };
        for (id, row) in emails {
            tx.put_encoded(&BROADCAST_EMAILS, &(self.team, *id), row)?;
        }
        let count = emails.len() as u64;
        usage::count(tx, self.team, last.created_ms(), count)?;
        broadcast_rows::count_queued(tx, self.broadcast, count, (*first, *last))?;
        Ok(Some(*first))
    }
}

/// Queues one email of a broadcast. Returns its group for the delivery engine.
#[cfg(test)]
pub(crate) fn queue_broadcast_email(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    broadcast: BroadcastId,
    row: &BroadcastRow,
    new: NewBroadcastEmail,
) -> Result<Option<Due>, StoreError> {
    assert!(new.values.len() <= row.fields.len(), "each value belongs to a field of the broadcast");
    let prepared = prepare_broadcast_emails(context, team, broadcast, &DeliverOnly::default(), [new]);
    let first = prepared.put(tx, 0..1)?.expect("one email");
    Ok(enqueue_broadcast_page(tx, team, broadcast, (first, first), 1, context.now_ms())?.due.pop())
}
