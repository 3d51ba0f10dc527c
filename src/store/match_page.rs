//! Pages of a table in the order of its keys, for work over many rows. A page has a bounded number of rows and starts after
//! a key. The first page starts after the lowest key, which no row has.

use super::StoreError;
use super::key::Key;
use super::reads::{NEXT, Order, Reads, STOP, Stored};
use super::table::Table;
use super::value::Value;
use super::{Store, WriteTx};

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
    let mut hits = Vec::new();
    let next = read_page(tx, table, (after, to), rows_max, |key, stored| {
        if matches(key, stored.valid())? {
            hits.push(key);
        }
        Ok(())
    })?;
    Ok(MatchPage { hits, next })
}

/// Does the same as [`match_page`], without decoding the rows.
///
/// # Errors
/// [`StoreError`] if the file cannot be read or a key is corrupt.
pub fn match_keys<K: Key + Copy + PartialEq, V: Value>(
    tx: &impl Reads,
    table: &Table<K, V>,
    after: K,
    to: K,
    rows_max: usize,
    mut matches: impl FnMut(K) -> bool,
) -> Result<MatchPage<K>, StoreError> {
    let mut hits = Vec::new();
    let next = read_page(tx, table, (after, to), rows_max, |key, _| {
        hits.extend(matches(key).then_some(key));
        Ok(())
    })?;
    Ok(MatchPage { hits, next })
}

/// Returns up to `rows_max` rows after `after` and up to `to`. A corrupt row is logged, and returned as `None`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read or a key is corrupt.
pub fn rows_after<K: Key + Copy + PartialEq, V: Value>(
    tx: &impl Reads,
    table: &Table<K, V>,
    after: K,
    to: K,
    rows_max: usize,
) -> Result<Vec<(K, Option<V>)>, StoreError> {
    let mut rows = Vec::new();
    read_page(tx, table, (after, to), rows_max, |key, stored| {
        rows.push((key, stored.valid()));
        Ok(())
    })?;
    Ok(rows)
}

/// Calls `visit` with the rows of a page. Returns the key after which the next page starts; `None` at the end of the range.
fn read_page<K: Key + Copy + PartialEq, V: Value>(
    tx: &impl Reads,
    table: &Table<K, V>,
    (after, to): (K, K),
    rows_max: usize,
    mut visit: impl FnMut(K, Stored<'_, V>) -> Result<(), StoreError>,
) -> Result<Option<K>, StoreError> {
    let (mut next, mut rows) = (None, 0);
    tx.scan(table, &after, &to, Order::Ascending, |key, stored| {
        if key == after {
            return NEXT;
        }
        visit(key, stored)?;
        rows += 1;
        if rows < rows_max {
            return NEXT;
        }
        next = Some(key);
        STOP
    })?;
    Ok(next)
}

impl Store {
    /// Runs `page` in one bulk transaction after another. `page` gets the key after which its page starts, at first
    /// `after`, and returns that of the next page; `None` at the end.
    ///
    /// # Errors
    /// [`StoreError`]. The pages before it stay committed.
    pub async fn write_pages<K: Copy + Send + 'static>(
        &self,
        mut after: K,
        page: impl Fn(&WriteTx<'_>, K) -> Result<Option<K>, StoreError> + Clone + Send + 'static,
    ) -> Result<(), StoreError> {
        loop {
            let page = page.clone();
            match self.write_bulk::<_, StoreError>(move |tx| page(tx, after)).await? {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }
}
