//! The stored position of a broadcast, and its changes.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, ContactId, EmailId, TeamId};
use crate::broadcast_rows::started;
use crate::segments::filter::Filter;
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::BROADCAST_FAN_OUTS;

/// A broadcast whose emails are not all stored and in the queue, or a canceled one with waiting emails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FanOutRow {
    pub team: TeamId,
    /// Time at which it starts.
    pub due_ms: TimestampMs,
    /// Whether the start was requested for that time. Any other broadcast starts at once, also after the clock was set
    /// back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_scheduled: bool,
    /// Last contact that was read; `None` before the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ContactId>,
    /// Last contact of the audience, set at the start. Contacts that are created later do not receive the broadcast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<ContactId>,
    /// Each waiting email before this one has a queue row; `None` if all stored ones have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_enqueue: Option<EmailId>,
    /// Due time of the last recipient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_ms: Option<TimestampMs>,
    /// Filter of the segment at the start. Later changes of the segment do not change the audience.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Whether the broadcast was canceled: its queued emails are removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_canceled: bool,
    /// Last email that was read to remove queued emails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canceled_to: Option<EmailId>,
    /// Whether the owners were notified that the broadcast is held, because sending is paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_held: bool,
    /// Number of erasures of contacts of the team since the start. A page that was read before the last one is not stored.
    #[serde(default)]
    pub erasures: u32,
}
impl Row for FanOutRow {}

impl FanOutRow {
    /// Returns the position of a broadcast that starts at `due_ms`.
    pub const fn due(team: TeamId, due_ms: TimestampMs) -> Self {
        Self {
            team,
            due_ms,
            is_scheduled: false,
            after: None,
            last: None,
            to_enqueue: None,
            planned_ms: None,
            filter: None,
            is_canceled: false,
            canceled_to: None,
            is_held: false,
            erasures: 0,
        }
    }

    /// Returns whether the broadcast can start.
    pub const fn is_due(&self, now_ms: TimestampMs) -> bool {
        !self.is_scheduled || self.due_ms <= now_ms
    }
}

/// Ends the fan-out of a broadcast in the transaction that cancels it. The worker then removes the queued emails. Notify it
/// after the commit.
pub fn stop_fan_out(tx: &WriteTx<'_>, team: TeamId, broadcast: BroadcastId) -> Result<(), StoreError> {
    let stored = tx.get_valid(&BROADCAST_FAN_OUTS, &(broadcast,))?;
    let row = stored.unwrap_or_else(|| FanOutRow::due(team, 0));
    tx.put(&BROADCAST_FAN_OUTS, &(broadcast,), &FanOutRow { is_canceled: true, filter: None, ..row })
}

/// Makes the worker read the current pages of the team again, in the transaction that deletes contacts to erase them. A
/// page that was read before contains their addresses.
pub fn discard_pages(tx: &WriteTx<'_>, team: TeamId) -> Result<(), StoreError> {
    for id in started(tx, team)? {
        let Some(row) = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))? else { continue };
        if row.last.is_some() && !row.is_canceled {
            let erasures = row.erasures.wrapping_add(1);
            tx.put(&BROADCAST_FAN_OUTS, &(id,), &FanOutRow { erasures, ..row })?;
        }
    }
    Ok(())
}
