//! Response types of the timeline.

use salvo::oapi::ToSchema;
use serde::Serialize;

use crate::base::clock::to_iso;
use crate::events::{ClickDetail, Event, EventDetail, Guidance, OpenDetail};

/// An event of the email.
#[derive(Serialize, ToSchema)]
pub(super) struct EventResponse {
    /// The event type.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type"))]
    event_type: &'static str,
    /// The time of the event.
    created_at: String,
    /// The recipients of the event.
    to: Vec<String>,
    /// Of `email.bounced`: the bounce.
    #[serde(skip_serializing_if = "Option::is_none")]
    bounce: Option<BounceResponse>,
    /// Of `email.failed`: the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<FailedResponse>,
    /// Of `email.complained`: the kind of complaint, if the report has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    complaint_feedback_type: Option<String>,
    /// Of `email.opened` and `email.prefetched`: the load of the pixel.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<OpenResponse>,
    /// Of `email.clicked` and `email.prefetched`: the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    click: Option<ClickResponse>,
    /// The reply of the recipient's server.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    /// Of `email.bounced`, `email.failed`, `email.delivery_delayed` and `email.complained`: the meaning and the next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    guidance: Option<GuidanceResponse>,
}

/// The meaning of an event, and the next step. The texts can change.
#[derive(Serialize, ToSchema)]
pub(super) struct GuidanceResponse {
    /// `recipient`, `content`, `reputation`, `policy`, `provider`, `transient` or `unknown`.
    category: &'static str,
    /// A few words.
    title: &'static str,
    /// The meaning.
    explanation: &'static str,
    /// The next step.
    action: &'static str,
}

impl From<&Guidance> for GuidanceResponse {
    fn from(guidance: &Guidance) -> Self {
        let Guidance { category, title, explanation, action } = *guidance;
        Self { category: category.as_str(), title, explanation, action }
    }
}

/// The reason of a bounce.
#[derive(Serialize, ToSchema)]
pub(super) struct BounceResponse {
    /// A readable description.
    message: String,
    /// `Permanent`, `Transient` or `Undetermined`.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type"))]
    bounce_type: &'static str,
    /// The subtype, such as `General`, `NoEmail` or `MailboxFull`.
    #[serde(rename = "subType")]
    sub_type: String,
    /// The reply of the recipient's server.
    #[serde(rename = "diagnosticCode")]
    diagnostic_code: Vec<String>,
}

/// The reason of a failure.
#[derive(Serialize, ToSchema)]
pub(super) struct FailedResponse {
    /// The reason.
    reason: String,
}

/// A load of the tracking pixel.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[salvo(schema(rename_all = "camelCase"))]
pub(super) struct OpenResponse {
    /// The IP address of the client.
    ip_address: String,
    /// The user agent of the client.
    user_agent: String,
    /// The time.
    timestamp: String,
    /// `click` for an open that a click proves. For an open by software, the reason of this classification.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A link that was followed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[salvo(schema(rename_all = "camelCase"))]
pub(super) struct ClickResponse {
    /// The URL of the link.
    link: String,
    /// The IP address of the client.
    ip_address: String,
    /// The user agent of the client.
    user_agent: String,
    /// The time.
    timestamp: String,
    /// For a click by software, the reason of this classification.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<Event> for EventResponse {
    fn from(event: Event) -> Self {
        let guidance = Guidance::of(&event).map(GuidanceResponse::from);
        let Event { kind, at_ms, recipients, detail } = event;
        let mut response = Self {
            event_type: kind.as_str(),
            created_at: to_iso(at_ms),
            to: recipients,
            bounce: None,
            failed: None,
            complaint_feedback_type: None,
            open: None,
            click: None,
            reply: None,
            guidance,
        };
        match detail {
            EventDetail::None => {}
            EventDetail::Bounce(bounce) => {
                response.bounce = Some(BounceResponse {
                    message: bounce.message,
                    bounce_type: bounce.bounce_type.as_str(),
                    sub_type: bounce.subtype,
                    diagnostic_code: bounce.diagnostic,
                });
            }
            EventDetail::Failed { reason, diagnostic } => {
                response.failed = Some(FailedResponse { reason });
                response.reply = diagnostic.into_iter().next_back();
            }
            EventDetail::Reply { reply } => response.reply = Some(reply),
            EventDetail::Complaint { feedback_type } => response.complaint_feedback_type = feedback_type,
            EventDetail::Open(OpenDetail { ip_address, user_agent, at_ms, reason }) => {
                response.open = Some(OpenResponse { ip_address, user_agent, timestamp: to_iso(at_ms), reason });
            }
            EventDetail::Click(ClickDetail { link, ip_address, user_agent, at_ms, reason }) => {
                response.click = Some(ClickResponse { link, ip_address, user_agent, timestamp: to_iso(at_ms), reason });
            }
        }
        response
    }
}
