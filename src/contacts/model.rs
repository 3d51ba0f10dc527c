//! What a write says of a contact.

use crate::base::address::EmailAddress;
use crate::base::id::{SegmentId, TopicId};
use crate::base::patch::Patch;
use crate::topics::Subscription;

/// The longest name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 500;

/// Returns whether a text can be a first or a last name.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().count() <= NAME_CHARS_MAX && !text.chars().any(char::is_control)
}

/// What becomes of a property, as it is stored: text, whatever its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyChange {
    /// It is removed.
    Remove,
    /// It becomes this text.
    Set(String),
}

/// Properties of one contact at most.
pub const CONTACT_PROPERTIES_MAX: usize = 100;
/// Bytes of the properties of one contact at most, keys and values together.
pub const PROPERTIES_BYTES_MAX: usize = 64 << 10;

/// What a write says of a contact; what it does not say stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContactChanges {
    /// The first name.
    pub first_name: Patch<String>,
    /// The last name.
    pub last_name: Patch<String>,
    /// Whether the contact opts out of all marketing email.
    pub unsubscribed: Option<bool>,
    /// Properties by their key; a key named twice takes the later value.
    pub properties: Vec<(String, PropertyChange)>,
    /// Segments it is added to.
    pub segments: Vec<SegmentId>,
    /// What it chooses about topics; a topic named twice takes the later choice.
    pub topics: Vec<(TopicId, Subscription)>,
}

impl ContactChanges {
    /// Adds a segment that it joins, once.
    pub fn join(&mut self, segment: SegmentId) {
        if !self.segments.contains(&segment) {
            self.segments.push(segment);
        }
    }

    /// Sets a choice about a topic, in place of an earlier one.
    pub fn choose(&mut self, topic: TopicId, subscription: Subscription) {
        match self.topics.iter_mut().find(|(chosen, _)| *chosen == topic) {
            Some((_, chosen)) => *chosen = subscription,
            None => self.topics.push((topic, subscription)),
        }
    }

    /// Adds what a later write says of the same contact: its fields and its choices win, segments and
    /// choices are united, and an opt-out of everything stands whichever of the two says it. So does one
    /// of a topic where opt-outs are kept.
    pub fn merge(&mut self, later: &Self, opt_ins: OptIns) {
        if later.first_name != Patch::Keep {
            self.first_name = later.first_name.clone();
        }
        if later.last_name != Patch::Keep {
            self.last_name = later.last_name.clone();
        }
        self.unsubscribed = match (self.unsubscribed, later.unsubscribed) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (earlier, later) => later.or(earlier),
        };
        self.properties.extend(later.properties.iter().cloned());
        for segment in &later.segments {
            self.join(*segment);
        }
        for (topic, subscription) in &later.topics {
            let keeps = opt_ins == OptIns::KeepOptOuts && self.topics.contains(&(*topic, Subscription::OptOut));
            if !keeps {
                self.choose(*topic, *subscription);
            }
        }
    }
}

/// A contact to add, or to find by its address and change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewContact {
    /// The address.
    pub email: EmailAddress,
    /// What is said of it.
    pub changes: ContactChanges,
}

/// Whether a write may lift a global opt-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resubscribe {
    /// It names one contact and says so explicitly.
    Allowed,
    /// `unsubscribed: false` is passed over.
    Never,
}

/// Whether a write may turn an explicit topic opt-out into an opt-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptIns {
    /// It may.
    Allowed,
    /// Explicit opt-outs stay: what an import says is older than what a person chose.
    KeepOptOuts,
}
