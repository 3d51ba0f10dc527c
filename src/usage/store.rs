//! Accepted emails by day.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::model::day;
use crate::base::clock::TimestampMs;
use crate::base::id::TeamId;
use crate::store::{NEXT, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::USAGE;

/// One UTC day of a team.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UsageRow {
    /// Number of accepted emails.
    pub emails: u64,
}
impl Row for UsageRow {}

/// Adds `emails`, accepted at `now_ms`, to the day of the team.
///
/// # Errors
/// [`StoreError`].
pub fn count(tx: &WriteTx<'_>, team: TeamId, now_ms: TimestampMs, emails: u64) -> Result<(), StoreError> {
    let key = (team, day(now_ms));
    let mut row = tx.get(&USAGE, &key)?.unwrap_or_default();
    row.emails += emails;
    tx.put(&USAGE, &key, &row)
}

/// Returns the number of emails that the team has ever accepted. Reads one row for each day.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn total(tx: &impl Reads, team: TeamId) -> Result<u64, StoreError> {
    emails(tx, team, &(0..=u32::MAX))
}

/// Returns the number of emails that the team accepted on `days`. Reads one row for each day.
///
/// # Errors
/// [`StoreError`].
pub(super) fn emails(tx: &impl Reads, team: TeamId, days: &RangeInclusive<u32>) -> Result<u64, StoreError> {
    let mut emails: u64 = 0;
    tx.scan(&USAGE, &(team, *days.start()), &(team, *days.end()), Order::Ascending, |_, row| {
        emails = emails.saturating_add(row.decode()?.emails);
        NEXT
    })?;
    Ok(emails)
}
