//! Sending a test email and reading its timeline. The request passes the same rules and the same
//! accept as one over HTTP.

use serde_json::{Value, json};

use super::super::response::{AdminError, EmailView, EventView, RecipientOutcome, RecipientView, Response, SentView};
use super::super::services::AdminServices;
use super::{Answer, domains, teams, time};
use crate::base::id::{EmailId, TeamId};
use crate::emails::api::request::{Rules, SendEmailRequest};
use crate::emails::{EmailDetails, EmailRow, LastEvent, RecipientRow, RecipientState, Sender};
use crate::events::{ClickDetail, Detail, Event, OpenDetail};
use crate::http::{ApiError, ErrorCode};

/// The local part a test is sent from when the caller names no sender.
const SENDER_LOCAL_PART: &str = "hello";
/// Events of a timeline that are shown, the latest of them.
const EVENTS_MAX: usize = 200;
/// The longest reply that is shown with an event, in characters.
const DETAIL_CHARS_MAX: usize = 500;

/// What `ringmail send` gives.
pub(super) struct NewEmail {
    pub(super) from: Option<String>,
    pub(super) to: Vec<String>,
    pub(super) subject: String,
    pub(super) html: Option<String>,
    pub(super) text: Option<String>,
}

pub(super) async fn send(services: &AdminServices, team: Option<String>, email: NewEmail) -> Answer {
    let NewEmail { from, to, subject, html, text } = email;
    let team = teams::chosen(services, team).await?;
    let from = match from {
        Some(from) => from,
        None => sender(services, team).await?,
    };
    let mut body = json!({ "from": from, "to": to, "subject": subject });
    for (field, value) in [("html", html), ("text", text)] {
        if let Some(value) = value {
            body[field] = Value::String(value);
        }
    }
    let request: SendEmailRequest = serde_json::from_value(body)
        .map_err(|error| AdminError::invalid(format!("the email is not in order: {error}")))?;
    let rules =
        Rules { now_ms: services.context.now_ms(), attachment_bytes_max: services.email_limits.attachment_bytes_max };
    let email = request.parse(rules)?;
    let sent = services.emails.send(Sender { team, key: None, domain: None }, email, None).await;
    let id = sent.map_err(ApiError::from)?;
    Ok(Response::Sent(SentView { id, from }))
}

async fn sender(services: &AdminServices, team: TeamId) -> Result<String, AdminError> {
    let domain = domains::newest_verified(services, team).await?.ok_or_else(|| {
        AdminError::failed("the team has no verified domain to send from; add one with `ringmail domain add NAME`")
    })?;
    Ok(format!("{SENDER_LOCAL_PART}@{domain}"))
}

pub(super) async fn show(services: &AdminServices, team: Option<String>, id: EmailId) -> Answer {
    let team = teams::chosen(services, team).await?;
    let email = services.emails.find(team, id).await?;
    let email = email.ok_or_else(|| AdminError::not_found(format!("the team has no email {id}")))?;
    Ok(Response::Email(view(email)))
}

fn view(email: EmailDetails) -> EmailView {
    let EmailDetails { id, row, content: _, events } = email;
    let EmailRow { from, subject, created_ms, last_event, recipients, .. } = row;
    let skipped = events.len().saturating_sub(EVENTS_MAX);
    EmailView {
        id,
        from,
        subject,
        created_at: time(created_ms),
        last_event: last_event.as_str().to_owned(),
        recipients: recipients.into_iter().map(recipient).collect(),
        events: events.into_iter().skip(skipped).map(event).collect(),
    }
}

fn recipient(row: RecipientRow) -> RecipientView {
    let RecipientRow { kind: _, mailbox, group: _, state, last_event } = row;
    let outcome = match state {
        RecipientState::Settled => match last_event {
            LastEvent::Delivered | LastEvent::Opened | LastEvent::Clicked | LastEvent::Complained => {
                RecipientOutcome::Delivered
            }
            LastEvent::Scheduled
            | LastEvent::Queued
            | LastEvent::Sent
            | LastEvent::DeliveryDelayed
            | LastEvent::Bounced
            | LastEvent::Suppressed
            | LastEvent::Failed
            | LastEvent::Canceled => RecipientOutcome::Undelivered,
        },
        RecipientState::Waiting { .. } | RecipientState::InFlight => RecipientOutcome::Open,
    };
    RecipientView { email: mailbox, last_event: last_event.as_str().to_owned(), outcome }
}

fn event(event: Event) -> EventView {
    let Event { kind, at_ms, recipients, detail } = event;
    let detail = match detail {
        Detail::None => None,
        Detail::Bounce(bounce) => Some(joined(bounce.message, bounce.diagnostic)),
        Detail::Failed { reason, diagnostic } => Some(joined(reason, diagnostic)),
        Detail::Reply { reply } => Some(reply),
        Detail::Complaint { feedback_type } => feedback_type,
        Detail::Open(OpenDetail { ip_address, user_agent, at_ms: _, reason: _ }) => {
            Some(format!("{ip_address} {user_agent}"))
        }
        Detail::Click(ClickDetail { link, ip_address: _, user_agent: _, at_ms: _, reason: _ }) => Some(link),
    };
    // What the other side said goes to a terminal: no control character of its choosing.
    let detail = detail.map(|text| {
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        text.chars().take(DETAIL_CHARS_MAX).map(printable).collect()
    });
    EventView { kind: kind.as_str().to_owned(), at: time(at_ms), recipients, detail }
}

fn joined(reason: String, diagnostic: Vec<String>) -> String {
    if diagnostic.is_empty() {
        return reason;
    }
    format!("{}: {}", reason.trim_end_matches('.'), diagnostic.join(" "))
}

impl From<ApiError> for AdminError {
    fn from(error: ApiError) -> Self {
        let message = error.message;
        match error.code {
            ErrorCode::Validation | ErrorCode::MissingRequiredField => Self::invalid(message),
            code if code.status() == 404 => Self::not_found(message),
            code if code.status() == 409 => Self::conflict(message),
            _ => Self::failed(message),
        }
    }
}
