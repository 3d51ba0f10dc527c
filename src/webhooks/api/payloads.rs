//! The bodies of the requests to webhook endpoints, in the OpenAPI document.
//!
//! The types are never constructed: `src/events` makes the bodies. A test compares the sample of each event type with
//! its schema.
#![expect(dead_code, reason = "the fields are read by the derive of their schema only")]

use std::collections::BTreeMap;

use salvo::oapi::{Components, RefOr, ToSchema};
use serde_json::{Map, Value, json};

use crate::events::{EventType, sample};

/// Time of the examples: 2026-01-05T09:12:33.456Z.
const EXAMPLE_MS: i64 = 1_767_604_353_456;
/// Headers of every request, each with its description.
const HEADERS: [(&str, &str); 3] = [
    ("webhook-id", "The id of the delivery, the same in each attempt."),
    ("webhook-timestamp", "The time of the attempt in seconds since 1970-01-01T00:00:00Z."),
    (
        "webhook-signature",
        "`v1,` and the HMAC of `{id}.{timestamp}.{body}` for each valid secret, separated by a space.",
    ),
];

/// An event of an email.
#[derive(ToSchema)]
struct EmailEvent {
    /// The type of the event.
    r#type: String,
    /// The time of the event.
    created_at: String,
    /// The email.
    data: EmailEventData,
}

/// The email of an event.
#[derive(ToSchema)]
struct EmailEventData {
    /// The id of the email.
    email_id: String,
    /// The `Message-ID` of the email.
    message_id: String,
    /// The time of acceptance.
    created_at: String,
    /// The sender.
    from: String,
    /// The recipients of the event.
    to: Vec<String>,
    /// The subject.
    subject: String,
    /// The id of the broadcast; absent for an email of the API.
    #[salvo(schema(required = false))]
    broadcast_id: String,
    /// The id of the template; absent for an email without one.
    #[salvo(schema(required = false))]
    template_id: String,
    /// The tags of the email; absent without tags.
    #[salvo(schema(required = false))]
    tags: BTreeMap<String, String>,
    /// The custom headers of the email; absent without headers.
    #[salvo(schema(required = false))]
    headers: Vec<EventHeader>,
    /// Of `email.bounced`: the bounce.
    #[salvo(schema(required = false))]
    bounce: EventBounce,
    /// Of `email.complained`: the kind of complaint, if the report has it.
    #[salvo(schema(required = false))]
    complaint_feedback_type: String,
    /// Of `email.failed`: the reason.
    #[salvo(schema(required = false))]
    failed: EventFailure,
    /// Of `email.opened` and `email.prefetched`: the load of the pixel.
    #[salvo(schema(required = false))]
    open: EventOpen,
    /// Of `email.clicked` and `email.prefetched`: the link.
    #[salvo(schema(required = false))]
    click: EventClick,
}

/// A custom header of an email.
#[derive(ToSchema)]
struct EventHeader {
    /// The name.
    name: String,
    /// The value.
    value: String,
}

/// The bounce of an event.
#[derive(ToSchema)]
#[salvo(schema(rename_all = "camelCase"))]
struct EventBounce {
    /// A readable description.
    message: String,
    /// `Permanent`, `Transient` or `Undetermined`.
    r#type: String,
    /// The subtype, such as `General`, `NoEmail` or `MailboxFull`.
    sub_type: String,
    /// The replies of the recipient's server.
    diagnostic_code: Vec<String>,
}

/// The failure of an event.
#[derive(ToSchema)]
struct EventFailure {
    /// The reason.
    reason: String,
}

/// The open of an event.
#[derive(ToSchema)]
#[salvo(schema(rename_all = "camelCase"))]
struct EventOpen {
    /// The IP address of the client.
    ip_address: String,
    /// The time.
    timestamp: String,
    /// The user agent of the client.
    user_agent: String,
    /// `click` for an open that a click proves. For an open by software, the reason of this classification.
    #[salvo(schema(required = false))]
    reason: String,
}

/// The click of an event.
#[derive(ToSchema)]
#[salvo(schema(rename_all = "camelCase"))]
struct EventClick {
    /// The IP address of the client.
    ip_address: String,
    /// The URL of the link.
    link: String,
    /// The time.
    timestamp: String,
    /// The user agent of the client.
    user_agent: String,
    /// For a click by software, the reason of this classification.
    #[salvo(schema(required = false))]
    reason: String,
}

/// An event of a contact.
#[derive(ToSchema)]
struct ContactEvent {
    /// The type of the event.
    r#type: String,
    /// The time of the event.
    created_at: String,
    /// The contact.
    data: ContactEventData,
}

/// The contact of an event.
#[derive(ToSchema)]
struct ContactEventData {
    /// The id of the contact.
    id: String,
    /// The first segment of the contact, or the team.
    audience_id: String,
    /// Segments of which the contact is a member.
    segment_ids: Vec<String>,
    /// The address; `[erased]` after an erasure.
    email: String,
    /// The first name.
    #[salvo(schema(required = true))]
    first_name: Option<String>,
    /// The last name.
    #[salvo(schema(required = true))]
    last_name: Option<String>,
    /// Whether the contact opted out of all marketing email.
    unsubscribed: bool,
    /// The time of creation.
    created_at: String,
    /// The time of the last change.
    updated_at: String,
    /// `api`, `dashboard`, `hosted_page` or `one_click`.
    source: String,
    /// Of a topic event: the id of the topic.
    #[salvo(schema(required = false))]
    topic_id: String,
    /// Of a topic event: the name of the topic.
    #[salvo(schema(required = false))]
    topic_name: String,
}

/// An event of the suppression list.
#[derive(ToSchema)]
struct SuppressionEvent {
    /// The type of the event.
    r#type: String,
    /// The time of the event.
    created_at: String,
    /// The entry of the list.
    data: SuppressionEventData,
}

/// The entry of the suppression list of an event.
#[derive(ToSchema)]
struct SuppressionEventData {
    /// The id of the entry.
    id: String,
    /// The address; `[erased]` after an erasure.
    email: String,
    /// `bounce`, `complaint`, `manual` or `unsubscribe`.
    origin: String,
    /// `api`, `dashboard`, `hosted_page` or `one_click`; null for bounces and complaints.
    #[salvo(schema(required = true))]
    source: Option<String>,
    /// The time at which the entry was added.
    created_at: String,
}

/// An event about the deliverability of the team.
#[derive(ToSchema)]
struct DeliverabilityEvent {
    /// The type of the event.
    r#type: String,
    /// The time of the event.
    created_at: String,
    /// The rate.
    data: DeliverabilityEventData,
}

/// The rate of an event.
#[derive(ToSchema)]
struct DeliverabilityEventData {
    /// `bounce` or `complaint`.
    metric: String,
    /// The rate, between 0 and 1.
    rate: f64,
    /// The limit that the rate exceeds, between 0 and 1.
    limit: f64,
    /// Days over which the rate was measured.
    window_days: u32,
    /// The page that shows the rate.
    dashboard_url: String,
}

/// An event about a quota of the team.
#[derive(ToSchema)]
struct QuotaEvent {
    /// The type of the event.
    r#type: String,
    /// The time of the event.
    created_at: String,
    /// The quota.
    data: QuotaEventData,
}

/// The quota of an event.
#[derive(ToSchema)]
struct QuotaEventData {
    /// Emails sent in the period.
    used: u64,
    /// Emails allowed in the period.
    limit: u64,
    /// `day` or `month`.
    period: String,
    /// The start of the next period.
    resets_at: String,
    /// The page that shows the quota.
    dashboard_url: String,
    /// Of a day: the number of emails after which new emails are held.
    #[salvo(schema(required = false))]
    ceiling: u64,
    /// Of a month: whether emails above the limit are billed.
    #[salvo(schema(required = false))]
    overage: bool,
}

/// Adds the schemas of the bodies to `components`, and returns the request of each event type.
pub(crate) fn describe_events(components: &mut Components) -> Value {
    let describe = |event_type: EventType| (event_type.as_str().to_owned(), describe_event(event_type, components));
    Map::from_iter(EventType::all().map(describe)).into()
}

fn describe_event(event_type: EventType, components: &mut Components) -> Value {
    let name = event_type.as_str();
    let header = |(name, about): (&str, &str)| json!({ "name": name, "in": "header", "required": true, "description": about, "schema": { "type": "string" } });
    let example: Value = serde_json::from_str(&sample(event_type, EXAMPLE_MS)).expect("a sample is JSON");
    let schema = json!({ "$ref": schema_of(event_type, components), "properties": { "type": { "const": name } } });
    json!({
        "post": {
            "tags": ["Events"],
            "operationId": name.replace('.', "_"),
            "summary": summary(event_type),
            "parameters": HEADERS.map(header),
            "requestBody": {
                "required": true,
                "content": { "application/json": { "schema": schema, "example": example } },
            },
            "responses": {
                "2XX": { "description": "The event is received. Any other response is a failed attempt, and is repeated." },
            },
        },
    })
}

/// Returns the reference to the schema of the body.
fn schema_of(event_type: EventType, components: &mut Components) -> String {
    let schema = match event_type.as_str().split('.').next() {
        Some("email") => EmailEvent::to_schema(components),
        Some("contact") => ContactEvent::to_schema(components),
        Some("suppression") => SuppressionEvent::to_schema(components),
        Some("deliverability") => DeliverabilityEvent::to_schema(components),
        _ => QuotaEvent::to_schema(components),
    };
    match schema {
        RefOr::Ref(reference) => reference.ref_location,
        RefOr::Type(_) => unreachable!("a derived schema of a struct is a component"),
    }
}

fn summary(event_type: EventType) -> &'static str {
    match event_type {
        EventType::EmailScheduled => "An email was accepted for a later time.",
        EventType::EmailSent => "Delivery of an email to a recipient has started.",
        EventType::EmailDelivered => "The recipient's server accepted an email.",
        EventType::EmailDeliveryDelayed => "The recipient's server refused an email temporarily.",
        EventType::EmailBounced => "The recipient's server refused an email permanently because of the address.",
        EventType::EmailComplained => "A recipient reported an email as spam.",
        EventType::EmailOpened => "A person opened an email.",
        EventType::EmailClicked => "A person followed a link.",
        EventType::EmailPrefetched => {
            "Software opened an email or followed a link. Sent only to endpoints that name it."
        }
        EventType::EmailFailed => "An email was given up for a reason other than the recipient.",
        EventType::ContactCreated => "A contact was added.",
        EventType::ContactUpdated => "The names, properties or opt-out of a contact changed.",
        EventType::ContactDeleted => "A contact was removed.",
        EventType::ContactUnsubscribed => "A contact opted out of all marketing email.",
        EventType::ContactResubscribed => "A contact was explicitly subscribed again.",
        EventType::ContactTopicOptIn => "The effective subscription of a contact to a topic changed to `opt_in`.",
        EventType::ContactTopicOptOut => "The effective subscription of a contact to a topic changed to `opt_out`.",
        EventType::SuppressionAdded => "An address was added to the suppression list.",
        EventType::SuppressionRemoved => "An address was removed from the suppression list.",
        EventType::DeliverabilityWarning => "A bounce or complaint rate exceeds the warning limit.",
        EventType::DeliverabilityPaused => "A bounce or complaint rate exceeds the limit at which sending stops.",
        EventType::QuotaWarning => "A quota is nearly used up. Never sent by a self-hosted server.",
        EventType::QuotaReached => "A quota is used up. Never sent by a self-hosted server.",
        EventType::QuotaPaused => "New emails are held until the next day. Never sent by a self-hosted server.",
    }
}
