//! Keys of the queue rows of an email.

use std::borrow::Cow;

use super::store::{BroadcastSend, EmailRow, QueueDestination, RecipientRow, RecipientState};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::delivery::{Class, DueKey, LaneKey, released_destination, simulated};

/// Returns the destination of a recipient's group in the queue. For a simulated recipient, it is
/// [`simulated::DESTINATION`]. Otherwise it is the domain, the address in lower case, or the destination of released
/// messages.
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

/// Returns the lane of an email to a destination. The stream is the team, or the broadcast of the email.
pub(crate) fn lane_of(team: TeamId, broadcast: Option<&BroadcastSend>, destination: &str) -> LaneKey {
    match broadcast {
        Some(send) => LaneKey::new(destination, Class::Broadcast, send.id.cast()),
        None => LaneKey::new(destination, Class::Transactional, team.cast()),
    }
}

/// Returns the key of the queue row of a recipient's group.
pub(super) fn queue_key(
    (team, email): (TeamId, EmailId),
    broadcast: Option<&BroadcastSend>,
    recipient: &RecipientRow,
    due_ms: TimestampMs,
) -> DueKey {
    let lane = lane_of(team, broadcast, &destination_of(recipient));
    DueKey { lane, due_ms, email, group: recipient.group }
}

/// Returns the key of each queued group of an email.
pub(crate) fn queued_groups(team: TeamId, email: EmailId, row: &EmailRow) -> Vec<DueKey> {
    let broadcast = row.broadcast.as_ref();
    let key = |recipient: &RecipientRow| match recipient.state {
        RecipientState::Waiting { due_ms } => Some(queue_key((team, email), broadcast, recipient, due_ms)),
        RecipientState::InFlight | RecipientState::Settled => None,
    };
    let mut groups: Vec<DueKey> = row.recipients.iter().filter_map(key).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}
