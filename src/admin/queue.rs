//! The queue of all teams: why groups wait, holds, flush and drop.
//!
//! A request reads or changes one page, and returns the position of the next one. The verb repeats it.

use std::fmt;

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use super::request::{AdminServices, VerbResult};
use super::response::AdminError;
use super::teams;
use crate::audit::Actor;
use crate::base::clock::to_iso;
use crate::base::id::{ApiKeyId, EmailId, TeamId};
use crate::delivery::{
    DestinationPage, GroupPage, Hold, HoldKind, QueueChange, QueuePosition, QueueSelector, QueuedDestination,
    QueuedGroup, parse_destination,
};
use crate::emails;
use crate::store::StoreError;
use crate::teams as stored_teams;

/// Maximum length of the name of a site, in bytes.
const SITE_BYTES_MAX: usize = 300;

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum QueueVerb {
    /// List the sites and domains with queued emails, and the pauses.
    #[serde(rename = "queue_list")]
    List {
        #[command(flatten)]
        selector: SelectorArgs,
        /// List each domain, not the sites.
        #[arg(long)]
        #[serde(skip)]
        domains: bool,
        /// Maximum number of rows.
        #[arg(long, value_name = "N", default_value_t = super::LISTED_DEFAULT, value_parser = super::listed_max())]
        #[serde(skip)]
        limit: usize,
        #[arg(skip)]
        after: Option<QueuePosition>,
    },
    /// Show queued emails, one row for each recipient domain, with the reason why they wait.
    #[serde(rename = "queue_show")]
    Show {
        #[command(flatten)]
        selector: SelectorArgs,
        /// Maximum number of rows.
        #[arg(long, value_name = "N", default_value_t = super::LISTED_DEFAULT, value_parser = super::listed_max())]
        #[serde(skip)]
        limit: usize,
        #[arg(skip)]
        after: Option<QueuePosition>,
    },
    /// Pause a part of the queue or all of it, also after a restart. New emails are accepted and wait.
    #[serde(rename = "queue_pause")]
    Pause {
        #[command(flatten)]
        selector: SelectorArgs,
    },
    /// End a pause.
    #[serde(rename = "queue_resume")]
    Resume {
        #[command(flatten)]
        selector: SelectorArgs,
        // The first page ends the pause. Each page makes groups due that the pause has postponed.
        #[arg(skip)]
        after: Option<QueuePosition>,
    },
    /// Try queued emails now, and end the pauses of their mail servers. Scheduled emails keep their time.
    #[serde(rename = "queue_flush")]
    Flush {
        #[command(flatten)]
        selector: SelectorArgs,
        #[arg(skip)]
        after: Option<QueuePosition>,
    },
    /// Give up queued emails: `email.failed` with the reason `dropped`. Emails in flight are not changed.
    #[serde(rename = "queue_drop")]
    Drop {
        #[command(flatten)]
        selector: SelectorArgs,
        /// Do not ask.
        #[arg(long)]
        #[serde(skip)]
        yes: bool,
        #[arg(skip)]
        after: Option<QueuePosition>,
    },
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

/// A page of destinations or groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueuePage<T> {
    pub data: Vec<T>,
    pub next: Option<QueuePosition>,
    /// Number of destinations that were skipped because their site is not known.
    pub unknown: usize,
    /// The holds. Only on the last page of destinations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<HoldView>,
}

/// The queued groups of a site or of a domain. In a response, those of one domain, which the next page may continue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueSiteView {
    /// `None` if the site of the domain is not known.
    pub site: Option<String>,
    /// `None` for a site with several domains.
    pub domain: Option<String>,
    pub domains: usize,
    pub groups: usize,
    pub sessions: usize,
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

/// A part of the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueuePartView {
    /// `site`, `domain`, `email`, `key`, `team` or `queue`.
    pub selector: String,
    /// Name or id; empty for the whole queue.
    pub value: String,
}

/// A hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HoldView {
    #[serde(flatten)]
    pub part: QueuePartView,
    pub since: String,
    /// Age in seconds.
    pub age_s: i64,
}

/// A part of the queue whose hold has ended, and one page of its groups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResumedView {
    #[serde(flatten)]
    pub part: QueuePartView,
    /// Number of groups that became due.
    pub groups: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<QueuePosition>,
}

impl QueueSiteView {
    fn new(row: QueuedDestination, now_ms: i64) -> Self {
        let QueuedDestination { destination, site, sessions, groups, oldest_ms, next_due_ms, state, until_ms, reason } =
            row;
        Self {
            site,
            domain: Some(destination),
            domains: 1,
            groups,
            sessions,
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

impl HoldView {
    fn new(Hold { kind, name, since_ms }: Hold, now_ms: i64) -> Self {
        let part = QueuePartView { selector: kind.as_str().to_owned(), value: name };
        Self { part, since: to_iso(since_ms), age_s: age_s(since_ms, now_ms) }
    }
}

impl fmt::Display for QueuePartView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(format!("{} {}", self.selector, self.value).trim_end())
    }
}

fn age_s(since_ms: i64, now_ms: i64) -> i64 {
    (now_ms - since_ms).max(0) / 1_000
}

pub(super) async fn execute(services: &AdminServices, verb: QueueVerb) -> VerbResult {
    let (queue, now_ms, by) = (&services.queue, services.context.now_ms(), Actor::CommandLine.on_server());
    match verb {
        QueueVerb::List { selector, domains: _, limit: _, after } => {
            let selector = match selector == SelectorArgs::default() {
                true => None,
                false => Some(selected(services, selector).await?),
            };
            let DestinationPage { destinations, next, unknown } = queue.destinations(selector, after).await?;
            let holds = if next.is_none() { queue.holds().await? } else { Vec::new() };
            let data = destinations.into_iter().map(|row| QueueSiteView::new(row, now_ms)).collect();
            let holds = holds.into_iter().map(|hold| HoldView::new(hold, now_ms)).collect();
            Ok(QueuePage { data, next, unknown, holds }.into())
        }
        QueueVerb::Show { selector, limit: _, after } => {
            let GroupPage { groups, next, unknown } = queue.groups(selected(services, selector).await?, after).await?;
            let data = groups.into_iter().map(QueueGroupView::from).collect();
            Ok(QueuePage { data, next, unknown, holds: Vec::new() }.into())
        }
        QueueVerb::Pause { selector } => match queue.pause(by, selected(services, selector).await?).await? {
            Some(hold) => Ok(HoldView::new(hold, now_ms).into()),
            None => Err(AdminError::conflict(
                "too many parts of the queue are paused; end some of them with `ringmail queue resume`",
            )),
        },
        QueueVerb::Resume { selector, after } => {
            let selector = selected(services, selector).await?;
            let part = QueuePartView { selector: selector.kind().as_str().to_owned(), value: selector.name() };
            if after.is_none() && !queue.resume(by, selector.clone()).await? {
                let text = format!("the {part} is not paused; `ringmail queue list` shows what is");
                return Err(AdminError::not_found(text));
            }
            let QueueChange { groups, next, .. } = match selector.kind() {
                HoldKind::Email | HoldKind::Key => queue.release(selector, after).await?,
                HoldKind::Site | HoldKind::Domain | HoldKind::Team | HoldKind::Queue => QueueChange::default(),
            };
            Ok(ResumedView { part, groups, next }.into())
        }
        QueueVerb::Flush { selector, after } => {
            Ok(queue.flush(by, selected(services, selector).await?, after).await?.into())
        }
        QueueVerb::Drop { selector, yes: _, after } => {
            Ok(queue.drop_groups(by, selected(services, selector).await?, after).await?.into())
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
