//! What a link shows and what posting to it records.

use super::token::UnsubscribeToken;
use crate::address::EmailAddress;
use crate::contacts;
use crate::context::Context;
use crate::events::Source;
use crate::store::tables::TOPICS;
use crate::store::{Reads, StoreError};
use crate::suppressions::{self, Origin};
use crate::topics::Subscription;

/// Where a recipient stands with a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is recorded against sending.
    Receives,
    /// An opt-out is recorded.
    OptedOut,
}

/// What a link is about, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The recipient.
    pub address: EmailAddress,
    /// The name of the topic.
    pub topic: String,
    /// Where the one stands with the other.
    pub standing: Standing,
}

/// The choices behind the links.
pub struct Preferences {
    context: Context,
}

impl Preferences {
    /// Wires the use cases of links.
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    /// Returns what a link is about; `None` when its token is none of ours or its topic is gone.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find(&self, token: &str) -> Result<Option<Choice>, StoreError> {
        let Some(token) = UnsubscribeToken::open(token, &self.context.keyring) else { return Ok(None) };
        self.context.store.read(move |tx| find_choice(tx, &token)).await
    }

    /// Records the opt-out of a link, once however often it is asked for; `None` as in
    /// [`Preferences::find`], and then nothing is recorded.
    ///
    /// It is the contact's explicit choice about the topic. An address without a contact joins the
    /// suppression list instead; one that is listed for another reason keeps that row.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn opt_out(&self, token: &str) -> Result<Option<Choice>, StoreError> {
        let Some(token) = UnsubscribeToken::open(token, &self.context.keyring) else { return Ok(None) };
        let context = self.context.clone();
        self.context
            .store
            .write(move |tx| {
                let Some(choice) = find_choice(tx, &token)? else { return Ok(None) };
                let hash = suppressions::hash(&token.address);
                match contacts::find_by_address(tx, token.team, &hash)? {
                    Some((contact, _)) => {
                        let choice = [(token.topic, Subscription::OptOut)];
                        contacts::set_topics(tx, &context, token.team, contact, &choice, Source::HostedPage)?;
                    }
                    None => {
                        suppressions::add(tx, &context, token.team, &token.address, Origin::Unsubscribe, None)?;
                    }
                }
                Ok(Some(Choice { standing: Standing::OptedOut, ..choice }))
            })
            .await
    }
}

fn find_choice(tx: &impl Reads, token: &UnsubscribeToken) -> Result<Option<Choice>, StoreError> {
    let UnsubscribeToken { team, topic, address } = token;
    let Some(row) = tx.get(&TOPICS, &(*team, *topic))? else { return Ok(None) };
    let hash = suppressions::hash(address);
    let opted_out = suppressions::origin(tx, *team, &hash)? == Some(Origin::Unsubscribe)
        || contacts::has_opted_out(tx, *team, &hash, *topic)?;
    let standing = if opted_out { Standing::OptedOut } else { Standing::Receives };
    Ok(Some(Choice { address: address.clone(), topic: row.name, standing }))
}
