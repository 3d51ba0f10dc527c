//! Pages of the contacts of a segment, newest first.
//!
//! A page is looked for in the table from its cursor on, which finds it at once when the segment
//! holds many. When it does not, the count says where the few are. Only an audience that changes
//! all the while is walked through, without being counted.

use std::ops::ControlFlow;

use super::count_limiter::CountError;
use super::counter::{IdRange, SegmentCounter};
use super::resolve::{ContactRange, ScanEnd, ScanLimit, SegmentRule, holds, walk_at};
use super::store;
use crate::base::id::{ContactId, SegmentId, TeamId};
use crate::contacts::{self, ContactRow, audience};
use crate::store::page::{Cursor, Page, PageQuery};
use crate::store::{Order, Reads, Store, StoreError};

/// Why there is no page.
#[derive(Debug)]
pub enum SegmentPageError {
    /// The team has no segment of that id.
    NotFound,
    /// The segment does not hold the contact that the page begins at.
    UnknownCursor,
    /// The page needs a count, and others were counting for as long as the caller waits.
    Busy,
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for SegmentPageError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<CountError> for SegmentPageError {
    fn from(error: CountError) -> Self {
        match error {
            CountError::Busy => Self::Busy,
            CountError::Store(error) => Self::Store(error),
        }
    }
}

/// The contacts of a page as far as they are found.
#[derive(Debug)]
struct Gathered {
    /// In the order of the walk.
    contacts: Vec<ContactId>,
    /// As many as are looked for: one more than the page shows, which tells that there are more.
    wanted: usize,
    /// What has not been looked at.
    rest: Option<ContactRange>,
}

impl Gathered {
    /// Looks on, as far as `pace` says.
    fn look(
        &mut self,
        tx: &impl Reads,
        team: TeamId,
        rule: &SegmentRule,
        span: ContactRange,
        pace: ScanLimit,
    ) -> Result<(), StoreError> {
        let walked = walk_at(tx, team, rule, span, pace, |one| {
            self.contacts.push(one.contact);
            if self.contacts.len() == self.wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        self.rest = match walked {
            ScanEnd::ToTheEnd | ScanEnd::Stopped => None,
            ScanEnd::Paused(last) => span.beyond(last),
        };
        Ok(())
    }

    /// Looks on in the stretches that hold all there are.
    fn look_in(
        &mut self,
        tx: &impl Reads,
        team: TeamId,
        rule: &SegmentRule,
        span: ContactRange,
        stretches: &[IdRange],
    ) -> Result<(), StoreError> {
        let first = stretches.partition_point(|(_, newest)| *newest < span.from);
        let after = stretches.partition_point(|(oldest, _)| *oldest <= span.to);
        let mut stretches = stretches.get(first..after).unwrap_or_default().iter();
        while self.contacts.len() < self.wanted {
            let next = match span.order {
                Order::Ascending => stretches.next(),
                Order::Descending => stretches.next_back(),
            };
            let Some((oldest, newest)) = next else { break };
            let part = ContactRange { from: span.from.max(*oldest), to: span.to.min(*newest), ..span };
            self.look(tx, team, rule, part, ScanLimit::rows(usize::MAX))?;
        }
        self.rest = None;
        Ok(())
    }

    /// Reads the rows of the page.
    fn page(
        mut self,
        tx: &impl Reads,
        team: TeamId,
        order: Order,
    ) -> Result<Page<(ContactId, ContactRow)>, StoreError> {
        let has_more = self.contacts.len() == self.wanted;
        self.contacts.truncate(self.wanted - 1);
        if order == Order::Ascending {
            self.contacts.reverse();
        }
        let mut rows = Vec::with_capacity(self.contacts.len());
        for id in self.contacts {
            // One that was deleted since it was found is gone from the list.
            rows.extend(contacts::find(tx, team, id)?.map(|row| (id, row)));
        }
        Ok(Page { rows, has_more })
    }
}

/// Returns a page of the contacts that a segment holds.
///
/// # Errors
/// [`SegmentPageError`].
pub(super) async fn page(
    store: &Store,
    census: &SegmentCounter,
    team: TeamId,
    segment: SegmentId,
    query: PageQuery<ContactId>,
) -> Result<Page<(ContactId, ContactRow)>, SegmentPageError> {
    let steps = census.steps();
    let nearby = store.read(move |tx| look_nearby(tx, team, segment, query, steps.near_rows)).await?;
    let (rule, mut found, order, revision) = match nearby {
        Nearby::Page(page) => return Ok(page),
        Nearby::Partly { rule, found, order, revision } => (rule, found, order, revision),
    };
    if let (Some(span), Some(counted)) = (found.rest, census.ranges(team, &rule, revision).await?) {
        let rule = rule.clone();
        found = store
            .read::<_, StoreError>(move |tx| {
                if audience(tx, team)?.revision == revision {
                    found.look_in(tx, team, &rule, span, &counted.stretches)?;
                }
                Ok(found)
            })
            .await?;
    }
    while let Some(span) = found.rest {
        let rule = rule.clone();
        found = store
            .read::<_, StoreError>(move |tx| {
                found.look(tx, team, &rule, span, steps.chunk())?;
                Ok(found)
            })
            .await?;
    }
    Ok(store.read(move |tx| found.page(tx, team, order)).await?)
}

enum Nearby {
    Page(Page<(ContactId, ContactRow)>),
    Partly {
        rule: SegmentRule,
        found: Gathered,
        order: Order,
        /// That of the audience that was looked at.
        revision: u64,
    },
}

/// Looks from the cursor on, where most pages end.
fn look_nearby(
    tx: &impl Reads,
    team: TeamId,
    segment: SegmentId,
    query: PageQuery<ContactId>,
    rows_max: usize,
) -> Result<Nearby, SegmentPageError> {
    let segment = store::find(tx, team, segment)?.ok_or(SegmentPageError::NotFound)?;
    let rule = SegmentRule::of(&segment);
    let (span, cursor) = match query.cursor {
        Cursor::Newest => (Some(ContactRange::all(Order::Descending)), None),
        Cursor::After(id) => (ContactRange::all(Order::Descending).beyond(id), Some(id)),
        Cursor::Before(id) => (ContactRange::all(Order::Ascending).beyond(id), Some(id)),
    };
    if let Some(cursor) = cursor
        && !holds(tx, team, &rule, cursor)?
    {
        return Err(SegmentPageError::UnknownCursor);
    }
    let mut found = Gathered { contacts: Vec::new(), wanted: query.limit + 1, rest: None };
    let Some(span) = span else { return Ok(Nearby::Page(Page { rows: Vec::new(), has_more: false })) };
    found.look(tx, team, &rule, span, ScanLimit::rows(rows_max))?;
    if found.rest.is_some() {
        let revision = audience(tx, team)?.revision;
        return Ok(Nearby::Partly { rule, found, order: span.order, revision });
    }
    Ok(Nearby::Page(found.page(tx, team, span.order)?))
}
