//! The effect of an erasure on each table of the store.

use crate::store::meta::{DELETED_CURSORS, EPOCH, META, NODES};
use crate::tables::{
    ACTIVE_BROADCASTS, API_KEY_USES, API_KEYS, ATTACHMENTS, ATTEMPTS, AUDIENCE_EVENTS, AUDIENCES, AUDIT_LOG,
    BROADCAST_BODIES, BROADCAST_COUNTS, BROADCAST_DOMAINS, BROADCAST_EMAILS, BROADCAST_FAN_OUTS, BROADCAST_INSIGHTS,
    BROADCAST_LINKS, BROADCAST_OUTCOMES, BROADCASTS, CAPTURED, CAPTURED_MESSAGES, CONTACT_ADDRESSES,
    CONTACT_PROPERTIES, CONTACT_PROPERTY_KEYS, CONTACT_SEGMENTS, CONTACTS, CREDENTIALS, DELETED_TOPICS, DOMAINS, DUE,
    EMAIL_BODIES, EMAIL_COUNT_CHECKS, EMAIL_COUNT_JOURNAL, EMAIL_DAY_TOTALS, EMAIL_INSIGHTS, EMAIL_QUARTER_COUNTS,
    EMAIL_SEARCH_BLOCKS, EMAIL_SEARCH_POSITIONS, EMAILS, ERASURES, EVENT_MESSAGES, EVENT_OUTBOX, EVENT_SUBSCRIPTIONS,
    EVENTS, GUARDRAIL_EPISODES, IDEMPOTENCY, INGESTED, INSIGHT_DAYS, INSIGHT_POSITIONS, LEASES, MEMBERSHIPS, NAMES,
    NOTICES, ONE_TIME_LINKS, PENDING_BROADCAST_INSIGHTS, PREFERENCE_THEMES, QUEUE_HOLDS, RECEIVING_HOSTS,
    REGION_PAUSES, REMOVED_TEAMS, REQUEST_LOG_BODIES, REQUEST_LOGS, SDK_USES, SEGMENT_MEMBERS, SEGMENTS, SEND_SLOTS,
    SENDER_DOMAINS, SESSIONS, SET_ASIDE_ROWS, SITES, SLOWED_TEAMS, SUPPRESSION_ADDRESSES, SUPPRESSION_ORIGINS,
    SUPPRESSIONS, TEAMS, TEMPLATE_ALIASES, TEMPLATE_BODIES, TEMPLATES, TOPIC_CHOICES, TOPICS, TRACKING_HOSTS, USAGE,
    USER_ADDRESSES, USERS, WARM_UP, WEBHOOK_DELIVERIES, WEBHOOK_HEALTH, WEBHOOK_QUEUE, WEBHOOKS,
};

/// Tables that an erasure scans or deletes rows from.
const ERASED_FROM: &[&str] = &[
    EMAILS.name(),
    EMAIL_BODIES.name(),
    BROADCAST_EMAILS.name(),
    ATTACHMENTS.name(),
    // The starts of the hashes of addresses.
    EMAIL_SEARCH_BLOCKS.name(),
    ATTEMPTS.name(),
    CAPTURED.name(),
    CAPTURED_MESSAGES.name(),
    EVENTS.name(),
    AUDIENCE_EVENTS.name(),
    EVENT_MESSAGES.name(),
    WEBHOOK_DELIVERIES.name(),
    REQUEST_LOGS.name(),
    REQUEST_LOG_BODIES.name(),
    SUPPRESSIONS.name(),
    SUPPRESSION_ORIGINS.name(),
    ERASURES.name(),
];

/// Tables with texts about other objects, which can contain an address. `docs/STORAGE.md` lists them.
const OUTLASTING: &[&str] = &[
    TEAMS.name(),
    API_KEYS.name(),
    IDEMPOTENCY.name(),
    SEGMENTS.name(),
    CONTACTS.name(),
    CONTACT_PROPERTIES.name(),
    TOPICS.name(),
    TEMPLATES.name(),
    TEMPLATE_BODIES.name(),
    PREFERENCE_THEMES.name(),
    WEBHOOKS.name(),
    NOTICES.name(),
    // Bytes that cannot be decoded, for 30 days.
    SET_ASIDE_ROWS.name(),
    // The sender and the content of the team, and the filter of a segment.
    BROADCASTS.name(),
    BROADCAST_BODIES.name(),
    // Links with merge fields, as the content of the team has them.
    BROADCAST_LINKS.name(),
    BROADCAST_FAN_OUTS.name(),
    // Addresses of users of the dashboard, who are not recipients, and their user agents.
    USERS.name(),
    SESSIONS.name(),
    AUDIT_LOG.name(),
];

/// Tables without addresses: ids, hashes, numbers, host names.
const WITHOUT_ADDRESSES: &[&str] = &[
    META.name(),
    EPOCH.name(),
    NODES.name(),
    DELETED_CURSORS.name(),
    USER_ADDRESSES.name(),
    MEMBERSHIPS.name(),
    CREDENTIALS.name(),
    ONE_TIME_LINKS.name(),
    API_KEY_USES.name(),
    DOMAINS.name(),
    SENDER_DOMAINS.name(),
    TRACKING_HOSTS.name(),
    BROADCAST_OUTCOMES.name(),
    ACTIVE_BROADCASTS.name(),
    BROADCAST_COUNTS.name(),
    BROADCAST_DOMAINS.name(),
    SEND_SLOTS.name(),
    DUE.name(),
    EMAIL_SEARCH_POSITIONS.name(),
    // Hosts of links and images, counts, sizes and booleans.
    EMAIL_INSIGHTS.name(),
    BROADCAST_INSIGHTS.name(),
    PENDING_BROADCAST_INSIGHTS.name(),
    INSIGHT_DAYS.name(),
    INSIGHT_POSITIONS.name(),
    INGESTED.name(),
    REMOVED_TEAMS.name(),
    LEASES.name(),
    QUEUE_HOLDS.name(),
    SLOWED_TEAMS.name(),
    RECEIVING_HOSTS.name(),
    SITES.name(),
    WARM_UP.name(),
    EVENT_SUBSCRIPTIONS.name(),
    EVENT_OUTBOX.name(),
    WEBHOOK_HEALTH.name(),
    WEBHOOK_QUEUE.name(),
    DELETED_TOPICS.name(),
    SUPPRESSION_ADDRESSES.name(),
    CONTACT_PROPERTY_KEYS.name(),
    TEMPLATE_ALIASES.name(),
    SEGMENT_MEMBERS.name(),
    CONTACT_SEGMENTS.name(),
    AUDIENCES.name(),
    CONTACT_ADDRESSES.name(),
    TOPIC_CHOICES.name(),
    USAGE.name(),
    GUARDRAIL_EPISODES.name(),
    REGION_PAUSES.name(),
    SDK_USES.name(),
    EMAIL_QUARTER_COUNTS.name(),
    EMAIL_DAY_TOTALS.name(),
    EMAIL_COUNT_JOURNAL.name(),
    EMAIL_COUNT_CHECKS.name(),
];

#[test]
fn every_table_is_in_exactly_one_list() {
    for table in NAMES {
        let lists = [ERASED_FROM, OUTLASTING, WITHOUT_ADDRESSES];
        let named = lists.iter().filter(|list| list.contains(table)).count();
        assert_eq!(
            named, 1,
            "{table}: if it can contain addresses of recipients, add a stage (`stages.rs`); then add the table to one of \
             the three lists here"
        );
    }
}
