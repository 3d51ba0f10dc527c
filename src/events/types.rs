//! The event types that a webhook endpoint can subscribe to.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Event type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    EmailScheduled,
    EmailSent,
    EmailDelivered,
    EmailDeliveryDelayed,
    EmailBounced,
    EmailComplained,
    EmailOpened,
    EmailClicked,
    EmailPrefetched,
    EmailFailed,
    ContactCreated,
    ContactUpdated,
    ContactDeleted,
    ContactUnsubscribed,
    ContactResubscribed,
    ContactTopicOptIn,
    ContactTopicOptOut,
    SuppressionAdded,
    SuppressionRemoved,
    DeliverabilityWarning,
    DeliverabilityPaused,
    /// `quota.warning`; never produced by a self-hosted server
    QuotaWarning,
    /// `quota.reached`; never produced by a self-hosted server
    QuotaReached,
    /// `quota.paused`; never produced by a self-hosted server
    QuotaPaused,
}

/// Every type with its name and its number on disk. The numbers never change.
const TYPES: &[(EventType, &str, u8)] = &[
    (EventType::EmailScheduled, "email.scheduled", 0),
    (EventType::EmailSent, "email.sent", 1),
    (EventType::EmailDelivered, "email.delivered", 2),
    (EventType::EmailDeliveryDelayed, "email.delivery_delayed", 3),
    (EventType::EmailBounced, "email.bounced", 4),
    (EventType::EmailComplained, "email.complained", 5),
    (EventType::EmailOpened, "email.opened", 6),
    (EventType::EmailClicked, "email.clicked", 7),
    (EventType::EmailPrefetched, "email.prefetched", 8),
    (EventType::EmailFailed, "email.failed", 9),
    (EventType::ContactCreated, "contact.created", 10),
    (EventType::ContactUpdated, "contact.updated", 11),
    (EventType::ContactDeleted, "contact.deleted", 12),
    (EventType::ContactUnsubscribed, "contact.unsubscribed", 13),
    (EventType::ContactResubscribed, "contact.resubscribed", 14),
    (EventType::ContactTopicOptIn, "contact.topic_opt_in", 15),
    (EventType::ContactTopicOptOut, "contact.topic_opt_out", 16),
    (EventType::SuppressionAdded, "suppression.added", 17),
    (EventType::SuppressionRemoved, "suppression.removed", 18),
    (EventType::DeliverabilityWarning, "deliverability.warning", 19),
    (EventType::DeliverabilityPaused, "deliverability.paused", 20),
    (EventType::QuotaWarning, "quota.warning", 21),
    (EventType::QuotaReached, "quota.reached", 22),
    (EventType::QuotaPaused, "quota.paused", 23),
];

/// Types of the compatible API that never occur here, each with its number on disk. The numbers never change: a type
/// that occurs in a later version keeps its number.
const FOREIGN_TYPES: [(&str, u8); 23] = [
    ("email.received", 40),
    ("email.suppressed", 41),
    ("contact.topics.updated", 42),
    ("domain.created", 43),
    ("domain.updated", 44),
    ("domain.deleted", 45),
    ("topic.created", 46),
    ("topic.updated", 47),
    ("topic.deleted", 48),
    ("inbox.created", 49),
    ("inbox.updated", 50),
    ("inbox.deleted", 51),
    ("inbox.thread.created", 52),
    ("inbox.thread.folder.updated", 53),
    ("inbox.thread.assigned", 54),
    ("inbox.thread.unassigned", 55),
    ("inbox.thread.labels.updated", 56),
    ("inbox.email.received", 57),
    ("inbox.email.sent", 58),
    ("inbox.draft.created", 59),
    ("inbox.draft.updated", 60),
    ("inbox.draft.sent", 61),
    ("inbox.draft.deleted", 62),
];

/// Event type of the compatible API that never occurs here. An endpoint can name it and never receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignEventType {
    name: &'static str,
    number: u8,
}

impl ForeignEventType {
    /// Returns every type, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        FOREIGN_TYPES.into_iter().map(|(name, number)| Self { name, number })
    }

    /// Returns the type of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|foreign| foreign.name == name)
    }

    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        self.name
    }
}

impl EventType {
    /// Returns every type, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        TYPES.iter().map(|(event_type, _, _)| *event_type)
    }

    /// Returns the type of that name.
    pub fn parse(name: &str) -> Option<Self> {
        TYPES.iter().find(|(_, known, _)| *known == name).map(|(event_type, _, _)| *event_type)
    }

    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        TYPES[self as usize].1
    }

    const fn bit(self) -> u64 {
        1 << TYPES[self as usize].2
    }

    /// Returns whether an endpoint must name the type explicitly: "all events" excludes it.
    pub const fn is_opt_in(self) -> bool {
        matches!(self, Self::EmailPrefetched)
    }
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EventType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| D::Error::custom(format_args!("unknown event type {name}")))
    }
}

/// Set of event types: either named types, or all types except those that must be named. Stored as a number with one
/// bit for each type, and one bit for "all", which includes the types of later versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventTypes(u64);

impl EventTypes {
    /// Bit for every type that need not be named.
    const ALL: u64 = 1 << 63;

    /// Returns the set of every type that need not be named.
    pub const fn all() -> Self {
        Self(Self::ALL)
    }

    /// Returns whether the set contains the type.
    pub const fn contains(self, event_type: EventType) -> bool {
        let all = if event_type.is_opt_in() { 0 } else { Self::ALL };
        self.0 & (event_type.bit() | all) != 0
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the names of all types of the set in the order of the documentation, the foreign types last.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let foreign = ForeignEventType::all().filter(move |foreign| self.0 & (1 << foreign.number) != 0);
        self.iter().map(EventType::as_str).chain(foreign.map(ForeignEventType::as_str))
    }

    /// Returns the types of the set that occur here, in the order of [`EventType`].
    pub fn iter(self) -> impl Iterator<Item = EventType> {
        EventType::all().filter(move |event_type| self.contains(*event_type))
    }
}

impl From<EventType> for EventTypes {
    fn from(event_type: EventType) -> Self {
        Self(event_type.bit())
    }
}

impl From<ForeignEventType> for EventTypes {
    fn from(foreign: ForeignEventType) -> Self {
        Self(1 << foreign.number)
    }
}

/// Returns the union of the sets.
impl FromIterator<Self> for EventTypes {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        Self(sets.into_iter().fold(0, |union, set| union | set.0))
    }
}

impl FromIterator<EventType> for EventTypes {
    fn from_iter<I: IntoIterator<Item = EventType>>(types: I) -> Self {
        Self(types.into_iter().fold(0, |set, event_type| set | event_type.bit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_position_and_number() {
        for (position, (event_type, name, number)) in TYPES.iter().enumerate() {
            assert_eq!(*event_type as usize, position, "{name}");
            assert_eq!(EventType::parse(name), Some(*event_type));
            assert_eq!(event_type.as_str(), *name);
            assert_eq!(TYPES.iter().filter(|(_, _, other)| other == number).count(), 1, "{name}");
            assert!(*number < 63, "{name}");
        }
        assert_eq!(EventType::parse("email.received"), None);
    }

    #[test]
    fn a_foreign_type_has_its_own_number_and_is_no_type_that_occurs_here() {
        let mut numbers: Vec<u8> = TYPES.iter().map(|(_, _, number)| *number).collect();
        for foreign in ForeignEventType::all() {
            assert!(!numbers.contains(&foreign.number) && foreign.number < 63, "{foreign:?}");
            numbers.push(foreign.number);
            assert_eq!(ForeignEventType::parse(foreign.as_str()), Some(foreign));
            assert_eq!(EventType::parse(foreign.as_str()), None);
            assert!(!EventTypes::all().names().any(|name| name == foreign.as_str()));
        }
    }

    #[test]
    fn a_set_with_foreign_types_names_them_and_contains_no_other_type() {
        let received = ForeignEventType::parse("email.received").unwrap();
        let set: EventTypes =
            [received.into(), EventTypes::from(EventType::QuotaPaused), received.into()].into_iter().collect();

        assert_eq!(set.names().collect::<Vec<_>>(), ["quota.paused", "email.received"]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [EventType::QuotaPaused]);
        assert!(!EventTypes::from(received).is_empty());
    }

    #[test]
    fn all_excludes_types_that_must_be_named() {
        let all = EventTypes::all();

        assert!(!all.contains(EventType::EmailPrefetched));
        assert_eq!(all.iter().count(), TYPES.len() - 1);
    }

    #[test]
    fn all_is_stored_as_its_own_bit() {
        assert_eq!(EventTypes::all(), EventTypes(1 << 63));
        assert_ne!(EventTypes::all(), EventTypes::all().iter().collect());
        assert_eq!(serde_json::to_string(&EventTypes::all()).unwrap(), "9223372036854775808");
    }

    #[test]
    fn a_set_contains_its_types_once() {
        let set: EventTypes =
            [EventType::EmailSent, EventType::QuotaPaused, EventType::EmailSent].into_iter().collect();

        assert_eq!(set.iter().collect::<Vec<_>>(), [EventType::EmailSent, EventType::QuotaPaused]);
        assert!(EventTypes::default().is_empty());
    }
}
