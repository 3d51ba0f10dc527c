//! The timeline of an email, as reading it shows.

use salvo::oapi::ToSchema;
use serde::Serialize;

use crate::base::clock::to_iso;
use crate::events::{ClickDetail, Detail, Event, OpenDetail};

/// Something that happened to the email.
#[derive(Serialize, ToSchema)]
pub(super) struct EventResponse {
    /// The event type.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type"))]
    event_type: &'static str,
    /// When it happened.
    created_at: String,
    /// The recipients it is about.
    to: Vec<String>,
    /// Of `email.bounced`: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    bounce: Option<BounceResponse>,
    /// Of `email.failed`: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<FailedResponse>,
    /// Of `email.complained`: what kind of complaint, when the report says.
    #[serde(skip_serializing_if = "Option::is_none")]
    complaint_feedback_type: Option<String>,
    /// Of `email.opened` and `email.prefetched`: the load of the pixel.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<OpenResponse>,
    /// Of `email.clicked` and `email.prefetched`: the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    click: Option<ClickResponse>,
    /// What the recipient's server said.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
}

/// Why an email bounced.
#[derive(Serialize, ToSchema)]
pub(super) struct BounceResponse {
    /// A sentence for people.
    message: String,
    /// `Permanent`, `Transient` or `Undetermined`.
    #[serde(rename = "type")]
    #[salvo(schema(rename = "type"))]
    bounce_type: &'static str,
    /// `General`, `NoEmail`, `MailboxFull` and so on.
    #[serde(rename = "subType")]
    sub_type: String,
    /// What the recipient's server said, word for word.
    #[serde(rename = "diagnosticCode")]
    diagnostic_code: Vec<String>,
}

/// Why an email was given up.
#[derive(Serialize, ToSchema)]
pub(super) struct FailedResponse {
    /// The reason.
    reason: String,
}

/// A load of the pixel.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[salvo(schema(rename_all = "camelCase"))]
pub(super) struct OpenResponse {
    /// Where from.
    ip_address: String,
    /// What with.
    user_agent: String,
    /// When.
    timestamp: String,
    /// `click` for an open that a click showed; of a machine, why it is taken for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A link that was followed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[salvo(schema(rename_all = "camelCase"))]
pub(super) struct ClickResponse {
    /// Where it leads.
    link: String,
    /// Where from.
    ip_address: String,
    /// What with.
    user_agent: String,
    /// When.
    timestamp: String,
    /// Of a machine, why it is taken for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<Event> for EventResponse {
    fn from(event: Event) -> Self {
        let Event { kind, at_ms, recipients, detail } = event;
        let mut shown = Self {
            event_type: kind.as_str(),
            created_at: to_iso(at_ms),
            to: recipients,
            bounce: None,
            failed: None,
            complaint_feedback_type: None,
            open: None,
            click: None,
            reply: None,
        };
        match detail {
            Detail::None => {}
            Detail::Bounce(bounce) => {
                shown.bounce = Some(BounceResponse {
                    message: bounce.message,
                    bounce_type: bounce.bounce_type.as_str(),
                    sub_type: bounce.subtype,
                    diagnostic_code: bounce.diagnostic,
                });
            }
            Detail::Failed { reason, diagnostic } => {
                shown.failed = Some(FailedResponse { reason });
                shown.reply = diagnostic.into_iter().next_back();
            }
            Detail::Reply { reply } => shown.reply = Some(reply),
            Detail::Complaint { feedback_type } => shown.complaint_feedback_type = feedback_type,
            Detail::Open(OpenDetail { ip_address, user_agent, at_ms, reason }) => {
                shown.open = Some(OpenResponse { ip_address, user_agent, timestamp: to_iso(at_ms), reason });
            }
            Detail::Click(ClickDetail { link, ip_address, user_agent, at_ms, reason }) => {
                shown.click = Some(ClickResponse { link, ip_address, user_agent, timestamp: to_iso(at_ms), reason });
            }
        }
        shown
    }
}
