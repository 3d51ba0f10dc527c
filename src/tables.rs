//! The tables of the store: key, value, writer, growth and retention of each.
//!
//! A table name ends with a version. A new key or an incompatible value needs a new table and a migration. Byte
//! order of a key is the order of its parts, the most general part first. Ids are UUIDs of version 7, so a range
//! over ids is a range over creation times. The tables of the store itself are in `store/meta.rs`.
//! `docs/STORAGE.md` documents all tables.

use serde::{Deserialize, Serialize};

use crate::api_keys::{ApiKeyRow, ApiKeyUseRow};
use crate::base::id::{
    ApiKeyId, AttemptId, CapturedId, ContactId, ContactPropertyId, DomainId, EmailId, ErasureId, EventId, LogId,
    NoticeId, SegmentId, SuppressionId, TeamId, TopicId, UserId, WebhookDeliveryId, WebhookId,
};
use crate::contact_properties::ContactPropertyRow;
use crate::contacts::{AudienceRow, ContactRow, TopicChoiceRow};
use crate::delivery::{
    CapturedRow, DueRow, HoldKey, HoldRow, LeaseRow, QueueKey, ReceivingHostRow, SiteRow, SmtpAttemptRow, WarmUpRow,
};
use crate::domains::{DomainRow, SenderDomainRow};
use crate::emails::{EmailRow, IdempotencyRow};
use crate::erasure::ErasureRow;
use crate::events::{AudienceEventRow, EventRow, MessageRow, OutboxRow, SubscriptionsRow};
use crate::logs::LogRow;
use crate::notices::NoticeRow;
use crate::preferences::ThemeRow;
use crate::segments::SegmentRow;
use crate::store::meta::{DELETED_CURSORS, EPOCH, META, NODES};
use crate::store::{Blob, KeyOf, Row, StoreError, Table, WriteTx};
use crate::suppressions::SuppressionRow;
use crate::teams::{RemovedTeamRow, TeamRow};
use crate::topics::{DeletedTopicRow, TopicRow};
use crate::usage::UsageRow;
use crate::users::{MembershipRow, UserRow};
use crate::webhooks::{DeliveryRow, HealthRow, QueueRow, WebhookRow};

/// SHA-256 of an address in lower case: the key of the address indexes.
pub type AddressHash = [u8; 32];

/// Name and creation time of each team. Written by `teams`. Few rows, deleted on request.
pub const TEAMS: Table<(TeamId,), TeamRow> = Table::new("teams-1");
/// Removed teams whose data is being deleted. Written by `teams`. One row for each, deleted with the last row of the
/// team.
pub const REMOVED_TEAMS: Table<(TeamId,), RemovedTeamRow> = Table::new("removed_teams-1");
/// Users of the dashboard. Written by `users`. One row for each user, deleted with the user's last team.
pub const USERS: Table<(UserId,), UserRow> = Table::new("users-1");
/// Id of the user with an address. Index of [`USERS`], written and deleted with it.
pub const USER_ADDRESSES: Table<(AddressHash,), UserIdRow> = Table::new("user_addresses-1");
/// Role of a user in a team. Written by `users`. One row for each user and team, deleted on removal.
pub const MEMBERSHIPS: Table<(TeamId, UserId), MembershipRow> = Table::listed("memberships-1", 7);

/// API keys: permission, domain scope and SHA-256 of the token, never the token. Written by `api_keys`. One row for
/// each key, deleted on request or with the domain of its scope.
pub const API_KEYS: Table<(TeamId, ApiKeyId), ApiKeyRow> = Table::listed("api_keys-1", 1);
/// Time of the last use of a key, to the minute. Written by `api_keys` in the background. At most one row for each
/// key, deleted with it.
pub const API_KEY_USES: Table<(TeamId, ApiKeyId), ApiKeyUseRow> = Table::new("api_key_uses-1");

/// Sending domains with their sealed DKIM keys and the result of the last check. Written by `domains`. One row for
/// each domain, deleted on request.
pub const DOMAINS: Table<(TeamId, DomainId), DomainRow> = Table::listed("domains-1", 5);
/// The fields of a domain that a send needs, by SHA-256 of the name in A-labels. Index of [`DOMAINS`], written and
/// deleted with it. Every send reads this row, which is much smaller than the row of the domain.
pub const SENDER_DOMAINS: Table<(TeamId, [u8; 32]), SenderDomainRow> = Table::new("sender_domains-1");

/// Emails without their content: sender, recipients with their states, subject, last event. Written by `emails` at
/// accept, and by `delivery` with each lease and outcome. One row for each email, deleted after
/// `RINGMAIL_EMAIL_RETENTION_DAYS` or on request.
pub const EMAILS: Table<(TeamId, EmailId), EmailRow> = Table::listed("emails-1", 6);
/// Content of an email: HTML part, text part and custom headers, compressed and sealed, in chunks of 60 KiB.
/// Written by `emails` at accept. One row for each chunk, deleted after `RINGMAIL_CONTENT_RETENTION_DAYS` or with
/// the email.
pub const EMAIL_BODIES: Table<(EmailId, u32), Blob> = Table::new("email_bodies-1");
/// Attachments by their number in the email, in chunks of 60 KiB, each sealed. Written by `emails` at accept. One row
/// for each chunk, deleted with the content.
pub const ATTACHMENTS: Table<(EmailId, u16, u32), Blob> = Table::new("attachments-1");
/// Response to an idempotency key, by UTC day of the expiry (days since the epoch) and half of the SHA-256 of the key
/// with its team and route. Written by `emails` at accept. One row for each request with a key, deleted with its day:
/// one to two days after the request, for emails of notices after eight to nine.
pub const IDEMPOTENCY: Table<(u32, [u8; 16]), IdempotencyRow> = Table::new("idempotency-1");

/// The queue, one range for each lane. Key: start of the SHA-256 of the destination, class (0 transactional,
/// 1 broadcast), stream (team or broadcast), due time in ms, email, recipient group. Written by `emails` at accept and
/// by `delivery` at a deferral. One row for each queued group, deleted when the group is leased or canceled.
pub const DUE: Table<QueueKey, DueRow> = Table::new("due-1");
/// Recipient groups in flight, with their queue row and the node that delivers them. Written by `delivery`. One row for
/// each group, deleted with the outcome or after the end of the node.
pub const LEASES: Table<(EmailId, u16), LeaseRow> = Table::new("leases-1");
/// Parts of the queue that the operator has paused. Key: kind (0 site, 1 domain, 2 email, 3 API key, 4 team), start of
/// the SHA-256 of the name or the id. Written by `delivery` on request. At most 1,000 rows, deleted on request, with
/// the team, or with the email.
pub const QUEUE_HOLDS: Table<HoldKey, HoldRow> = Table::new("queue_holds-1");
/// SMTP attempts: host, TLS and compressed transcript. Written by `delivery`. One row for each attempt, deleted after
/// `RINGMAIL_ATTEMPT_RETENTION_DAYS` or with the row of the email.
pub const ATTEMPTS: Table<(EmailId, AttemptId), SmtpAttemptRow> = Table::listed("attempts-1", 15);
/// TLS history of receiving hosts, by SHA-256 of the name: day of the last TLS, failures of STARTTLS. Written by
/// `delivery` when it changes, once a day while TLS works. One row for each host, deleted seven days after the last
/// TLS.
pub const RECEIVING_HOSTS: Table<([u8; 32],), ReceivingHostRow> = Table::new("receiving_hosts-1");
/// Throttles of sites, by SHA-256 of the name: learned limit of sessions, pause, suspension, last refusal without
/// addresses. Written by `delivery` with the outcome that changes it. One row for each site with a refusal or more than
/// two sessions, deleted seven days after the last change.
pub const SITES: Table<([u8; 32],), SiteRow> = Table::new("sites-1");
/// Messages that large providers got, by SHA-256 of the name of the site and UTC day (days since the epoch). Written by
/// `delivery` with each outcome while a warm-up plan is set. One row for each such site and day, deleted after 60 days.
pub const WARM_UP: Table<([u8; 32], u32), WarmUpRow> = Table::new("warm_up-1");
/// Messages in the built-in mailbox: envelope, email id and size. Written by `delivery` in capture mode. One row
/// for each message, deleted after `RINGMAIL_CONTENT_RETENTION_DAYS`.
pub const CAPTURED: Table<(CapturedId,), CapturedRow> = Table::listed("captured-1", 2);
/// Raw messages of [`CAPTURED`], sealed, in chunks of 60 KiB. Written and deleted with it.
pub const CAPTURED_MESSAGES: Table<(CapturedId, u32), Blob> = Table::new("captured_messages-1");

/// Timeline of an email, oldest event first. Written only by `events::record`. A few rows for each email, deleted
/// with the row of the email.
pub const EVENTS: Table<(EmailId, EventId), EventRow> = Table::new("events-1");

/// Delivery reports that have been applied: SHA-256 of the request id or the message, by UTC day of arrival (days
/// since the epoch). A repeated report has no effect. Written by `ingest`. One row for each report, deleted after
/// seven days.
pub const INGESTED: Table<(u32, [u8; 32]), ()> = Table::new("ingested-1");

/// Events about the contacts and the suppression list of a team, oldest first. Written only by
/// `events::record_audience`. One row for each change, deleted after `WEBHOOK_DELIVERY_RETENTION_DAYS`.
pub const AUDIENCE_EVENTS: Table<(TeamId, EventId), AudienceEventRow> = Table::new("audience_events-1");

/// Enabled webhook endpoints of a team with their event types. Index of [`WEBHOOKS`], written with it. Every event
/// reads this row. At most one row for each team, deleted with the last endpoint.
pub const EVENT_SUBSCRIPTIONS: Table<(TeamId,), SubscriptionsRow> = Table::new("event_subscriptions-1");
/// Event messages: the bodies that webhooks deliver. Written by `events` with the event, if an endpoint subscribes
/// to its type. One row for each such event, deleted after `WEBHOOK_DELIVERY_RETENTION_DAYS`.
pub const EVENT_MESSAGES: Table<(TeamId, EventId), MessageRow> = Table::new("event_messages-1");
/// Events that have not been fanned out to their endpoints. Written by `events` with the event message. One row for
/// each such event, deleted when its deliveries have been queued.
pub const EVENT_OUTBOX: Table<(TeamId, EventId), OutboxRow> = Table::new("event_outbox-1");

/// Webhook endpoints with their sealed signing secrets. Written by `webhooks`. At most 200 rows for each team,
/// deleted on request.
pub const WEBHOOKS: Table<(TeamId, WebhookId), WebhookRow> = Table::listed("webhooks-1", 13);
/// Results of the most recent deliveries of an endpoint. Written by `webhooks` with an outcome that changes them.
/// At most one row for each endpoint, deleted with it.
pub const WEBHOOK_HEALTH: Table<(TeamId, WebhookId), HealthRow> = Table::new("webhook_health-1");
/// Deliveries of events to an endpoint, with their last attempts. Written by `webhooks`. One row for each event and
/// endpoint, deleted after `WEBHOOK_DELIVERY_RETENTION_DAYS` unless pending, or with the endpoint.
pub const WEBHOOK_DELIVERIES: Table<(TeamId, WebhookId, WebhookDeliveryId), DeliveryRow> =
    Table::listed("webhook_deliveries-1", 14);
/// Pending deliveries by endpoint and due time in ms. Written by `webhooks`. One row for each pending delivery,
/// deleted when it is delivered or exhausted, or with the endpoint.
pub const WEBHOOK_QUEUE: Table<(WebhookId, u64, WebhookDeliveryId), QueueRow> = Table::new("webhook_queue-1");

/// Pending notices to the owners of a team. Written by `notices` in the transaction of the fact. One row for each
/// notice, deleted when the owners have been notified, or after a week.
pub const NOTICES: Table<(TeamId, NoticeId), NoticeRow> = Table::new("notices-1");

/// Suppression list of a team. Written by `suppressions` for outcomes, opt-outs and requests. One row for each
/// address, deleted on request. An erasure deletes the address and keeps its hash.
pub const SUPPRESSIONS: Table<(TeamId, SuppressionId), SuppressionRow> = Table::new("suppressions-1");
/// Id of the suppression of an address. Index of [`SUPPRESSIONS`], written and deleted with it.
pub const SUPPRESSION_ADDRESSES: Table<(TeamId, AddressHash), SuppressionIdRow> = Table::new("suppression_addresses-1");
/// Suppressions by the number of their origin, and again under 255 for any origin. Index of those [`SUPPRESSIONS`]
/// whose address has not been erased, written and deleted with it.
pub const SUPPRESSION_ORIGINS: Table<(TeamId, u8, SuppressionId), ()> = Table::listed("suppression_origins-1", 11);
/// Erasures in progress, with their sealed addresses and position. Written by `erasure`. One row for each request,
/// deleted when the erasure is complete or an earlier one includes it.
pub const ERASURES: Table<(TeamId, ErasureId), ErasureRow> = Table::new("erasures-1");
/// Contact properties of a team: key, type and fallback value. Written by `contact_properties`. At most 500 rows
/// for each team, deleted on request.
pub const CONTACT_PROPERTIES: Table<(TeamId, ContactPropertyId), ContactPropertyRow> =
    Table::listed("contact_properties-1", 4);
/// Id of the contact property with a key, by SHA-256 of the key in lower case. Index of [`CONTACT_PROPERTIES`],
/// written and deleted with it.
pub const CONTACT_PROPERTY_KEYS: Table<(TeamId, [u8; 32]), ContactPropertyIdRow> =
    Table::new("contact_property_keys-1");
/// Topics that recipients can opt out of. Written by `topics`. At most 500 rows for each team, deleted on request.
pub const TOPICS: Table<(TeamId, TopicId), TopicRow> = Table::listed("topics-1", 12);
/// Deletion time of a topic. Written by `topics`. One row for each deleted topic, deleted after 40 days with the
/// remaining choices of the topic.
pub const DELETED_TOPICS: Table<(TeamId, TopicId), DeletedTopicRow> = Table::new("deleted_topics-1");
/// Segments of a team with their filters. Written by `segments`. One row for each segment, deleted on request.
pub const SEGMENTS: Table<(TeamId, SegmentId), SegmentRow> = Table::listed("segments-1", 9);
/// Contacts that were added to a segment explicitly. Written by `segments`. One row for each membership, deleted
/// with the membership, the contact or the segment.
pub const SEGMENT_MEMBERS: Table<(TeamId, SegmentId, ContactId), ()> = Table::listed("segment_members-1", 10);
/// Segments by contact. Index of [`SEGMENT_MEMBERS`], written and deleted with it.
pub const CONTACT_SEGMENTS: Table<(TeamId, ContactId, SegmentId), ()> = Table::new("contact_segments-1");
/// Number of contacts and audience revision of a team. Written by `contacts`. One row for each team, deleted with
/// it.
pub const AUDIENCES: Table<(TeamId,), AudienceRow> = Table::new("audiences-1");
/// Contacts: address, names, properties and opt-out time. Written by `contacts`. One row for each contact, deleted
/// on request.
pub const CONTACTS: Table<(TeamId, ContactId), ContactRow> = Table::listed("contacts-1", 3);
/// Id of the contact with an address. Index of [`CONTACTS`], written and deleted with it.
pub const CONTACT_ADDRESSES: Table<(TeamId, AddressHash), ContactIdRow> = Table::new("contact_addresses-1");
/// Explicit choice of a contact for a topic. Written by `contacts`. One row for each choice, deleted with the
/// contact or 40 days after the topic.
pub const TOPIC_CHOICES: Table<(TeamId, ContactId, TopicId), TopicChoiceRow> = Table::new("topic_choices-1");

/// Theme of a team's preference page: brand, texts and colors. Written by `preferences`. At most one row for each
/// team, deleted on reset.
pub const PREFERENCE_THEMES: Table<(TeamId,), ThemeRow> = Table::new("preference_themes-1");

/// Requests to the API with their status. Written by `logs` in the background. One row for each request with a
/// valid key, deleted after `RINGMAIL_LOG_RETENTION_DAYS`.
pub const REQUEST_LOGS: Table<(TeamId, LogId), LogRow> = Table::listed("request_logs-1", 8);
/// Redacted bodies of the request and the response of [`REQUEST_LOGS`], at most 16 KiB each, sealed. Written and
/// deleted with it.
pub const REQUEST_LOG_BODIES: Table<(TeamId, LogId), Blob> = Table::new("request_log_bodies-1");

/// Number of accepted emails by team and UTC day (days since the epoch). Written by `emails` at accept. One row for
/// each day and team, deleted with the team.
pub const USAGE: Table<(TeamId, u32), UsageRow> = Table::new("usage-1");

/// Names of all tables, in the order of this file. A test checks that the documentation lists each of them.
pub const NAMES: &[&str] = &[
    META.name(),
    EPOCH.name(),
    NODES.name(),
    DELETED_CURSORS.name(),
    TEAMS.name(),
    REMOVED_TEAMS.name(),
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
    QUEUE_HOLDS.name(),
    ATTEMPTS.name(),
    RECEIVING_HOSTS.name(),
    SITES.name(),
    WARM_UP.name(),
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

macro_rules! of_team {
    ($($table:ident,)+) => {
        /// Tables whose rows [`delete_of_team`] deletes.
        pub const OF_TEAM: &[&str] = &[$($table.name(),)+];

        /// Deletes up to `rows_max` rows of a removed team; returns their number. `emails` and `users` delete the rows
        /// in their tables themselves, because other rows depend on them.
        ///
        /// # Errors
        /// [`StoreError`] if the file cannot be written.
        pub fn delete_of_team(tx: &WriteTx<'_>, team: TeamId, rows_max: usize) -> Result<usize, StoreError> {
            let mut left = rows_max;
            $(left -= delete_in(tx, &$table, team, left)?;)+
            Ok(rows_max - left)
        }
    };
}

of_team! {
    API_KEYS,
    API_KEY_USES,
    DOMAINS,
    SENDER_DOMAINS,
    AUDIENCE_EVENTS,
    EVENT_SUBSCRIPTIONS,
    EVENT_MESSAGES,
    EVENT_OUTBOX,
    WEBHOOKS,
    WEBHOOK_HEALTH,
    WEBHOOK_DELIVERIES,
    NOTICES,
    SUPPRESSIONS,
    SUPPRESSION_ADDRESSES,
    SUPPRESSION_ORIGINS,
    ERASURES,
    CONTACT_PROPERTIES,
    CONTACT_PROPERTY_KEYS,
    TOPICS,
    DELETED_TOPICS,
    SEGMENTS,
    SEGMENT_MEMBERS,
    CONTACT_SEGMENTS,
    AUDIENCES,
    CONTACTS,
    CONTACT_ADDRESSES,
    TOPIC_CHOICES,
    PREFERENCE_THEMES,
    REQUEST_LOGS,
    REQUEST_LOG_BODIES,
    USAGE,
}

fn delete_in<K: KeyOf<TeamId>, V>(
    tx: &WriteTx<'_>,
    table: &Table<K, V>,
    team: TeamId,
    rows_max: usize,
) -> Result<usize, StoreError> {
    if rows_max == 0 {
        return Ok(0);
    }
    let (from, to) = K::bounds(team);
    tx.delete_range(table, &from, &to, rows_max)
}

/// Row of an index: the id of a row in the indexed table.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct IdRow<R> {
    pub id: crate::base::id::Id<R>,
}
impl<R> Row for IdRow<R> {}

/// Row of [`USER_ADDRESSES`].
pub type UserIdRow = IdRow<crate::base::id::resource::User>;
/// Row of [`SUPPRESSION_ADDRESSES`].
pub type SuppressionIdRow = IdRow<crate::base::id::resource::Suppression>;
/// Row of [`CONTACT_ADDRESSES`].
pub type ContactIdRow = IdRow<crate::base::id::resource::Contact>;
/// Row of [`CONTACT_PROPERTY_KEYS`].
pub type ContactPropertyIdRow = IdRow<crate::base::id::resource::ContactProperty>;

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! list_numbers {
        ($($table:ident,)+) => { [$(($table.name(), $table.list_number()),)+] };
    }

    #[test]
    fn the_numbers_of_lists_never_change() {
        let numbers = list_numbers![
            API_KEYS,
            CAPTURED,
            CONTACTS,
            CONTACT_PROPERTIES,
            DOMAINS,
            EMAILS,
            MEMBERSHIPS,
            REQUEST_LOGS,
            SEGMENTS,
            SEGMENT_MEMBERS,
            SUPPRESSION_ORIGINS,
            TOPICS,
            WEBHOOKS,
            WEBHOOK_DELIVERIES,
        ];
        let on_disk = [
            ("api_keys-1", 1),
            ("captured-1", 2),
            ("contacts-1", 3),
            ("contact_properties-1", 4),
            ("domains-1", 5),
            ("emails-1", 6),
            ("memberships-1", 7),
            ("request_logs-1", 8),
            ("segments-1", 9),
            ("segment_members-1", 10),
            ("suppression_origins-1", 11),
            ("topics-1", 12),
            ("webhooks-1", 13),
            ("webhook_deliveries-1", 14),
        ];

        assert_eq!(numbers, on_disk);
    }
}
