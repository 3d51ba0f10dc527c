//! What an entry of the suppression list is. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, SuppressionId};
use crate::events::ChangeSource;

/// Why an address is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A message to it bounced for good.
    Bounce,
    /// Its owner reported a message as spam.
    Complaint,
    /// The team listed it.
    Manual,
    /// An opt-out of an address without a contact, or one that outlived its contact.
    Unsubscribe,
}

impl Origin {
    /// Every origin.
    pub const ALL: [Self; 4] = [Self::Bounce, Self::Complaint, Self::Manual, Self::Unsubscribe];

    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bounce => "bounce",
            Self::Complaint => "complaint",
            Self::Manual => "manual",
            Self::Unsubscribe => "unsubscribe",
        }
    }

    /// Reads the API's word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.as_str() == word)
    }

    /// Returns the number in the key of an index. The numbers can never change.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Bounce => 0,
            Self::Complaint => 1,
            Self::Manual => 2,
            Self::Unsubscribe => 3,
        }
    }
}

/// What lists an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuppressionCause {
    /// Why it is listed.
    pub origin: Origin,
    /// The email that brought it here.
    pub email: Option<EmailId>,
    /// Who lists it; nobody when a delivery does.
    pub source: Option<ChangeSource>,
}

impl SuppressionCause {
    /// Returns the cause of an address that an email bounced from for good.
    pub const fn bounce(email: EmailId) -> Self {
        Self { origin: Origin::Bounce, email: Some(email), source: None }
    }

    /// Returns the cause of an address whose owner reported an email.
    pub const fn complaint(email: EmailId) -> Self {
        Self { origin: Origin::Complaint, email: Some(email), source: None }
    }

    /// Returns the cause of an address that somebody lists.
    pub const fn listed(origin: Origin, source: ChangeSource) -> Self {
        Self { origin, email: None, source: Some(source) }
    }
}

/// An entry of the suppression list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// Its id.
    pub id: SuppressionId,
    /// The address; none after an erasure.
    pub email: Option<String>,
    /// Why it is listed.
    pub origin: Origin,
    /// The email that brought it here.
    pub email_id: Option<EmailId>,
    /// When it was listed.
    pub created_ms: TimestampMs,
}

/// What a send is, as far as suppressions of origin `unsubscribe` go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendKind {
    /// No topic: opt-outs do not apply.
    Transactional,
    /// Under a topic.
    Topic,
}

impl Origin {
    /// Returns whether an entry of this origin keeps a send from its address.
    pub(super) fn blocks(self, kind: SendKind) -> bool {
        match self {
            Self::Bounce | Self::Complaint | Self::Manual => true,
            Self::Unsubscribe => kind == SendKind::Topic,
        }
    }

    /// Returns who an event about an entry of this origin names. Bounces and complaints come from
    /// the sending infrastructure, and an event about them names nobody.
    pub(super) fn source(self, by: Option<ChangeSource>) -> Option<ChangeSource> {
        match self {
            Self::Bounce | Self::Complaint => None,
            Self::Manual | Self::Unsubscribe => by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_origin_has_its_word_and_its_number() {
        for (number, origin) in (0..).zip(Origin::ALL) {
            assert_eq!(Origin::parse(origin.as_str()), Some(origin));
            assert_eq!(origin.number(), number);
        }
        for word in ["", "Bounce", "bounced", "spam"] {
            assert_eq!(Origin::parse(word), None);
        }
    }

    #[test]
    fn an_opt_out_blocks_sends_under_a_topic_alone() {
        for origin in Origin::ALL {
            assert!(origin.blocks(SendKind::Topic));
            assert_eq!(origin.blocks(SendKind::Transactional), origin != Origin::Unsubscribe);
        }
    }

    #[test]
    fn an_event_about_a_bounce_or_a_complaint_names_nobody() {
        for (origin, named) in [
            (Origin::Bounce, None),
            (Origin::Complaint, None),
            (Origin::Manual, Some(ChangeSource::Api)),
            (Origin::Unsubscribe, Some(ChangeSource::Api)),
        ] {
            assert_eq!(origin.source(Some(ChangeSource::Api)), named);
        }
    }
}
