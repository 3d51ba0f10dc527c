//! Requests, and the services that execute them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::response::{AdminError, Response, ServerView};
use super::{
    access, audit, broadcasts, captured, contacts, domains, emails, keys, logs, queue, suppressions, teams, themes,
    users, webhooks,
};
use crate::api_keys::ApiKeys;
use crate::base::compat::Compat;
use crate::broadcasts::Broadcasts;
use crate::broadcasts::check::BroadcastChecks;
use crate::context::Context;
use crate::deliverability::TeamDeliverability;
use crate::delivery::capture::CaptureMailbox;
use crate::delivery::{QueueControl, QueueNotifier};
use crate::doctor::{Doctor, DoctorOptions};
use crate::domains::Domains;
use crate::emails::{EmailLimits, Emails};
use crate::live::{EventStream, TypeFilter};
use crate::logs::Logs;
use crate::store::{Space, StoreKind};
use crate::suppressions::Suppressions;
use crate::team_removal::TeamRemovals;
use crate::users::Accounts;
use crate::webhooks::Webhooks;

/// Use cases that requests call. `App` builds them for a server, and `direct.rs` for a verb that opens
/// the store itself.
#[derive(Clone)]
pub struct AdminServices {
    pub context: Context,
    pub kind: StoreKind,
    /// Local URL of the API; `None` if no server runs.
    pub api: Option<String>,
    /// URL of the dashboard, with a slash at the end.
    pub dashboard_url: String,
    pub accounts: Arc<Accounts>,
    pub api_keys: Arc<ApiKeys>,
    pub broadcasts: Arc<Broadcasts>,
    pub broadcast_checks: Arc<BroadcastChecks>,
    pub deliverability: Arc<TeamDeliverability>,
    pub emails: Arc<Emails>,
    pub email_limits: EmailLimits,
    pub compat: Compat,
    pub domains: Arc<Domains>,
    pub suppressions: Arc<Suppressions>,
    pub logs: Arc<Logs>,
    pub webhooks: Arc<Webhooks>,
    pub team_removals: Arc<TeamRemovals>,
    pub queue_notifier: QueueNotifier,
    /// Transport of released messages; `None` if none can be released.
    pub release: Option<String>,
    pub doctor: Arc<Doctor>,
    /// The built-in mailbox. The waits of one server share it.
    pub mailbox: Arc<CaptureMailbox>,
    pub queue: Arc<QueueControl>,
}

/// A verb and the team that it applies to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Name of the team; `None` selects the first team of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    #[serde(flatten)]
    pub verb: AdminVerb,
}

/// Verbs about the server itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServerVerb {
    /// Returns the version and the URL of the server.
    Ping,
    /// Streams the events of a team until the server stops. The last request of its connection.
    Tail {
        /// Event types as [`TypeFilter::parse`] accepts them.
        types: String,
    },
    /// Checks the setup.
    Doctor { options: DoctorOptions },
}

macro_rules! admin_verbs {
    ($($noun:ident($verb:ty),)+) => {
        /// A verb of one noun. The field `verb` of the JSON names both.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(untagged)]
        pub enum AdminVerb {
            $($noun($verb),)+
        }

        $(impl From<$verb> for AdminVerb {
            fn from(verb: $verb) -> Self {
                Self::$noun(verb)
            }
        })+
    };
}

admin_verbs! {
    // The variants are tried in this order. Batches of contacts are the only large requests.
    Contact(contacts::ContactVerb),
    Server(ServerVerb),
    Team(teams::TeamVerb),
    Key(keys::KeyVerb),
    User(users::UserVerb),
    Access(access::AccessVerb),
    Domain(domains::DomainVerb),
    Webhook(webhooks::WebhookVerb),
    Theme(themes::ThemeVerb),
    Email(emails::EmailVerb),
    Broadcast(broadcasts::BroadcastVerb),
    Captured(captured::CapturedVerb),
    Inbox(captured::InboxVerb),
    Queue(queue::QueueVerb),
    Suppression(suppressions::SuppressionVerb),
    Log(logs::LogVerb),
    Audit(audit::AuditVerb),
}

/// Result of one verb.
pub(super) type VerbResult = Result<Response, AdminError>;

/// Executes a request.
pub async fn execute(services: &AdminServices, request: Request) -> Response {
    execute_verb(services, request).await.unwrap_or_else(Response::Refused)
}

async fn execute_verb(services: &AdminServices, Request { team, verb }: Request) -> VerbResult {
    let adds_data = matches!(
        verb,
        AdminVerb::Email(emails::EmailVerb::Send(_))
            | AdminVerb::Contact(contacts::ContactVerb::Import { .. })
            | AdminVerb::Broadcast(broadcasts::BroadcastVerb::Send { .. })
    );
    if adds_data && services.context.store.space() != Space::Ample {
        return Err(AdminError::failed(
            "the disk has less free space than --disk-reserve-mb, so the server accepts no new data; free some space",
        ));
    }
    let named_team = team.clone();
    let team = teams::resolve(services, team);
    match verb {
        AdminVerb::Server(ServerVerb::Ping) => {
            Ok(ServerView { version: env!("CARGO_PKG_VERSION").to_owned(), api: services.api.clone() }.into())
        }
        AdminVerb::Server(ServerVerb::Tail { .. }) => {
            Err(AdminError::failed("only a running server shows events; start one with `ringmail serve`"))
        }
        AdminVerb::Server(ServerVerb::Doctor { options }) => Ok(services.doctor.run(&options).await.into()),
        AdminVerb::Team(verb) => teams::execute(services, verb).await,
        AdminVerb::Key(verb) => keys::execute(services, team.await?, verb).await,
        // The user may be in another team.
        AdminVerb::User(users::UserVerb::Link { email }) => access::user_link(services, &email).await,
        AdminVerb::User(verb) => users::execute(services, team.await?, verb).await,
        AdminVerb::Access(verb) => access::execute(services, verb).await,
        AdminVerb::Domain(verb) => domains::execute(services, team.await?, verb).await,
        AdminVerb::Webhook(verb) => webhooks::execute(services, team.await?, verb).await,
        AdminVerb::Theme(verb) => themes::execute(services, team.await?, verb).await,
        AdminVerb::Email(verb) => emails::execute(services, team.await?, verb).await,
        AdminVerb::Broadcast(verb) => broadcasts::execute(services, team.await?, verb).await,
        AdminVerb::Captured(verb) => captured::execute(services, verb).await,
        AdminVerb::Inbox(verb) => captured::execute_inbox(services, verb).await,
        AdminVerb::Queue(verb) => queue::execute(services, verb).await,
        AdminVerb::Suppression(verb) => suppressions::execute(services, team.await?, verb).await,
        AdminVerb::Log(verb) => logs::execute(services, team.await?, verb).await,
        AdminVerb::Contact(verb) => contacts::execute(services, team.await?, verb).await,
        // A removed team has entries too.
        AdminVerb::Audit(verb) => audit::execute(services, named_team, verb).await,
    }
}

/// Subscribes to the events of a team whose type matches `types`.
///
/// # Errors
/// [`AdminError`] if the filter is invalid or the team does not exist.
pub(super) async fn subscribe(
    services: &AdminServices,
    team: Option<String>,
    types: &str,
) -> Result<EventStream, AdminError> {
    let filter = TypeFilter::parse(types).map_err(|error| AdminError::invalid(error.to_string()))?;
    let team = teams::resolve(services, team).await?;
    Ok(EventStream::new(&services.context.event_bus, team, filter))
}
