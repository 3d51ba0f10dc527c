//! The tables of the store: key, value, writer, growth and retention of each. `docs/STORAGE.md` documents all of them.
//!
//! A table name ends with a version. A new key or an incompatible value needs a new table and a migration. Keys are in the
//! order of their parts, the most general part first. Ids are UUIDs of version 7: a range over ids is a range over creation
//! times. `store/meta.rs`: the tables of the store itself. `names.rs`: the macro that declares the tables and lists their
//! names. `of_team.rs`: the deletion of the rows of a team. `index_rows.rs`: rows that name a row of another table.

mod index_rows;
mod names;
mod of_team;

pub use index_rows::{ContactIdRow, ContactPropertyIdRow, SuppressionIdRow, TemplateIdRow, UserIdRow};

use names::tables;
use of_team::of_team;

use crate::api_keys::{ApiKeyRow, ApiKeyUseRow};
use crate::audit::AuditRow;
use crate::base::id::{
    ApiKeyId, AttemptId, AuditId, BroadcastId, BroadcastLinkId, CapturedId, ContactId, ContactPropertyId, DomainId,
    EmailId, ErasureId, EventId, LogId, NoticeId, SegmentId, SessionId, SetAsideId, SuppressionId, TeamId, TemplateId,
    TemplateVersionId, TopicId, UserId, WebhookDeliveryId, WebhookId,
};
use crate::broadcast_rows::{
    ActiveBroadcastRow, BroadcastCountsRow, BroadcastDomainRow, BroadcastLinkRow, BroadcastRow,
};
use crate::broadcasts::{FanOutRow, SendSlotRow};
use crate::contact_properties::ContactPropertyRow;
use crate::contacts::{AudienceRow, ContactRow, TopicChoiceRow};
use crate::deliverability::{EpisodeRow, RegionPauseRow};
use crate::delivery::{
    CapturedRow, DueRow, HoldKey, HoldRow, LeaseRow, QueueKey, ReceivingHostRow, SetAsideRow, SiteRow, SlowedTeamRow,
    SmtpAttemptRow, WarmUpRow,
};
use crate::domains::{DomainRow, SenderDomainRow, TrackingHostRow};
use crate::email_metrics::{CountCheckRow, CountJournalRow, DayTotals, EmailCounts, QuarterKey};
use crate::emails::{BroadcastEmailRow, EmailRow, IdempotencyRow, SearchPositionRow};
use crate::erasure::ErasureRow;
use crate::events::{AudienceEventRow, EventRow, MessageRow, OutboxRow, SubscriptionsRow};
use crate::insights::{InsightDayRow, InsightPositionRow, InsightRow};
use crate::logs::LogRow;
use crate::notices::NoticeRow;
use crate::preferences::ThemeRow;
use crate::segments::SegmentRow;
use crate::store::{Blob, Table};
use crate::suppressions::SuppressionRow;
use crate::teams::{RemovedTeamRow, TeamRow};
use crate::templates::TemplateRow;
use crate::topics::{DeletedTopicRow, TopicRow};
use crate::usage::{SdkUseRow, UsageRow};
use crate::users::{CredentialRow, MembershipRow, OneTimeLinkRow, SessionRow, UserRow};
use crate::webhooks::{DeliveryRow, HealthRow, QueueRow, WebhookRow};

/// SHA-256 of an address in lower case: the key of the address indexes.
pub type AddressHash = [u8; 32];

tables! {
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

/// Credentials of a user: argon2id hash of the password, sealed secret of the authenticator app, hashes of the recovery
/// codes. Written by `users`. At most one row for each user, deleted with it.
pub const CREDENTIALS: Table<(UserId,), CredentialRow> = Table::new("credentials-1");
/// Sessions of the dashboard: SHA-256 of the secret, team, times, address and user agent. Sessions of a development
/// server are under the id of no user. Written by `users` at each sign-in, and at most every five minutes of use. At most
/// 50 rows for each user, deleted on sign-out, after seven days without use or 30 days, or with the user.
pub const SESSIONS: Table<(UserId, SessionId), SessionRow> = Table::new("sessions-1");
/// One-time links by the SHA-256 of their secret: purpose and expiry. Written by `users`. At most one row for each user
/// and two more, deleted on use, on expiry, or with the user.
pub const ONE_TIME_LINKS: Table<([u8; 32],), OneTimeLinkRow> = Table::new("one_time_links-1");

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
/// Tracking hosts whose record was found, by SHA-256 of the name, with their domain. Index of [`DOMAINS`], written and
/// deleted with it. Requests with a `Host` other than the public host read it.
pub const TRACKING_HOSTS: Table<([u8; 32], DomainId), TrackingHostRow> = Table::new("tracking_hosts-1");

/// Emails without their content: sender, recipients with their states, subject, last event. Written by `emails` at
/// accept, and by `delivery` with each lease and outcome. One row for each email, deleted after
/// `RINGMAIL_EMAIL_RETENTION_DAYS` or on request.
pub const EMAILS: Table<(TeamId, EmailId), EmailRow> = Table::listed("emails-1", 6);
/// Content of an email: HTML part, text part and custom headers, compressed and sealed, in chunks of 60 KiB.
/// Written by `emails` at accept. One row for each chunk, deleted after `RINGMAIL_CONTENT_RETENTION_DAYS` or with
/// the email.
pub const EMAIL_BODIES: Table<(EmailId, u32), Blob> = Table::new("email_bodies-1");
/// Attachments by their number in the email, in chunks of 60 KiB, each sealed. Written by `emails` at accept. One row
/// for each chunk, deleted after `RINGMAIL_ATTACHMENT_RETENTION_DAYS` or with the content.
pub const ATTACHMENTS: Table<(EmailId, u16, u32), Blob> = Table::new("attachments-1");
/// Broadcasts without their content. Written by `broadcast_rows`. One row for each broadcast, deleted on request while it is a
/// draft, or with the team.
pub const BROADCASTS: Table<(TeamId, BroadcastId), BroadcastRow> = Table::listed("broadcasts-1", 16);
/// Segment and topic of each draft, scheduled or queued broadcast; index of [`BROADCASTS`]. Written by `broadcast_rows` with
/// the broadcast. At most 1,000 rows for each team, deleted when the broadcast is sent, canceled, failed or deleted.
pub const ACTIVE_BROADCASTS: Table<(TeamId, BroadcastId), ActiveBroadcastRow> = Table::new("active_broadcasts-1");
/// HTML, text and source of a broadcast, compressed and sealed. Written by `broadcast_rows`; it does not change after the
/// broadcast is sent. One row for each chunk, deleted with the broadcast.
pub const BROADCAST_BODIES: Table<(BroadcastId, u32), Blob> = Table::new("broadcast_bodies-1");
/// Numbers of recipients of a broadcast in each state, and of opens, clicks, opt-outs and domains. Also the first, the
/// last and the last claimed email. Written by `emails` with each change of a recipient and each opt-out, and by
/// `engagement` with the first open and click. One row for each broadcast with recipients, deleted with it.
pub const BROADCAST_COUNTS: Table<(BroadcastId,), BroadcastCountsRow> = Table::new("broadcast_counts-1");
/// Claimed emails of a broadcast by the domain of the recipient and their state; the key has the SHA-256 of the domain. Written
/// by `emails` with each change of a recipient. At most 1,001 rows for each broadcast, of which the last one has all further
/// domains. Deleted with it.
pub const BROADCAST_DOMAINS: Table<(BroadcastId, [u8; 32]), BroadcastDomainRow> = Table::new("broadcast_domains-1");
/// Links of a broadcast that people have clicked, as its content has them, with the numbers of clicks and of recipients.
/// Written by `engagement` with each click. At most 1,000 rows for each broadcast, deleted with it. A row without clicks,
/// which were retracted, is only a cursor.
pub const BROADCAST_LINKS: Table<(BroadcastId, BroadcastLinkId), BroadcastLinkRow> = Table::new("broadcast_links-1");
/// Broadcasts whose contacts are not all queued yet: the due time and the position in the contacts. Written by
/// `broadcasts` when a broadcast is sent, with each page of recipients, and when contacts are erased. Deleted at the end of
/// the contacts, or when the broadcast is canceled.
pub const BROADCAST_FAN_OUTS: Table<(BroadcastId,), FanOutRow> = Table::new("broadcast_fan_outs-1");
/// Number of messages by the number of 15 minutes since 1970, of all teams. Written by `broadcasts` when recipients are
/// queued, and every 10 seconds, while `RINGMAIL_SEND_RATE` or `RINGMAIL_SEND_QUOTA` is set. One row for 15 minutes, up to
/// 60 days ahead, deleted after a day.
pub const SEND_SLOTS: Table<(u32,), SendSlotRow> = Table::new("send_slots-1");
/// Emails of broadcasts: contact, address, values of the merge fields, state. The other fields of an email are in the row of
/// its broadcast. Written by `emails` when the recipients are queued, with each lease and outcome, and with the first open
/// and click. One row for each recipient, deleted after `RINGMAIL_EMAIL_RETENTION_DAYS` or on request.
pub const BROADCAST_EMAILS: Table<(TeamId, EmailId), BroadcastEmailRow> = Table::listed("broadcast_emails-1", 18);
/// Emails of a broadcast with a rare outcome, by its number: 3 bounced, 4 complained, 5 suppressed, 6 failed. Also those that
/// a person opened (8), whose link a person followed (9), and with a counted opt-out (10). Index of [`BROADCAST_EMAILS`],
/// written and deleted with it. The rows of a corrupt email are deleted with the broadcast.
pub const BROADCAST_OUTCOMES: Table<(BroadcastId, u8, EmailId), ()> = Table::new("broadcast_outcomes-1");
/// Templates without their content: name, alias, revision, newest and published version. Written by `templates`. At most
/// 1,000 rows for each team, deleted on request.
pub const TEMPLATES: Table<(TeamId, TemplateId), TemplateRow> = Table::listed("templates-1", 17);
/// Id of the template with an alias, by SHA-256 of the alias. Index of [`TEMPLATES`], written and deleted with it.
pub const TEMPLATE_ALIASES: Table<(TeamId, [u8; 32]), TemplateIdRow> = Table::new("template_aliases-1");
/// Subject, HTML and text of a version of a template, compressed and sealed, in chunks of 60 KiB. Written by `templates`
/// with each change of the content. One row for each chunk, deleted when the version is neither the newest nor the
/// published one.
pub const TEMPLATE_BODIES: Table<(TeamId, TemplateVersionId, u32), Blob> = Table::new("template_bodies-1");
/// Blocks of the search index, by the first email of each: ids of consecutive emails with the starts of the hashes of their
/// recipients. Written by `emails` some seconds after the emails. One row for about 256 emails. An email is removed with
/// its row, and an address with its erasure.
pub const EMAIL_SEARCH_BLOCKS: Table<(TeamId, EmailId), Blob> = Table::new("email_search_blocks-1");
/// Positions of the search index of a team. Written by `emails` with each block. One row for each team, deleted with it.
pub const EMAIL_SEARCH_POSITIONS: Table<(TeamId,), SearchPositionRow> = Table::new("email_search_positions-1");
/// Results of the content checks of emails. Written by `insights` some seconds after the email. One row for each email of
/// the API with content, deleted with the email.
pub const EMAIL_INSIGHTS: Table<(TeamId, EmailId), InsightRow> = Table::new("email_insights-1");
/// Results of the content checks of broadcasts. Written by `insights` when the broadcast starts. One row for each started
/// broadcast, deleted with the team.
pub const BROADCAST_INSIGHTS: Table<(TeamId, BroadcastId), InsightRow> = Table::new("broadcast_insights-1");
/// Started broadcasts whose recipients are not in [`INSIGHT_DAYS`] yet. Written by `broadcast_rows` with the start. One row for
/// each broadcast that is being sent, deleted by `insights` when the broadcast is over.
pub const PENDING_BROADCAST_INSIGHTS: Table<(TeamId, BroadcastId), ()> = Table::new("pending_broadcast_insights-1");
/// Recipients whose email failed a check, by UTC day (days since the epoch) and number of the check. Written by `insights`
/// with the rows of the emails. At most 17 rows for each team and day, deleted after 60 days.
pub const INSIGHT_DAYS: Table<(TeamId, u32, u8), InsightDayRow> = Table::new("insight_days-1");
/// Position of the content checks of a team. Written by `insights` with each page. One row for each team, deleted with it.
pub const INSIGHT_POSITIONS: Table<(TeamId,), InsightPositionRow> = Table::new("insight_positions-1");
/// Response to an idempotency key, by UTC day of the expiry (days since the epoch) and half of a SHA-256. The hash is
/// that of the key with its team and route. The day of an email of a notice has its highest bit set. Written by
/// `emails` at accept. One row for each request with a key, deleted with its day. That is one to two days after the
/// request by default, and eight to nine for emails of notices.
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
/// Teams whose broadcasts together send one message a second, with the time of the next one. Written by `delivery` with each
/// of these messages. At most one row for each team, deleted when its guardrail recovers, or with the team.
pub const SLOWED_TEAMS: Table<(TeamId,), SlowedTeamRow> = Table::new("slowed_teams-1");
/// Rows that were removed from [`DUE`] and [`LEASES`] because they cannot be read, with the lowest id if the team is not
/// known. Written by `delivery`. At most 1,000 rows, deleted after 30 days or with the team.
pub const SET_ASIDE_ROWS: Table<(TeamId, SetAsideId), SetAsideRow> = Table::new("set_aside_rows-1");
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
/// `delivery` with each outcome while a warm-up plan is set. One row for each such site and day, deleted after 365 days.
pub const WARM_UP: Table<([u8; 32], u32), WarmUpRow> = Table::new("warm_up-1");
/// Messages in the built-in mailbox: envelope, email id and size. Written by `delivery` in capture mode. One row
/// for each message, deleted after `RINGMAIL_ATTACHMENT_RETENTION_DAYS`.
pub const CAPTURED: Table<(CapturedId,), CapturedRow> = Table::listed("captured-1", 2);
/// Raw messages of [`CAPTURED`], sealed, in chunks of 60 KiB. Written and deleted with it.
pub const CAPTURED_MESSAGES: Table<(CapturedId, u32), Blob> = Table::new("captured_messages-1");

/// Timeline of an email, oldest event first. Written only by `events::record`. A few rows for each email and at most 100
/// opens, clicks and prefetches for each recipient, deleted with the row of the email. `events::retract` deletes a click
/// that software made.
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
/// endpoint, deleted after `WEBHOOK_DELIVERY_RETENTION_DAYS` unless pending, before its first attempt if its event is
/// retracted, or with the endpoint.
pub const WEBHOOK_DELIVERIES: Table<(TeamId, WebhookId, WebhookDeliveryId), DeliveryRow> =
    Table::listed("webhook_deliveries-1", 14);
/// Pending deliveries by endpoint and due time in ms. Written by `webhooks`. One row for each pending delivery,
/// deleted when it is delivered or exhausted, or with its delivery or the endpoint.
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

/// Administrative actions with actor, target and changed fields, under the id of no team for those of the server. Written
/// by `audit` in the transaction of the action. One row for each action, deleted after `RINGMAIL_AUDIT_RETENTION_DAYS`,
/// also if the team is removed.
pub const AUDIT_LOG: Table<(TeamId, AuditId), AuditRow> = Table::new("audit_log-1");

/// Numbers of accepted emails and sent broadcasts by team and UTC day (days since the epoch). Written by `emails` at
/// accept and by `broadcasts` at a send. One row for each day and team, deleted with the team.
pub const USAGE: Table<(TeamId, u32), UsageRow> = Table::new("usage-1");
/// First request of each known client library, by its number. Written by `usage` after the request. At most one row for
/// each team and library, deleted with the team.
pub const SDK_USES: Table<(TeamId, u8), SdkUseRow> = Table::new("sdk_uses-1");

/// Numbers of recipients by metric, for each quarter hour, domain and broadcast (0 for emails of the API). The time is
/// that of the events, in quarter hours since 1970. Written by `email_metrics` with each event. One row for each
/// quarter hour with events, domain and broadcast, deleted after `RINGMAIL_METRICS_RETENTION_DAYS`.
pub const EMAIL_QUARTER_COUNTS: Table<QuarterKey, EmailCounts> = Table::new("email_quarter_counts-1");
/// Totals of real recipients by team and UTC day (days since 1970), with the scores of their emails. Written by
/// `email_metrics` with each event. One row for each day and team, deleted after `RINGMAIL_METRICS_RETENTION_DAYS`, at the
/// earliest after 31 days.
pub const EMAIL_DAY_TOTALS: Table<(TeamId, u32), DayTotals> = Table::new("email_day_totals-1");
/// Counted events by quarter hour, for the recount of [`EMAIL_QUARTER_COUNTS`]. Written by `email_metrics` with each
/// event. One row for each event, deleted when its day has been checked.
pub const EMAIL_COUNT_JOURNAL: Table<(TeamId, u32, EventId), CountJournalRow> = Table::new("email_count_journal-1");
/// Last checked day of a team with the result. Written by `email_metrics` once a day. One row for each team, deleted with it.
pub const EMAIL_COUNT_CHECKS: Table<(TeamId,), CountCheckRow> = Table::new("email_count_checks-1");

/// Episode of a team with a rate that is too high. Written by `deliverability`. At most one row for each team, deleted at
/// the end of the episode, or with the team.
pub const GUARDRAIL_EPISODES: Table<(TeamId,), EpisodeRow> = Table::new("guardrail_episodes-1");
/// Regions whose broadcasts are paused, by SHA-256 of the name. Written by `deliverability`. At most one row for each
/// region, deleted at the end of the pause.
pub const REGION_PAUSES: Table<([u8; 32],), RegionPauseRow> = Table::new("region_pauses-1");
}

of_team! {
    API_KEYS,
    API_KEY_USES,
    DOMAINS,
    SENDER_DOMAINS,
    ACTIVE_BROADCASTS,
    TEMPLATES,
    TEMPLATE_ALIASES,
    TEMPLATE_BODIES,
    EMAIL_SEARCH_BLOCKS,
    EMAIL_SEARCH_POSITIONS,
    EMAIL_INSIGHTS,
    BROADCAST_INSIGHTS,
    PENDING_BROADCAST_INSIGHTS,
    INSIGHT_DAYS,
    INSIGHT_POSITIONS,
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
    SDK_USES,
    EMAIL_QUARTER_COUNTS,
    EMAIL_DAY_TOTALS,
    EMAIL_COUNT_JOURNAL,
    EMAIL_COUNT_CHECKS,
    GUARDRAIL_EPISODES,
    SLOWED_TEAMS,
    SET_ASIDE_ROWS,
}
