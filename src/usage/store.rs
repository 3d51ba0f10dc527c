//! Accepted emails and sent broadcasts by day.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::base::clock::{TimestampMs, utc_day};
use crate::base::id::TeamId;
use crate::store::{NEXT, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::USAGE;

/// One UTC day of a team.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UsageRow {
    /// Number of accepted emails.
    pub emails: u64,
    /// Number of broadcasts that were sent or scheduled.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub broadcasts: u64,
}
impl Row for UsageRow {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Adds `emails` of the API or of a broadcast, accepted at `now_ms`, to the day of the team.
pub fn count(tx: &WriteTx<'_>, team: TeamId, now_ms: TimestampMs, emails: u64) -> Result<(), StoreError> {
    let key = (team, utc_day(now_ms));
    let mut row = tx.get(&USAGE, &key)?.unwrap_or_default();
    row.emails += emails;
    tx.put(&USAGE, &key, &row)
}

/// Adds a broadcast, sent or scheduled at `now_ms`, to the day of the team.
pub fn count_broadcast(tx: &WriteTx<'_>, team: TeamId, now_ms: TimestampMs) -> Result<(), StoreError> {
    let key = (team, utc_day(now_ms));
    let mut row = tx.get(&USAGE, &key)?.unwrap_or_default();
    row.broadcasts += 1;
    tx.put(&USAGE, &key, &row)
}

/// Returns the number of emails that the team has ever accepted. Reads one row for each day.
pub(crate) fn total(tx: &impl Reads, team: TeamId) -> Result<u64, StoreError> {
    Ok(sum(tx, team, &(0..=u32::MAX))?.emails)
}

/// Returns the sums of the team on `days`. Reads one row for each day.
pub(super) fn sum(tx: &impl Reads, team: TeamId, days: &RangeInclusive<u32>) -> Result<UsageRow, StoreError> {
    let mut sum = UsageRow::default();
    tx.scan_valid(&USAGE, &(team, *days.start()), &(team, *days.end()), Order::Ascending, |_, row| {
        let UsageRow { emails, broadcasts } = row;
        sum.emails = sum.emails.saturating_add(emails);
        sum.broadcasts = sum.broadcasts.saturating_add(broadcasts);
        NEXT
    })?;
    Ok(sum)
}
