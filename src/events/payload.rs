//! The event message of an email event: `{type, created_at, data}`, with the field names of the compatible API.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use super::model::{Bounce, ClickDetail, Event, EventDetail, OpenDetail};
use super::types::EventType;
use crate::base::clock::{TimestampMs, to_iso};
use crate::base::id::{BroadcastId, EmailId, TemplateId};

/// Email data in its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailEventData {
    pub id: EmailId,
    /// `Message-ID` with its angle brackets.
    pub message_id: String,
    /// Time of acceptance.
    pub created_ms: TimestampMs,
    /// `From` as the API returns it.
    pub from: String,
    pub subject: String,
    /// Tags of the request.
    pub tags: Vec<(String, String)>,
    /// Custom headers of the request.
    pub headers: Vec<(String, String)>,
    /// The broadcast of the email; `None` for an email of the API.
    pub broadcast: Option<BroadcastId>,
    /// The template of the email.
    pub template: Option<TemplateId>,
}

/// Body of an event message.
#[derive(Serialize)]
pub(super) struct EventBody<D> {
    #[serde(rename = "type")]
    pub(super) event_type: &'static str,
    pub(super) created_at: String,
    pub(super) data: D,
}

impl<D: Serialize> EventBody<D> {
    pub(super) fn new(event_type: EventType, at_ms: TimestampMs, data: D) -> Self {
        Self { event_type: event_type.as_str(), created_at: to_iso(at_ms), data }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an event message is plain data")
    }
}

#[derive(Serialize)]
struct EmailData<'a> {
    email_id: EmailId,
    message_id: &'a str,
    created_at: String,
    from: &'a str,
    to: &'a [String],
    subject: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    broadcast_id: Option<BroadcastId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template_id: Option<TemplateId>,
    #[serde(serialize_with = "as_object", skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [(String, String)],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headers: Vec<HeaderData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounce: Option<BounceData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    complaint_feedback_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<FailedData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<OpenData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    click: Option<ClickData<'a>>,
}

/// Serializes tags as an object. The rest of the API uses a list.
fn as_object<S: Serializer>(tags: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(tags.len()))?;
    for (name, value) in tags {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

#[derive(Serialize)]
struct HeaderData<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BounceData<'a> {
    message: &'a str,
    r#type: &'static str,
    sub_type: &'a str,
    diagnostic_code: &'a [String],
}

#[derive(Serialize)]
struct FailedData<'a> {
    reason: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenData<'a> {
    ip_address: &'a str,
    timestamp: String,
    user_agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClickData<'a> {
    ip_address: &'a str,
    link: &'a str,
    timestamp: String,
    user_agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// Returns the event message of an email event as JSON.
pub(super) fn email(event_type: EventType, event: &Event, email: &EmailEventData) -> String {
    let Event { kind: _, at_ms, recipients, detail } = event;
    let EmailEventData { id, message_id, created_ms, from, subject, tags, headers, broadcast, template } = email;
    let mut data = EmailData {
        email_id: *id,
        message_id,
        created_at: to_iso(*created_ms),
        from,
        to: recipients,
        subject,
        broadcast_id: *broadcast,
        template_id: *template,
        tags,
        headers: headers.iter().map(|(name, value)| HeaderData { name, value }).collect(),
        bounce: None,
        complaint_feedback_type: None,
        failed: None,
        open: None,
        click: None,
    };
    match detail {
        // The reply of the receiving server is only in the timeline.
        EventDetail::None | EventDetail::Reply { reply: _ } => {}
        EventDetail::Bounce(Bounce { message, bounce_type, subtype, diagnostic }) => {
            let bounce =
                BounceData { message, r#type: bounce_type.as_str(), sub_type: subtype, diagnostic_code: diagnostic };
            data.bounce = Some(bounce);
        }
        EventDetail::Complaint { feedback_type } => data.complaint_feedback_type = feedback_type.as_deref(),
        EventDetail::Failed { reason, diagnostic: _ } => data.failed = Some(FailedData { reason }),
        EventDetail::Open(OpenDetail { ip_address, user_agent, at_ms, reason }) => {
            let reason = reason.as_deref();
            data.open = Some(OpenData { ip_address, timestamp: to_iso(*at_ms), user_agent, reason });
        }
        EventDetail::Click(ClickDetail { link, ip_address, user_agent, at_ms, reason }) => {
            let reason = reason.as_deref();
            data.click = Some(ClickData { ip_address, link, timestamp: to_iso(*at_ms), user_agent, reason });
        }
    }
    EventBody::new(event_type, *at_ms, data).to_json()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::events::{BounceType, EmailEventKind};

    const AT_MS: TimestampMs = 1_767_604_353_456;

    fn email_data() -> EmailEventData {
        EmailEventData {
            id: Id::first_at(AT_MS - 2_000),
            message_id: "<0199@mail.example.com>".into(),
            created_ms: AT_MS - 2_000,
            from: "Acme <hello@mail.example.com>".into(),
            subject: "Your \"receipt\"".into(),
            tags: vec![("category".into(), "receipt".into())],
            headers: vec![("X-Order".into(), "42".into())],
            broadcast: None,
            template: None,
        }
    }

    fn body(kind: EmailEventKind, detail: EventDetail) -> serde_json::Value {
        let event = Event { kind, at_ms: AT_MS, recipients: vec!["ada@example.net".into()], detail };
        serde_json::from_str(&email(kind.event_type().unwrap(), &event, &email_data())).unwrap()
    }

    #[test]
    fn the_message_of_every_email_event_matches_the_compatible_api() {
        let bounce = Bounce {
            message: "The mailbox does not exist.".into(),
            bounce_type: BounceType::Permanent,
            subtype: "NoEmail".into(),
            diagnostic: vec!["smtp; 550 5.1.1 no such user".into()],
        };
        let open = |reason: Option<&str>| OpenDetail {
            ip_address: "198.51.100.7".into(),
            user_agent: "Mail/1".into(),
            at_ms: AT_MS - 5,
            reason: reason.map(Into::into),
        };
        let click = |reason: Option<&str>| ClickDetail {
            link: "https://example.com/a?b=c".into(),
            ip_address: "198.51.100.7".into(),
            user_agent: "Browser/1".into(),
            at_ms: AT_MS - 5,
            reason: reason.map(Into::into),
        };
        let failed = EventDetail::Failed { reason: "expired".into(), diagnostic: vec!["451 later".into()] };
        for (name, kind, detail) in [
            ("scheduled", EmailEventKind::Scheduled, EventDetail::None),
            ("sent", EmailEventKind::Sent, EventDetail::None),
            ("delivered", EmailEventKind::Delivered, EventDetail::Reply { reply: "250 ok".into() }),
            ("delivery_delayed", EmailEventKind::DeliveryDelayed, EventDetail::Reply { reply: "451 later".into() }),
            ("bounced", EmailEventKind::Bounced, EventDetail::Bounce(bounce)),
            ("complained", EmailEventKind::Complained, EventDetail::Complaint { feedback_type: Some("abuse".into()) }),
            ("failed", EmailEventKind::Failed, failed),
            ("opened", EmailEventKind::Opened, EventDetail::Open(open(None))),
            ("opened_by_click", EmailEventKind::Opened, EventDetail::Open(open(Some("click")))),
            ("clicked", EmailEventKind::Clicked, EventDetail::Click(click(None))),
            ("prefetched_open", EmailEventKind::Prefetched, EventDetail::Open(open(Some("proxy")))),
            ("prefetched_click", EmailEventKind::Prefetched, EventDetail::Click(click(Some("gateway")))),
        ] {
            insta::assert_json_snapshot!(format!("email_{name}"), body(kind, detail));
        }
    }

    #[test]
    fn empty_tags_and_headers_are_omitted() {
        let event =
            Event { kind: EmailEventKind::Sent, at_ms: AT_MS, recipients: Vec::new(), detail: EventDetail::None };
        let data = EmailEventData { tags: Vec::new(), headers: Vec::new(), ..email_data() };

        let body: serde_json::Value = serde_json::from_str(&email(EventType::EmailSent, &event, &data)).unwrap();

        assert!(body["data"].get("tags").is_none());
        assert!(body["data"].get("headers").is_none());
        assert!(body["data"].get("broadcast_id").is_none());
        assert!(body["data"].get("template_id").is_none());
    }

    #[test]
    fn the_event_of_an_email_names_its_broadcast_and_its_template() {
        let event =
            Event { kind: EmailEventKind::Sent, at_ms: AT_MS, recipients: Vec::new(), detail: EventDetail::None };
        let broadcast: BroadcastId = Id::first_at(AT_MS);
        let template: TemplateId = Id::first_at(AT_MS);
        let data = EmailEventData { broadcast: Some(broadcast), template: Some(template), ..email_data() };

        let body: serde_json::Value = serde_json::from_str(&email(EventType::EmailSent, &event, &data)).unwrap();

        assert_eq!(body["data"]["broadcast_id"], broadcast.to_string());
        assert_eq!(body["data"]["template_id"], template.to_string());
    }
}
