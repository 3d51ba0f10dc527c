//! What is answered, in the words of the API.

use serde::{Deserialize, Serialize};

use crate::base::id::{ApiKeyId, DomainId, EmailId, EventId, TeamId, UserId, WebhookDeliveryId, WebhookId};
use crate::contacts::export::ExportPage;
use crate::contacts::import::{ImportOutcome, Property};
use crate::preferences::ThemeTexts;

/// A response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Response {
    /// To [`super::Request::Ping`].
    Server(ServerView),
    /// A team just made.
    Team(TeamView),
    /// The oldest teams, up to a thousand.
    Teams(Rows<TeamView>),
    /// A key just made, renamed or revoked.
    Key(KeyView),
    /// A page of keys.
    Keys(Rows<KeyView>),
    /// A user just added, changed or removed.
    User(UserView),
    /// A page of users.
    Users(Rows<UserView>),
    /// A domain with its records.
    Domain(DomainView),
    /// A page of domains, without their records.
    Domains(Rows<DomainView>),
    /// A domain just removed.
    Removed(RemovedView),
    /// A webhook endpoint just added, changed or deleted.
    Webhook(WebhookView),
    /// A page of webhook endpoints.
    Webhooks(Rows<WebhookView>),
    /// A test of a webhook endpoint just queued.
    WebhookTest(WebhookTestView),
    /// How a team's preference page looks.
    Theme(ThemeView),
    /// An email just accepted.
    Sent(SentView),
    /// An email with its timeline.
    Email(EmailView),
    /// The contact properties of a team, oldest first.
    Properties(Rows<Property>),
    /// What came of imported contacts, in their order.
    Imported(Rows<ImportOutcome>),
    /// A page of exported contacts.
    Exported(ExportPage),
    /// Events are shown from here on, each in a response of its own.
    Watching,
    /// Something happened.
    Event(LiveEventView),
    /// Events that came faster than they were read, or that an erasure came before.
    Missed(MissedView),
    /// Nothing was done.
    Refused(AdminError),
}

/// A page of rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rows<T> {
    /// The rows.
    pub data: Vec<T>,
    /// Whether more follow the last one.
    pub has_more: bool,
}

/// Why nothing was done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdminError {
    /// The class, which decides the exit code.
    pub reason: AdminErrorKind,
    /// A sentence for people.
    pub message: String,
}

/// The class of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminErrorKind {
    /// The request breaks a rule.
    Invalid,
    /// What it names is not there.
    NotFound,
    /// It conflicts with what is there.
    Conflict,
    /// It could not be done.
    Failed,
}

impl AdminError {
    /// Returns a refusal of that class.
    pub(super) fn new(reason: AdminErrorKind, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(AdminErrorKind::Invalid, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(AdminErrorKind::NotFound, message)
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(AdminErrorKind::Conflict, message)
    }

    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new(AdminErrorKind::Failed, message)
    }
}

/// What server answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerView {
    /// The program's version.
    pub version: String,
    /// The address of the API on this machine; none where no server runs.
    pub api: Option<String>,
}

/// A team.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TeamView {
    pub id: TeamId,
    pub name: String,
    pub created_at: String,
}

/// An API key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyView {
    pub id: ApiKeyId,
    pub name: String,
    pub permission: String,
    /// The id of the one domain it may send from.
    pub domain_id: Option<DomainId>,
    pub created_at: String,
    pub last_used_at: Option<String>,
    /// The secret, in the answer that makes the key alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// A user as a member of a team.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserView {
    pub id: UserId,
    pub email: String,
    pub role: String,
    /// When it joined the team.
    pub since: String,
}

/// A domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainView {
    pub id: DomainId,
    pub name: String,
    pub status: String,
    pub created_at: String,
    pub region: String,
    /// When its records were last looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<String>,
    /// The records that sending needs; none in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<DnsRecordView>,
    /// The records that are advice; none in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recommended_records: Vec<DnsRecordView>,
}

/// A DNS record of a domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DnsRecordView {
    pub record: String,
    pub name: String,
    #[serde(rename = "type")]
    pub dns_type: String,
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u16>,
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A domain that is gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemovedView {
    pub id: DomainId,
    pub name: String,
    pub deleted: bool,
}

/// A webhook endpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebhookView {
    pub id: WebhookId,
    pub endpoint: String,
    /// The types of events it hears of; none for all of them.
    pub events: Option<Vec<String>>,
    pub status: String,
    pub created_at: String,
    /// When the secret before stops signing.
    pub previous_secret_expires_at: Option<String>,
    /// What signs, in the answers that make or replace it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
}

/// A test of a webhook endpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebhookTestView {
    pub id: WebhookDeliveryId,
    pub webhook_id: WebhookId,
    #[serde(rename = "type")]
    pub event_type: String,
}

/// How a team's preference page looks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThemeView {
    /// What the team set; none for what is the page's own.
    #[serde(flatten)]
    pub texts: ThemeTexts,
    /// The colours as they are shown.
    pub light: ColoursView,
    /// The colours as they are shown to whoever prefers a dark page.
    pub dark: ColoursView,
}

/// The colours of a page in one scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColoursView {
    pub background: String,
    pub text: String,
    pub accent: String,
}

/// An email just accepted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentView {
    pub id: EmailId,
    pub from: String,
}

/// An email and what happened to it.
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
}

/// One recipient of an email.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecipientView {
    pub email: String,
    pub last_event: String,
    pub outcome: RecipientOutcome,
}

/// How the delivery to a recipient stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipientOutcome {
    /// It is waiting or under way.
    Open,
    /// The recipient's server took it.
    Delivered,
    /// It will not be delivered.
    Undelivered,
}

/// An event as it happens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveEventView {
    pub id: EventId,
    /// What a webhook delivers of it.
    pub body: String,
}

/// A gap among events.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MissedView {
    /// How many there were, at most.
    pub count: u64,
}

/// Something that happened to an email.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventView {
    #[serde(rename = "type")]
    pub kind: String,
    pub at: String,
    pub recipients: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
