//! Queueing of the emails of a broadcast. The rows are encoded before the transaction, so that the writer thread only
//! copies bytes.

use std::ops::Range;

use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, ContactId, EmailId, TeamId};
use crate::broadcasts;
#[cfg(test)]
use crate::broadcasts::BroadcastRow;
use crate::context::Context;
use crate::delivery::{Class, DeliverOnly, Due, DueKey, DueRow, LaneKey};
use crate::emails::model::LastEvent;
use crate::emails::queue_keys::destination_of;
use crate::emails::store::{BroadcastEmailRow, QueueDestination};
use crate::store::{Encoded, StoreError, WriteTx};
use crate::tables::{BROADCAST_EMAILS, DUE};
use crate::usage;

/// An email of a broadcast to one contact, before it is queued.
#[derive(Clone, Debug)]
pub struct NewBroadcastEmail {
    pub contact: ContactId,
    pub address: EmailAddress,
    /// Values of [`fields`](crate::broadcasts::BroadcastRow::fields), in their order, with the fallbacks of the properties.
    /// An empty value is missing.
    pub values: Vec<String>,
    /// Due time.
    pub due_ms: TimestampMs,
}

/// Emails of a page of contacts, encoded. Their ids are in the order of the contacts.
pub(crate) struct PreparedBroadcastEmails {
    team: TeamId,
    broadcast: BroadcastId,
    emails: Vec<PreparedEmail>,
    /// Row of each group. The other fields follow from the key and the email.
    due_row: Encoded<DueRow>,
}

struct PreparedEmail {
    id: EmailId,
    row: Encoded<BroadcastEmailRow>,
    /// Its queued group.
    due: Due,
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
        let destination = destination_of(&row.recipient(id)).into_owned();
        let lane = LaneKey::new(&destination, Class::Broadcast, broadcast.cast());
        let key = DueKey { lane, due_ms, email: id, group: 0 };
        let due = Due { key, destination, vanished: false };
        emails.push(PreparedEmail { id, row: Encoded::new(&row), due });
    }
    PreparedBroadcastEmails { team, broadcast, emails, due_row: Encoded::new(&DueRow::of_broadcast(team)) }
}

impl PreparedBroadcastEmails {
    /// Returns the number of emails.
    pub(crate) const fn len(&self) -> usize {
        self.emails.len()
    }

    /// Stores the emails of a range, queues them and counts them. Returns the queued groups for the delivery engine, in the
    /// order of their keys.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn put(&self, tx: &WriteTx<'_>, range: Range<usize>) -> Result<Vec<Due>, StoreError> {
        let emails = &self.emails[range];
        let (Some(first), Some(last)) = (emails.first(), emails.last()) else { return Ok(Vec::new()) };
        for email in emails {
            tx.put_encoded(&BROADCAST_EMAILS, &(self.team, email.id), &email.row)?;
        }
        let mut due: Vec<Due> = emails.iter().map(|email| email.due.clone()).collect();
        // Rows of one lane are neighbours, so that the transaction changes fewer leaves of the table.
        due.sort_unstable_by_key(|due| due.key);
        for due in &due {
            tx.put_encoded(&DUE, &due.key.parts(), &self.due_row)?;
        }
        let count = emails.len() as u64;
        usage::count(tx, self.team, last.id.created_ms(), count)?;
        broadcasts::count_queued(tx, self.broadcast, count, (first.id, last.id))?;
        Ok(due)
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
    Ok(prepared.put(tx, 0..1)?.pop())
}
