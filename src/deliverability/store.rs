//! Rows of episodes and of paused regions.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::store::{Order, Reads, Row, StoreError};
use crate::tables::REGION_PAUSES;

/// Highest status of an episode so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeLevel {
    Warning,
    Paused,
}

/// Episode of a team whose rates are or were too high.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeRow {
    pub level: EpisodeLevel,
    /// Whether an episode with a pause has sent `deliverability.warning`.
    #[serde(default)]
    pub is_warned: bool,
    /// Start of the episode.
    pub since_ms: TimestampMs,
}
impl Row for EpisodeRow {}

impl EpisodeRow {
    /// Returns whether `deliverability.warning` was sent.
    pub(super) const fn has_warning(&self) -> bool {
        self.is_warned || matches!(self.level, EpisodeLevel::Warning)
    }
}

/// Region whose broadcasts are paused. The counts are those of its last sweep that changed the row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionPauseRow {
    pub region: String,
    /// Start of the pause.
    pub since_ms: TimestampMs,
    pub sent: u64,
    pub bounced: u64,
    pub complained: u64,
}
impl Row for RegionPauseRow {}

/// Returns the paused regions. Nearly always none.
pub(super) fn paused_regions(tx: &impl Reads) -> Result<Vec<RegionPauseRow>, StoreError> {
    tx.collect(&REGION_PAUSES, (([0; 32],), ([u8::MAX; 32],)), Order::Ascending, |_, row| Ok(row.valid()))
}
