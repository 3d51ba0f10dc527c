//! Responses of broadcasts.

use salvo::oapi::ToSchema;
use serde::Serialize;

use crate::base::clock::to_iso;
use crate::base::id::{BroadcastId, TeamId};
use crate::broadcast_rows::{BroadcastContent, BroadcastLink, BroadcastLinkRow, BroadcastRow, BroadcastStatus};
use crate::broadcasts::planner::{PlanWarning, PlanWarningCode, SendPlan};
use crate::broadcasts::{Broadcast, BroadcastRecipient, RecipientDetail, RecipientLink};
use crate::events::BounceType;
use crate::http::id_responses;
use crate::http::schema::words_schema;

words_schema!(
    /// The status of a broadcast.
    pub(super) BroadcastStatusWord = BroadcastStatus::ALL.map(BroadcastStatus::as_str)
);
words_schema!(
    /// The code of a warning.
    pub(super) PlanWarningWord = [PlanWarningCode::Paced, PlanWarningCode::QueuedBehind].map(PlanWarningCode::as_str)
);
words_schema!(
    /// The type of a bounce.
    pub(super) BounceWord = BOUNCES.map(bounce_word)
);

/// Every type of a bounce.
pub(super) const BOUNCES: [BounceType; 3] = [BounceType::Permanent, BounceType::Transient, BounceType::Undetermined];

/// Returns the word of a bounce in lists of recipients.
pub(super) const fn bounce_word(bounce: BounceType) -> &'static str {
    match bounce {
        BounceType::Permanent => "permanent",
        BounceType::Transient => "transient",
        BounceType::Undetermined => "undetermined",
    }
}

/// A broadcast that was created or sent.
#[derive(Serialize, ToSchema)]
pub(super) struct AcceptedBroadcast {
    /// Always `broadcast`.
    object: &'static str,
    /// The id.
    id: String,
    /// Estimated time of the last email; null for a draft, and for a broadcast without recipients.
    #[salvo(schema(required = true))]
    finishes_at: Option<String>,
    /// Always true.
    estimated: bool,
    /// Reason why the broadcast is not sent at once; absent if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[salvo(schema(required = false))]
    warning: Option<BroadcastWarning>,
}

/// Reason why a broadcast is not sent at once.
#[derive(Serialize, ToSchema)]
pub(crate) struct BroadcastWarning {
    /// `paced`: the broadcast alone exceeds the sending limits. `queued_behind`: other broadcasts are sent first.
    #[salvo(schema(value_type = PlanWarningWord))]
    code: &'static str,
    /// Days from the start to the last email, rounded up.
    days: u32,
    /// The reason as a sentence.
    message: String,
}

impl AcceptedBroadcast {
    /// Returns the response for a broadcast, with its plan if it was sent.
    pub(super) fn of(id: BroadcastId, plan: Option<SendPlan>) -> Self {
        let (finishes_ms, warning) = plan.map_or((None, None), |plan| (plan.finishes_ms, plan.warning));
        Self {
            object: "broadcast",
            id: id.to_string(),
            finishes_at: finishes_ms.map(to_iso),
            estimated: true,
            warning: warning.map(BroadcastWarning::from),
        }
    }
}

impl From<PlanWarning> for BroadcastWarning {
    fn from(warning: PlanWarning) -> Self {
        let PlanWarning { code, days, message } = warning;
        Self { code: code.as_str(), days, message }
    }
}

id_responses! {
    /// The id of a broadcast.
    pub(super) struct BroadcastReference(BroadcastId): "broadcast", "Always `broadcast`.";
    /// A deleted draft.
    pub(super) struct DeletedBroadcast(BroadcastId): "broadcast", "Always `broadcast`.", deleted;
}

/// A canceled broadcast.
#[derive(Serialize, ToSchema)]
pub(super) struct CanceledBroadcast {
    /// Always `broadcast`.
    object: &'static str,
    /// The id.
    id: String,
    /// Number of emails that are not sent.
    canceled_remaining: u64,
}

impl CanceledBroadcast {
    pub(super) fn of(id: BroadcastId, canceled_remaining: u64) -> Self {
        Self { object: "broadcast", id: id.to_string(), canceled_remaining }
    }
}

/// A broadcast in a list.
#[derive(Serialize, ToSchema)]
pub(super) struct BroadcastSummary {
    /// The id.
    id: String,
    /// The name, or the subject of a broadcast without one.
    name: String,
    /// The segment, or the team for a broadcast to all contacts.
    audience_id: String,
    /// The segment; null for all contacts.
    #[salvo(schema(required = true))]
    segment_id: Option<String>,
    /// The status. `queued`: it is being sent.
    #[salvo(schema(value_type = BroadcastStatusWord))]
    status: &'static str,
    /// Time of creation.
    created_at: String,
    /// The requested start; null for a draft, and for a broadcast that was sent at once.
    #[salvo(schema(required = true))]
    scheduled_at: Option<String>,
    /// Time at which the last recipient was attempted; null before.
    #[salvo(schema(required = true))]
    sent_at: Option<String>,
    /// The topic; null for every subscribed contact.
    #[salvo(schema(required = true))]
    topic_id: Option<String>,
}

impl BroadcastSummary {
    pub(super) fn of(team: TeamId, id: BroadcastId, row: &BroadcastRow) -> Self {
        let segment_id = row.segment.map(|segment| segment.to_string());
        Self {
            id: id.to_string(),
            name: row.shown_name().to_owned(),
            audience_id: segment_id.clone().unwrap_or_else(|| team.to_string()),
            segment_id,
            status: row.status.as_str(),
            created_at: to_iso(row.created_ms),
            scheduled_at: row.scheduled_ms.map(to_iso),
            sent_at: row.sent_ms.map(to_iso),
            topic_id: row.topic.map(|topic| topic.to_string()),
        }
    }
}

/// A broadcast.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Broadcast"))]
pub(crate) struct BroadcastResponse {
    /// Always `broadcast`.
    object: &'static str,
    #[serde(flatten)]
    #[salvo(schema(inline = false))]
    summary: BroadcastSummary,
    /// The sender.
    from: String,
    /// The subject, with merge fields.
    subject: String,
    /// The addresses for replies; null without one.
    #[salvo(schema(required = true))]
    reply_to: Option<Vec<String>>,
    /// The text that mail clients show beside the subject.
    #[salvo(schema(required = true))]
    preview_text: Option<String>,
    /// The HTML part, with merge fields.
    #[salvo(schema(required = true))]
    html: Option<String>,
    /// The text part, with merge fields.
    #[salvo(schema(required = true))]
    text: Option<String>,
    /// Number of emails whose delivery has started.
    sent_count: u64,
    /// Estimated time of the last email, which is calculated for each response; null for a broadcast that is neither
    /// scheduled nor queued.
    #[salvo(schema(required = true))]
    finishes_at: Option<String>,
}

impl BroadcastResponse {
    pub(crate) fn of(team: TeamId, broadcast: Broadcast, content: BroadcastContent) -> Self {
        let Broadcast { id, row, counts, finishes_ms } = broadcast;
        let BroadcastContent { html, text, source: _ } = content;
        let reply_to: Vec<String> = row.reply_to.iter().map(ToString::to_string).collect();
        Self {
            object: "broadcast",
            summary: BroadcastSummary::of(team, id, &row),
            from: row.from.to_string(),
            reply_to: (!reply_to.is_empty()).then_some(reply_to),
            html,
            text,
            sent_count: counts.attempted,
            finishes_at: finishes_ms.map(to_iso),
            subject: row.subject,
            preview_text: row.preview_text,
        }
    }
}

/// A recipient of a broadcast.
#[derive(Serialize, ToSchema)]
pub(super) struct BroadcastRecipientResponse {
    /// The id of the email.
    id: String,
    /// The contact; null after its deletion.
    #[salvo(schema(required = true))]
    contact_id: Option<String>,
    /// The address.
    email: String,
    /// Number of stored opens or clicks, at least 1, in a list of `opened` or `clicked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[salvo(schema(required = false))]
    count: Option<u64>,
    /// The type of the bounce, in a list of bounces.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[salvo(schema(required = false, value_type = Option<BounceWord>))]
    bounce_type: Option<&'static str>,
    /// The first 10 links that the recipient clicked, in a list of `clicked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[salvo(schema(required = false))]
    clicked_links: Option<Vec<RecipientClickedLink>>,
}

/// A link that a recipient clicked.
#[derive(Serialize, ToSchema)]
pub(super) struct RecipientClickedLink {
    /// The URL in the email of the recipient.
    url: String,
    /// Number of clicks of the recipient.
    clicks: u64,
}

impl From<BroadcastRecipient> for BroadcastRecipientResponse {
    fn from(recipient: BroadcastRecipient) -> Self {
        let BroadcastRecipient { email, contact, address, detail } = recipient;
        let response = Self {
            id: email.to_string(),
            contact_id: contact.map(|contact| contact.to_string()),
            email: address,
            count: None,
            bounce_type: None,
            clicked_links: None,
        };
        match detail {
            RecipientDetail::None => response,
            RecipientDetail::Bounced(bounce) => Self { bounce_type: bounce.map(bounce_word), ..response },
            RecipientDetail::Opened { count } => Self { count: Some(count), ..response },
            RecipientDetail::Clicked { count, links } => {
                let links = links.into_iter().map(|RecipientLink { url, clicks }| RecipientClickedLink { url, clicks });
                Self { count: Some(count), clicked_links: Some(links.collect()), ..response }
            }
        }
    }
}

/// A link of a broadcast that people have clicked.
#[derive(Serialize, ToSchema)]
pub(super) struct ClickedLink {
    /// An id for the cursors of this list.
    id: String,
    /// The URL, with the merge fields of the content.
    url: String,
    /// Number of clicks.
    clicks: u64,
    /// Number of recipients who clicked.
    unique_clicks: u64,
}

impl From<BroadcastLink> for ClickedLink {
    fn from(link: BroadcastLink) -> Self {
        let BroadcastLinkRow { url, clicks, unique_clicks, first_ms: _ } = link.row;
        Self { id: link.id.to_string(), url, clicks, unique_clicks }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_warning_is_in_the_response_only_if_there_is_one() {
        let id = BroadcastId::MIN;
        let response = |plan| serde_json::to_value(AcceptedBroadcast::of(id, plan)).unwrap();
        let warning = PlanWarning { code: PlanWarningCode::QueuedBehind, days: 3, message: "Wait.".into() };
        let at = "2026-01-05T09:12:33.456Z";
        let plan = |warning| Some(SendPlan { finishes_ms: Some(1_767_604_353_456), warning });

        assert_eq!(
            response(None),
            json!({ "object": "broadcast", "id": id.to_string(), "finishes_at": null, "estimated": true })
        );
        assert_eq!(
            response(plan(None)),
            json!({ "object": "broadcast", "id": id.to_string(), "finishes_at": at, "estimated": true })
        );
        assert_eq!(
            response(plan(Some(warning)))["warning"],
            json!({ "code": "queued_behind", "days": 3, "message": "Wait." })
        );
    }
}
