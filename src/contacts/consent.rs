//! Opt-outs of contacts. A send checks whether an address may receive email under a topic. The preference page shows
//! whether it has opted out of the topic.

use super::store::find_by_address;
use crate::base::id::{ContactId, TeamId, TopicId};
use crate::store::{Reads, StoreError};
use crate::tables::{AddressHash, TOPIC_CHOICES};
use crate::topics::{SendTopic, Subscription};

/// Returns whether an address receives email under a topic. An opt-out of all marketing email comes
/// first, then the contact's choice for the topic. Without a contact or a choice, the topic's default
/// applies.
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

/// Returns whether a contact that has not opted out of all marketing email receives email under a topic.
pub fn contact_receives_topic(
    tx: &impl Reads,
    team: TeamId,
    contact: ContactId,
    topic: SendTopic,
) -> Result<bool, StoreError> {
    let chosen = tx.get_valid(&TOPIC_CHOICES, &(team, contact, topic.id))?.map(|choice| choice.subscription);
    Ok(Subscription::effective(chosen, topic.default_subscription) == Subscription::OptIn)
}

/// Returns whether a contact with the address opted out of the topic or of all marketing email. Ignores
/// the topic's default, because a default is not a choice of the contact.
pub fn has_opted_out(tx: &impl Reads, team: TeamId, address: &AddressHash, topic: TopicId) -> Result<bool, StoreError> {
    let Some((id, contact)) = find_by_address(tx, team, address)? else { return Ok(false) };
    let choice = tx.get(&TOPIC_CHOICES, &(team, id, topic))?;
    Ok(contact.unsubscribed() || choice.is_some_and(|choice| choice.subscription == Subscription::OptOut))
}
