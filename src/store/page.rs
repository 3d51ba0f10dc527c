//! Pages of lists: newest first, by id, from a cursor that the list returned.

use super::cursors::was_listed;
use super::error::{StoreError, from_store_error, skip_corrupt};
use super::key::{Key, KeyPart};
use super::reads::{NEXT, Order, Reads, STOP, Stored};
use super::table::Table;
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
    /// The cursor is not a row of the list, and no row with this id was removed from it in the last 24 hours.
    UnknownCursor,
    Store(StoreError),
}

from_store_error!(PageError);

/// Reads a page of a table keyed by an owner, such as a team, and id. If `row` returns `None`, the row is omitted. The cost
/// is that of the rows on the page and the omitted rows between them.
///
/// A row that is corrupt, or for which `row` reads a corrupt one, is logged and omitted. The page can start at it.
///
/// # Errors
/// [`PageError::UnknownCursor`] if the cursor is not a row of the owner or is omitted, unless the row was removed in
/// the last 24 hours. [`StoreError`] if the read fails.
pub fn page<R, O: KeyPart + Copy, V: Value, T>(
    tx: &impl Reads,
    table: &Table<(O, Id<R>), V>,
    owner: O,
    query: PageQuery<Id<R>>,
    row: impl FnMut(Id<R>, V) -> Result<Option<T>, StoreError>,
) -> Result<Page<T>, PageError>
where
    (O, Id<R>): Key,
{
    page_between(tx, table, |id| (owner, id), |(_, id)| id, query, row)
}

/// Does the same as [`page`], of an index keyed by team, `part` and id. Reads only the rows of `part`.
///
/// # Errors
/// As [`page`].
pub fn page_under<R, P: KeyPart + Copy, V: Value, T>(
    tx: &impl Reads,
    table: &Table<(TeamId, P, Id<R>), V>,
    team: TeamId,
    part: P,
    query: PageQuery<Id<R>>,
    row: impl FnMut(Id<R>, V) -> Result<Option<T>, StoreError>,
) -> Result<Page<T>, PageError> {
    page_between(tx, table, |id| (team, part, id), |(_, _, id)| id, query, row)
}

/// Does the same as [`page`], of a table keyed by id.
///
/// # Errors
/// As [`page`].
pub fn page_by_id<R, V: Value, T>(
    tx: &impl Reads,
    table: &Table<(Id<R>,), V>,
    query: PageQuery<Id<R>>,
    row: impl FnMut(Id<R>, V) -> Result<Option<T>, StoreError>,
) -> Result<Page<T>, PageError> {
    page_between(tx, table, |id| (id,), |(id,)| id, query, row)
}

fn page_between<R, K: Key, V: Value, T>(
    tx: &impl Reads,
    table: &Table<K, V>,
    key: impl Fn(Id<R>) -> K,
    id: impl Fn(K) -> Id<R>,
    query: PageQuery<Id<R>>,
    mut row: impl FnMut(Id<R>, V) -> Result<Option<T>, StoreError>,
) -> Result<Page<T>, PageError> {
    let cursor = match query.cursor {
        Cursor::Newest => None,
        Cursor::After(id) | Cursor::Before(id) => Some(id),
    };
    let mut valid = |id, stored: &Stored<'_, V>| match stored.valid() {
        Some(value) => skip_corrupt(row(id, value), format_args!("one that {} needs", stored.name())),
        None => Ok(None),
    };
    if let Some(cursor) = cursor {
        let mut is_listed = false;
        tx.scan(table, &key(cursor), &key(cursor), Order::Ascending, |_, stored| {
            is_listed = valid(cursor, &stored)?.is_none_or(|listed| listed.is_some());
            STOP
        })?;
        if !is_listed && !was_listed(tx, table, &key(cursor))? {
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
        let Some(Some(listed)) = valid(id, &stored)? else { return NEXT };
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

/// Returns a page of a short list that is in memory, in the order of the list. `was_item` returns whether the cursor
/// was an item in the last 24 hours; only a list with the newest item first can return `true`.
///
/// # Errors
/// [`PageError::UnknownCursor`] if the cursor is not and was not an item of the list; the error of `was_item`.
pub fn page_of<R, T>(
    items: Vec<T>,
    query: PageQuery<Id<R>>,
    id: impl Fn(&T) -> Id<R>,
    was_item: impl FnOnce(Id<R>) -> Result<bool, StoreError>,
) -> Result<Page<T>, PageError> {
    // The items before the cursor, and the first item after it.
    let around = |cursor: Id<R>| match items.iter().position(|item| id(item) == cursor) {
        Some(at) => Ok((at, at + 1)),
        None if was_item(cursor)? => {
            let newer = items.iter().take_while(|item| id(item) > cursor).count();
            Ok((newer, newer))
        }
        None => Err(PageError::UnknownCursor),
    };
    let (from, to, has_more) = match query.cursor {
        Cursor::Newest => (0, query.limit.min(items.len()), items.len() > query.limit),
        Cursor::After(cursor) => {
            let (_, from) = around(cursor)?;
            (from, (from + query.limit).min(items.len()), items.len() > from + query.limit)
        }
        Cursor::Before(cursor) => {
            let (to, _) = around(cursor)?;
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
        let page = page_of(items, query, |item| Id::from_bytes([*item; 16]), |_| Ok(false)).unwrap();
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

        let page = page_of(vec![1_u8], query, |item| EmailId::from_bytes([*item; 16]), |_| Ok(false));

        assert!(matches!(page, Err(PageError::UnknownCursor)));
    }

    #[test]
    fn a_page_continues_where_a_removed_item_was() {
        let at = |item: u8| EmailId::from_bytes([item; 16]);
        for (cursor, expected) in [
            (Cursor::After(at(7)), (vec![6, 4], true)),
            (Cursor::After(at(5)), (vec![4, 2], false)),
            (Cursor::After(at(1)), (vec![], false)),
            (Cursor::Before(at(7)), (vec![8], false)),
            (Cursor::Before(at(3)), (vec![6, 4], true)),
            (Cursor::Before(at(9)), (vec![], false)),
        ] {
            let query = PageQuery { limit: 2, cursor };

            let page = page_of(vec![8_u8, 6, 4, 2], query, |item| at(*item), |_| Ok(true)).unwrap();

            assert_eq!((page.rows, page.has_more), expected, "{cursor:?}");
        }
    }
}
