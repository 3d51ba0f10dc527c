//! Responses and errors. The JSON of a response is also the output of `--json`.

use serde::{Deserialize, Serialize};

use super::{
    access, audit, broadcasts, captured, domains, emails, keys, logs, queue, suppressions, teams, themes, users,
    webhooks,
};
use crate::base::id::EventId;
use crate::contacts::export::ExportPage;
use crate::contacts::import::{ImportOutcome, ImportProperty};
use crate::delivery::QueueChange;
use crate::doctor::DoctorReport;
use crate::domains::api::response::DomainResponse;
use crate::emails::api::EmailAttemptResponse;
use crate::http::{ApiError, ErrorCode};
use crate::store::StoreError;
use crate::store::page::{Page, PageError};

/// Body of a response: one type for each kind of response.
pub trait ResponseBody: Sized {
    /// Returns the body.
    ///
    /// # Errors
    /// The response, if it is of another kind.
    fn from_response(response: Response) -> Result<Self, Box<Response>>;
}

macro_rules! responses {
    ($($kind:ident($body:ty),)+) => {
        /// A response. The field `kind` of its JSON names the variant.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum Response {
            $($kind($body),)+
            /// The request failed. Only a resume can have ended its hold before.
            Refused(AdminError),
        }

        $(
            impl From<$body> for Response {
                fn from(body: $body) -> Self {
                    Self::$kind(body)
                }
            }

            impl ResponseBody for $body {
                fn from_response(response: Response) -> Result<Self, Box<Response>> {
                    match response {
                        Response::$kind(body) => Ok(body),
                        other => Err(Box::new(other)),
                    }
                }
            }
        )+
    };
}

responses! {
    Server(ServerView),
    Team(teams::TeamView),
    Teams(Rows<teams::TeamView>),
    Key(keys::KeyView),
    Keys(Rows<keys::KeyView>),
    User(users::UserView),
    Users(Rows<users::UserView>),
    Link(access::LinkView),
    Domain(domains::CheckedDomain),
    Domains(Rows<DomainResponse>),
    Removed(domains::RemovedView),
    Webhook(webhooks::WebhookView),
    Webhooks(Rows<webhooks::WebhookView>),
    WebhookTest(webhooks::WebhookTestView),
    Theme(themes::ThemeView),
    Sent(emails::SentView),
    Email(emails::EmailView),
    Emails(Rows<emails::ListedEmailView>),
    Attempts(Rows<EmailAttemptResponse>),
    Broadcast(broadcasts::BroadcastView),
    Broadcasts(Rows<broadcasts::BroadcastView>),
    BroadcastCheck(broadcasts::BroadcastCheckView),
    SentBroadcast(broadcasts::SentBroadcastView),
    BroadcastTest(broadcasts::BroadcastTestView),
    CanceledBroadcast(broadcasts::CanceledBroadcastView),
    CapturedMessage(captured::CapturedMessageView),
    CapturedMessages(Rows<captured::CapturedView>),
    Released(captured::ReleasedView),
    InboxRows(Rows<captured::InboxRowView>),
    InboxMessage(captured::InboxMessageView),
    InboxRaw(captured::InboxRawView),
    InboxMessages(Rows<captured::InboxMessageView>),
    InboxCleared(captured::InboxClearedView),
    QueueSites(queue::QueuePage<queue::QueueSiteView>),
    QueueGroups(queue::QueuePage<queue::QueueGroupView>),
    Hold(queue::HoldView),
    Resumed(queue::ResumedView),
    QueueChange(QueueChange),
    Suppressions(Rows<suppressions::SuppressionView>),
    RemovedSuppression(suppressions::RemovedSuppressionView),
    Log(logs::LogDetailsView),
    Logs(Rows<logs::LogView>),
    Audit(Rows<audit::AuditView>),
    Properties(Rows<ImportProperty>),
    Imported(Rows<ImportOutcome>),
    Exported(ExportPage),
    Watching(WatchingView),
    Event(LiveEventView),
    Missed(MissedView),
    Doctor(DoctorReport),
}

/// One page of a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rows<T> {
    pub data: Vec<T>,
    /// Whether more rows follow the last one.
    pub has_more: bool,
}

impl<T> Rows<T> {
    pub(super) fn of<R>(page: Page<R>, view: impl FnMut(R) -> T) -> Self {
        Self { data: page.rows.into_iter().map(view).collect(), has_more: page.has_more }
    }

    pub(super) fn whole(data: Vec<T>) -> Self {
        Self { data, has_more: false }
    }
}

/// The program that executes requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerView {
    pub version: String,
    /// Local URL of the API; `None` if no server runs.
    pub api: Option<String>,
}

/// First response of a live stream. Events follow, each in its own response.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WatchingView {}

/// An event of a live stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveEventView {
    pub id: EventId,
    /// Event message as webhooks deliver it.
    pub body: String,
}

/// A gap in a live stream: the client was too slow, or an erasure discarded buffered events.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MissedView {
    /// Upper bound of the number of missed events.
    pub count: u64,
}

/// Failure of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdminError {
    pub reason: AdminErrorKind,
    /// Sentence for people.
    pub message: String,
}

/// Class of a failure. Decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminErrorKind {
    Invalid,
    NotFound,
    Conflict,
    Failed,
}

impl AdminError {
    fn new(reason: AdminErrorKind, message: impl Into<String>) -> Self {
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

impl From<StoreError> for AdminError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed => Self::failed("the server is shutting down; try again after its next start"),
            error => Self::failed(error.to_string()),
        }
    }
}

impl From<PageError> for AdminError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::UnknownCursor => Self::conflict("the list changed during the request; try again"),
            PageError::Store(error) => error.into(),
        }
    }
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
