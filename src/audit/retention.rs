//! Retention of the audit log.

use super::read::{newest, next_team};
use crate::base::clock::TimestampMs;
use crate::base::id::{AuditId, Id};
use crate::context::Context;
use crate::store::{StoreError, WriteTx};
use crate::tables::AUDIT_LOG;

/// Rows deleted in one transaction.
const PAGE_ROWS: usize = 1_000;

/// Deletes the entries of the server, of all teams and of removed teams that were written before `before_ms`. The cost
/// depends on the number of deleted rows and of teams with entries.
pub async fn purge(context: &Context, before_ms: TimestampMs) -> Result<(), StoreError> {
    let (until, mut last): (AuditId, _) = (Id::first_at(before_ms), None);
    while let Some(team) = context.store.read(move |tx| next_team(tx, last)).await? {
        // `until` is the lowest id of its millisecond, and no entry has that id.
        let remove = move |tx: &WriteTx<'_>| tx.delete_range(&AUDIT_LOG, &(team, Id::MIN), &(team, until), PAGE_ROWS);
        // A team without an old entry costs no commit.
        if context.store.read(move |tx| newest(tx, team, Some(until))).await?.is_some() {
            while context.store.write_bulk::<_, StoreError>(remove).await? == PAGE_ROWS {}
        }
        last = Some(team);
    }
    Ok(())
}
