//! Pages of lists, and lookup of a row by its id or name.

use super::response::AdminError;
use crate::base::id::Id;
use crate::store::page::{Cursor, Page, PageError, PageQuery};

const PAGE_ROWS: usize = 100;

/// Returns the query of the page that follows a row; of the first page if `after` is `None`.
pub(super) fn page_after<R>(after: Option<Id<R>>) -> PageQuery<Id<R>> {
    PageQuery { limit: PAGE_ROWS, cursor: after.map_or(Cursor::Newest, Cursor::After) }
}

/// Returns the rows of a list that `matches` selects, newest first. Reads the list page by page until
/// `rows_max` rows match.
pub(super) async fn find_rows<K, T, F>(
    list: impl Fn(PageQuery<Id<K>>) -> F,
    id_of: impl Fn(&T) -> Id<K>,
    matches: impl Fn(&T) -> bool,
    rows_max: usize,
) -> Result<Vec<T>, AdminError>
where
    F: Future<Output = Result<Page<T>, PageError>>,
{
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = list(page_after(after)).await?;
        after = page.rows.last().map(&id_of);
        found.extend(page.rows.into_iter().filter(&matches));
        if found.len() >= rows_max || !page.has_more {
            found.truncate(rows_max);
            return Ok(found);
        }
    }
}

/// Returns the row with the id `text`, or else the only row with the name `text`.
///
/// # Errors
/// [`AdminError`] if no row or several rows match. `noun` is the noun of the command line.
pub(super) async fn find_one<K, T, F>(
    list: impl Fn(PageQuery<Id<K>>) -> F,
    id_of: impl Fn(&T) -> Id<K>,
    name_of: impl Fn(&T) -> &str,
    (noun, text): (&str, &str),
) -> Result<T, AdminError>
where
    F: Future<Output = Result<Page<T>, PageError>>,
{
    if let Some(id) = Id::parse(text)
        && let Some(row) = find_rows(&list, &id_of, |row| id_of(row) == id, 1).await?.pop()
    {
        return Ok(row);
    }
    let mut named = find_rows(&list, &id_of, |row| name_of(row) == text, 2).await?;
    let row = named.pop().ok_or_else(|| unknown(noun, text))?;
    if !named.is_empty() {
        return Err(AdminError::conflict(format!(
            "several {noun}s match `{text}`; use an id from `ringmail {noun} list`"
        )));
    }
    Ok(row)
}

/// Returns the error for a row that does not exist.
pub(super) fn unknown(noun: &str, text: &str) -> AdminError {
    AdminError::not_found(format!("the team has no {noun} `{text}`; `ringmail {noun} list` shows all of them"))
}
