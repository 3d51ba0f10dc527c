//! The check of a recipient before each attempt, in the transaction that leases the email.

use crate::base::id::TeamId;
use crate::contacts;
use crate::delivery::simulated::{self, SimulatedOutcome};
use crate::emails::model::LastEvent;
use crate::emails::store::{EmailRow, QueueDestination};
use crate::store::{Reads, StoreError};
use crate::suppressions::{self, SendKind};
use crate::topics::{self, SendTopic, Subscription};

/// Returns the final status of an email of a broadcast that is not sent; `None` if it is sent.
///
/// An email without an attempt is canceled with its broadcast. An email is suppressed if the contact was deleted, has
/// another address, has unsubscribed, or does not receive the topic any more. So is an email to an address on the
/// suppression list.
pub(crate) fn broadcast_refusal(
    tx: &impl Reads,
    team: TeamId,
    row: &EmailRow,
) -> Result<Option<LastEvent>, StoreError> {
    let (Some(send), Some(recipient)) = (&row.broadcast, row.recipients.first()) else { return Ok(None) };
    // A captured message that is released was sent before.
    let is_unsent = recipient.last_event < LastEvent::Sent && recipient.destination != QueueDestination::Release;
    if send.is_canceled && is_unsent {
        return Ok(Some(LastEvent::Canceled));
    }
    let suppressed = Ok(Some(LastEvent::Suppressed));
    let Some(address) = recipient.mailbox.address() else { return suppressed };
    if simulated::outcome(&recipient.mailbox.bare()) == Some(SimulatedOutcome::Suppressed) {
        return suppressed;
    }
    let contact = contacts::find_valid(tx, team, send.contact)?;
    let is_same = contact.is_some_and(|it| !it.unsubscribed() && it.email.identity() == address.identity());
    let hash = address.identity_hash();
    if !is_same || suppressions::blocks(tx, team, &hash, SendKind::Topic)? {
        return suppressed;
    }
    let Some(id) = row.topic else { return Ok(None) };
    let deleted = SendTopic { id, default_subscription: Subscription::OptIn };
    let topic = topics::find_for_send(tx, team, id)?.unwrap_or(deleted);
    if contacts::receives_topic(tx, team, &hash, topic)? { Ok(None) } else { suppressed }
}
