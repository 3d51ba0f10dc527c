//! Usage: how many emails a team has accepted on each UTC day.

use serde::{Deserialize, Serialize};

use crate::clock::{DAY_MS, TimestampMs};
use crate::id::TeamId;
use crate::store::tables::USAGE;
use crate::store::{Reads, Row, StoreError, WriteTx};

/// One day of a team.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UsageRow {
    /// Emails accepted.
    pub emails: u64,
}
impl Row for UsageRow {}

/// Adds `emails` accepted at `now_ms` to the team's day.
///
/// # Errors
/// [`StoreError`].
pub fn count(tx: &WriteTx<'_>, team: TeamId, now_ms: TimestampMs, emails: u64) -> Result<(), StoreError> {
    let key = (team, day(now_ms));
    let mut row = tx.get(&USAGE, &key)?.unwrap_or_default();
    row.emails += emails;
    tx.put(&USAGE, &key, &row)
}

/// Returns how many emails the team accepted on the day of `now_ms`.
///
/// # Errors
/// [`StoreError`].
pub fn emails_today(tx: &impl Reads, team: TeamId, now_ms: TimestampMs) -> Result<u64, StoreError> {
    Ok(tx.get(&USAGE, &(team, day(now_ms)))?.map_or(0, |row| row.emails))
}

fn day(now_ms: TimestampMs) -> u32 {
    u32::try_from(now_ms.div_euclid(DAY_MS)).unwrap_or(0)
}
