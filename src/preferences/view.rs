//! What a link leads to: who its recipient is to the team, and where they stand.

use super::store;
use super::theme::Theme;
use super::token::{Scope, UnsubscribeToken};
use super::undo::{Received, Subject, Undo};
use crate::base::address::EmailAddress;
use crate::base::id::{ContactId, TeamId, TopicId};
use crate::contacts;
use crate::store::{Reads, StoreError};
use crate::suppressions;
use crate::tables::AddressHash;
use crate::topics::{Subscription, Topic, Visibility};
use crate::{teams, topics};

/// Where a recipient stands with a topic, or with everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentState {
    /// Nothing is recorded against sending.
    Receives,
    /// An opt-out is recorded.
    OptedOut,
}

/// What a link is about, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// One topic.
    Topic {
        /// Its name; none once it has been deleted.
        name: Option<String>,
        /// Where the recipient stands with it.
        standing: ConsentState,
    },
    /// Everything.
    Everything,
}

/// A topic that the page lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTopic {
    /// Its id.
    pub id: TopicId,
    /// Its name.
    pub name: String,
    /// What the team says of it.
    pub description: Option<String>,
    /// Whether the recipient receives it: as they chose, else as its default says.
    pub subscription: Subscription,
}

/// What the visit has just done, and can take back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Whether it opted out of everything, or of the link's topic.
    pub(super) subject: Subject,
    /// The sealed token that takes it back.
    pub(super) undo: String,
}

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The recipient.
    pub address: EmailAddress,
    /// Who writes to them: the theme's brand, else the team's name.
    pub brand: String,
    /// How the page looks.
    pub theme: Theme,
    /// What the link is about.
    pub about: About,
    /// Where the recipient stands with everything.
    pub everything: ConsentState,
    /// The public topics, oldest first, where the recipient has choices: a contact, whose link is
    /// about no private topic.
    pub topics: Vec<ListedTopic>,
    /// What the visit has just done.
    pub done: Option<Done>,
}

impl View {
    /// Returns where the recipient stands with what the link is about.
    pub(super) fn consent_state(&self) -> ConsentState {
        match self.about {
            About::Topic { standing: ConsentState::OptedOut, .. } => ConsentState::OptedOut,
            About::Topic { .. } | About::Everything => self.everything,
        }
    }
}

/// A link's recipient in the transaction that reads or changes their choices.
pub(super) struct LinkRecipient {
    pub(super) hash: AddressHash,
    /// The contact of the address, and whether it opted out of everything.
    pub(super) contact: Option<(ContactId, ConsentState)>,
    /// Whether the suppression list keeps an opt-out of the address, whatever else lists it.
    pub(super) listed_opt_out: bool,
    /// The link's own topic.
    pub(super) topic: Option<LinkTopic>,
}

/// The topic that a link is about. Its links outlive it, in mail that is on its way and in mail that
/// was delivered: an opt-out is taken whether the topic is still there or not.
pub(super) struct LinkTopic {
    pub(super) id: TopicId,
    /// What the team says of it; none once it has been deleted.
    pub(super) topic: Option<Topic>,
}

impl LinkTopic {
    /// Returns what holds for whoever never chose. Of a deleted topic they receive what was accepted
    /// for them.
    fn default_subscription(&self) -> Subscription {
        self.topic.as_ref().map_or(Subscription::OptIn, |topic| topic.default_subscription)
    }

    fn is_private(&self) -> bool {
        self.topic.as_ref().is_some_and(|topic| topic.visibility == Visibility::Private)
    }
}

impl LinkRecipient {
    /// Finds who a token is about; `None` when its team is gone.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn find(tx: &impl Reads, token: &UnsubscribeToken) -> Result<Option<Self>, StoreError> {
        if teams::find(tx, token.team)?.is_none() {
            return Ok(None);
        }
        let topic = match token.scope {
            Scope::Everything => None,
            Scope::Topic(id) => Some(LinkTopic { id, topic: topics::find(tx, token.team, id)? }),
        };
        let hash = token.address.identity_hash();
        let contact = contacts::find_by_address(tx, token.team, &hash)?
            .map(|(id, row)| (id, if row.unsubscribed() { ConsentState::OptedOut } else { ConsentState::Receives }));
        let listed_opt_out = suppressions::is_opted_out(tx, token.team, &hash)?;
        Ok(Some(Self { hash, contact, listed_opt_out, topic }))
    }

    /// Returns where the recipient stands with everything. What lists an address without an opt-out
    /// is the team's affair, and not shown.
    pub(super) fn everything(&self) -> ConsentState {
        let opted_out = self.contact.is_some_and(|(_, standing)| standing == ConsentState::OptedOut);
        if opted_out || self.listed_opt_out { ConsentState::OptedOut } else { ConsentState::Receives }
    }

    /// Returns why the contact receives the link's own topic; `None` when it does not.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn receives_topic(&self, tx: &impl Reads, team: TeamId) -> Result<Option<Received>, StoreError> {
        let (Some((contact, _)), Some(topic)) = (self.contact, &self.topic) else { return Ok(None) };
        let chosen = chosen(&contacts::choices_of(tx, team, contact)?, topic.id);
        let subscription = Subscription::effective(chosen, topic.default_subscription());
        let received = if chosen.is_some() { Received::ByChoice } else { Received::ByDefault };
        Ok((subscription == Subscription::OptIn).then_some(received))
    }

    /// Returns the topics that the page lists, with what the recipient receives.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn topics(&self, tx: &impl Reads, token: &UnsubscribeToken) -> Result<Vec<ListedTopic>, StoreError> {
        let Some((contact, _)) = self.contact else { return Ok(Vec::new()) };
        if self.topic.as_ref().is_some_and(LinkTopic::is_private) {
            return Ok(Vec::new());
        }
        let choices = contacts::choices_of(tx, token.team, contact)?;
        let listed =
            topics::all(tx, token.team)?.into_iter().rev().filter(|topic| topic.visibility == Visibility::Public);
        let listed = listed.map(|topic| {
            let Topic { id, name, description, default_subscription, .. } = topic;
            let subscription = Subscription::effective(chosen(&choices, id), default_subscription);
            ListedTopic { id, name, description, subscription }
        });
        Ok(listed.collect())
    }
}

/// Returns what is chosen about a topic.
fn chosen(choices: &[(TopicId, Subscription)], topic: TopicId) -> Option<Subscription> {
    choices.iter().find(|(id, _)| *id == topic).map(|(_, subscription)| *subscription)
}

/// Returns what a token leads to, for a visit that has just done `done`; `None` when its team is gone.
///
/// # Errors
/// [`StoreError`].
pub(super) fn load(
    tx: &impl Reads,
    token: &UnsubscribeToken,
    done: Option<(Undo, String)>,
) -> Result<Option<View>, StoreError> {
    let Some(team) = teams::find(tx, token.team)? else { return Ok(None) };
    let Some(recipient) = LinkRecipient::find(tx, token)? else { return Ok(None) };
    let theme = store::theme_of(tx, token.team)?;
    let everything = recipient.everything();
    let topics = recipient.topics(tx, token)?;
    let about = match &recipient.topic {
        None => About::Everything,
        Some(LinkTopic { id, topic }) => {
            // The topic's default is nobody's word, so that it does not answer what the link asks.
            let opted_out = contacts::has_opted_out(tx, token.team, &recipient.hash, *id)?;
            let standing = if opted_out || everything == ConsentState::OptedOut {
                ConsentState::OptedOut
            } else {
                ConsentState::Receives
            };
            About::Topic { name: topic.as_ref().map(|topic| topic.name.clone()), standing }
        }
    };
    // What has been taken back elsewhere since is not done any more.
    let still_so = |undo: &Undo| match (undo, &about) {
        (Undo::Choice(_), About::Topic { standing, .. }) => *standing == ConsentState::OptedOut,
        (Undo::Choice(_), About::Everything) => false,
        (Undo::Everything | Undo::Suppression(..), _) => everything == ConsentState::OptedOut,
    };
    let done =
        done.filter(|(undo, _)| still_so(undo)).map(|(undo, sealed)| Done { subject: undo.subject(), undo: sealed });
    Ok(Some(View {
        address: token.address.clone(),
        brand: theme.brand.clone().unwrap_or(team.name),
        theme,
        about,
        everything,
        topics,
        done,
    }))
}
