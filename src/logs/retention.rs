//! Retention of the request log.

use crate::base::clock::TimestampMs;
use crate::base::id::{Id, LogId, TeamId};
use crate::context::Context;
use crate::store::{StoreError, WriteTx};
use crate::tables::{REQUEST_LOG_BODIES, REQUEST_LOGS};
use crate::teams;

/// Rows deleted in one transaction.
const PAGE_ROWS: usize = 1_000;

/// Deletes the requests that started before `before_ms`. The cost depends only on the number of deleted
/// rows.
pub async fn purge(context: &Context, before_ms: TimestampMs) -> Result<(), StoreError> {
    for team in context.store.read::<_, StoreError>(teams::list).await? {
        purge_team(context, team.id, LogId::first_at(before_ms)).await?;
    }
    Ok(())
}

/// Deletes the requests of a team up to `until`. `until` is the lowest id of its millisecond, and no
/// request has that id.
async fn purge_team(context: &Context, team: TeamId, until: LogId) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    // The copies are deleted before the rows: after an interruption, the rows still lead to the copies.
    let remove = move |tx: &WriteTx<'_>| {
        let (from, to) = ((team, Id::MIN), (team, until));
        let copies = tx.delete_range(&REQUEST_LOG_BODIES, &from, &to, PAGE_ROWS)?;
        if copies == PAGE_ROWS {
            return Ok(PAGE_ROWS);
        }
        tx.delete_listed_range(&REQUEST_LOGS, &from, &to, PAGE_ROWS, now_ms)
    };
    while context.store.write_bulk::<_, StoreError>(remove).await? == PAGE_ROWS {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::logs::store::{LogBodies, LogRow, PreparedLog};

    const TEAM: TeamId = Id::MIN;

    async fn record(context: &Context, count: usize) {
        let row = LogRow {
            method: "GET".into(),
            endpoint: "/emails".into(),
            status: 200,
            key: Id::MIN,
            duration_ms: 0,
            user_agent: None,
        };
        let bodies = LogBodies { request: Some("{}".into()), ..LogBodies::default() };
        let prepare = |_| PreparedLog::new(&context.keyring, (TEAM, context.id()), &row, &bodies);
        let logs: Vec<PreparedLog> = (0..count).map(prepare).collect();
        context.commit(move |tx| logs.iter().try_for_each(|log| log.put(tx))).await;
    }

    #[tokio::test]
    async fn old_requests_are_deleted_with_their_copies_and_newer_ones_stay() {
        let (_directory, context) = Context::temporary();
        record(&context, PAGE_ROWS + 5).await;
        context.clock.advance(Duration::from_secs(60));
        let before_ms = context.now_ms();
        record(&context, 3).await;

        purge_team(&context, TEAM, LogId::first_at(before_ms)).await.unwrap();

        assert_eq!(context.keys(&REQUEST_LOGS).len(), 3);
        assert_eq!(context.keys(&REQUEST_LOG_BODIES).len(), 3);
    }
}
