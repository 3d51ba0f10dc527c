//! The deletion of the rows of a removed team.

use crate::base::id::TeamId;
use crate::store::{KeyOf, StoreError, Table, WriteTx};

macro_rules! of_team {
    ($($table:ident,)+) => {
        /// Tables whose rows [`delete_of_team`] deletes.
        pub const OF_TEAM: &[&str] = &[$($table.name(),)+];

        /// Deletes up to `rows_max` rows of a removed team; returns their number. `emails` and `users` delete the rows
        /// in their tables themselves, because other rows depend on them.
        ///
        /// # Errors
        /// [`StoreError`](crate::store::StoreError) if the file cannot be written.
        pub fn delete_of_team(
            tx: &$crate::store::WriteTx<'_>,
            team: $crate::base::id::TeamId,
            rows_max: usize,
        ) -> Result<usize, $crate::store::StoreError> {
            let mut left = rows_max;
            $(left -= $crate::tables::of_team::delete_in(tx, &$table, team, left)?;)+
            Ok(rows_max - left)
        }
    };
}
pub(super) use of_team;

/// Deletes up to `rows_max` rows of a team in one table; returns their number.
pub(super) fn delete_in<K: KeyOf<TeamId>, V>(
    tx: &WriteTx<'_>,
    table: &Table<K, V>,
    team: TeamId,
    rows_max: usize,
) -> Result<usize, StoreError> {
    if rows_max == 0 {
        return Ok(0);
    }
    let (from, to) = K::bounds(team);
    tx.delete_range(table, &from, &to, rows_max)
}
