//! Keys of the queue rows of an email.

use std::borrow::Cow;

use super::store::{QueueDestination, RecipientRow, RecipientState};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::delivery::{Class, DueKey, LaneKey, released_destination, simulated};

/// Returns the destination of a recipient's group in the queue: [`simulated::DESTINATION`] for a simulated recipient,
/// otherwise the domain, the address in lower case, or the destination of released messages.
pub(crate) fn destination_of(recipient: &RecipientRow) -> Cow<'_, str> {
    let mailbox = &recipient.mailbox;
    if simulated::outcome(&mailbox.bare()).is_some() {
        return simulated::DESTINATION.into();
    }
    let domain = mailbox.domain().unwrap_or_default();
    match recipient.destination {
        QueueDestination::Domain => domain.into(),
        QueueDestination::Address => {
            mailbox.address().map_or_else(|| domain.into(), |address| address.identity().into())
        }
        QueueDestination::Release => released_destination(domain).into(),
    }
}

/// Returns the key of the queue row of a recipient's group.
pub(super) fn queue_key(team: TeamId, email: EmailId, recipient: &RecipientRow, due_ms: TimestampMs) -> DueKey {
    let lane = LaneKey::new(&destination_of(recipient), Class::Transactional, team.cast());
    DueKey { lane, due_ms, email, group: recipient.group }
}

/// Returns the key of each queued group of an email.
pub(crate) fn queued_groups(team: TeamId, email: EmailId, recipients: &[RecipientRow]) -> Vec<DueKey> {
    let key = |recipient: &RecipientRow| match recipient.state {
        RecipientState::Waiting { due_ms } => Some(queue_key(team, email, recipient, due_ms)),
        RecipientState::InFlight | RecipientState::Settled => None,
    };
    let mut groups: Vec<DueKey> = recipients.iter().filter_map(key).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}
