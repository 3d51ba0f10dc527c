//! Lists of the queue: destinations with their depth, groups, and holds.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::reason::Reason;
use super::sites::LookedUpSites;
use super::waiting_state::WaitingState;
use super::walk::PageEnd;
use super::{QueueControl, QueuePosition};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::delivery::queue::{DestinationHash, DueKey, Hold, QueueSelector, is_queue_held, read_holds};
use crate::store::{ReadTx, StoreError};

/// Maximum number of groups in a page.
const GROUPS_MAX: usize = 100;
/// Maximum number of rows that a page of destinations counts.
const COUNTED_ROWS_MAX: usize = 5_000;
/// Maximum number of destinations in a page.
const DESTINATIONS_MAX: usize = 100;

/// A queued group in a list.
#[derive(Clone, Debug)]
pub struct QueuedGroup {
    pub email: EmailId,
    pub team: TeamId,
    pub destination: String,
    pub due_ms: TimestampMs,
    pub attempts: u16,
    pub state: WaitingState,
    /// Expected time of the next attempt or test; `None` if it is not known.
    pub until_ms: Option<TimestampMs>,
    /// A sentence.
    pub reason: String,
}

/// A page of groups.
#[derive(Clone, Debug)]
pub struct GroupPage {
    pub groups: Vec<QueuedGroup>,
    /// Position of the next page; `None` at the end. A page without groups can have a next one.
    pub next: Option<QueuePosition>,
    /// Number of skipped lanes whose site is not known.
    pub unknown: usize,
}

/// A destination with queued groups. If it has too many groups for one page, the next page continues it.
#[derive(Clone, Debug)]
pub struct QueuedDestination {
    pub destination: String,
    /// Its site as of the last lookup; `None` if no lookup is known.
    pub site: Option<String>,
    /// Number of sessions of the site.
    pub sessions: usize,
    /// Number of its groups in this page.
    pub groups: usize,
    /// Time of acceptance of the oldest email.
    pub oldest_ms: TimestampMs,
    /// Due time of the first group.
    pub next_due_ms: TimestampMs,
    pub state: WaitingState,
    /// Expected time of the next attempt or test; `None` if it is not known.
    pub until_ms: Option<TimestampMs>,
    /// Reason of the first group, a sentence.
    pub reason: String,
}

/// A page of destinations.
#[derive(Clone, Debug)]
pub struct DestinationPage {
    pub destinations: Vec<QueuedDestination>,
    /// Position of the next page; `None` at the end.
    pub next: Option<QueuePosition>,
    /// Number of skipped lanes whose site is not known.
    pub unknown: usize,
}

/// The groups of one destination in a page.
struct Counted {
    /// The group with the earliest due time.
    first: DueKey,
    groups: usize,
    oldest_ms: TimestampMs,
}

impl QueueControl {
    /// Returns the groups of a selector after a position, in the order of the queue.
    pub async fn groups(&self, selector: QueueSelector, after: Option<QueuePosition>) -> Result<GroupPage, StoreError> {
        let read = move |control: &Self, tx: &ReadTx, sites: &LookedUpSites| {
            let (keys, end) = control.groups_after(tx, &selector, after, GROUPS_MAX, sites)?;
            let mut facts = Vec::with_capacity(keys.len());
            for key in keys {
                facts.extend(control.facts(tx, key)?);
            }
            Ok::<_, StoreError>((facts, end))
        };
        let (facts, PageEnd { next, unknown, .. }) = self.read_page(read).await?;
        let groups = facts.into_iter().map(|facts| {
            let Reason { state, until_ms, text: reason } = self.reason(&facts);
            let (email, due_ms) = (facts.key.email, facts.key.due_ms);
            let due = facts.due;
            let (team, destination, attempts) = (due.team, due.destination, due.attempts);
            QueuedGroup { email, team, destination, due_ms, attempts, state, until_ms, reason }
        });
        Ok(GroupPage { groups: groups.collect(), next, unknown })
    }

    /// Returns the destinations after a position, each with the groups of a selector, or with all its groups.
    pub async fn destinations(
        &self,
        selector: Option<QueueSelector>,
        after: Option<QueuePosition>,
    ) -> Result<DestinationPage, StoreError> {
        let read = move |control: &Self, tx: &ReadTx, sites: &LookedUpSites| {
            let mut counted = BTreeMap::new();
            let end = match &selector {
                Some(selector @ QueueSelector::Email { .. }) => {
                    let (keys, end) = control.groups_after(tx, selector, after, GROUPS_MAX, sites)?;
                    keys.into_iter().for_each(|key| count(&mut counted, key));
                    end
                }
                selector => count_page(control, tx, selector.as_ref(), after, sites, &mut counted)?,
            };
            let mut facts = Vec::with_capacity(counted.len());
            for counted in counted.into_values() {
                let Some(of_first) = control.facts(tx, counted.first)? else { continue };
                let known = control.site_of_group(tx, counted.first)?;
                let site = known.or_else(|| sites.get(counted.first.lane).flatten());
                facts.push((counted, of_first, site));
            }
            Ok::<_, StoreError>((facts, end))
        };
        let (counted, PageEnd { next, unknown, .. }) = self.read_page(read).await?;
        let destinations = counted.into_iter().map(|(counted, facts, site)| {
            let Reason { state, until_ms, text: reason } = self.reason(&facts);
            let site = site.map(|site| site.to_string());
            QueuedDestination {
                sessions: site.as_deref().map_or(0, |site| self.sessions_of(site)),
                site,
                destination: facts.due.destination,
                groups: counted.groups,
                oldest_ms: counted.oldest_ms,
                next_due_ms: counted.first.due_ms,
                state,
                until_ms,
                reason,
            }
        });
        Ok(DestinationPage { destinations: destinations.collect(), next, unknown })
    }

    fn sessions_of(&self, site: &str) -> usize {
        self.engine.as_ref().map_or(0, |engine| engine.schedule().sessions_of(site))
    }

    /// Returns whether all deliveries are paused.
    pub async fn is_paused(&self) -> Result<bool, StoreError> {
        self.context.store.read(|tx: &ReadTx| is_queue_held(tx)).await
    }

    /// Returns the holds.
    pub async fn holds(&self) -> Result<Vec<Hold>, StoreError> {
        self.context.store.read(read_holds).await
    }
}

/// Counts the groups of a page.
fn count_page(
    control: &QueueControl,
    tx: &ReadTx,
    selector: Option<&QueueSelector>,
    after: Option<QueuePosition>,
    sites: &LookedUpSites,
    counted: &mut BTreeMap<DestinationHash, Counted>,
) -> Result<PageEnd, StoreError> {
    // The rows of a key or a site need further reads.
    let rows_max = match selector {
        None | Some(QueueSelector::Domain(_) | QueueSelector::Team(_) | QueueSelector::Queue) => COUNTED_ROWS_MAX,
        Some(_) => COUNTED_ROWS_MAX / 5,
    };
    let mut before = after;
    let mut full = None;
    let end = control.walk(tx, selector, after, rows_max, sites, |key, _| {
        if counted.len() == DESTINATIONS_MAX && !counted.contains_key(&key.lane.destination) {
            full = before;
            return Ok(ControlFlow::Break(()));
        }
        count(counted, key);
        before = Some(key.parts());
        Ok(ControlFlow::Continue(()))
    })?;
    // The group that did not fit is the first one of the next page.
    Ok(PageEnd { next: full.or(end.next), ..end })
}

fn count(counted: &mut BTreeMap<DestinationHash, Counted>, key: DueKey) {
    let oldest_ms = key.email.created_ms();
    let entry = counted.entry(key.lane.destination).or_insert(Counted { first: key, groups: 0, oldest_ms });
    entry.groups += 1;
    entry.oldest_ms = entry.oldest_ms.min(oldest_ms);
    if key.due_ms < entry.first.due_ms {
        entry.first = key;
    }
}
