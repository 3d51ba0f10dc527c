//! Actors, actions, targets and entries. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::base::id::{ApiKeyId, Id, TeamId, UserId};
use crate::base::words::words;

/// Longest stored name or text of an entry, in characters.
pub(super) const TEXT_CHARS_MAX: usize = 200;
/// Maximum number of fields in the detail of an entry.
pub(super) const DETAIL_FIELDS_MAX: usize = 16;

/// Cause of an action. The store adds the address of a user or the name of a key at the time of the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A user of the dashboard. On a development server, which has no accounts, a session.
    User(UserId),
    ApiKey(ApiKeyId),
    /// The operator, with `ringmail` on the server's machine.
    CommandLine,
    /// The server itself.
    Server,
}

impl Actor {
    /// Returns the name of the type.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::ApiKey(_) => "api_key",
            Self::CommandLine => "command_line",
            Self::Server => "server",
        }
    }

    /// Returns the id; `None` for the command line and the server.
    pub fn id(self) -> Option<String> {
        match self {
            Self::User(id) => Some(id.to_string()),
            Self::ApiKey(id) => Some(id.to_string()),
            Self::CommandLine | Self::Server => None,
        }
    }

    /// Returns the actor with the team whose log gets the entry.
    pub const fn in_team(self, team: TeamId) -> TeamActor {
        TeamActor { team, actor: self }
    }

    /// Returns the actor of an action that belongs to no team.
    pub const fn on_server(self) -> TeamActor {
        TeamActor { team: TeamActor::SERVER, actor: self }
    }
}

/// The team of an action with its actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamActor {
    pub team: TeamId,
    pub actor: Actor,
}

impl TeamActor {
    /// Team id of the entries that belong to no team.
    pub const SERVER: TeamId = Id::MIN;
}

/// Shortens the unit tests of use cases, which do not depend on the actor.
#[cfg(test)]
impl From<TeamId> for TeamActor {
    fn from(team: TeamId) -> Self {
        Actor::Server.in_team(team)
    }
}

words! {
    /// Administrative action. Stored by its name, so that a name never changes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum AuditAction {
        ApiKeyCreated = "api_key.created",
        ApiKeyUpdated = "api_key.updated",
        ApiKeyDeleted = "api_key.deleted",
        DomainCreated = "domain.created",
        DomainUpdated = "domain.updated",
        DomainDeleted = "domain.deleted",
        DomainVerificationRequested = "domain.verification_requested",
        WebhookCreated = "webhook.created",
        WebhookUpdated = "webhook.updated",
        WebhookSecretRotated = "webhook.secret_rotated",
        WebhookDeleted = "webhook.deleted",
        WebhookTested = "webhook.tested",
        WebhookReplayed = "webhook.replayed",
        MemberAdded = "member.added",
        MemberRoleChanged = "member.role_changed",
        MemberRemoved = "member.removed",
        UserPasswordSet = "user.password_set",
        UserSecondFactorSet = "user.second_factor_set",
        UserSecondFactorRemoved = "user.second_factor_removed",
        UserRecoveryCodesReplaced = "user.recovery_codes_replaced",
        UserLinkCreated = "user.link_created",
        SetupLinkCreated = "setup_link.created",
        AccountCreated = "account.created",
        SessionEnded = "session.ended",
        SignInSucceeded = "sign_in.succeeded",
        SignInRefused = "sign_in.refused",
        TeamCreated = "team.created",
        TeamRenamed = "team.renamed",
        TeamRemoved = "team.removed",
        ThemeChanged = "theme.changed",
        ThemeReset = "theme.reset",
        SuppressionsAdded = "suppression.added",
        SuppressionsRemoved = "suppression.removed",
        QueuePaused = "queue.paused",
        QueueResumed = "queue.resumed",
        QueueFlushed = "queue.flushed",
        QueueDropped = "queue.dropped",
        BroadcastSent = "broadcast.sent",
        BroadcastCanceled = "broadcast.canceled",
        BroadcastDeleted = "broadcast.deleted",
        TemplateDeleted = "template.deleted",
        ContactImportStarted = "contact.import_started",
        ContactExportStarted = "contact.export_started",
        ContactsErased = "contact.erased",
        CapturedReleased = "captured.released",
        CapturedDeleted = "captured.deleted",
    } with serde, ALL
}

words! {
    /// Kind of the object of an action.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum AuditTargetKind {
        ApiKey = "api_key",
        Domain = "domain",
        Webhook = "webhook",
        User = "user",
        Session = "session",
        Team = "team",
        Suppression = "suppression",
        Queue = "queue",
        Broadcast = "broadcast",
        Template = "template",
        Contact = "contact",
        Captured = "captured",
    } with serde, ALL
}

/// Object of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditTarget {
    pub kind: AuditTargetKind,
    /// Id; of a part of the queue its kind.
    pub id: String,
    /// Name at the time of the action; `None` for objects that only an address names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An action to record.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    pub(super) action: AuditAction,
    pub(super) target: Option<AuditTarget>,
    pub(super) detail: Map<String, Json>,
}

impl AuditEntry {
    /// Returns an entry without a target and without a detail.
    pub fn new(action: AuditAction) -> Self {
        Self { action, target: None, detail: Map::new() }
    }

    /// Sets the object of the action. Never pass the address of a recipient.
    #[must_use]
    pub fn of(mut self, kind: AuditTargetKind, id: impl ToString) -> Self {
        self.target = Some(AuditTarget { kind, id: bounded(&id.to_string()), name: None });
        self
    }

    /// Sets the name of the object.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        if let Some(target) = &mut self.target {
            target.name = Some(bounded(name));
        }
        self
    }

    /// Returns whether the detail has a field.
    pub fn has_detail(&self) -> bool {
        !self.detail.is_empty()
    }

    /// Adds a field to the detail. Never pass a secret, message content, or the address of a recipient.
    #[must_use]
    pub fn with(mut self, field: &'static str, value: impl Into<Json>) -> Self {
        let value = match value.into() {
            Json::String(text) => Json::String(bounded(&text)),
            value => value,
        };
        if self.detail.len() < DETAIL_FIELDS_MAX {
            self.detail.insert(field.to_owned(), value);
        }
        self
    }
}

/// Returns the text up to [`TEXT_CHARS_MAX`] characters.
fn bounded(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns scheme and host of a URL. The rest of the URL, and the user information before the host, can have a secret.
pub fn audit_host(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
}
