//! Reading and recording what recipients choose.

use super::form::Choices;
use super::links::Links;
use super::redirect::RedirectUrl;
use super::store;
use super::token::{Scope, UnsubscribeToken};
use super::undo::{Received, Subject, Undo};
use super::view::{self, ConsentState, LinkRecipient, ListedTopic, View};
use crate::base::address::EmailAddress;
use crate::base::id::{TeamId, TopicId};
use crate::contacts::{self, WriteResult};
use crate::context::Context;
use crate::events::ChangeSource;
use crate::store::{StoreError, WriteTx};
use crate::suppressions::{self, AddResult, Origin, SuppressionCause};
use crate::topics::Subscription;

/// What to opt out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptOut {
    /// What the link is about.
    OfLink,
    /// Everything.
    OfEverything,
}

/// An opt-out on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptedOut {
    /// The sealed token that takes it back; none when it was on record before.
    pub undo: Option<String>,
    /// Where the team leads who has unsubscribed.
    pub redirect: Option<RedirectUrl>,
}

/// Why a link to somebody's choices cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkToError {
    /// Recipients could not open this public address.
    Loopback(String),
    /// What is on record does not read as an address.
    Address,
}

/// The choices behind the links.
pub struct Preferences {
    context: Context,
    links: Links,
}

impl Preferences {
    /// Wires the use cases of links.
    pub fn new(context: Context, links: Links) -> Self {
        Self { context, links }
    }

    fn open(&self, token: &str) -> Option<UnsubscribeToken> {
        UnsubscribeToken::open(token, &self.context.keyring)
    }

    /// Returns what a link leads to; `None` when its token is none of ours, or its team is gone. `done`
    /// is the sealed token of what the visit has just done.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, token: &str, done: Option<&str>) -> Result<Option<View>, StoreError> {
        let Some(token) = self.open(token) else { return Ok(None) };
        let done = done.and_then(|sealed| {
            let undo = Undo::open(sealed, &token, &self.context.keyring, self.context.now_ms())?;
            Some((undo, sealed.to_owned()))
        });
        self.context.store.read(move |tx| view::load(tx, &token, done)).await
    }

    /// Records the opt-out of a link, once however often it is asked for; `None` as in
    /// [`Preferences::find`], and then nothing is recorded.
    ///
    /// It is the contact's explicit choice about the topic, or its opt-out of everything. An address
    /// without a contact joins the suppression list instead; one that is listed keeps that row, and
    /// the opt-out with it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn opt_out(
        &self,
        token: &str,
        opt_out: OptOut,
        source: ChangeSource,
    ) -> Result<Option<OptedOut>, StoreError> {
        let Some(token) = self.open(token) else { return Ok(None) };
        let context = self.context.clone();
        self.context
            .store
            .write(move |tx| {
                let Some(recipient) = LinkRecipient::find(tx, &token)? else { return Ok(None) };
                let undo = record(tx, &context, &token, &recipient, opt_out, source)?;
                let undo = undo.map(|undo| undo.seal(&token, &context.keyring, context.now_ms()));
                Ok(Some(OptedOut { undo, redirect: store::theme_of(tx, token.team)?.redirect }))
            })
            .await
    }

    /// Records a choice about every topic that the page showed and still lists: to receive those that
    /// are checked, and no others of them. One that became public since is not decided about. Returns
    /// whether the link leads anywhere.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn save(&self, token: &str, choices: Choices) -> Result<bool, StoreError> {
        let Some(token) = self.open(token) else { return Ok(false) };
        let context = self.context.clone();
        let write = move |tx: &WriteTx<'_>| {
            let Some(recipient) = LinkRecipient::find(tx, &token)? else { return Ok(false) };
            let Some((contact, _)) = recipient.contact else { return Ok(true) };
            let Choices { shown, checked } = &choices;
            let choose = |topic: ListedTopic| {
                if checked.contains(&topic.id) {
                    Some((topic.id, Subscription::OptIn))
                } else {
                    shown.contains(&topic.id).then_some((topic.id, Subscription::OptOut))
                }
            };
            let choices: Vec<(TopicId, Subscription)> =
                recipient.topics(tx, &token)?.into_iter().filter_map(choose).collect();
            contacts::set_topics(tx, &context, token.team, contact, &choices, ChangeSource::HostedPage)?;
            Ok(true)
        };
        self.context.store.write(write).await
    }

    /// Takes back what the visit of that sealed token has done. Returns whether there was anything to
    /// take back; `None` as in [`Preferences::find`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn undo(&self, token: &str, sealed: &str) -> Result<Option<bool>, StoreError> {
        let Some(token) = self.open(token) else { return Ok(None) };
        let undo = Undo::open(sealed, &token, &self.context.keyring, self.context.now_ms());
        let context = self.context.clone();
        let write = move |tx: &WriteTx<'_>| {
            let Some(recipient) = LinkRecipient::find(tx, &token)? else { return Ok(None) };
            let Some(undo) = undo else { return Ok(Some(false)) };
            take_back(tx, &context, &token, &recipient, undo).map(Some)
        };
        self.context.store.write(write).await
    }

    /// Returns the address of the page with all of a recipient's choices.
    ///
    /// # Errors
    /// [`LinkToError`].
    pub fn link_to(&self, team: TeamId, email: &str) -> Result<String, LinkToError> {
        self.links.check_reach().map_err(LinkToError::Loopback)?;
        let address = EmailAddress::parse(email).map_err(|_| LinkToError::Address)?;
        Ok(self.links.link(&UnsubscribeToken::of_everything(team, address)).url().to_owned())
    }
}

/// Writes an opt-out down where it belongs. Returns how to take it back, when anything is other than
/// before.
fn record(
    tx: &WriteTx<'_>,
    context: &Context,
    token: &UnsubscribeToken,
    recipient: &LinkRecipient,
    opt_out: OptOut,
    source: ChangeSource,
) -> Result<Option<Undo>, StoreError> {
    let topic = match (opt_out, token.scope) {
        (OptOut::OfLink, Scope::Topic(topic)) => Some(topic),
        (OptOut::OfLink, Scope::Everything) | (OptOut::OfEverything, _) => None,
    };
    let Some((contact, standing)) = recipient.contact else {
        let subject = if topic.is_some() { Subject::Topic } else { Subject::Everything };
        let cause = SuppressionCause::listed(Origin::Unsubscribe, source);
        return Ok(match suppressions::add(tx, context, token.team, &token.address, cause)? {
            AddResult::New(id) | AddResult::OptedOut(id) => Some(Undo::Suppression(subject, id)),
            AddResult::Raised(_) | AddResult::Listed(_) => None,
        });
    };
    Ok(match topic {
        Some(topic) => {
            // Only what the contact received before is given back: an opt-in nobody had is no undo.
            let received = recipient.receives_topic(tx, token.team)?;
            let choice = [(topic, Subscription::OptOut)];
            contacts::set_topics(tx, context, token.team, contact, &choice, source)?;
            received.map(Undo::Choice)
        }
        None => {
            contacts::set_subscription(tx, context, token.team, contact, Subscription::OptOut, source)?;
            (standing == ConsentState::Receives).then_some(Undo::Everything)
        }
    })
}

/// Gives back what an opt-out took, as it was before. Returns whether there was anything to give back.
fn take_back(
    tx: &WriteTx<'_>,
    context: &Context,
    token: &UnsubscribeToken,
    recipient: &LinkRecipient,
    undo: Undo,
) -> Result<bool, StoreError> {
    let (team, source) = (token.team, ChangeSource::HostedPage);
    let written = match (undo, token.scope, recipient.contact) {
        (Undo::Suppression(_, id), ..) => {
            return suppressions::lift_opt_out(tx, context, team, &recipient.hash, Some(id), source);
        }
        (Undo::Choice(received), Scope::Topic(topic), Some((contact, _))) => {
            let before = match received {
                Received::ByChoice => Some(Subscription::OptIn),
                Received::ByDefault => None,
            };
            contacts::undo_topic_opt_out(tx, context, team, contact, topic, before, source)?
        }
        (Undo::Everything, _, Some((contact, _))) => {
            contacts::set_subscription(tx, context, team, contact, Subscription::OptIn, source)?
        }
        // The contact is gone, and its opt-out with it; or the token is of another kind of link.
        (Undo::Choice(_), Scope::Everything, _) | (Undo::Choice(_) | Undo::Everything, _, None) => {
            WriteResult::Unchanged
        }
    };
    Ok(written == WriteResult::Changed)
}
