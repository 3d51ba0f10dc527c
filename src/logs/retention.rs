//! How long requests stay in the log.

use crate::clock::TimestampMs;
use crate::context::Context;
use crate::id::{Id, LogId, TeamId};
use crate::store::tables::{REQUEST_LOG_BODIES, REQUEST_LOGS};
use crate::store::{StoreError, WriteTx};
use crate::teams;

/// Rows removed in one transaction.
const PAGE_ROWS: usize = 1_000;

/// Removes the requests that began before `before_ms`. A sweep costs what it removes.
///
/// # Errors
/// [`StoreError`].
pub async fn purge(context: &Context, before_ms: TimestampMs) -> Result<(), StoreError> {
    for team in context.store.read::<_, StoreError>(teams::list).await? {
        purge_team(context, team.id, LogId::first_at(before_ms)).await?;
    }
    Ok(())
}

/// `until` is kept when it is there: no id that was drawn is the first of its millisecond.
async fn purge_team(context: &Context, team: TeamId, until: LogId) -> Result<(), StoreError> {
    loop {
        // The copies go first: what is left of a sweep that was cut off is found by its row.
        let remove = move |tx: &WriteTx<'_>| {
            let (from, to) = ((team, Id::MIN), (team, until));
            let copies = tx.delete_range(&REQUEST_LOG_BODIES, &from, &to, PAGE_ROWS)?;
            if copies == PAGE_ROWS {
                return Ok(PAGE_ROWS);
            }
            tx.delete_range(&REQUEST_LOGS, &from, &to, PAGE_ROWS)
        };
        if context.store.write_bulk::<_, StoreError>(remove).await? < PAGE_ROWS {
            return Ok(());
        }
    }
}
