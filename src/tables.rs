//! Every table: its key, its value, who writes it and how it grows.
//!
//! Names end in a version: a new shape is a new table and a migration. Keys sort by their parts,
//! most general first; an id is a UUIDv7, so a range over ids is a range over creation times.
//! The store's own tables are in `store/meta.rs`.

use serde::{Deserialize, Serialize};

use crate::api_keys::{ApiKeyRow, ApiKeyUseRow};
use crate::base::id::{
    ApiKeyId, AttemptId, CapturedId, ContactId, ContactPropertyId, DomainId, EmailId, ErasureId, EventId,
    IdempotencyId, LogId, NoticeId, SegmentId, SuppressionId, TeamId, TopicId, UserId, WebhookDeliveryId, WebhookId,
};
use crate::contact_properties::ContactPropertyRow;
use crate::contacts::{AudienceRow, ContactRow, TopicChoiceRow};
use crate::delivery::{CapturedRow, DestinationRow, DueRow, LeaseRow, ReceivingHostRow, SmtpAttemptRow};
use crate::domains::{DomainRow, SenderDomainRow};
use crate::emails::{EmailRow, IdempotencyRow};
use crate::erasure::ErasureRow;
use crate::events::{AudienceEventRow, EventRow, MessageRow, OutboxRow, SubscriptionsRow};
use crate::logs::LogRow;
use crate::notices::NoticeRow;
use crate::preferences::ThemeRow;
use crate::segments::SegmentRow;
use crate::store::meta::{EPOCH, META};
use crate::store::{Blob, Row, Table};
use crate::suppressions::SuppressionRow;
use crate::teams::TeamRow;
use crate::topics::{DeletedTopicRow, TopicRow};
use crate::usage::UsageRow;
use crate::users::{MembershipRow, UserRow};
use crate::webhooks::{DeliveryRow, HealthRow, QueueRow, WebhookRow};

/// SHA-256 of a normalised address: what suppressions and contacts are found by.
pub type AddressHash = [u8; 32];

/// Teams. Written by `teams`; a handful, kept for good.
pub const TEAMS: Table<(TeamId,), TeamRow> = Table::new("teams-1");
/// Users of the dashboard. Written by `users`; kept until deleted.
pub const USERS: Table<(UserId,), UserRow> = Table::new("users-1");
/// The user behind an address. Index of [`USERS`], written with it.
pub const USER_ADDRESSES: Table<(AddressHash,), UserIdRow> = Table::new("user_addresses-1");
/// Who belongs to a team, with the role. Written by `users`.
pub const MEMBERSHIPS: Table<(TeamId, UserId), MembershipRow> = Table::new("memberships-1");

/// API keys: hashes, never tokens. Written by `api_keys`; gone when deleted.
pub const API_KEYS: Table<(TeamId, ApiKeyId), ApiKeyRow> = Table::new("api_keys-1");
/// When a key was last used, to the minute. Written by `api_keys` in the background.
pub const API_KEY_USES: Table<(TeamId, ApiKeyId), ApiKeyUseRow> = Table::new("api_key_uses-1");

/// Sending domains with their sealed DKIM keys. Written by `domains`.
pub const DOMAINS: Table<(TeamId, DomainId), DomainRow> = Table::new("domains-1");
/// What a send needs of the domain behind a name (SHA-256 of the A-label form). Index of
/// [`DOMAINS`], written with it: every send reads it, and it is far smaller than the domain's row.
pub const SENDER_DOMAINS: Table<(TeamId, [u8; 32]), SenderDomainRow> = Table::new("sender_domains-1");

/// Emails without their content. Written by `emails` at accept and by outcomes; one a send;
/// removed by retention after `RINGMAIL_EMAIL_RETENTION_DAYS`.
pub const EMAILS: Table<(TeamId, EmailId), EmailRow> = Table::new("emails-1");
/// The content of an email: html, text and headers, compressed and sealed, in chunks of 256 KiB.
/// Written once at accept; removed by retention after `RINGMAIL_CONTENT_RETENTION_DAYS`.
pub const EMAIL_BODIES: Table<(EmailId, u32), Blob> = Table::new("email_bodies-1");
/// Attachments by their number in the email, sealed, in chunks of 256 KiB. Lives as long as the body.
pub const ATTACHMENTS: Table<(EmailId, u16, u32), Blob> = Table::new("attachments-1");
/// What was answered to an idempotency key, by expiry. Written with the emails; a day of rows,
/// eight days of those of notices.
pub const IDEMPOTENCY: Table<(u64, IdempotencyId), IdempotencyRow> = Table::new("idempotency-1");

/// The queue: due time (ms), class (0 transactional, 1 broadcast), email, recipient group.
/// Written by `emails` and `delivery`; a row leaves when it is leased.
pub const DUE: Table<(u64, u8, EmailId, u16), DueRow> = Table::new("due-1");
/// Recipient groups a delivery is under way for. Written by `delivery`; a row leaves with its outcome.
pub const LEASES: Table<(EmailId, u16), LeaseRow> = Table::new("leases-1");
/// SMTP conversations: what was said, to whom, under which TLS. Lives as long as its email's row.
pub const ATTEMPTS: Table<(EmailId, AttemptId), SmtpAttemptRow> = Table::new("attempts-1");
/// Receiving hosts whose STARTTLS broke, by SHA-256 of their name. Written by `delivery`; removed
/// some days after the break is forgotten.
pub const RECEIVING_HOSTS: Table<([u8; 32],), ReceivingHostRow> = Table::new("receiving_hosts-1");
/// Domains that mail reached, by SHA-256 of their name: one whose name vanishes gets a second look
/// before its mail bounces. Written by `delivery` once a day a domain; removed after 30 days.
pub const DESTINATIONS: Table<([u8; 32],), DestinationRow> = Table::new("destinations-1");
/// The built-in mailbox. Written in capture mode; lives as long as content does.
pub const CAPTURED: Table<(CapturedId,), CapturedRow> = Table::new("captured-1");
/// The raw messages of [`CAPTURED`], sealed, in chunks of 256 KiB.
pub const CAPTURED_MESSAGES: Table<(CapturedId, u32), Blob> = Table::new("captured_messages-1");

/// What happened to an email, oldest first. Written by `events::record` alone; lives as long as
/// the email's row.
pub const EVENTS: Table<(EmailId, EventId), EventRow> = Table::new("events-1");

/// Requests and messages that reported about deliveries (SHA-256), by the UTC day they came (days since
/// the epoch): one that is repeated does nothing. Written by `ingest`; removed after a week.
pub const INGESTED: Table<(u32, [u8; 32]), ()> = Table::new("ingested-1");

/// What happened to a team's contacts and suppression list, oldest first. Written by
/// `events::record_audience` alone; lives as long as webhook deliveries do.
pub const AUDIENCE_EVENTS: Table<(TeamId, EventId), AudienceEventRow> = Table::new("audience_events-1");

/// Which enabled webhook endpoints of a team hear of which types of events. Index of [`WEBHOOKS`],
/// written with it: every event reads it.
pub const EVENT_SUBSCRIPTIONS: Table<(TeamId,), SubscriptionsRow> = Table::new("event_subscriptions-1");
/// What webhooks deliver of an event: the body, written with the event when an endpoint hears of it.
/// Lives as long as webhook deliveries do.
pub const EVENT_MESSAGES: Table<(TeamId, EventId), MessageRow> = Table::new("event_messages-1");
/// Events that have not been queued for the endpoints that hear of them. Written with the event; a
/// row leaves when its deliveries have been queued.
pub const EVENT_OUTBOX: Table<(TeamId, EventId), OutboxRow> = Table::new("event_outbox-1");

/// Webhook endpoints with their sealed secrets. Written by `webhooks`; at most 200 a team, kept until
/// deleted.
pub const WEBHOOKS: Table<(TeamId, WebhookId), WebhookRow> = Table::new("webhooks-1");
/// How an endpoint has fared of late. Written with outcomes, when they change it; gone with its endpoint.
pub const WEBHOOK_HEALTH: Table<(TeamId, WebhookId), HealthRow> = Table::new("webhook_health-1");
/// Deliveries of events to an endpoint, with their attempts. Written by `webhooks`; removed after
/// `WEBHOOK_DELIVERY_RETENTION_DAYS`.
pub const WEBHOOK_DELIVERIES: Table<(TeamId, WebhookId, WebhookDeliveryId), DeliveryRow> =
    Table::new("webhook_deliveries-1");
/// Deliveries that are due or will be, by endpoint and time (ms). Written by `webhooks`; a row leaves
/// when its delivery has come to an end.
pub const WEBHOOK_QUEUE: Table<(WebhookId, u64, WebhookDeliveryId), QueueRow> = Table::new("webhook_queue-1");

/// What the owners of a team have not been told yet. Written with the fact; a row leaves when they
/// have been told, and after a week at the latest.
pub const NOTICES: Table<(TeamId, NoticeId), NoticeRow> = Table::new("notices-1");

/// The suppression list. Written by outcomes and by `suppressions`.
pub const SUPPRESSIONS: Table<(TeamId, SuppressionId), SuppressionRow> = Table::new("suppressions-1");
/// The entry behind an address. Index of [`SUPPRESSIONS`], written with it.
pub const SUPPRESSION_ADDRESSES: Table<(TeamId, AddressHash), SuppressionIdRow> = Table::new("suppression_addresses-1");
/// The entries of an origin (its number) and those of any (255), but for those whose address has been
/// erased. Index of [`SUPPRESSIONS`], written with it.
pub const SUPPRESSION_ORIGINS: Table<(TeamId, u8, SuppressionId), ()> = Table::new("suppression_origins-1");
/// Erasures that were asked for and are not done. Written by `erasure`; gone when nothing of the
/// addresses is left.
pub const ERASURES: Table<(TeamId, ErasureId), ErasureRow> = Table::new("erasures-1");
/// What a team keeps about its contacts, and of which type. Written by `contact_properties`; at most
/// 500 a team, kept until deleted.
pub const CONTACT_PROPERTIES: Table<(TeamId, ContactPropertyId), ContactPropertyRow> =
    Table::new("contact_properties-1");
/// The property behind a key (SHA-256 of the key in lower case). Index of [`CONTACT_PROPERTIES`],
/// written with it.
pub const CONTACT_PROPERTY_KEYS: Table<(TeamId, [u8; 32]), ContactPropertyIdRow> =
    Table::new("contact_property_keys-1");
/// Topics a recipient can opt out of. Written by `topics`; at most 500 a team, kept until deleted.
pub const TOPICS: Table<(TeamId, TopicId), TopicRow> = Table::new("topics-1");
/// When a topic was deleted, for as long as there may be choices about it. Written by `topics`.
pub const DELETED_TOPICS: Table<(TeamId, TopicId), DeletedTopicRow> = Table::new("deleted_topics-1");
/// Segments of a team's contacts. Written by `segments`.
pub const SEGMENTS: Table<(TeamId, SegmentId), SegmentRow> = Table::new("segments-1");
/// Contacts added to a segment by hand. Written by `segments`.
pub const SEGMENT_MEMBERS: Table<(TeamId, SegmentId, ContactId), ()> = Table::new("segment_members-1");
/// The same from the contact's side. Index of [`SEGMENT_MEMBERS`], written with it.
pub const CONTACT_SEGMENTS: Table<(TeamId, ContactId, SegmentId), ()> = Table::new("contact_segments-1");
/// How many contacts a team has, and a number that every change to them or to their segments raises.
/// Written by `contacts`; one row a team.
pub const AUDIENCES: Table<(TeamId,), AudienceRow> = Table::new("audiences-1");
/// Contacts. Written by `contacts`.
pub const CONTACTS: Table<(TeamId, ContactId), ContactRow> = Table::new("contacts-1");
/// The contact behind an address. Index of [`CONTACTS`], written with it.
pub const CONTACT_ADDRESSES: Table<(TeamId, AddressHash), ContactIdRow> = Table::new("contact_addresses-1");
/// A contact's explicit choice about a topic. Written by `contacts`.
pub const TOPIC_CHOICES: Table<(TeamId, ContactId, TopicId), TopicChoiceRow> = Table::new("topic_choices-1");

/// How a team's preference page looks. Written by `preferences`; at most one row a team.
pub const PREFERENCE_THEMES: Table<(TeamId,), ThemeRow> = Table::new("preference_themes-1");

/// What was asked of the API and how it was answered: a row a request with a valid key. Written by
/// `logs` in the background; removed by retention after `RINGMAIL_LOG_RETENTION_DAYS`.
pub const REQUEST_LOGS: Table<(TeamId, LogId), LogRow> = Table::new("request_logs-1");
/// The redacted copies of the bodies of [`REQUEST_LOGS`], at most 16 KiB each, sealed. Lives as long
/// as its row.
pub const REQUEST_LOG_BODIES: Table<(TeamId, LogId), Blob> = Table::new("request_log_bodies-1");

/// Emails accepted, by team and UTC day (days since the epoch). Written at accept; one row a day.
pub const USAGE: Table<(TeamId, u32), UsageRow> = Table::new("usage-1");

/// The name of every table, in the order of this file: what the documentation is checked against.
pub const NAMES: &[&str] = &[
    META.name(),
    EPOCH.name(),
    TEAMS.name(),
    USERS.name(),
    USER_ADDRESSES.name(),
    MEMBERSHIPS.name(),
    API_KEYS.name(),
    API_KEY_USES.name(),
    DOMAINS.name(),
    SENDER_DOMAINS.name(),
    EMAILS.name(),
    EMAIL_BODIES.name(),
    ATTACHMENTS.name(),
    IDEMPOTENCY.name(),
    DUE.name(),
    LEASES.name(),
    ATTEMPTS.name(),
    RECEIVING_HOSTS.name(),
    DESTINATIONS.name(),
    CAPTURED.name(),
    CAPTURED_MESSAGES.name(),
    EVENTS.name(),
    INGESTED.name(),
    AUDIENCE_EVENTS.name(),
    EVENT_SUBSCRIPTIONS.name(),
    EVENT_MESSAGES.name(),
    EVENT_OUTBOX.name(),
    WEBHOOKS.name(),
    WEBHOOK_HEALTH.name(),
    WEBHOOK_DELIVERIES.name(),
    WEBHOOK_QUEUE.name(),
    NOTICES.name(),
    SUPPRESSIONS.name(),
    SUPPRESSION_ADDRESSES.name(),
    SUPPRESSION_ORIGINS.name(),
    ERASURES.name(),
    CONTACT_PROPERTIES.name(),
    CONTACT_PROPERTY_KEYS.name(),
    TOPICS.name(),
    DELETED_TOPICS.name(),
    SEGMENTS.name(),
    SEGMENT_MEMBERS.name(),
    CONTACT_SEGMENTS.name(),
    AUDIENCES.name(),
    CONTACTS.name(),
    CONTACT_ADDRESSES.name(),
    TOPIC_CHOICES.name(),
    PREFERENCE_THEMES.name(),
    REQUEST_LOGS.name(),
    REQUEST_LOG_BODIES.name(),
    USAGE.name(),
];

/// The id an index points at.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct IdRow<R> {
    /// The id of the row in the indexed table.
    pub id: crate::base::id::Id<R>,
}
impl<R> Row for IdRow<R> {}

/// Points at a user.
pub type UserIdRow = IdRow<crate::base::id::resource::User>;
/// Points at a suppression.
pub type SuppressionIdRow = IdRow<crate::base::id::resource::Suppression>;
/// Points at a contact.
pub type ContactIdRow = IdRow<crate::base::id::resource::Contact>;
/// Points at a contact property.
pub type ContactPropertyIdRow = IdRow<crate::base::id::resource::ContactProperty>;
