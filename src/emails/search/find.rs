//! One search: reads emails from the newest until a bound.

use std::time::Instant;

use super::block::{BlockEmails, Fingerprint};
use super::filter::SearchFilter;
use super::index::position;
use crate::base::clock::monotonic;
use crate::base::id::{EmailId, TeamId};
use crate::emails::Emails;
use crate::emails::read::visible;
use crate::emails::store::EmailRow;
use crate::store::{NEXT, Order, Reads, STOP, ScanLimit, StoreError};
use crate::tables::{EMAIL_SEARCH_BLOCKS, EMAILS};

/// Maximum number of emails in a result.
pub const SEARCH_ROWS_MAX: usize = 50;

/// A search.
#[derive(Clone, Debug, Default)]
pub struct EmailSearchQuery {
    pub filter: SearchFilter,
    /// Position of the previous page; `None` for the first page.
    pub after: Option<EmailId>,
    /// Maximum number of emails.
    pub limit: usize,
}

/// A page of a search.
#[derive(Clone, Debug)]
pub struct EmailSearchPage {
    /// Emails, newest first.
    pub rows: Vec<(EmailId, EmailRow)>,
    /// Position from which the next page continues; `None` if the search is complete.
    pub position: Option<EmailId>,
}

impl Emails {
    /// Returns the newest emails of a team that a filter selects. Stops after a number of rows or a time, which can leave
    /// the page empty and the search incomplete.
    pub async fn search(&self, team: TeamId, query: EmailSearchQuery) -> Result<EmailSearchPage, StoreError> {
        self.context.store.read(move |tx| search(tx, team, query, ScanLimit::REQUEST)).await
    }
}

/// Range of ids to read.
#[derive(Clone, Copy, Debug)]
struct IdRange {
    /// Lowest id.
    low: EmailId,
    /// Id below which the range ends.
    end: EmailId,
}

impl IdRange {
    fn contains(self, id: EmailId) -> bool {
        id >= self.low && id < self.end
    }
}

/// Result of a search in progress.
struct Found {
    filter: SearchFilter,
    rows: Vec<(EmailId, EmailRow)>,
    limit: usize,
    bounds: ScanLimit,
    read: usize,
    started: Instant,
    /// Last id that was read.
    last: Option<EmailId>,
    /// Whether the search has stopped before its end.
    is_stopped: bool,
}

impl Found {
    /// Returns whether a further row can be read. Otherwise stops the search.
    fn admits(&mut self) -> bool {
        self.is_stopped = self.rows.len() == self.limit || self.bounds.is_reached(self.read, self.started);
        !self.is_stopped
    }

    fn examine(&mut self, id: EmailId, row: Option<EmailRow>) {
        self.read += 1;
        self.last = Some(id);
        self.rows.extend(row.filter(|row| self.filter.matches(row)).map(|row| (id, row)));
    }

    fn page(self) -> EmailSearchPage {
        EmailSearchPage { rows: self.rows, position: self.last.filter(|_| self.is_stopped) }
    }
}

/// Executes a search in one snapshot.
pub(super) fn search(
    tx: &impl Reads,
    team: TeamId,
    query: EmailSearchQuery,
    bounds: ScanLimit,
) -> Result<EmailSearchPage, StoreError> {
    let EmailSearchQuery { filter, after, limit } = query;
    let filter = filter.normalized();
    let times = IdRange {
        low: filter.since_ms.map_or(EmailId::MIN, EmailId::first_at),
        end: filter.until_ms.map_or(EmailId::MAX, EmailId::first_at),
    };
    if let Some(exact) = filter.exact() {
        let is_of_domain = |row: &EmailRow| {
            let its = row.from.domain().unwrap_or_default();
            exact.domain.as_ref().is_none_or(|domain| its.eq_ignore_ascii_case(domain))
        };
        // The text has named the email.
        let rest = SearchFilter { text: None, ..filter };
        let is_selected = |row: &EmailRow| is_of_domain(row) && times.contains(exact.id) && rest.matches(row);
        let row = visible(tx, team, exact.id)?.filter(is_selected);
        return Ok(EmailSearchPage { rows: row.map(|row| (exact.id, row)).into_iter().collect(), position: None });
    }
    let range = IdRange { end: after.map_or(times.end, |after| times.end.min(after)), ..times };
    let recipient = filter.recipient().map(|hash| Fingerprint::of(&hash));
    let limit = limit.clamp(1, SEARCH_ROWS_MAX);
    let mut found = Found {
        filter,
        rows: Vec::with_capacity(limit),
        limit,
        bounds,
        read: 0,
        started: monotonic(),
        last: None,
        is_stopped: false,
    };
    let indexed = match recipient {
        Some(_) => position(tx, team)?.map_or(EmailId::MIN, |position| position.indexed),
        None => EmailId::MIN,
    };
    read_rows(tx, team, IdRange { low: range.low.max(indexed), ..range }, indexed, &mut found)?;
    if let Some(recipient) = recipient
        && !found.is_stopped
        && indexed > EmailId::MIN
    {
        read_blocks(tx, team, range, recipient, &mut found)?;
    }
    Ok(found.page())
}

/// Reads the rows of a range above `indexed`.
fn read_rows(
    tx: &impl Reads,
    team: TeamId,
    range: IdRange,
    indexed: EmailId,
    found: &mut Found,
) -> Result<(), StoreError> {
    tx.scan(&EMAILS, &(team, range.low), &(team, range.end), Order::Descending, |(_, id), stored| {
        if id >= range.end || (id <= indexed && indexed > EmailId::MIN) {
            return NEXT;
        }
        if !found.admits() {
            return STOP;
        }
        found.examine(id, stored.valid());
        NEXT
    })
}

/// Reads the emails of a range whose blocks have a fingerprint. A block counts as a row.
fn read_blocks(
    tx: &impl Reads,
    team: TeamId,
    range: IdRange,
    recipient: Fingerprint,
    found: &mut Found,
) -> Result<(), StoreError> {
    tx.scan(&EMAIL_SEARCH_BLOCKS, &(team, EmailId::MIN), &(team, range.end), Order::Descending, |(_, first), stored| {
        if !found.admits() {
            return STOP;
        }
        let candidates: Vec<EmailId> = BlockEmails::of(stored.bytes())
            .filter(|email| range.contains(email.id) && email.has(recipient))
            .map(|email| email.id)
            .collect();
        for id in candidates.into_iter().rev() {
            if !found.admits() {
                return STOP;
            }
            found.examine(id, tx.get_valid(&EMAILS, &(team, id))?);
        }
        found.read += 1;
        // All emails from the first one of the block on have been read.
        found.last = Some(found.last.map_or(first, |last| last.min(first)));
        if first <= range.low { STOP } else { NEXT }
    })
}
