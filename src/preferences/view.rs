//! The data of the preference page: the recipient of a link and their consent.

use super::store;
use super::theme::Theme;
use super::token::{LinkScope, UnsubscribeToken};
use super::undo::{OptOutScope, SubscribedBy, Undo};
use crate::base::address::EmailAddress;
use crate::base::id::{ContactId, TeamId, TopicId};
use crate::contacts;
use crate::store::{Reads, StoreError};
use crate::suppressions;
use crate::tables::AddressHash;
use crate::topics::{Subscription, Topic, TopicVisibility};
use crate::{teams, topics};

/// Consent of a recipient to a topic, or to all marketing email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentState {
    /// No opt-out is recorded.
    Receives,
    /// An opt-out is recorded.
    OptedOut,
}

/// Scope of a link, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeView {
    Topic {
        /// Name of the topic; `None` if the topic is deleted.
        name: Option<String>,
        /// Consent to the topic.
        consent: ConsentState,
    },
    /// All marketing email of the team.
    Everything,
}

/// A topic that the page lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTopic {
    pub id: TopicId,
    pub name: String,
    pub description: Option<String>,
    /// The choice of the recipient, or the default of the topic without one.
    pub subscription: Subscription,
}

/// An opt-out that the page can undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoableOptOut {
    pub(super) scope: OptOutScope,
    /// The sealed token that undoes it.
    pub(super) undo: String,
}

/// Data of the preference page behind a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageView {
    /// Address of the recipient.
    pub address: EmailAddress,
    /// Name of the sender: the brand of the theme, or the name of the team without one.
    pub brand: String,
    pub theme: Theme,
    /// Scope of the link.
    pub scope: ScopeView,
    /// Consent to all marketing email of the team.
    pub everything: ConsentState,
    /// All public topics, oldest first. Empty if the recipient is not a contact, or if the link is for a
    /// private topic.
    pub topics: Vec<ListedTopic>,
    /// The opt-out that the page can undo.
    pub undoable: Option<UndoableOptOut>,
}

impl PageView {
    /// Returns the consent to the scope of the link.
    pub(super) fn consent_state(&self) -> ConsentState {
        match self.scope {
            ScopeView::Topic { consent: ConsentState::OptedOut, .. } => ConsentState::OptedOut,
            ScopeView::Topic { .. } | ScopeView::Everything => self.everything,
        }
    }
}

/// Returns the first letter and the domain of an address. A person who gets the link in a forwarded email
/// must not learn the address.
pub(super) fn masked(address: &EmailAddress) -> String {
    let local = address.local().trim_start_matches('"');
    let first = local.chars().next().filter(|_| local.chars().count() > 1);
    let first = first.map_or_else(String::new, String::from);
    format!("{first}•••@{}", address.domain())
}

/// A link's recipient in the transaction that reads or changes their choices.
pub(super) struct LinkRecipient {
    pub(super) hash: AddressHash,
    /// The contact of the address, and whether it opted out of everything.
    pub(super) contact: Option<(ContactId, ConsentState)>,
    /// Whether the suppression list stores an opt-out of the address, in an entry of any origin.
    pub(super) listed_opt_out: bool,
    /// The link's own topic.
    pub(super) topic: Option<LinkTopic>,
}

/// Topic of a link. Links in queued and delivered emails stay valid after the topic is deleted, and still
/// record opt-outs.
pub(super) struct LinkTopic {
    pub(super) id: TopicId,
    /// `None` if the topic is deleted.
    pub(super) topic: Option<Topic>,
}

impl LinkTopic {
    /// Returns the subscription of recipients without a choice. They still receive emails that were
    /// accepted under a deleted topic.
    fn default_subscription(&self) -> Subscription {
        self.topic.as_ref().map_or(Subscription::OptIn, |topic| topic.default_subscription)
    }

    fn is_private(&self) -> bool {
        self.topic.as_ref().is_some_and(|topic| topic.visibility == TopicVisibility::Private)
    }
}

impl LinkRecipient {
    /// Returns the recipient of a token; `None` if the team is deleted.
    pub(super) fn find(tx: &impl Reads, token: &UnsubscribeToken) -> Result<Option<Self>, StoreError> {
        if teams::find(tx, token.team)?.is_none() {
            return Ok(None);
        }
        let topic = match token.scope {
            LinkScope::Everything => None,
            LinkScope::Topic(id) => Some(LinkTopic { id, topic: topics::find(tx, token.team, id)? }),
        };
        let hash = token.address.identity_hash();
        let contact = contacts::find_by_address(tx, token.team, &hash)?
            .map(|(id, row)| (id, if row.unsubscribed() { ConsentState::OptedOut } else { ConsentState::Receives }));
        let listed_opt_out = suppressions::is_opted_out(tx, token.team, &hash)?;
        Ok(Some(Self { hash, contact, listed_opt_out, topic }))
    }

    /// Returns the consent to all marketing email. A suppression entry without an opt-out, such as of a
    /// bounce, is not shown to the recipient.
    pub(super) fn everything(&self) -> ConsentState {
        let opted_out = self.contact.is_some_and(|(_, consent)| consent == ConsentState::OptedOut);
        if opted_out || self.listed_opt_out { ConsentState::OptedOut } else { ConsentState::Receives }
    }

    /// Returns whether the recipient has opted out of the link's own topic, or of all marketing email. The default of
    /// the topic is not a choice of the recipient, so that it is not an opt-out.
    pub(super) fn has_opted_out(&self, tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
        if self.everything() == ConsentState::OptedOut {
            return Ok(true);
        }
        self.topic.as_ref().map_or(Ok(false), |topic| contacts::has_opted_out(tx, team, &self.hash, topic.id))
    }

    /// Returns whether the contact receives the link's own topic, by its choices as they are now.
    pub(super) fn receives_topic(&self, tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
        Ok(self.everything() == ConsentState::Receives && self.topic_subscribed_by(tx, team)?.is_some())
    }

    /// Returns the reason why the contact receives the link's own topic; `None` if it does not.
    pub(super) fn topic_subscribed_by(
        &self,
        tx: &impl Reads,
        team: TeamId,
    ) -> Result<Option<SubscribedBy>, StoreError> {
        let (Some((contact, _)), Some(topic)) = (self.contact, &self.topic) else { return Ok(None) };
        let chosen = choice_for(&contacts::choices_of(tx, team, contact)?, topic.id);
        let subscription = Subscription::effective(chosen, topic.default_subscription());
        let subscribed_by = if chosen.is_some() { SubscribedBy::Choice } else { SubscribedBy::Default };
        Ok((subscription == Subscription::OptIn).then_some(subscribed_by))
    }

    /// Returns the topics that the page lists, with the recipient's subscriptions.
    pub(super) fn topics(&self, tx: &impl Reads, token: &UnsubscribeToken) -> Result<Vec<ListedTopic>, StoreError> {
        let Some((contact, _)) = self.contact else { return Ok(Vec::new()) };
        if self.topic.as_ref().is_some_and(LinkTopic::is_private) {
            return Ok(Vec::new());
        }
        let choices = contacts::choices_of(tx, token.team, contact)?;
        let listed =
            topics::all(tx, token.team)?.into_iter().rev().filter(|topic| topic.visibility == TopicVisibility::Public);
        let listed = listed.map(|topic| {
            let Topic { id, name, description, default_subscription, .. } = topic;
            let subscription = Subscription::effective(choice_for(&choices, id), default_subscription);
            ListedTopic { id, name, description, subscription }
        });
        Ok(listed.collect())
    }
}

/// Returns the contact's choice for a topic.
fn choice_for(choices: &[(TopicId, Subscription)], topic: TopicId) -> Option<Subscription> {
    choices.iter().find(|(id, _)| *id == topic).map(|(_, subscription)| *subscription)
}

/// Returns the page data of a token; `None` if the team is deleted. `undo` is an opened undo token with
/// its sealed text. It is ignored if the opt-out does not exist any more.
pub(super) fn load(
    tx: &impl Reads,
    token: &UnsubscribeToken,
    undo: Option<(Undo, String)>,
) -> Result<Option<PageView>, StoreError> {
    let Some(team) = teams::find(tx, token.team)? else { return Ok(None) };
    let Some(recipient) = LinkRecipient::find(tx, token)? else { return Ok(None) };
    let theme = store::theme_of(tx, token.team)?;
    let everything = recipient.everything();
    let topics = recipient.topics(tx, token)?;
    let scope = match &recipient.topic {
        None => ScopeView::Everything,
        Some(LinkTopic { topic, .. }) => {
            let opted_out = recipient.has_opted_out(tx, token.team)?;
            let consent = if opted_out { ConsentState::OptedOut } else { ConsentState::Receives };
            ScopeView::Topic { name: topic.as_ref().map(|topic| topic.name.clone()), consent }
        }
    };
    // Another request may have undone the opt-out since.
    let is_opted_out = |undo: &Undo| match (undo, &scope) {
        (Undo::Choice(_), ScopeView::Topic { consent, .. }) => *consent == ConsentState::OptedOut,
        (Undo::Choice(_), ScopeView::Everything) => false,
        (Undo::Everything | Undo::Suppression(..), _) => everything == ConsentState::OptedOut,
    };
    let undoable = undo
        .filter(|(undo, _)| is_opted_out(undo))
        .map(|(undo, sealed)| UndoableOptOut { scope: undo.scope(), undo: sealed });
    Ok(Some(PageView {
        address: token.address.clone(),
        brand: theme.brand.clone().unwrap_or(team.name),
        theme,
        scope,
        everything,
        topics,
        undoable,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_its_first_letter_and_its_domain() {
        for (address, shown) in [
            ("ada@example.com", "a•••@example.com"),
            ("øre@example.com", "ø•••@example.com"),
            ("a@example.com", "•••@example.com"),
            ("\"a b\"@example.com", "a•••@example.com"),
        ] {
            assert_eq!(masked(&EmailAddress::parse(address).unwrap()), shown);
        }
    }
}
