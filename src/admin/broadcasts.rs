//! Broadcasts: their progress, the check before sending, sending, and cancellation.

use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::pages::{page_after, unknown};
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::Actor;
use crate::base::address::Mailbox;
use crate::base::clock::to_iso;
use crate::base::id::{BroadcastId, EmailId, SegmentId, TeamId, TopicId};
use crate::broadcast_rows::{BroadcastCounts, BroadcastRow};
use crate::broadcasts::Broadcast;
use crate::broadcasts::check::{
    AudienceFunnel, BroadcastCheck, BroadcastFinding, CheckBroadcastError, LinkRequests, LinkSummary,
    PreviewBroadcastError, SampleContact, TEST_RECIPIENTS_MAX, TestBroadcastError,
};
use crate::broadcasts::planner::SendPlan;
use crate::emails::{Sender, schedule};
use crate::http::ApiError;

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum BroadcastVerb {
    /// List the broadcasts, newest first.
    #[serde(rename = "broadcast_list")]
    List {
        /// Maximum number of broadcasts.
        #[arg(long, value_name = "N", default_value_t = super::LISTED_DEFAULT, value_parser = super::listed_max())]
        #[serde(skip)]
        limit: usize,
        #[arg(skip)]
        after: Option<BroadcastId>,
    },
    /// Show a broadcast with its progress.
    #[serde(rename = "broadcast_show")]
    Show {
        /// Id of the broadcast.
        broadcast: String,
    },
    /// Check a broadcast before it is sent: its recipients, its sender and its content.
    #[serde(rename = "broadcast_check")]
    Check {
        /// Id of the broadcast.
        broadcast: String,
        /// Also request the links of the content.
        #[arg(long)]
        links: bool,
    },
    /// Send or schedule a draft, or send it to an address as a test.
    #[serde(rename = "broadcast_send")]
    Send {
        /// Id of the broadcast.
        broadcast: String,
        /// Time of the start, such as 2026-01-31T09:00:00Z or "in 2 hours" [default: now].
        #[arg(long, value_name = "TIME", conflicts_with = "test_to")]
        at: Option<String>,
        /// Send one test email to this address, and leave the draft unsent; may be repeated.
        #[arg(long, value_name = "ADDRESS")]
        test_to: Vec<String>,
        /// Contact whose values the test email shows: an id, an address, or none [default: a sample].
        #[arg(long, value_name = "CONTACT", requires = "test_to")]
        contact: Option<String>,
    },
    /// Cancel a scheduled broadcast, or the rest of one that is being sent.
    #[serde(rename = "broadcast_cancel")]
    Cancel {
        /// Id of the broadcast.
        broadcast: String,
    },
}

/// A broadcast without its content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BroadcastView {
    pub id: BroadcastId,
    pub name: String,
    pub from: String,
    pub subject: String,
    pub status: String,
    pub segment_id: Option<SegmentId>,
    pub topic_id: Option<TopicId>,
    pub created_at: String,
    pub scheduled_at: Option<String>,
    pub started_at: Option<String>,
    pub sent_at: Option<String>,
    /// Estimated time of the last email.
    pub finishes_at: Option<String>,
    /// Number of recipients when the broadcast was sent.
    pub audience: u64,
    pub counts: BroadcastCounts,
}

/// The result of a check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BroadcastCheckView {
    pub id: BroadcastId,
    pub audience: AudienceFunnel,
    pub findings: Vec<FindingView>,
    pub html_bytes: usize,
    /// `None` if the links were not requested.
    pub links: Option<LinkSummary>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FindingView {
    pub kind: String,
    /// `error` or `warning`.
    pub severity: String,
    pub message: String,
    pub part: Option<String>,
    /// Line of the part, from 1.
    pub line: Option<usize>,
    pub name: Option<String>,
    pub url: Option<String>,
    pub contacts: Option<u64>,
}

/// A broadcast that was sent or scheduled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentBroadcastView {
    pub id: BroadcastId,
    pub scheduled_at: Option<String>,
    /// Estimated time of the last email; `None` without recipients.
    pub finishes_at: Option<String>,
    /// Reason why the broadcast is not sent at once.
    pub warning: Option<String>,
}

/// A test email.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BroadcastTestView {
    pub id: BroadcastId,
    pub email_id: EmailId,
}

/// A canceled broadcast.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CanceledBroadcastView {
    pub id: BroadcastId,
    /// Number of emails that are not sent.
    pub canceled_remaining: u64,
}

impl From<Broadcast> for BroadcastView {
    fn from(broadcast: Broadcast) -> Self {
        let Broadcast { id, row, counts, finishes_ms } = broadcast;
        let name = row.shown_name().to_owned();
        let BroadcastRow {
            created_ms,
            from,
            subject,
            segment,
            topic,
            status,
            scheduled_ms,
            started_ms,
            sent_ms,
            audience,
            ..
        } = row;
        Self {
            id,
            name,
            from: from.to_string(),
            subject,
            status: status.as_str().to_owned(),
            segment_id: segment,
            topic_id: topic,
            created_at: to_iso(created_ms),
            scheduled_at: scheduled_ms.map(to_iso),
            started_at: started_ms.map(to_iso),
            sent_at: sent_ms.map(to_iso),
            finishes_at: finishes_ms.map(to_iso),
            audience,
            counts: counts.into(),
        }
    }
}

impl BroadcastCheckView {
    fn of(id: BroadcastId, check: BroadcastCheck) -> Self {
        let BroadcastCheck { audience, findings, html_bytes, links } = check;
        Self { id, audience, findings: findings.into_iter().map(FindingView::from).collect(), html_bytes, links }
    }
}

impl From<BroadcastFinding> for FindingView {
    fn from(finding: BroadcastFinding) -> Self {
        let BroadcastFinding { kind, message, part, place, name, url, contacts } = finding;
        Self {
            kind: kind.as_str().to_owned(),
            severity: kind.severity().as_str().to_owned(),
            message,
            part: part.map(|part| part.as_str().to_owned()),
            line: place.map(|place| place.line),
            name,
            url,
            contacts,
        }
    }
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: BroadcastVerb) -> VerbResult {
    let broadcasts = &services.broadcasts;
    match verb {
        BroadcastVerb::List { limit: _, after } => {
            Ok(Rows::of(broadcasts.list_with_counts(team, page_after(after)).await?, BroadcastView::from).into())
        }
        BroadcastVerb::Show { broadcast } => {
            let found = broadcasts.find_without_content(team, id(&broadcast)?).await?;
            Ok(BroadcastView::from(found.ok_or_else(|| missing(&broadcast))?).into())
        }
        BroadcastVerb::Check { broadcast, links } => {
            let id = id(&broadcast)?;
            let links = if links { LinkRequests::Send } else { LinkRequests::Skip };
            let check = services.broadcast_checks.check(team, id, links).await.map_err(|error| match error {
                CheckBroadcastError::NotFound => missing(&broadcast),
                CheckBroadcastError::Busy => AdminError::failed("the server is busy with other checks; try again"),
                CheckBroadcastError::Store(error) => error.into(),
            })?;
            Ok(BroadcastCheckView::of(id, check).into())
        }
        BroadcastVerb::Send { broadcast, at, test_to, contact: _ } if test_to.is_empty() => {
            send(services, team, &broadcast, at.as_deref()).await
        }
        BroadcastVerb::Send { broadcast, at: _, test_to, contact } => {
            send_test(services, team, &broadcast, &test_to, contact.as_deref()).await
        }
        BroadcastVerb::Cancel { broadcast } => {
            let id = id(&broadcast)?;
            let canceled_remaining = broadcasts.cancel(sender(team), id).await.map_err(ApiError::from)?;
            Ok(CanceledBroadcastView { id, canceled_remaining }.into())
        }
    }
}

async fn send(services: &AdminServices, team: TeamId, broadcast: &str, at: Option<&str>) -> VerbResult {
    let id = id(broadcast)?;
    let parse = |text: &str| {
        let at_ms = schedule::parse(text, services.context.now_ms());
        at_ms.map_err(|error| AdminError::invalid(format!("`{text}` is not a time for --at: {error}")))
    };
    let at_ms = at.map(parse).transpose()?;
    let plan = services.broadcasts.send(sender(team), id, at_ms).await.map_err(ApiError::from)?;
    let SendPlan { finishes_ms, warning } = plan;
    Ok(SentBroadcastView {
        id,
        scheduled_at: at_ms.map(to_iso),
        finishes_at: finishes_ms.map(to_iso),
        warning: warning.map(|warning| warning.message),
    }
    .into())
}

async fn send_test(
    services: &AdminServices,
    team: TeamId,
    broadcast: &str,
    to: &[String],
    contact: Option<&str>,
) -> VerbResult {
    let id = id(broadcast)?;
    if to.len() > TEST_RECIPIENTS_MAX {
        return Err(AdminError::invalid(format!("a test email has at most {TEST_RECIPIENTS_MAX} recipients")));
    }
    let parse = |text: &String| {
        Mailbox::parse(text).map_err(|error| AdminError::invalid(format!("`{text}` is not an address: {error}")))
    };
    let to = to.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let contact = match contact {
        None => SampleContact::BuiltIn,
        Some(text) => SampleContact::parse(text)
            .ok_or_else(|| AdminError::invalid(format!("`{text}` is not an id, an address, or none")))?,
    };
    let sent = services.broadcast_checks.send_test(sender(team), id, to, contact).await;
    let email_id = sent.map_err(|error| match error {
        TestBroadcastError::Preview(PreviewBroadcastError::NotFound) => missing(broadcast),
        TestBroadcastError::Preview(PreviewBroadcastError::ContactNotFound) => {
            AdminError::not_found("the team has no such contact")
        }
        TestBroadcastError::Preview(PreviewBroadcastError::Store(error)) => error.into(),
        TestBroadcastError::NoContent => AdminError::invalid("the broadcast has no content"),
        TestBroadcastError::NoSender => AdminError::invalid("the sender of the broadcast was erased"),
        TestBroadcastError::Send(error) => ApiError::from(error).into(),
    })?;
    Ok(BroadcastTestView { id, email_id }.into())
}

/// The command line sends without an API key.
const fn sender(team: TeamId) -> Sender {
    Sender { team, actor: Actor::CommandLine, key: None, domain: None }
}

fn id(text: &str) -> Result<BroadcastId, AdminError> {
    BroadcastId::parse(text).ok_or_else(|| missing(text))
}

fn missing(text: &str) -> AdminError {
    unknown("broadcast", text)
}
