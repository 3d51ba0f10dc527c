//! Reads and records the choices of recipients.

use super::form::PostedChoices;
use super::links::PreferenceLinks;
use super::redirect::RedirectUrl;
use super::store;
use super::token::{LinkScope, UnsubscribeToken};
use super::undo::{OptOutScope, SubscribedBy, Undo};
use super::view::{self, ConsentState, LinkRecipient, ListedTopic, PageView};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId, TopicId};
use crate::contacts::{self, WriteResult};
use crate::context::Context;
use crate::events::ChangeSource;
use crate::store::{StoreError, WriteTx};
use crate::suppressions::{self, AddResult, SuppressionCause, SuppressionOrigin};
use crate::topics::Subscription;

/// Requested scope of an opt-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptOut {
    LinkScope,
    /// All marketing email of the team.
    Everything,
}

/// A recorded opt-out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptedOut {
    /// The sealed token that undoes it; `None` if the opt-out was recorded before, or if the contact did not
    /// receive the topic.
    pub undo: Option<String>,
    /// URL that the team redirects to after an opt-out.
    pub redirect: Option<RedirectUrl>,
}

/// Reason why a preferences link cannot be made: recipients cannot open this public URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkToError(pub String);

/// Changes the counts of the opt-outs with the link of an email of a team to a recipient, in their transaction.
pub type ChangeOptOuts = fn(&WriteTx<'_>, TeamId, EmailId, &EmailAddress, TimestampMs) -> Result<(), StoreError>;

/// The counts of opt-outs with the links of emails.
#[derive(Clone, Copy, Debug)]
pub struct OptOutCounts {
    /// Counts an opt-out, once for each email and recipient.
    pub count: ChangeOptOuts,
    /// Takes back a counted opt-out.
    pub take_back: ChangeOptOuts,
}

/// Service for the choices of recipients.
pub struct Preferences {
    context: Context,
    links: PreferenceLinks,
    counts: OptOutCounts,
}

impl Preferences {
    /// Returns the service for the store of `context`, which changes `counts` with opt-outs and their undo.
    pub fn new(context: Context, links: PreferenceLinks, counts: OptOutCounts) -> Self {
        Self { context, links, counts }
    }

    fn open(&self, token: &str) -> Option<UnsubscribeToken> {
        UnsubscribeToken::open(token, &self.context.keyring)
    }

    /// Returns the page data of a link; `None` if the token is invalid or the team is deleted. `sealed_undo`
    /// is the sealed undo token of an opt-out. An invalid undo token is ignored.
    pub async fn find(&self, token: &str, sealed_undo: Option<&str>) -> Result<Option<PageView>, StoreError> {
        let Some(token) = self.open(token) else { return Ok(None) };
        let undo = sealed_undo.and_then(|sealed| {
            let undo = Undo::open(sealed, &token, &self.context.keyring, self.context.now_ms())?;
            Some((undo, sealed.to_owned()))
        });
        self.context.store.read(move |tx| view::load(tx, &token, undo)).await
    }

    /// Records an opt-out; a repeated request changes nothing. Returns `None`, and records nothing, if
    /// [`Preferences::find`] returns `None`.
    ///
    /// If the address has a contact, the opt-out is the contact's choice for the topic, or its opt-out of
    /// all marketing email. Otherwise the address is added to the suppression list. An existing entry
    /// keeps its origin and stores the opt-out.
    pub async fn opt_out(
        &self,
        token: &str,
        opt_out: OptOut,
        source: ChangeSource,
    ) -> Result<Option<OptedOut>, StoreError> {
        let Some(token) = self.open(token) else { return Ok(None) };
        let (context, counts) = (self.context.clone(), self.counts);
        self.context
            .store
            .write(move |tx| {
                let Some(recipient) = LinkRecipient::find(tx, &token)? else { return Ok(None) };
                let undo = record_opt_out(tx, &context, &token, &recipient, opt_out, source)?;
                // An opt-out that was recorded before has no undo.
                if undo.is_some() {
                    change_count(tx, &token, counts.count, context.now_ms())?;
                }
                let undo = undo.map(|undo| undo.seal(&token, &context.keyring, context.now_ms()));
                Ok(Some(OptedOut { undo, redirect: store::theme_of(tx, token.team)?.redirect }))
            })
            .await
    }

    /// Records a choice for every topic that the page showed and still lists: opt-in if its box is checked,
    /// else opt-out. A topic that became public since is unchanged. An opt-out of the link's own topic counts
    /// as an opt-out with the link. Returns `false` if the token is invalid or the team is deleted.
    pub(super) async fn save(&self, token: &str, choices: PostedChoices) -> Result<bool, StoreError> {
        let Some(token) = self.open(token) else { return Ok(false) };
        let (context, counts) = (self.context.clone(), self.counts);
        let write = move |tx: &WriteTx<'_>| {
            let Some(recipient) = LinkRecipient::find(tx, &token)? else { return Ok(false) };
            let Some((contact, _)) = recipient.contact else { return Ok(true) };
            let received = recipient.receives_topic(tx, token.team)?;
            let PostedChoices { shown, checked } = &choices;
            let choice = |topic: ListedTopic| {
                if checked.contains(&topic.id) {
                    Some((topic.id, Subscription::OptIn))
                } else {
                    shown.contains(&topic.id).then_some((topic.id, Subscription::OptOut))
                }
            };
            let choices: Vec<(TopicId, Subscription)> =
                recipient.topics(tx, &token)?.into_iter().filter_map(choice).collect();
            contacts::set_topics(tx, &context, token.team, contact, &choices, ChangeSource::HostedPage)?;
            if received && !recipient.receives_topic(tx, token.team)? {
                change_count(tx, &token, counts.count, context.now_ms())?;
            }
            Ok(true)
        };
        self.context.store.write(write).await
    }

    /// Undoes the opt-out of a sealed undo token. Returns whether it changed anything; `None` if the link's
    /// token is invalid or the team is deleted.
    pub async fn undo(&self, token: &str, sealed: &str) -> Result<Option<bool>, StoreError> {
        let Some(token) = self.open(token) else { return Ok(None) };
        let undo = Undo::open(sealed, &token, &self.context.keyring, self.context.now_ms());
        let (context, counts) = (self.context.clone(), self.counts);
        let write = move |tx: &WriteTx<'_>| {
            let Some(recipient) = LinkRecipient::find(tx, &token)? else { return Ok(None) };
            let Some(undo) = undo else { return Ok(Some(false)) };
            let is_changed = apply_undo(tx, &context, &token, &recipient, undo)?;
            // Another opt-out with the same link can remain.
            let remains = match LinkRecipient::find(tx, &token)? {
                Some(after) => after.has_opted_out(tx, token.team)?,
                None => false,
            };
            if is_changed && !remains {
                change_count(tx, &token, counts.take_back, context.now_ms())?;
            }
            Ok(Some(is_changed))
        };
        self.context.store.write(write).await
    }

    /// Returns the URL of the page with all choices of a recipient.
    pub fn link_to(&self, team: TeamId, address: EmailAddress) -> Result<String, LinkToError> {
        self.links.check_reachable().map_err(LinkToError)?;
        Ok(self.links.link(&UnsubscribeToken::of_everything(team, address)).url().to_owned())
    }
}

/// Changes the counts of the email of a link. Does nothing for a link on request.
fn change_count(
    tx: &WriteTx<'_>,
    token: &UnsubscribeToken,
    change: ChangeOptOuts,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    token.email.map_or(Ok(()), |email| change(tx, token.team, email, &token.address, now_ms))
}

/// Records an opt-out with the contact or in the suppression list. Returns its undo; `None` if
/// the opt-out was recorded before, or if the contact did not receive the topic.
fn record_opt_out(
    tx: &WriteTx<'_>,
    context: &Context,
    token: &UnsubscribeToken,
    recipient: &LinkRecipient,
    opt_out: OptOut,
    source: ChangeSource,
) -> Result<Option<Undo>, StoreError> {
    let topic = match (opt_out, token.scope) {
        (OptOut::LinkScope, LinkScope::Topic(topic)) => Some(topic),
        (OptOut::LinkScope, LinkScope::Everything) | (OptOut::Everything, _) => None,
    };
    let Some((contact, consent)) = recipient.contact else {
        let scope = if topic.is_some() { OptOutScope::Topic } else { OptOutScope::Everything };
        let cause = SuppressionCause::listed(SuppressionOrigin::Unsubscribe, source);
        return Ok(match suppressions::add(tx, context, token.team, &token.address, cause)? {
            AddResult::New(id) | AddResult::OptedOut(id) => Some(Undo::Suppression(scope, id)),
            AddResult::Raised(_) | AddResult::Listed(_) => None,
        });
    };
    Ok(match topic {
        Some(topic) => {
            // A contact that did not receive the topic gets no undo: an undo would be a new opt-in.
            let subscribed_by = recipient.topic_subscribed_by(tx, token.team)?;
            let choice = [(topic, Subscription::OptOut)];
            contacts::set_topics(tx, context, token.team, contact, &choice, source)?;
            subscribed_by.map(Undo::Choice)
        }
        None => {
            contacts::set_subscription(tx, context, token.team, contact, Subscription::OptOut, source)?;
            (consent == ConsentState::Receives).then_some(Undo::Everything)
        }
    })
}

/// Restores the state before an opt-out. Returns whether anything changed.
fn apply_undo(
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
        (Undo::Choice(subscribed_by), LinkScope::Topic(topic), Some((contact, _))) => {
            let before = match subscribed_by {
                SubscribedBy::Choice => Some(Subscription::OptIn),
                SubscribedBy::Default => None,
            };
            contacts::undo_topic_opt_out(tx, context, team, contact, topic, before, source)?
        }
        (Undo::Everything, _, Some((contact, _))) => {
            contacts::set_subscription(tx, context, team, contact, Subscription::OptIn, source)?
        }
        // The contact is deleted together with its opt-out, or the undo is for a link of another scope.
        (Undo::Choice(_), LinkScope::Everything, _) | (Undo::Choice(_) | Undo::Everything, _, None) => {
            WriteResult::Unchanged
        }
    };
    Ok(written == WriteResult::Changed)
}
