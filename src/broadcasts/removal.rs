//! Deletion of the broadcasts of a removed team.

use crate::base::id::TeamId;
use crate::broadcast_rows::{self, LINKS_MAX};
use crate::emails::delete_broadcast_outcomes;
use crate::store::{StoreError, WriteTx};
use crate::tables::BROADCAST_FAN_OUTS;

/// Number of broadcasts that one commit deletes: each has at most some tens of chunks.
const DELETED_PER_COMMIT: usize = 8;
/// Rows of the index of emails that one commit deletes.
const OUTCOMES_PER_COMMIT: usize = 1_000;

/// Deletes up to [`DELETED_PER_COMMIT`] broadcasts of a removed team with their content, counts, domains, links and
/// positions; returns their number. Ends after [`LINKS_MAX`] links and domains, of which one broadcast can have about
/// 2,000. A broadcast with more index rows of emails than [`OUTCOMES_PER_COMMIT`] counts, but is in the next page again.
pub fn delete_page_of_team(tx: &WriteTx<'_>, team: TeamId) -> Result<usize, StoreError> {
    let (mut deleted, mut rows, mut outcomes_left) = (0, 0, OUTCOMES_PER_COMMIT);
    for id in broadcast_rows::ids(tx, team, DELETED_PER_COMMIT)? {
        outcomes_left -= delete_broadcast_outcomes(tx, id, outcomes_left)?;
        if outcomes_left == 0 {
            return Ok(deleted + 1);
        }
        tx.delete(&BROADCAST_FAN_OUTS, &(id,))?;
        rows += broadcast_rows::delete(tx, team, id)?;
        deleted += 1;
        if rows >= LINKS_MAX {
            break;
        }
    }
    Ok(deleted)
}
