//! Keys of the queue rows of an email.

use super::store::{RecipientRow, RecipientState, StoredMailbox};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::delivery::{Class, DueKey, LaneKey, simulated};

/// Returns the domain of a recipient, or [`simulated::DESTINATION`] for a simulated recipient.
pub(super) fn destination_of(mailbox: &StoredMailbox) -> &str {
    if simulated::outcome(&mailbox.bare()).is_some() {
        return simulated::DESTINATION;
    }
    mailbox.domain().unwrap_or_default()
}

/// Returns the key of the queue row of a recipient's group.
pub(super) fn queue_key(team: TeamId, email: EmailId, recipient: &RecipientRow, due_ms: TimestampMs) -> DueKey {
    let lane = LaneKey::new(destination_of(&recipient.mailbox), Class::Transactional, team.cast());
    DueKey { lane, due_ms, email, group: recipient.group }
}

/// Returns the key of each queued group of an email.
pub(super) fn queued_groups(team: TeamId, email: EmailId, recipients: &[RecipientRow]) -> Vec<DueKey> {
    let key = |recipient: &RecipientRow| match recipient.state {
        RecipientState::Waiting { due_ms } => Some(queue_key(team, email, recipient, due_ms)),
        RecipientState::InFlight | RecipientState::Settled => None,
    };
    let mut groups: Vec<DueKey> = recipients.iter().filter_map(key).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}
