//! Bounded scans that return the keys of the rows to change.

use super::StoreError;
use super::key::Key;
use super::reads::{NEXT, Order, Reads, STOP};
use super::table::Table;
use super::value::Value;

/// Keys of the matching rows in one page of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchPage<K> {
    /// Keys of the matching rows, ascending.
    pub hits: Vec<K>,
    /// Key after which the next page starts; `None` if this page reached the end of the range.
    pub next: Option<K>,
}

impl<K> MatchPage<K> {
    /// Returns the page with each key replaced, for example by its last part.
    pub fn map<J>(self, part: impl Fn(K) -> J) -> MatchPage<J> {
        MatchPage { hits: self.hits.into_iter().map(&part).collect(), next: self.next.map(part) }
    }
}

/// Reads up to `rows_max` rows after `after` and up to `to`, and returns the keys of those that match.
/// A corrupt row counts toward `rows_max`, is logged, and is passed to `matches` as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read, a key is corrupt, or `matches` fails.
pub fn match_page<K: Key + Copy + PartialEq, V: Value>(
    tx: &impl Reads,
    table: &Table<K, V>,
    after: K,
    to: K,
    rows_max: usize,
    mut matches: impl FnMut(K, Option<V>) -> Result<bool, StoreError>,
) -> Result<MatchPage<K>, StoreError> {
    let (mut hits, mut next, mut rows) = (Vec::new(), None, 0);
    tx.scan(table, &after, &to, Order::Ascending, |key, stored| {
        if key == after {
            return NEXT;
        }
        if matches(key, stored.valid())? {
            hits.push(key);
        }
        rows += 1;
        if rows < rows_max {
            return NEXT;
        }
        next = Some(key);
        STOP
    })?;
    Ok(MatchPage { hits, next })
}
