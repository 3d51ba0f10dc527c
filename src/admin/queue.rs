//! The queue of all teams: why groups wait, holds, flush and drop.
//!
//! A request reads or changes one page, and returns the position of the next one. The verb repeats it.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::request::{AdminServices, VerbResult};
use super::response::AdminError;
use super::teams;
use crate::audit::Actor;
use crate::base::clock::to_iso;
use crate::base::id::{ApiKeyId, EmailId, TeamId};
use crate::delivery::{
    Hold, HoldKind, QueueChange, QueuePosition, QueueSelector, QueuedDestination, QueuedGroup, WaitingGroup,
    parse_destination,
};
use crate::emails;
use crate::store::StoreError;
use crate::teams as stored_teams;

/// Maximum length of the name of a site, in bytes.
const SITE_BYTES_MAX: usize = 300;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum QueueVerb {
    /// Returns a page of destinations; without a selector, of the whole queue.
    #[serde(rename = "queue_list")]
    List { selector: SelectorArgs, after: Option<QueuePosition> },
    #[serde(rename = "queue_holds")]
    Holds,
    #[serde(rename = "queue_show")]
    Show { selector: SelectorArgs, after: Option<QueuePosition> },
    #[serde(rename = "queue_pause")]
    Pause { selector: SelectorArgs },
    #[serde(rename = "queue_resume")]
    Resume { selector: SelectorArgs },
    /// Makes a page of the groups due that an ended hold has postponed.
    #[serde(rename = "queue_release")]
    Release { selector: SelectorArgs, after: Option<QueuePosition> },
    #[serde(rename = "queue_flush")]
    Flush { selector: SelectorArgs, after: Option<QueuePosition> },
    #[serde(rename = "queue_drop")]
    Drop { selector: SelectorArgs, after: Option<QueuePosition> },
}

// A part of the queue. A doc comment would replace the description of the verb.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[group(multiple = false)]
pub struct SelectorArgs {
    /// Site: the mail servers of one or more domains, as `ringmail queue list` names it.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,

    /// Domain of the recipients, as `ringmail queue list --domains` names it. Released messages to a domain, and each
    /// address that --deliver-only selects, have a name of their own there.
    #[arg(long, value_name = "DOMAIN")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,

    /// Id of an email.
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,

    /// Id of the API key that sent the emails.
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,

    /// Name or id of the team.
    #[arg(long, value_name = "TEAM")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,

    /// The whole queue.
    #[arg(long = "all")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_all: bool,
}

/// A page of destinations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueDestinationsView {
    pub data: Vec<QueueDestinationView>,
    pub next: Option<QueuePosition>,
    /// Number of destinations that were skipped because their site is not known.
    pub unknown: usize,
}

/// A destination with queued groups. The next page may continue it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueDestinationView {
    pub domain: String,
    pub site: Option<String>,
    pub sessions: usize,
    pub groups: usize,
    /// Time of acceptance of the oldest email.
    pub oldest_at: String,
    /// Age of the oldest email in seconds.
    pub oldest_age_s: i64,
    /// Due time of the first group.
    pub next_at: String,
    pub state: String,
    pub until: Option<String>,
    pub reason: String,
}

/// A page of groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueGroupsView {
    pub data: Vec<QueueGroupView>,
    pub next: Option<QueuePosition>,
    /// Number of destinations that were skipped because their site is not known.
    pub unknown: usize,
}

/// A queued group: the recipients of an email at one domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueGroupView {
    pub email: EmailId,
    pub team: TeamId,
    pub domain: String,
    pub due_at: String,
    pub attempts: u16,
    pub state: String,
    pub until: Option<String>,
    pub reason: String,
}

/// A hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HoldView {
    /// `site`, `domain`, `email`, `key`, `team` or `queue`.
    pub selector: String,
    /// Name or id; empty for the whole queue.
    pub value: String,
    pub since: String,
    /// Age in seconds.
    pub age_s: i64,
}

/// The holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HoldsView {
    pub data: Vec<HoldView>,
}

/// A part of the queue whose hold has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResumedView {
    pub selector: String,
    /// Name or id.
    pub value: String,
}

/// Result of one page of a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueChangeView {
    pub groups: usize,
    /// Number of scheduled groups that keep their time.
    pub scheduled: usize,
    pub next: Option<QueuePosition>,
    /// Number of destinations that were skipped because their site is not known.
    pub unknown: usize,
}

/// A queued group of an email that is shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WaitingView {
    pub to: Vec<String>,
    pub domain: String,
    pub attempts: u16,
    pub state: String,
    pub until: Option<String>,
    pub reason: String,
}

impl From<WaitingGroup> for WaitingView {
    fn from(group: WaitingGroup) -> Self {
        let WaitingGroup { recipients, domain, attempts, state, until_ms, reason } = group;
        let (state, until) = (state.as_str().to_owned(), until_ms.map(to_iso));
        Self { to: recipients, domain, attempts, state, until, reason }
    }
}

impl QueueDestinationView {
    fn new(row: QueuedDestination, now_ms: i64) -> Self {
        let QueuedDestination { destination, site, sessions, groups, oldest_ms, next_due_ms, state, until_ms, reason } =
            row;
        Self {
            domain: destination,
            site,
            sessions,
            groups,
            oldest_at: to_iso(oldest_ms),
            oldest_age_s: age_s(oldest_ms, now_ms),
            next_at: to_iso(next_due_ms),
            state: state.as_str().to_owned(),
            until: until_ms.map(to_iso),
            reason,
        }
    }
}

impl From<QueuedGroup> for QueueGroupView {
    fn from(group: QueuedGroup) -> Self {
        let QueuedGroup { email, team, destination, due_ms, attempts, state, until_ms, reason } = group;
        Self {
            email,
            team,
            domain: destination,
            due_at: to_iso(due_ms),
            attempts,
            state: state.as_str().to_owned(),
            until: until_ms.map(to_iso),
            reason,
        }
    }
}

impl From<QueueChange> for QueueChangeView {
    fn from(QueueChange { groups, scheduled, next, unknown }: QueueChange) -> Self {
        Self { groups, scheduled, next, unknown }
    }
}

impl HoldView {
    fn new(Hold { kind, name, since_ms }: Hold, now_ms: i64) -> Self {
        let (since, age_s) = (to_iso(since_ms), age_s(since_ms, now_ms));
        Self { selector: kind.as_str().to_owned(), value: name, since, age_s }
    }

    /// Returns the kind with the name or id.
    pub fn name(&self) -> String {
        named(&self.selector, &self.value)
    }
}

impl ResumedView {
    /// Returns the kind with the name or id.
    pub fn name(&self) -> String {
        named(&self.selector, &self.value)
    }
}

fn named(selector: &str, value: &str) -> String {
    format!("{selector} {value}").trim_end().to_owned()
}

fn age_s(since_ms: i64, now_ms: i64) -> i64 {
    (now_ms - since_ms).max(0) / 1_000
}

pub(super) async fn execute(services: &AdminServices, verb: QueueVerb) -> VerbResult {
    let (queue, now_ms, by) = (&services.queue, services.context.now_ms(), Actor::CommandLine.on_server());
    match verb {
        QueueVerb::List { selector, after } => {
            let selector = match selector == SelectorArgs::default() {
                true => None,
                false => Some(selected(services, selector).await?),
            };
            let page = queue.destinations(selector, after).await?;
            let data = page.destinations.into_iter().map(|row| QueueDestinationView::new(row, now_ms)).collect();
            Ok(QueueDestinationsView { data, next: page.next, unknown: page.unknown }.into())
        }
        QueueVerb::Holds => {
            let holds = queue.holds().await?;
            Ok(HoldsView { data: holds.into_iter().map(|hold| HoldView::new(hold, now_ms)).collect() }.into())
        }
        QueueVerb::Show { selector, after } => {
            let page = queue.groups(selected(services, selector).await?, after).await?;
            let data = page.groups.into_iter().map(QueueGroupView::from).collect();
            Ok(QueueGroupsView { data, next: page.next, unknown: page.unknown }.into())
        }
        QueueVerb::Pause { selector } => match queue.pause(by, selected(services, selector).await?).await? {
            Some(hold) => Ok(HoldView::new(hold, now_ms).into()),
            None => Err(AdminError::conflict(
                "too many parts of the queue are paused; end some of them with `ringmail queue resume`",
            )),
        },
        QueueVerb::Resume { selector } => {
            let selector = selected(services, selector).await?;
            let resumed = ResumedView { selector: selector.kind().as_str().to_owned(), value: selector.name() };
            if queue.resume(by, selector).await? {
                return Ok(resumed.into());
            }
            let text = format!("the {} is not paused; `ringmail queue list` shows what is", resumed.name());
            Err(AdminError::not_found(text))
        }
        QueueVerb::Release { selector, after } => {
            let selector = selected(services, selector).await?;
            if !matches!(selector.kind(), HoldKind::Email | HoldKind::Key) {
                return Ok(QueueChangeView::from(QueueChange::default()).into());
            }
            Ok(QueueChangeView::from(queue.release(selector, after).await?).into())
        }
        QueueVerb::Flush { selector, after } => {
            Ok(QueueChangeView::from(queue.flush(by, selected(services, selector).await?, after).await?).into())
        }
        QueueVerb::Drop { selector, after } => {
            Ok(QueueChangeView::from(queue.drop_groups(by, selected(services, selector).await?, after).await?).into())
        }
    }
}

/// Returns the part of the queue that the arguments name.
async fn selected(services: &AdminServices, selector: SelectorArgs) -> Result<QueueSelector, AdminError> {
    match selector {
        SelectorArgs { site: Some(site), domain: None, email: None, key: None, team: None, is_all: false } => {
            let site = site.trim().to_lowercase();
            if site.is_empty() || site.len() > SITE_BYTES_MAX {
                return Err(AdminError::invalid("the site has no valid name; use one of `ringmail queue list`"));
            }
            Ok(QueueSelector::Site(site))
        }
        SelectorArgs { site: None, domain: Some(domain), email: None, key: None, team: None, is_all: false } => {
            let invalid = || AdminError::invalid(format!("`{domain}` is not the name of a domain"));
            parse_destination(domain.trim()).map(QueueSelector::Domain).ok_or_else(invalid)
        }
        SelectorArgs { site: None, domain: None, email: Some(text), key: None, team: None, is_all: false } => {
            let unknown = || AdminError::not_found(format!("there is no email `{text}`"));
            let id = EmailId::parse(&text).ok_or_else(unknown)?;
            let find = move |tx: &crate::store::ReadTx| {
                let found = emails::find_of_teams(tx, &stored_teams::ids(tx)?, id)?;
                Ok::<_, StoreError>(found.map(|(team, _)| team))
            };
            let team = services.context.store.read(find).await?.ok_or_else(unknown)?;
            Ok(QueueSelector::Email { team, id })
        }
        SelectorArgs { site: None, domain: None, email: None, key: Some(text), team: None, is_all: false } => {
            let invalid = || {
                AdminError::invalid(format!("`{text}` is not the id of an API key; `ringmail key list` shows the ids"))
            };
            ApiKeyId::parse(&text).map(QueueSelector::Key).ok_or_else(invalid)
        }
        SelectorArgs { site: None, domain: None, email: None, key: None, team: Some(team), is_all: false } => {
            Ok(QueueSelector::Team(teams::find(services, &team).await?.id))
        }
        SelectorArgs { site: None, domain: None, email: None, key: None, team: None, is_all: true } => {
            Ok(QueueSelector::Queue)
        }
        _ => Err(AdminError::invalid("give one of `--site`, `--domain`, `--email`, `--key`, `--team`, and `--all`")),
    }
}
