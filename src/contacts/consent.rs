//! What a send asks of contacts: may this address receive mail under this topic?

use super::store::find_by_address;
use crate::base::id::{TeamId, TopicId};
use crate::store::{Reads, StoreError};
use crate::tables::{AddressHash, TOPIC_CHOICES};
use crate::topics::{SendTopic, Subscription};

/// Returns whether the owner of an address receives mail under a topic: not when they opted out
/// of everything; else as they chose; else as the topic's default says, contact or not.
///
/// # Errors
/// [`StoreError`].
pub fn receives_topic(
    tx: &impl Reads,
    team: TeamId,
    address: &AddressHash,
    topic: SendTopic,
) -> Result<bool, StoreError> {
    let chosen = match find_by_address(tx, team, address)? {
        Some((_, contact)) if contact.unsubscribed() => return Ok(false),
        Some((id, _)) => tx.get(&TOPIC_CHOICES, &(team, id, topic.id))?.map(|choice| choice.subscription),
        None => None,
    };
    Ok(Subscription::effective(chosen, topic.default_subscription) == Subscription::OptIn)
}

/// Returns whether a contact with the address has said that it wants nothing under a topic: of the
/// topic, or of everything. The topic's default is nobody's word.
///
/// # Errors
/// [`StoreError`].
pub fn has_opted_out(tx: &impl Reads, team: TeamId, address: &AddressHash, topic: TopicId) -> Result<bool, StoreError> {
    let Some((id, contact)) = find_by_address(tx, team, address)? else { return Ok(false) };
    let choice = tx.get(&TOPIC_CHOICES, &(team, id, topic))?;
    Ok(contact.unsubscribed() || choice.is_some_and(|choice| choice.subscription == Subscription::OptOut))
}
