//! Entries of the suppression list. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, SuppressionId};
use crate::base::words::words;
use crate::events::{ChangeSource, EventIdentity};

/// Maximum number of addresses or ids in one request.
pub const BATCH_MAX: usize = 1_000;

words! {
    /// Origin of an entry.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SuppressionOrigin {
        /// A message to the address bounced permanently.
        Bounce = "bounce",
        /// The recipient reported a message as spam.
        Complaint = "complaint",
        /// The team added the address.
        Manual = "manual",
        /// Opt-out of an address without a contact, or whose contact was deleted.
        Unsubscribe = "unsubscribe",
    } with ALL, parse
}

impl SuppressionOrigin {
    /// Returns the number in index keys. The numbers can never change.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Bounce => 0,
            Self::Complaint => 1,
            Self::Manual => 2,
            Self::Unsubscribe => 3,
        }
    }
}

/// The cause of a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuppressionCause {
    pub origin: SuppressionOrigin,
    /// The email that bounced or that the recipient reported.
    pub email: Option<EmailId>,
    /// The source of the change; `None` for a bounce or a complaint.
    pub source: Option<ChangeSource>,
    /// Form of the address in a new entry and its event. An entry without the address has its hash.
    pub identity: EventIdentity,
}

impl SuppressionCause {
    /// Returns the cause of a permanent bounce.
    pub const fn bounce(email: EmailId) -> Self {
        Self { origin: SuppressionOrigin::Bounce, email: Some(email), source: None, identity: EventIdentity::Shown }
    }

    /// Returns the cause of a complaint.
    pub const fn complaint(email: EmailId) -> Self {
        Self { origin: SuppressionOrigin::Complaint, email: Some(email), source: None, identity: EventIdentity::Shown }
    }

    /// Returns the cause of a request that adds an address.
    pub const fn listed(origin: SuppressionOrigin, source: ChangeSource) -> Self {
        Self { origin, email: None, source: Some(source), identity: EventIdentity::Shown }
    }
}

/// An entry of the suppression list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    pub id: SuppressionId,
    /// The address; `None` after an erasure.
    pub email: Option<String>,
    pub origin: SuppressionOrigin,
    /// The email that bounced or that the recipient reported.
    pub email_id: Option<EmailId>,
    /// Time of creation.
    pub created_ms: TimestampMs,
}

/// Kind of a send, which decides whether entries of the origin `unsubscribe` block it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendKind {
    /// Without a topic: opt-outs do not apply.
    Transactional,
    /// Under a topic.
    Topic,
}

impl SuppressionOrigin {
    /// Returns whether an entry of this origin blocks a send of this kind.
    pub(super) fn blocks(self, kind: SendKind) -> bool {
        match self {
            Self::Bounce | Self::Complaint | Self::Manual => true,
            Self::Unsubscribe => kind == SendKind::Topic,
        }
    }

    /// Returns the source in an event about an entry of this origin. `None` for bounces and complaints,
    /// because they do not come from a request.
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
    fn every_origin_has_a_word_and_a_number() {
        for (number, origin) in (0..).zip(SuppressionOrigin::ALL) {
            assert_eq!(SuppressionOrigin::parse(origin.as_str()), Some(origin));
            assert_eq!(origin.number(), number);
        }
        for word in ["", "Bounce", "bounced", "spam"] {
            assert_eq!(SuppressionOrigin::parse(word), None);
        }
    }

    #[test]
    fn an_opt_out_blocks_only_sends_under_a_topic() {
        for origin in SuppressionOrigin::ALL {
            assert!(origin.blocks(SendKind::Topic));
            assert_eq!(origin.blocks(SendKind::Transactional), origin != SuppressionOrigin::Unsubscribe);
        }
    }

    #[test]
    fn an_event_about_a_bounce_or_a_complaint_has_no_source() {
        for (origin, source) in [
            (SuppressionOrigin::Bounce, None),
            (SuppressionOrigin::Complaint, None),
            (SuppressionOrigin::Manual, Some(ChangeSource::Api)),
            (SuppressionOrigin::Unsubscribe, Some(ChangeSource::Api)),
        ] {
            assert_eq!(origin.source(Some(ChangeSource::Api)), source);
        }
    }
}
