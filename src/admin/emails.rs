//! Test emails and their timelines. A test email passes the same checks as one of the API.

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::domains;
use super::pages::page_after;
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::Actor;
use crate::base::clock::to_iso;
use crate::base::id::{AttemptId, EmailId, TeamId};
use crate::base::printable::printable;
use crate::delivery::WaitingGroup;
use crate::emails::api::request::{RequestRules, SendEmailRequest};
use crate::emails::api::{EmailAttemptResponse, EmailWaitingResponse};
use crate::emails::{EmailDetails, EmailRow, LastEvent, RecipientRow, RecipientState, Sender};
use crate::events::{ClickDetail, Event, EventDetail, Guidance, OpenDetail};
use crate::http::ApiError;
use crate::store::page::PageQuery;

/// Local part of the default sender.
const SENDER_LOCAL_PART: &str = "hello";
/// Maximum number of events in a response; the latest ones.
const EVENTS_MAX: usize = 200;
/// Attempts of one page. Their transcripts are long.
const ATTEMPTS_PAGE_ROWS: usize = 20;
/// Maximum length of an event's detail, in characters.
const DETAIL_CHARS_MAX: usize = 500;

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum EmailVerb {
    /// List the emails, newest first.
    #[serde(rename = "email_list")]
    List {
        /// Maximum number of emails.
        #[arg(long, value_name = "N", default_value_t = super::LISTED_DEFAULT, value_parser = super::listed_max())]
        #[serde(skip)]
        limit: usize,
        #[arg(skip)]
        after: Option<EmailId>,
    },
    /// Show an email with its recipients and its timeline.
    #[serde(rename = "email_show")]
    Show {
        /// Id of the email.
        id: String,
    },
    // `ringmail send`.
    #[command(skip)]
    #[serde(rename = "send")]
    Send(TestEmail),
    // A page of attempts for `ringmail trace`.
    #[command(skip)]
    #[serde(rename = "email_attempts")]
    Attempts { id: EmailId, after: Option<AttemptId> },
}

// An email that `ringmail send` sends. A doc comment would replace the description of the verb.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestEmail {
    /// Recipient; may be repeated.
    #[arg(long, required = true, value_name = "ADDRESS")]
    pub to: Vec<String>,

    /// Sender, at a verified domain [default: hello at the newest verified domain].
    #[arg(long, value_name = "ADDRESS")]
    pub from: Option<String>,

    /// Subject.
    #[arg(long, default_value = "A test from Ringmail")]
    pub subject: String,

    /// HTML part.
    #[arg(long, value_name = "HTML")]
    pub html: Option<String>,

    /// Text part [default: one sentence, if there is no HTML part].
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
}

/// An accepted email.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentView {
    pub id: EmailId,
}

/// An email in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListedEmailView {
    pub id: EmailId,
    pub created_at: String,
    pub from: String,
    /// Recipients of every kind.
    pub recipients: Vec<String>,
    pub subject: String,
    pub last_event: String,
}

/// An email with its timeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EmailView {
    pub id: EmailId,
    pub from: String,
    pub subject: String,
    pub created_at: String,
    pub last_event: String,
    pub recipients: Vec<RecipientView>,
    /// Oldest first.
    pub events: Vec<EventView>,
    /// The recipients in the queue, with the reason why they wait.
    #[serde(default)]
    pub waiting: Vec<EmailWaitingResponse>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecipientView {
    pub email: String,
    pub last_event: String,
    pub outcome: RecipientOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipientOutcome {
    /// Queued or in flight.
    Open,
    /// Accepted by the recipient's server.
    Delivered,
    /// Accepted by a smarthost, which has not reported an outcome.
    Relayed,
    /// Settled without delivery.
    Undelivered,
}

/// An event of the timeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventView {
    #[serde(rename = "type")]
    pub kind: String,
    pub at: String,
    pub recipients: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Meaning of a problem, and the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
}

impl EmailView {
    fn new(email: EmailDetails, waiting: Vec<WaitingGroup>) -> Self {
        let EmailDetails { id, row, content: _, events } = email;
        let EmailRow { from, subject, created_ms, last_event, recipients, .. } = row;
        let skipped = events.len().saturating_sub(EVENTS_MAX);
        Self {
            id,
            from: from.to_string(),
            subject,
            created_at: to_iso(created_ms),
            last_event: last_event.as_str().to_owned(),
            recipients: recipients.into_iter().map(RecipientView::from).collect(),
            events: events.into_iter().skip(skipped).map(EventView::from).collect(),
            waiting: waiting.into_iter().map(EmailWaitingResponse::from).collect(),
        }
    }
}

impl From<(EmailId, EmailRow)> for ListedEmailView {
    fn from((id, row): (EmailId, EmailRow)) -> Self {
        Self {
            id,
            created_at: to_iso(row.created_ms),
            from: row.from.to_string(),
            recipients: row.recipients.iter().map(|recipient| recipient.mailbox.to_string()).collect(),
            subject: row.subject,
            last_event: row.last_event.as_str().to_owned(),
        }
    }
}

impl From<RecipientRow> for RecipientView {
    fn from(row: RecipientRow) -> Self {
        let RecipientRow { mailbox, state, last_event, .. } = row;
        let outcome = match state {
            RecipientState::Waiting { .. } | RecipientState::InFlight => RecipientOutcome::Open,
            RecipientState::Settled => match last_event {
                LastEvent::Delivered | LastEvent::Opened | LastEvent::Clicked | LastEvent::Complained => {
                    RecipientOutcome::Delivered
                }
                LastEvent::Sent | LastEvent::DeliveryDelayed => RecipientOutcome::Relayed,
                LastEvent::Scheduled
                | LastEvent::Queued
                | LastEvent::Bounced
                | LastEvent::Suppressed
                | LastEvent::Failed
                | LastEvent::Canceled => RecipientOutcome::Undelivered,
            },
        };
        Self { email: mailbox.to_string(), last_event: last_event.as_str().to_owned(), outcome }
    }
}

impl From<Event> for EventView {
    fn from(event: Event) -> Self {
        let guidance = Guidance::of(&event);
        let guidance = guidance.map(|Guidance { title, action, .. }| format!("{title}. {action}"));
        let Event { kind, at_ms, recipients, detail } = event;
        let detail = match detail {
            EventDetail::None => None,
            EventDetail::Bounce(bounce) => Some(joined(bounce.message, bounce.diagnostic)),
            EventDetail::Failed { reason, diagnostic } => Some(joined(reason, diagnostic)),
            EventDetail::Reply { reply } => Some(reply),
            EventDetail::Complaint { feedback_type } => feedback_type,
            EventDetail::Open(OpenDetail { ip_address, user_agent, .. }) => Some(format!("{ip_address} {user_agent}")),
            EventDetail::Click(ClickDetail { link, .. }) => Some(link),
        };
        // The text comes from another server and goes to a terminal.
        let detail = detail.map(|text| printable(&text, DETAIL_CHARS_MAX));
        Self { kind: kind.as_str().to_owned(), at: to_iso(at_ms), recipients, detail, guidance }
    }
}

fn joined(reason: String, diagnostic: Vec<String>) -> String {
    if diagnostic.is_empty() {
        return reason;
    }
    format!("{}: {}", reason.trim_end_matches('.'), diagnostic.join("; "))
}

/// Parses the id of an email. The verbs do so before they open the store, and the server does so again.
///
/// # Errors
/// An [`AdminError`] that names the text.
pub fn email_id(text: &str) -> Result<EmailId, AdminError> {
    EmailId::parse(text).ok_or_else(|| AdminError::not_found(format!("`{text}` is not the id of an email")))
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: EmailVerb) -> VerbResult {
    match verb {
        EmailVerb::Send(email) => send(services, team, email).await,
        EmailVerb::List { limit: _, after } => {
            Ok(Rows::of(services.emails.list(team, page_after(after)).await?, ListedEmailView::from).into())
        }
        EmailVerb::Show { id: text } => {
            let id = email_id(&text)?;
            let email = services.emails.find(team, id).await?;
            let email = email.ok_or_else(|| AdminError::not_found(format!("the team has no email {id}")))?;
            let waiting = services.queue.waiting(team, id).await?;
            Ok(EmailView::new(email, waiting).into())
        }
        EmailVerb::Attempts { id, after } => {
            let query = PageQuery { limit: ATTEMPTS_PAGE_ROWS, ..page_after(after) };
            let page = services.emails.attempts(team, id, query).await.map_err(ApiError::from)?;
            Ok(Rows::of(page, EmailAttemptResponse::from).into())
        }
    }
}

async fn send(services: &AdminServices, team: TeamId, email: TestEmail) -> VerbResult {
    let TestEmail { from, to, subject, html, text } = email;
    let from = match from {
        Some(from) => from,
        None => default_sender(services, team).await?,
    };
    let mut body = json!({ "from": from, "to": to, "subject": subject });
    for (field, value) in [("html", html), ("text", text)] {
        if let Some(value) = value {
            body[field] = Value::String(value);
        }
    }
    let request: SendEmailRequest =
        serde_json::from_value(body).map_err(|error| AdminError::invalid(format!("invalid email: {error}")))?;
    let rules = RequestRules {
        now_ms: services.context.now_ms(),
        attachment_bytes_max: services.email_limits.attachment_bytes_max,
        compat: services.compat,
    };
    // The command line has no attachments.
    let email = request.parse(rules)?.email;
    let sent =
        services.emails.send(Sender { team, actor: Actor::CommandLine, key: None, domain: None }, email, None).await;
    Ok(SentView { id: sent.map_err(ApiError::from)? }.into())
}

async fn default_sender(services: &AdminServices, team: TeamId) -> Result<String, AdminError> {
    let domain = domains::newest_verified(services, team).await?.ok_or_else(|| {
        AdminError::failed("the team has no verified domain to send from; add one with `ringmail domain add NAME`")
    })?;
    Ok(format!("{SENDER_LOCAL_PART}@{domain}"))
}
