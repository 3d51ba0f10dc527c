//! Pages of the queue: the groups of a selector, with a bounded number of rows read.

use std::ops::ControlFlow;

use super::QueueControl;
use crate::base::id::ApiKeyId;
use crate::delivery::queue::{DueKey, QUEUE_END, QUEUE_START, QueueKey, QueueSelector, destination_hash};
use crate::delivery::rows::{Class, DueRow};
use crate::emails::{self, EmailRow};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, Stored};
use crate::tables::{DUE, EMAILS};

/// Maximum number of rows that one page reads to find groups.
const ROWS_MAX: usize = 1_000;

/// End of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageEnd {
    /// Position of the next page; `None` at the end of the queue.
    pub(super) next: Option<QueueKey>,
    /// Number of lanes that were skipped because their site is not known.
    pub(super) unknown: usize,
}

/// Relation of a group to a selector.
enum Match {
    Group,
    OtherGroup,
    /// No group of the lane matches.
    OtherLane,
    /// The lane is skipped because its site is not known.
    UnknownSite,
}

impl QueueControl {
    /// Calls `visit` with the groups of a selector after a position, until it breaks. Without a selector, with all
    /// groups. Reads at most `rows_max` rows; of a lane that does not match, one.
    pub(super) fn walk(
        &self,
        tx: &impl Reads,
        selector: Option<&QueueSelector>,
        after: Option<QueueKey>,
        rows_max: usize,
        mut visit: impl FnMut(DueKey, &Stored<'_, DueRow>) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<PageEnd, StoreError> {
        let (mut from, to) = bounds(selector);
        from = after.map_or(from, |after| after.max(from));
        let (mut end, mut rows) = (PageEnd::default(), 0);
        loop {
            let (mut jump, mut is_over) = (None, false);
            tx.scan(&DUE, &from, &to, Order::Ascending, |parts, stored| {
                if Some(parts) == after {
                    return NEXT;
                }
                rows += 1;
                let key = DueKey::from_parts(parts);
                let position = match self.matches(tx, selector, key, &stored)? {
                    Match::Group => {
                        is_over = visit(key, &stored)?.is_break();
                        parts
                    }
                    Match::OtherGroup => parts,
                    other @ (Match::OtherLane | Match::UnknownSite) => {
                        end.unknown += usize::from(matches!(other, Match::UnknownSite));
                        jump = Some(key.lane.last());
                        key.lane.last()
                    }
                };
                if is_over || rows >= rows_max {
                    end.next = Some(position);
                    return STOP;
                }
                if jump.is_some() { STOP } else { NEXT }
            })?;
            match jump {
                Some(last) if end.next.is_none() => from = last,
                _ => return Ok(end),
            }
        }
    }

    fn matches(
        &self,
        tx: &impl Reads,
        selector: Option<&QueueSelector>,
        key: DueKey,
        stored: &Stored<'_, DueRow>,
    ) -> Result<Match, StoreError> {
        let is_transactional = key.lane.class == Class::Transactional;
        Ok(match selector {
            None | Some(QueueSelector::Domain(_)) => Match::Group,
            Some(QueueSelector::Team(team)) if is_transactional && key.lane.stream == team.cast() => Match::Group,
            // The groups of a broadcast have the same team.
            Some(QueueSelector::Team(team))
                if !is_transactional && stored.decode().is_ok_and(|row| row.team == *team) =>
            {
                Match::Group
            }
            Some(QueueSelector::Team(_)) => Match::OtherLane,
            Some(QueueSelector::Site(site)) => match self.site_of(key.lane) {
                Some(known) if *known == **site => Match::Group,
                Some(_) => Match::OtherLane,
                None => Match::UnknownSite,
            },
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
    ) -> Result<(Vec<DueKey>, PageEnd), StoreError> {
        if let QueueSelector::Email { team, id } = selector {
            // The row of the email has the keys of its groups, at most 50.
            let row: Option<EmailRow> = tx.get_valid(&EMAILS, &(*team, *id))?;
            let groups = row.map(|row| emails::queued_groups(*team, *id, &row.recipients)).unwrap_or_default();
            return Ok((groups, PageEnd::default()));
        }
        let mut groups = Vec::new();
        let end = self.walk(tx, Some(selector), after, ROWS_MAX, |key, _| {
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
        Class::Broadcast => match stored.decode() {
            Ok(row) => row.team,
            Err(_) => return Ok(false),
        },
    };
    let row: Option<EmailRow> = tx.get_valid(&EMAILS, &(team, key.email))?;
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
