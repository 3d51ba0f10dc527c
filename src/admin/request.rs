//! What can be asked.

use serde::{Deserialize, Serialize};

use crate::api_keys::Permission;
use crate::base::id::{ApiKeyId, ContactId, DomainId, EmailId, SegmentId, TopicId, UserId, WebhookId};
use crate::contacts::import::{ExistingContacts, ImportItem, RunMode};
use crate::preferences::ThemeTexts;
use crate::users::Role;

/// A request. `team` is a team's name, and may be left out where there is one team.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Answers what server this is.
    Ping,
    /// Makes a team.
    TeamCreate {
        /// Its name.
        name: String,
    },
    /// Lists the teams.
    TeamList,
    /// Makes an API key.
    KeyCreate {
        team: Option<String>,
        /// Its name.
        name: String,
        /// What it may do.
        permission: Permission,
        /// The name or the id of the one domain it may send from.
        domain: Option<String>,
    },
    /// Lists a page of keys.
    KeyList {
        team: Option<String>,
        /// The last key of the page before.
        after: Option<ApiKeyId>,
    },
    /// Renames a key.
    KeyRename {
        team: Option<String>,
        /// Its name or its id.
        key: String,
        /// The name it gets.
        name: String,
    },
    /// Revokes a key.
    KeyRevoke {
        team: Option<String>,
        /// Its name or its id.
        key: String,
    },
    /// Adds a user to a team.
    UserCreate {
        team: Option<String>,
        /// Its address.
        email: String,
        /// Its role; owner of a team without one and member of any other when left out.
        role: Option<Role>,
    },
    /// Lists a page of a team's users.
    UserList {
        team: Option<String>,
        /// The last user of the page before.
        after: Option<UserId>,
    },
    /// Changes the role of a user in a team.
    UserRole {
        team: Option<String>,
        /// Its address.
        email: String,
        /// The role it gets.
        role: Role,
    },
    /// Takes a user out of a team.
    UserRemove {
        team: Option<String>,
        /// Its address.
        email: String,
    },
    /// Adds a domain.
    DomainAdd {
        team: Option<String>,
        /// Its name.
        name: String,
        /// Whether it counts as verified without a look at the DNS.
        trust: DomainTrust,
    },
    /// Lists a page of domains.
    DomainList {
        team: Option<String>,
        /// The last domain of the page before.
        after: Option<DomainId>,
    },
    /// Shows a domain and its records.
    DomainShow {
        team: Option<String>,
        /// Its name or its id.
        domain: String,
    },
    /// Looks for a domain's records.
    DomainCheck {
        team: Option<String>,
        /// Its name or its id.
        domain: String,
    },
    /// Removes a domain.
    DomainRemove {
        team: Option<String>,
        /// Its name or its id.
        domain: String,
    },
    /// Adds a webhook endpoint.
    WebhookCreate {
        team: Option<String>,
        /// Its URL.
        endpoint: String,
        /// The types of events it hears of; none for all of them.
        events: Vec<String>,
    },
    /// Lists a page of webhook endpoints.
    WebhookList {
        team: Option<String>,
        /// The last endpoint of the page before.
        after: Option<WebhookId>,
    },
    /// Has nothing delivered to a webhook endpoint.
    WebhookDisable {
        team: Option<String>,
        /// Its id or its URL.
        webhook: String,
    },
    /// Has events delivered to a webhook endpoint.
    WebhookEnable {
        team: Option<String>,
        /// Its id or its URL.
        webhook: String,
    },
    /// Replaces the secret of a webhook endpoint.
    WebhookRotate {
        team: Option<String>,
        /// Its id or its URL.
        webhook: String,
        /// How many hours the secret before goes on signing.
        overlap_hours: Option<i64>,
    },
    /// Deletes a webhook endpoint.
    WebhookDelete {
        team: Option<String>,
        /// Its id or its URL.
        webhook: String,
    },
    /// Queues a sample of an event for a webhook endpoint.
    WebhookTest {
        team: Option<String>,
        /// Its id or its URL.
        webhook: String,
        /// The type of the event.
        event_type: Option<String>,
    },
    /// Shows how the team's preference page looks.
    ThemeShow { team: Option<String> },
    /// Changes how it looks.
    ThemeSet {
        team: Option<String>,
        /// What is said of it; the rest stays.
        texts: ThemeTexts,
    },
    /// Gives it its own look back.
    ThemeReset { team: Option<String> },
    /// Sends an email.
    Send {
        team: Option<String>,
        /// The sender; an address of the newest verified domain when left out.
        from: Option<String>,
        /// The recipients.
        to: Vec<String>,
        /// The subject.
        subject: String,
        /// The html part.
        html: Option<String>,
        /// The text part.
        text: Option<String>,
    },
    /// Shows an email and its timeline.
    EmailShow {
        team: Option<String>,
        /// Its id.
        email: EmailId,
    },
    /// Shows events as they happen, until the server stops: the last request of its conversation, and
    /// the one that is answered by more than one line.
    Tail {
        team: Option<String>,
        /// The types that are shown, as [`crate::live::Filter::parse`] reads them.
        types: String,
    },
    /// Tells what contacts are imported against: the team's contact properties.
    ImportBegin {
        team: Option<String>,
        /// Segments that every contact is added to.
        segments: Vec<SegmentId>,
        /// Topics that every contact is opted in to.
        topics: Vec<TopicId>,
    },
    /// Imports contacts, a thousand at most.
    ImportContacts {
        team: Option<String>,
        /// What happens to those that are there already.
        existing: ExistingContacts,
        /// Whether anything is written.
        run: RunMode,
        /// Segments that every contact is added to.
        segments: Vec<SegmentId>,
        /// Topics that every contact is opted in to, unless it has opted out.
        topics: Vec<TopicId>,
        /// What is said of each.
        items: Vec<ImportItem>,
    },
    /// Tells what contacts are exported with: the team's contact properties.
    ExportBegin { team: Option<String> },
    /// Shows a page of contacts, oldest first.
    ExportContacts {
        team: Option<String>,
        /// The segment whose contacts are meant; all when left out.
        segment: Option<SegmentId>,
        /// The last contact that was looked at for the page before.
        after: Option<ContactId>,
    },
}

/// Whether a domain has to show its records before it is sent from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DomainTrust {
    /// It does.
    Records,
    /// It does not: for development instances alone.
    Given,
}
