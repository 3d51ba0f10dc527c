//! Pages of the queue: the groups of a selector, with a bounded number of rows read.

use std::ops::ControlFlow;

use super::QueueControl;
use super::sites::{LOOKUPS_MAX, LookedUpSites};
use crate::base::id::ApiKeyId;
use crate::delivery::queue::{
    DueKey, LaneKey, QUEUE_END, QUEUE_START, QueueKey, QueueSelector, destination_hash, read_row,
};
use crate::delivery::rows::{Class, DueRow};
use crate::emails;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, Stored};
use crate::tables::DUE;

/// Maximum number of rows that one page reads to find groups.
const ROWS_MAX: usize = 1_000;

/// End of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PageEnd {
    /// Position of the next page; `None` at the end of the queue.
    pub(super) next: Option<QueueKey>,
    /// Number of lanes that were skipped because their site is not known.
    pub(super) unknown: usize,
    /// Lanes whose site must be looked up before the page is complete, each with its destination.
    pub(super) lookups: Vec<(LaneKey, String)>,
}

/// Relation of a group to a selector.
enum Match {
    Group,
    OtherGroup,
    /// No group of the lane matches.
    OtherLane,
    /// The lane is skipped because its site is not known.
    UnknownSite,
    /// The page ends before the lane, whose site must be looked up for the next page.
    NextPage,
}

/// The lanes of a site in one page.
struct SiteLanes<'a> {
    looked_up: &'a LookedUpSites,
    /// The last lane that belongs to the site.
    matched: Option<LaneKey>,
    lookups: Vec<(LaneKey, String)>,
}

impl SiteLanes<'_> {
    /// Returns the relation of a group to a site. The first group of a lane determines the site of all.
    fn matches(
        &mut self,
        control: &QueueControl,
        tx: &impl Reads,
        key: DueKey,
        site: &str,
    ) -> Result<Match, StoreError> {
        if self.matched == Some(key.lane) {
            return Ok(Match::Group);
        }
        let known = control.site_of_group(tx, key)?;
        let site_of_lane = match known.map(Some).or_else(|| self.looked_up.get(key.lane)) {
            Some(site_of_lane) => site_of_lane,
            None if !control.can_look_up() => None,
            None if !self.looked_up.is_empty() => return Ok(Match::NextPage),
            None => {
                self.lookups.extend(read_row(tx, key)?.map(|row| (key.lane, row.destination)));
                None
            }
        };
        Ok(match site_of_lane {
            Some(known) if *known == *site => {
                self.matched = Some(key.lane);
                Match::Group
            }
            Some(_) => Match::OtherLane,
            None => Match::UnknownSite,
        })
    }
}

impl QueueControl {
    /// Calls `visit` with the groups of a selector after a position, until it breaks. Without a selector, with all
    /// groups. Reads at most `rows_max` rows; of a lane that does not match, one. If the end of the page has lookups, their
    /// results must be given to another walk, because these lanes were skipped.
    pub(super) fn walk(
        &self,
        tx: &impl Reads,
        selector: Option<&QueueSelector>,
        after: Option<QueueKey>,
        rows_max: usize,
        looked_up: &LookedUpSites,
        mut visit: impl FnMut(DueKey, &Stored<'_, DueRow>) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<PageEnd, StoreError> {
        let (mut from, to) = bounds(selector);
        from = after.map_or(from, |after| after.max(from));
        let (mut end, mut rows, mut before) = (PageEnd::default(), 0, after);
        // A page ends inside of a lane only if the lane belongs to the site.
        let inside =
            after.map(|after| (after, DueKey::from_parts(after).lane)).filter(|(after, lane)| *after != lane.last());
        let mut lanes = SiteLanes { looked_up, matched: inside.map(|(_, lane)| lane), lookups: Vec::new() };
        loop {
            let (mut jump, mut is_over) = (None, false);
            tx.scan(&DUE, &from, &to, Order::Ascending, |parts, stored| {
                if Some(parts) == after {
                    return NEXT;
                }
                rows += 1;
                let key = DueKey::from_parts(parts);
                let position = match self.matches(tx, selector, key, &stored, &mut lanes)? {
                    Match::Group => {
                        is_over = visit(key, &stored)?.is_break();
                        parts
                    }
                    Match::OtherGroup => parts,
                    Match::NextPage if before.is_some() => {
                        end.next = before;
                        return STOP;
                    }
                    other @ (Match::OtherLane | Match::UnknownSite | Match::NextPage) => {
                        end.unknown += usize::from(!matches!(other, Match::OtherLane));
                        jump = Some(key.lane.last());
                        key.lane.last()
                    }
                };
                before = Some(position);
                if is_over || rows >= rows_max || lanes.lookups.len() == LOOKUPS_MAX {
                    end.next = Some(position);
                    return STOP;
                }
                if jump.is_some() { STOP } else { NEXT }
            })?;
            match jump {
                Some(last) if end.next.is_none() => from = last,
                _ => return Ok(PageEnd { lookups: lanes.lookups, ..end }),
            }
        }
    }

    fn matches(
        &self,
        tx: &impl Reads,
        selector: Option<&QueueSelector>,
        key: DueKey,
        stored: &Stored<'_, DueRow>,
        lanes: &mut SiteLanes<'_>,
    ) -> Result<Match, StoreError> {
        let is_transactional = key.lane.class == Class::Transactional;
        Ok(match selector {
            None | Some(QueueSelector::Domain(_) | QueueSelector::Queue) => Match::Group,
            Some(QueueSelector::Team(team)) if is_transactional && key.lane.stream == team.cast() => Match::Group,
            // The groups of a broadcast have the same team.
            Some(QueueSelector::Team(team))
                if !is_transactional && stored.valid().is_some_and(|row| row.team == *team) =>
            {
                Match::Group
            }
            Some(QueueSelector::Team(_)) => Match::OtherLane,
            Some(QueueSelector::Site(site)) => lanes.matches(self, tx, key, site)?,
            Some(QueueSelector::Email { id, .. }) => found(key.email == *id),
            Some(QueueSelector::Key(id)) => found(is_of_key(tx, key, stored, *id)?),
        })
    }

    /// Returns up to `groups_max` groups of a selector after a position.
    pub(super) fn groups_after(
        &self,
        tx: &impl Reads,
        selector: &QueueSelector,
        after: Option<QueueKey>,
        groups_max: usize,
        looked_up: &LookedUpSites,
    ) -> Result<(Vec<DueKey>, PageEnd), StoreError> {
        if let QueueSelector::Email { team, id } = selector {
            // The row of the email has the keys of its groups, at most 50.
            let row = emails::find_valid_row(tx, *team, *id)?;
            let groups = row.map(|row| emails::queued_groups(*team, *id, &row)).unwrap_or_default();
            return Ok((groups, PageEnd::default()));
        }
        let mut groups = Vec::new();
        let end = self.walk(tx, Some(selector), after, ROWS_MAX, looked_up, |key, _| {
            groups.push(key);
            Ok(if groups.len() == groups_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok((groups, end))
    }
}

fn found(is_found: bool) -> Match {
    if is_found { Match::Group } else { Match::OtherGroup }
}

/// Returns whether an API key sent the email of a group.
fn is_of_key(tx: &impl Reads, key: DueKey, stored: &Stored<'_, DueRow>, api_key: ApiKeyId) -> Result<bool, StoreError> {
    let team = match key.lane.class {
        Class::Transactional => key.lane.stream.cast(),
        Class::Broadcast => match stored.valid() {
            Some(row) => row.team,
            None => return Ok(false),
        },
    };
    let row = emails::find_valid_row(tx, team, key.email)?;
    Ok(row.is_some_and(|row| row.key == Some(api_key)))
}

/// Returns the range of the queue that contains the groups of a selector.
fn bounds(selector: Option<&QueueSelector>) -> (QueueKey, QueueKey) {
    let (mut from, mut to) = (QUEUE_START, QUEUE_END);
    if let Some(QueueSelector::Domain(domain)) = selector {
        from.0 = destination_hash(domain);
        to.0 = from.0;
    }
    (from, to)
}
