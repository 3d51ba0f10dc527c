//! Pages of lists: newest first, by id, from a cursor that the list returned.

use super::error::{StoreError, from_store_error};
use super::key::{Key, KeyPart};
use super::transaction::{NEXT, Order, Reads, STOP, Stored, Table};
use super::value::Value;
use crate::base::id::{Id, TeamId};

/// Start of a page.
#[derive(Debug)]
pub enum Cursor<I> {
    /// The newest row.
    Newest,
    /// The rows older than this row.
    After(I),
    /// The rows newer than this row.
    Before(I),
}

/// Size and start of a page.
#[derive(Debug)]
pub struct PageQuery<I> {
    /// Maximum number of rows.
    pub limit: usize,
    /// Start of the page.
    pub cursor: Cursor<I>,
}

impl<I: Copy> Copy for Cursor<I> {}
impl<I: Copy> Clone for Cursor<I> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<I: Copy> Copy for PageQuery<I> {}
impl<I: Copy> Clone for PageQuery<I> {
    fn clone(&self) -> Self {
        *self
    }
}

/// One page, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Rows, newest first.
    pub rows: Vec<T>,
    /// Whether there are more rows in the direction of the page.
    pub has_more: bool,
}

/// Failure to read a page.
#[derive(Debug)]
pub enum PageError {
    /// The cursor is not a row of the list.
    UnknownCursor,
    Store(StoreError),
}

from_store_error!(PageError);

/// Reads a page of a table keyed by team and id. If `row` returns `None`, the row is omitted. The cost
/// is that of the rows on the page and the omitted rows between them.
///
/// # Errors
/// [`PageError::UnknownCursor`] if the cursor is not a row of the team or is omitted; [`StoreError`].
pub fn page<R, V: Value, T>(
    tx: &impl Reads,
    table: &Table<(TeamId, Id<R>), V>,
    team: TeamId,
    query: PageQuery<Id<R>>,
    row: impl FnMut(Id<R>, Stored<'_, V>) -> Result<Option<T>, StoreError>,
) -> Result<Page<T>, PageError>
where
    (TeamId, Id<R>): Key,
{
    page_between(tx, table, |id| (team, id), |(_, id)| id, query, row)
}

/// As [`page`], of an index keyed by team, `part` and id. Reads only the rows of `part`.
///
/// # Errors
/// As [`page`].
pub fn page_under<R, P: KeyPart + Copy, V: Value, T>(
    tx: &impl Reads,
    table: &Table<(TeamId, P, Id<R>), V>,
    team: TeamId,
    part: P,
    query: PageQuery<Id<R>>,
    row: impl FnMut(Id<R>, Stored<'_, V>) -> Result<Option<T>, StoreError>,
) -> Result<Page<T>, PageError> {
    page_between(tx, table, |id| (team, part, id), |(_, _, id)| id, query, row)
}

/// As [`page`], of a table keyed by id.
///
/// # Errors
/// As [`page`].
pub fn page_by_id<R, V: Value, T>(
    tx: &impl Reads,
    table: &Table<(Id<R>,), V>,
    query: PageQuery<Id<R>>,
    row: impl FnMut(Id<R>, Stored<'_, V>) -> Result<Option<T>, StoreError>,
) -> Result<Page<T>, PageError> {
    page_between(tx, table, |id| (id,), |(id,)| id, query, row)
}

fn page_between<R, K: Key, V: Value, T>(
    tx: &impl Reads,
    table: &Table<K, V>,
    key: impl Fn(Id<R>) -> K,
    id: impl Fn(K) -> Id<R>,
    query: PageQuery<Id<R>>,
    mut row: impl FnMut(Id<R>, Stored<'_, V>) -> Result<Option<T>, StoreError>,
) -> Result<Page<T>, PageError> {
    let cursor = match query.cursor {
        Cursor::Newest => None,
        Cursor::After(id) | Cursor::Before(id) => Some(id),
    };
    if let Some(cursor) = cursor {
        let mut is_listed = false;
        tx.scan(table, &key(cursor), &key(cursor), Order::Ascending, |at, stored| {
            is_listed = row(id(at), stored)?.is_some();
            STOP
        })?;
        if !is_listed {
            return Err(PageError::UnknownCursor);
        }
    }
    let (from, to, order) = match query.cursor {
        Cursor::Newest => (Id::MIN, Id::MAX, Order::Descending),
        Cursor::After(id) => (Id::MIN, id, Order::Descending),
        Cursor::Before(id) => (id, Id::MAX, Order::Ascending),
    };
    let mut rows = Vec::with_capacity(query.limit);
    let mut has_more = false;
    tx.scan(table, &key(from), &key(to), order, |at, stored| {
        let id = id(at);
        if cursor == Some(id) {
            return NEXT;
        }
        let Some(listed) = row(id, stored)? else { return NEXT };
        if rows.len() == query.limit {
            has_more = true;
            return STOP;
        }
        rows.push(listed);
        NEXT
    })?;
    if order == Order::Ascending {
        rows.reverse();
    }
    Ok(Page { rows, has_more })
}

/// Returns whether a team has at least `rows_max` rows in a table keyed by team and id. Reads up to
/// `rows_max` rows.
///
/// # Errors
/// [`StoreError`].
pub fn is_full<R, V: Value>(
    tx: &impl Reads,
    table: &Table<(TeamId, Id<R>), V>,
    team: TeamId,
    rows_max: usize,
) -> Result<bool, StoreError>
where
    (TeamId, Id<R>): Key,
{
    let mut count = 0;
    tx.scan(table, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, _| {
        count += 1;
        if count < rows_max { NEXT } else { STOP }
    })?;
    Ok(count >= rows_max)
}

/// Returns a page of a short list that is stored in one row, in the order of the list.
///
/// # Errors
/// [`PageError::UnknownCursor`] if the cursor is not an item of the list.
pub fn page_of<R, T>(items: Vec<T>, query: PageQuery<Id<R>>, id: impl Fn(&T) -> Id<R>) -> Result<Page<T>, PageError> {
    let position = |cursor: Id<R>| items.iter().position(|item| id(item) == cursor).ok_or(PageError::UnknownCursor);
    let (from, to, has_more) = match query.cursor {
        Cursor::Newest => (0, query.limit.min(items.len()), items.len() > query.limit),
        Cursor::After(cursor) => {
            let from = position(cursor)? + 1;
            (from, (from + query.limit).min(items.len()), items.len() > from + query.limit)
        }
        Cursor::Before(cursor) => {
            let to = position(cursor)?;
            (to.saturating_sub(query.limit), to, to > query.limit)
        }
    };
    Ok(Page { rows: items.into_iter().skip(from).take(to - from).collect(), has_more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::EmailId;

    fn page_items(query: PageQuery<EmailId>) -> (Vec<u8>, bool) {
        let items: Vec<u8> = vec![1, 2, 3, 4, 5];
        let page = page_of(items, query, |item| Id::from_bytes([*item; 16])).unwrap();
        (page.rows, page.has_more)
    }

    #[test]
    fn a_short_list_is_paged_both_ways() {
        let at = |item: u8| Id::from_bytes([item; 16]);

        assert_eq!(page_items(PageQuery { limit: 2, cursor: Cursor::Newest }), (vec![1, 2], true));
        assert_eq!(page_items(PageQuery { limit: 5, cursor: Cursor::Newest }), (vec![1, 2, 3, 4, 5], false));
        assert_eq!(page_items(PageQuery { limit: 2, cursor: Cursor::After(at(3)) }), (vec![4, 5], false));
        assert_eq!(page_items(PageQuery { limit: 2, cursor: Cursor::After(at(2)) }), (vec![3, 4], true));
        assert_eq!(page_items(PageQuery { limit: 2, cursor: Cursor::Before(at(4)) }), (vec![2, 3], true));
        assert_eq!(page_items(PageQuery { limit: 2, cursor: Cursor::Before(at(3)) }), (vec![1, 2], false));
    }

    #[test]
    fn a_cursor_of_another_list_is_rejected() {
        let query = PageQuery { limit: 2, cursor: Cursor::After(Id::from_bytes([9; 16])) };

        let page = page_of(vec![1_u8], query, |item| EmailId::from_bytes([*item; 16]));

        assert!(matches!(page, Err(PageError::UnknownCursor)));
    }
}
