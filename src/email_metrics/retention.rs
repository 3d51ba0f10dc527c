//! Deletion of old counts. The journal is deleted by the check.
//!
//! Counts that a reader still needs are kept whatever the setting is:
//! - those of days that the check has not compared;
//! - those of the last three days;
//! - the totals of the last 31 days, from which the score and the guardrail are made.

use super::check::first_day;
use super::model::{QUARTERS_OF_DAY, quarter};
use crate::base::clock::{TimestampMs, utc_day};
use crate::base::id::{BroadcastId, DomainId, TeamId};
use crate::context::Context;
use crate::store::{StoreError, WriteTx};
use crate::tables::{EMAIL_DAY_TOTALS, EMAIL_QUARTER_COUNTS};
use crate::teams;

/// Rows deleted in one transaction.
const PAGE_ROWS: usize = 1_000;
/// Days before the current one whose quarter hours are kept.
const QUARTERS_KEPT_DAYS: u32 = 3;
/// Days before the current one whose totals are kept.
const TOTALS_KEPT_DAYS: u32 = 31;

/// Deletes the counts of the quarter hours and of the UTC days that ended before `before_ms`. The cost depends only on the
/// number of deleted rows.
pub async fn purge(context: &Context, before_ms: TimestampMs) -> Result<(), StoreError> {
    for team in context.store.read::<_, StoreError>(teams::list).await? {
        purge_team(context, team.id, before_ms).await?;
    }
    Ok(())
}

async fn purge_team(context: &Context, team: TeamId, before_ms: TimestampMs) -> Result<(), StoreError> {
    let today = utc_day(context.now_ms());
    let kept_quarter = quarter(before_ms).min(today.saturating_sub(QUARTERS_KEPT_DAYS).saturating_mul(QUARTERS_OF_DAY));
    let kept_day = utc_day(before_ms).min(today.saturating_sub(TOTALS_KEPT_DAYS));
    let remove = move |tx: &WriteTx<'_>| {
        let unchecked = first_day(tx, team)?.unwrap_or(u32::MAX);
        if let Some(last) = kept_quarter.min(unchecked.saturating_mul(QUARTERS_OF_DAY)).checked_sub(1) {
            let from = (team, 0, DomainId::MIN, BroadcastId::MIN);
            let to = (team, last, DomainId::MAX, BroadcastId::MAX);
            if tx.delete_range(&EMAIL_QUARTER_COUNTS, &from, &to, PAGE_ROWS)? == PAGE_ROWS {
                return Ok(PAGE_ROWS);
            }
        }
        match kept_day.min(unchecked).checked_sub(1) {
            Some(last) => tx.delete_range(&EMAIL_DAY_TOTALS, &(team, 0), &(team, last), PAGE_ROWS),
            None => Ok(0),
        }
    };
    while context.store.write_bulk::<_, StoreError>(remove).await? == PAGE_ROWS {}
    Ok(())
}
