//! Orphans: child rows that remain after their parent row was deleted.
//!
//! The command that deletes a parent deletes a bounded number of its child rows. Readers check the
//! parent first, so that the remaining rows are hidden. A worker deletes them in bounded commits.

use super::reads::{Order, Reads};
use super::table::Table;
use super::transaction::WriteTx;
use super::value::Value;
use super::{Store, StoreError};
use crate::base::id::{Id, TeamId};

/// Deletes the rows in `children` of every parent that has no row in `parents`.
///
/// `delete` deletes a bounded number of child rows of one parent, and returns whether more may remain.
/// Each call is one bulk command. Finding the orphans costs one seek for each parent with child rows.
///
/// # Errors
/// [`StoreError`]. Rows of earlier commits stay deleted.
pub async fn delete_orphans<P: 'static, C: 'static, V: Value, W: Value>(
    store: &Store,
    children: &'static Table<(TeamId, Id<P>, Id<C>), V>,
    parents: &'static Table<(TeamId, Id<P>), W>,
    delete: impl Fn(&WriteTx<'_>, TeamId, Id<P>) -> Result<bool, StoreError> + Copy + Send + 'static,
) -> Result<(), StoreError> {
    let mut checked = None;
    while let Some((team, parent)) = store.read(move |tx| next_orphan(tx, children, parents, checked)).await? {
        while store.write_bulk::<_, StoreError>(move |tx| delete(tx, team, parent)).await? {}
        checked = Some((team, parent));
    }
    Ok(())
}

/// Returns the first parent after `checked` that has child rows and no row of its own.
fn next_orphan<P, C, V: Value, W: Value>(
    tx: &impl Reads,
    children: &Table<(TeamId, Id<P>, Id<C>), V>,
    parents: &Table<(TeamId, Id<P>), W>,
    mut checked: Option<(TeamId, Id<P>)>,
) -> Result<Option<(TeamId, Id<P>)>, StoreError> {
    loop {
        let from = checked.map_or((Id::MIN, Id::MIN, Id::MIN), |(team, parent)| (team, parent, Id::MAX));
        let next = tx.first_key(children, (from, (Id::MAX, Id::MAX, Id::MAX)), Order::Ascending)?;
        let next = next.map(|(team, parent, _)| (team, parent));
        match next {
            Some(parent) if tx.contains(parents, &parent)? => checked = next,
            orphan => return Ok(orphan),
        }
    }
}
