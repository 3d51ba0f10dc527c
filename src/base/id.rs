//! Typed ids: UUIDs of version 7 in the API and on disk, so that the order of ids is the order of creation. In a list,
//! it is also the order of the commits, except for emails, captured messages and requests: their ids exist before their
//! transactions.

use std::cmp::Ordering as CmpOrdering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::base::clock::Clock;
use crate::base::random;

/// The resources that have ids. Each is a type, so that the compiler rejects an id of another resource.
pub mod resource {
    macro_rules! resources {
        ($($name:ident),+ $(,)?) => { $(
            #[doc = concat!("Marker type for the ids of `", stringify!($name), "`.")]
            #[derive(Debug, Clone, Copy)]
            pub enum $name {}
        )+ };
    }
    resources!(
        ApiKey,
        Attachment,
        Attempt,
        Audit,
        Broadcast,
        BroadcastLink,
        Captured,
        Contact,
        ContactProperty,
        Domain,
        Email,
        Erasure,
        Event,
        Log,
        Notice,
        Segment,
        Session,
        SetAside,
        Stream,
        Suppression,
        Team,
        Template,
        TemplateVersion,
        Topic,
        User,
        Webhook,
        WebhookAttempt,
        WebhookDelivery,
    );
}

/// An id of one type of resource. 16 bytes; sorts by creation time.
pub struct Id<R> {
    uuid: Uuid,
    resource: PhantomData<fn() -> R>,
}

/// Id of an API key.
pub type ApiKeyId = Id<resource::ApiKey>;
/// Id of an attachment of an email.
pub type AttachmentId = Id<resource::Attachment>;
/// Id of one SMTP transaction of an email.
pub type AttemptId = Id<resource::Attempt>;
/// Id of an entry of the audit log.
pub type AuditId = Id<resource::Audit>;
/// Id of a broadcast.
pub type BroadcastId = Id<resource::Broadcast>;
/// Id of a link of a broadcast. It is derived from the link, so that its order is not the order of creation.
pub type BroadcastLinkId = Id<resource::BroadcastLink>;
/// Id of a message in the built-in mailbox.
pub type CapturedId = Id<resource::Captured>;
/// Id of a contact.
pub type ContactId = Id<resource::Contact>;
/// Id of a contact property.
pub type ContactPropertyId = Id<resource::ContactProperty>;
/// Id of a sending domain of a team.
pub type DomainId = Id<resource::Domain>;
/// Id of an email.
pub type EmailId = Id<resource::Email>;
/// Id of an erasure in progress.
pub type ErasureId = Id<resource::Erasure>;
/// Id of an event.
pub type EventId = Id<resource::Event>;
/// Id of an API request, in its response and in the request log.
pub type LogId = Id<resource::Log>;
/// Id of a notice to the owners of a team.
pub type NoticeId = Id<resource::Notice>;
/// Id of a segment.
pub type SegmentId = Id<resource::Segment>;
/// Id of a session of the dashboard.
pub type SessionId = Id<resource::Session>;
/// Id of a row that was set aside.
pub type SetAsideId = Id<resource::SetAside>;
/// Id of a stream of email in the queue: the team of transactional email, or the broadcast.
pub type StreamId = Id<resource::Stream>;
/// Id of an entry of the suppression list.
pub type SuppressionId = Id<resource::Suppression>;
/// Id of a team.
pub type TeamId = Id<resource::Team>;
/// Id of a template.
pub type TemplateId = Id<resource::Template>;
/// Id of one version of the content of a template.
pub type TemplateVersionId = Id<resource::TemplateVersion>;
/// Id of a topic.
pub type TopicId = Id<resource::Topic>;
/// Id of a user of the dashboard.
pub type UserId = Id<resource::User>;
/// Id of a webhook endpoint.
pub type WebhookId = Id<resource::Webhook>;
/// Id of one HTTP request of a webhook delivery.
pub type WebhookAttemptId = Id<resource::WebhookAttempt>;
/// Id of the delivery of one event to one endpoint.
pub type WebhookDeliveryId = Id<resource::WebhookDelivery>;

impl<R> Id<R> {
    /// Lowest possible id: the start of a range of all ids.
    pub const MIN: Self = Self::from_bytes([0; 16]);
    /// Highest possible id: the end of a range of all ids.
    pub const MAX: Self = Self::from_bytes([0xff; 16]);

    /// Builds an id from the 16 bytes of a table key.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self { uuid: Uuid::from_bytes(bytes), resource: PhantomData }
    }

    /// Returns the id with the same bytes of another type of resource.
    pub const fn cast<S>(self) -> Id<S> {
        Id { uuid: self.uuid, resource: PhantomData }
    }

    /// Returns the lowest id of the millisecond `ms` since the Unix epoch: the start of a range by creation time.
    pub fn first_at(ms: i64) -> Self {
        let ms = u64::try_from(ms).unwrap_or(0);
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&ms.to_be_bytes()[2..]);
        Self::from_bytes(bytes)
    }

    /// Returns the 16 bytes of the id, in key order.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.uuid.as_bytes()
    }

    /// Parses the hyphenated form of the API, in upper or lower case.
    pub fn parse(text: &str) -> Option<Self> {
        // `Uuid::try_parse` also accepts the simple, braced and URN forms. The API does not.
        if text.len() != 36 {
            return None;
        }
        Uuid::try_parse(text).ok().map(|uuid| Self { uuid, resource: PhantomData })
    }

    /// Returns the creation time of the id in milliseconds since the Unix epoch.
    pub fn created_ms(&self) -> i64 {
        let bytes = self.as_bytes();
        let ms = bytes[..6].iter().fold(0_u64, |ms, byte| (ms << 8) | u64::from(*byte));
        i64::try_from(ms).unwrap_or(i64::MAX)
    }
}

impl<R> Clone for Id<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for Id<R> {}
impl<R> PartialEq for Id<R> {
    fn eq(&self, other: &Self) -> bool {
        self.uuid == other.uuid
    }
}
impl<R> Eq for Id<R> {}
impl<R> PartialOrd for Id<R> {
    fn partial_cmp(&self, other: &Self) -> Option<CmpOrdering> {
        Some(self.cmp(other))
    }
}
impl<R> Ord for Id<R> {
    fn cmp(&self, other: &Self) -> CmpOrdering {
        self.uuid.cmp(&other.uuid)
    }
}
impl<R> Hash for Id<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.uuid.hash(state);
    }
}
impl<R> fmt::Display for Id<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uuid.as_hyphenated().fmt(f)
    }
}
impl<R> fmt::Debug for Id<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl<R> Serialize for Id<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.uuid.serialize(serializer)
    }
}
impl<'de, R> Deserialize<'de> for Id<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Uuid::deserialize(deserializer).map(|uuid| Self { uuid, resource: PhantomData })
    }
}

/// Generator of ids that strictly increase within one process, for any number of ids per millisecond. Clones
/// share one counter.
#[derive(Clone, Debug)]
pub struct IdSource {
    clock: Clock,
    /// Milliseconds (48 bits) and counter (12 bits) of the last id (RFC 9562 §6.2, method 1).
    last: Arc<AtomicU64>,
}

impl IdSource {
    /// Returns a generator that reads the time from `clock`.
    pub fn new(clock: Clock) -> Self {
        Self { clock, last: Arc::new(AtomicU64::new(0)) }
    }

    /// Generates an id that is higher than all previous ones of this generator.
    pub fn draw<R>(&self) -> Id<R> {
        let now = u64::try_from(self.clock.now_ms()).unwrap_or(0) << 12;
        // If the counter overflows or the clock steps back, ids run ahead of the clock. No id repeats.
        let stamp = self
            .last
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(now.max(last + 1)))
            .map_or(now, |last| now.max(last + 1));
        let mut bytes: [u8; 16] = random::bytes();
        bytes[..6].copy_from_slice(&(stamp >> 12).to_be_bytes()[2..]);
        let counter = (stamp & 0x0fff) as u16;
        bytes[6..8].copy_from_slice(&(0x7000 | counter).to_be_bytes());
        bytes[8] = 0x80 | (bytes[8] & 0x3f);
        Id::from_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_of_one_millisecond_increase() {
        let clock = Clock::manual(1_767_604_353_456);
        let ids = IdSource::new(clock.clone());

        let drawn: Vec<EmailId> = (0..10_000).map(|_| ids.draw()).collect();
        clock.advance(std::time::Duration::from_millis(1));
        let later: EmailId = ids.draw();

        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(later > drawn[9_999]);
    }

    #[test]
    fn an_id_is_a_version_7_uuid_with_its_creation_time() {
        let ids = IdSource::new(Clock::manual(1_767_604_353_456));

        let id: EmailId = ids.draw();

        assert_eq!(Uuid::parse_str(&id.to_string()).unwrap().get_version_num(), 7);
        assert_eq!(id.created_ms(), 1_767_604_353_456);
        assert!(EmailId::first_at(1_767_604_353_456) <= id);
    }

    proptest! {
        #[test]
        fn a_displayed_id_parses_to_the_same_id(bytes: [u8; 16]) {
            let id = EmailId::from_bytes(bytes);

            prop_assert_eq!(EmailId::parse(&id.to_string()), Some(id));
            prop_assert_eq!(EmailId::parse(&id.to_string().to_uppercase()), Some(id));
        }

        #[test]
        fn parsing_never_panics(text in ".{0,50}") {
            let _ = EmailId::parse(&text);
        }
    }
}
