//! The changes that a write requests.

use crate::base::address::EmailAddress;
use crate::base::id::{SegmentId, TopicId};
use crate::base::patch::Patch;
use crate::topics::Subscription;

/// Maximum length of a first or last name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 500;

/// Returns whether a text can be a first or a last name.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().count() <= NAME_CHARS_MAX && !text.chars().any(char::is_control)
}

/// Change of one property. A value is stored as text, whatever the type of the property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyChange {
    /// The property is removed.
    Remove,
    /// The property gets this text.
    Set(String),
    /// The property gets this text of a number. Without a definition, it reads back as a number.
    SetNumber(String),
}

impl PropertyChange {
    /// Returns the new text; `None` if the property is removed.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Remove => None,
            Self::Set(text) | Self::SetNumber(text) => Some(text),
        }
    }
}

/// Maximum number of properties of one contact.
pub const CONTACT_PROPERTIES_MAX: usize = 100;
/// Maximum total size of the properties of one contact in bytes, keys and values together.
pub const PROPERTIES_BYTES_MAX: usize = 64 << 10;

/// Changes that a write requests for one contact. Fields without a change stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContactChanges {
    pub first_name: Patch<String>,
    pub last_name: Patch<String>,
    /// `Some(true)` opts the contact out of all marketing email.
    pub unsubscribed: Option<bool>,
    /// Property changes by key. If a key is repeated, the last change applies.
    pub properties: Vec<(String, PropertyChange)>,
    /// Segments that the contact becomes a member of.
    pub segments: Vec<SegmentId>,
    /// Topic choices. If a topic is repeated, the last choice applies.
    pub topics: Vec<(TopicId, Subscription)>,
}

impl ContactChanges {
    /// Adds a segment that the contact joins, unless it is in the list already.
    pub fn join(&mut self, segment: SegmentId) {
        if !self.segments.contains(&segment) {
            self.segments.push(segment);
        }
    }

    /// Sets the choice for a topic and replaces an earlier choice for it.
    pub fn choose(&mut self, topic: TopicId, subscription: Subscription) {
        match self.topics.iter_mut().find(|(chosen, _)| *chosen == topic) {
            Some((_, chosen)) => *chosen = subscription,
            None => self.topics.push((topic, subscription)),
        }
    }

    /// Merges the changes of a later write to the same contact. The fields and choices of `later`
    /// replace the earlier ones, and the segments are united. An opt-out of all marketing email in
    /// either write applies. With [`OptIns::KeepOptOuts`], an earlier opt-out of a topic applies too.
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
            let keep_opt_out = opt_ins == OptIns::KeepOptOuts && self.topics.contains(&(*topic, Subscription::OptOut));
            if !keep_opt_out {
                self.choose(*topic, *subscription);
            }
        }
    }
}

/// A contact to create, or to find by its address and change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewContact {
    pub email: EmailAddress,
    pub changes: ContactChanges,
}

/// Permission of a write to clear an opt-out of all marketing email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resubscribe {
    /// `unsubscribed: false` clears the opt-out. For explicit writes to one contact.
    Allowed,
    /// `unsubscribed: false` is ignored.
    Never,
}

/// Permission of a write to replace an explicit opt-out of a topic with an opt-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptIns {
    Allowed,
    /// Explicit opt-outs stay. An import uses this, because its file may be older than the opt-out.
    KeepOptOuts,
}
