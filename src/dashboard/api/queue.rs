//! The queue by site: what waits, why, and holds. For the operator's team only.

use std::collections::{BTreeMap, HashMap, HashSet};

use salvo::writing::Json;
use salvo::{Request, Writer as _, handler};
use serde::Serialize;

use super::reply::DataList;
use crate::api_keys::Caller;
use crate::base::clock::{TimestampMs, to_iso};
use crate::delivery::{
    Engine, HoldKind, QueueChange, QueueControl, QueueSelector, QueuedDestination, QueuedGroup, SiteSnapshot,
    WaitingState,
};
use crate::dns::host;
use crate::http::{ApiError, ApiResult, ErrorCode, State};

/// Pages of destinations that a list reads. Each has up to 100 destinations.
const PAGES_MAX: usize = 20;
/// Pages of groups that one request makes due. Each has up to 200 groups.
const FLUSHED_PAGES_MAX: usize = 25;
/// Beginning of the name of a domain whose site is not known.
const DOMAIN: &str = "domain:";
/// Maximum length of the name of a site, in bytes.
const SITE_BYTES_MAX: usize = 300;

#[derive(Serialize)]
struct SiteView {
    /// Name of the site, or `domain:` and the domain if its site is not known.
    site: String,
    /// Number of queued groups of recipients.
    waiting: usize,
    domains: Vec<String>,
    oldest_at: String,
    state: &'static str,
    reason: String,
    until: Option<String>,
    sessions: usize,
    /// Maximum number of messages a second.
    rate: Option<f64>,
    last_reply: Option<String>,
    delisting: Option<&'static str>,
    paused: bool,
}

#[derive(Serialize)]
struct SiteDetails {
    #[serde(flatten)]
    site: SiteView,
    groups: Vec<GroupView>,
    has_more: bool,
}

#[derive(Serialize)]
struct GroupView {
    email_id: String,
    domain: String,
    due_at: String,
    attempts: u16,
    state: &'static str,
    until: Option<String>,
    reason: String,
}

#[derive(Serialize)]
struct SiteChanged {
    object: &'static str,
    site: String,
    paused: bool,
    /// Number of groups that were made due.
    groups: usize,
    /// Whether more groups are left for a further request.
    has_more: bool,
}

/// The sites with queued groups.
#[derive(Serialize)]
struct QueueList {
    #[serde(flatten)]
    sites: DataList<SiteView>,
    /// Whether the whole queue is on hold.
    paused: bool,
}

#[derive(Serialize)]
struct QueueChanged {
    object: &'static str,
    paused: bool,
}

/// The queued groups of one site.
struct SiteCount {
    waiting: usize,
    domains: Vec<String>,
    oldest_ms: TimestampMs,
    /// State, reason and expected time of the first destination.
    state: WaitingState,
    reason: String,
    until_ms: Option<TimestampMs>,
    sessions: usize,
}

impl SiteCount {
    fn of(row: &QueuedDestination) -> Self {
        Self {
            waiting: 0,
            domains: Vec::new(),
            oldest_ms: row.oldest_ms,
            state: row.state,
            reason: row.reason.clone(),
            until_ms: row.until_ms,
            sessions: row.sessions,
        }
    }

    fn add(&mut self, row: QueuedDestination) {
        self.waiting += row.groups;
        self.oldest_ms = self.oldest_ms.min(row.oldest_ms);
        if !self.domains.contains(&row.destination) {
            self.domains.push(row.destination);
        }
    }

    fn view(self, site: String, snapshot: Option<&SiteSnapshot>, paused: bool) -> SiteView {
        let last_reply = snapshot.and_then(|snapshot| snapshot.last_reply.as_ref());
        SiteView {
            site,
            waiting: self.waiting,
            domains: self.domains,
            oldest_at: to_iso(self.oldest_ms),
            state: self.state.as_str(),
            reason: self.reason,
            until: self.until_ms.map(to_iso),
            sessions: self.sessions,
            rate: snapshot.and_then(|snapshot| snapshot.messages_per_second),
            last_reply: last_reply.map(|(reply, _)| reply.to_string()),
            delisting: snapshot.and_then(|snapshot| snapshot.delisting),
            paused,
        }
    }
}

impl From<QueuedGroup> for GroupView {
    fn from(group: QueuedGroup) -> Self {
        let QueuedGroup { email, team: _, destination, due_ms, attempts, state, until_ms, reason } = group;
        Self {
            email_id: email.to_string(),
            domain: destination,
            due_at: to_iso(due_ms),
            attempts,
            state: state.as_str(),
            until: until_ms.map(to_iso),
            reason,
        }
    }
}

/// Counts the groups of a selector, or of the whole queue, by site. Also returns whether there are more.
async fn count(
    queue: &QueueControl,
    selector: Option<QueueSelector>,
) -> ApiResult<(BTreeMap<String, SiteCount>, bool)> {
    let (mut sites, mut after) = (BTreeMap::<String, SiteCount>::new(), None);
    for _ in 0..PAGES_MAX {
        let page = queue.destinations(selector.clone(), after).await?;
        for row in page.destinations {
            let site = row.site.clone().unwrap_or_else(|| format!("{DOMAIN}{}", row.destination));
            sites.entry(site).or_insert_with(|| SiteCount::of(&row)).add(row);
        }
        let Some(next) = page.next else { return Ok((sites, false)) };
        after = Some(next);
    }
    Ok((sites, true))
}

/// The parts of the queue that are on hold.
#[derive(Default)]
struct PausedParts {
    /// Names of sites and domains.
    names: HashSet<String>,
    is_all: bool,
}

async fn paused_parts(queue: &QueueControl) -> ApiResult<PausedParts> {
    let mut paused = PausedParts::default();
    for hold in queue.holds().await? {
        match hold.kind {
            HoldKind::Site => _ = paused.names.insert(hold.name),
            HoldKind::Domain => _ = paused.names.insert(format!("{DOMAIN}{}", hold.name)),
            HoldKind::Queue => paused.is_all = true,
            HoldKind::Email | HoldKind::Key | HoldKind::Team => {}
        }
    }
    Ok(paused)
}

/// Lists the sites with queued groups, the longest queue first.
#[handler]
pub(super) async fn list_sites(queue: State<QueueControl>, engine: State<Engine>) -> ApiResult<Json<QueueList>> {
    let (sites, has_more) = count(&queue, None).await?;
    let (snapshots, paused) = (engine.sites(), paused_parts(&queue).await?);
    let snapshots: HashMap<&str, &SiteSnapshot> =
        snapshots.iter().map(|snapshot| (&*snapshot.name, snapshot)).collect();
    let mut views: Vec<SiteView> = sites
        .into_iter()
        .map(|(name, count)| {
            let (snapshot, is_paused) = (snapshots.get(name.as_str()).copied(), paused.names.contains(&name));
            count.view(name, snapshot, is_paused)
        })
        .collect();
    views.sort_by_key(|view| std::cmp::Reverse(view.waiting));
    Ok(Json(QueueList { sites: DataList::new(views, has_more), paused: paused.is_all }))
}

/// Holds the whole queue: emails are accepted and wait.
#[handler]
pub(super) async fn pause_queue(queue: State<QueueControl>, caller: Caller) -> ApiResult<Json<QueueChanged>> {
    queue.pause(caller, QueueSelector::Queue).await?.ok_or_else(too_many_holds)?;
    Ok(Json(QueueChanged { object: "queue", paused: true }))
}

/// Ends the hold of the whole queue. Holds of its parts stay.
#[handler]
pub(super) async fn resume_queue(queue: State<QueueControl>, caller: Caller) -> ApiResult<Json<QueueChanged>> {
    queue.resume(caller, QueueSelector::Queue).await?;
    Ok(Json(QueueChanged { object: "queue", paused: false }))
}

fn too_many_holds() -> ApiError {
    let message = "Too many parts of the queue are paused. End some of the pauses first.";
    ApiError::new(ErrorCode::Conflict, message)
}

/// Returns a site with its first queued groups.
#[handler]
pub(super) async fn get_site(
    queue: State<QueueControl>,
    engine: State<Engine>,
    req: &mut Request,
) -> ApiResult<Json<SiteDetails>> {
    let (name, selector) = selected(req)?;
    let (sites, _) = count(&queue, Some(selector.clone())).await?;
    // Destinations of a domain can have a site.
    let site = sites.into_values().reduce(|mut site, other| {
        site.waiting += other.waiting;
        site.oldest_ms = site.oldest_ms.min(other.oldest_ms);
        site.domains.extend(other.domains);
        site
    });
    let site = site.ok_or_else(|| ApiError::not_found("Site with queued email"))?;
    let snapshots = engine.sites();
    let snapshot = snapshots.iter().find(|snapshot| *snapshot.name == *name);
    let paused = paused_parts(&queue).await?.names.contains(&name);
    let page = queue.groups(selector, None).await?;
    Ok(Json(SiteDetails {
        site: site.view(name, snapshot, paused),
        groups: page.groups.into_iter().map(GroupView::from).collect(),
        has_more: page.next.is_some(),
    }))
}

/// Holds a site: its groups stay queued.
#[handler]
pub(super) async fn pause_site(
    queue: State<QueueControl>,
    caller: Caller,
    req: &mut Request,
) -> ApiResult<Json<SiteChanged>> {
    let (site, selector) = selected(req)?;
    queue.pause(caller, selector).await?.ok_or_else(too_many_holds)?;
    Ok(Json(changed(site, true, QueueChange::default())))
}

/// Ends the hold of a site.
#[handler]
pub(super) async fn resume_site(
    queue: State<QueueControl>,
    caller: Caller,
    req: &mut Request,
) -> ApiResult<Json<SiteChanged>> {
    let (site, selector) = selected(req)?;
    queue.resume(caller, selector).await?;
    Ok(Json(changed(site, false, QueueChange::default())))
}

/// Makes the groups of a site due now, and ends the pauses after its failures.
#[handler]
pub(super) async fn flush_site(
    queue: State<QueueControl>,
    caller: Caller,
    req: &mut Request,
) -> ApiResult<Json<SiteChanged>> {
    let (site, selector) = selected(req)?;
    let (mut total, mut after) = (QueueChange::default(), None);
    for _ in 0..FLUSHED_PAGES_MAX {
        let page = queue.flush(caller, selector.clone(), after).await?;
        total.groups += page.groups;
        total.next = page.next;
        let Some(next) = page.next else { break };
        after = Some(next);
    }
    let is_paused = paused_parts(&queue).await?.names.contains(&site);
    Ok(Json(changed(site, is_paused, total)))
}

fn changed(site: String, paused: bool, change: QueueChange) -> SiteChanged {
    SiteChanged { object: "site", site, paused, groups: change.groups, has_more: change.next.is_some() }
}

/// Returns the name of the site in the path, and its part of the queue.
fn selected(req: &Request) -> ApiResult<(String, QueueSelector)> {
    let name = req.params().get("site").map(|site| site.trim().to_lowercase()).unwrap_or_default();
    let invalid = || ApiError::not_found("Site");
    if name.is_empty() || name.len() > SITE_BYTES_MAX {
        return Err(invalid());
    }
    if let Some(domain) = name.strip_prefix(DOMAIN) {
        let domain = host::normalize(domain).ok_or_else(invalid)?;
        return Ok((name, QueueSelector::Domain(domain)));
    }
    Ok((name.clone(), QueueSelector::Site(name)))
}
