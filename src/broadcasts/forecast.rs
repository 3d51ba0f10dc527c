//! The planned ends of all broadcasts with recipients that are not placed, computed at once.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::estimates::SendEstimates;
use super::planner::{SendCapacity, SendSlots, WaitingSend, delivered_ms};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, Id};
use crate::broadcast_rows::{self, read_counts};
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::BROADCAST_FAN_OUTS;

/// Number of broadcasts that a plan regards at most.
const WAITING_MAX: usize = 1_000;

/// The planned ends of the broadcasts that are scheduled or in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct SendForecast(HashMap<BroadcastId, TimestampMs>);

/// A forecast that is computed when a broadcast needs it, and then kept.
#[derive(Debug, Default)]
pub(super) struct LazyForecast(OnceCell<SendForecast>);

impl LazyForecast {
    /// Returns the planned end of a broadcast, as [`SendForecast::end_of`].
    pub(super) fn end_of(
        &self,
        tx: &impl Reads,
        estimates: &SendEstimates,
        now_ms: TimestampMs,
        id: BroadcastId,
    ) -> Result<Option<TimestampMs>, StoreError> {
        if let Some(forecast) = self.0.get() {
            return Ok(forecast.end_of(id));
        }
        let forecast = estimates.forecast(tx, now_ms)?;
        Ok(self.0.get_or_init(|| forecast).end_of(id))
    }
}

impl SendForecast {
    /// Plans the broadcasts, each behind those before it. `horizon_ms` is the longest time that one may take.
    pub(super) fn of(
        capacity: &SendCapacity,
        mut slots: SendSlots,
        waiting: &[(BroadcastId, WaitingSend)],
        now_ms: TimestampMs,
        horizon_ms: i64,
    ) -> Self {
        let mut ends = HashMap::new();
        for (id, WaitingSend { start_ms, recipients }) in waiting {
            let start_ms = now_ms.max(*start_ms);
            let mut last_ms = None;
            let until_ms = start_ms.saturating_add(horizon_ms);
            let unplaced = slots.place(capacity, start_ms, until_ms, *recipients, |run| last_ms = Some(run.last_ms()));
            if let Some(last_ms) = last_ms.filter(|_| unplaced == 0) {
                ends.insert(*id, delivered_ms(last_ms));
            }
        }
        Self(ends)
    }

    /// Returns the planned end of a broadcast; `None` if all its recipients are placed or the limits have no room.
    fn end_of(&self, id: BroadcastId) -> Option<TimestampMs> {
        self.0.get(&id).copied()
    }
}

/// Returns broadcasts with recipients that are not placed, in the order of their starts.
pub(super) fn read_waiting(tx: &impl Reads) -> Result<Vec<(BroadcastId, WaitingSend)>, StoreError> {
    let mut fan_outs = Vec::new();
    tx.scan_valid(&BROADCAST_FAN_OUTS, &(Id::MIN,), &(Id::MAX,), Order::Ascending, |(id,), fan_out| {
        let row = broadcast_rows::find_valid(tx, fan_out.team, id)?;
        if let Some(row) = row.filter(|row| !fan_out.is_canceled && !row.is_queued_whole) {
            fan_outs.push((fan_out.due_ms, id, row.audience));
        }
        if fan_outs.len() < WAITING_MAX { NEXT } else { STOP }
    })?;
    fan_outs.sort_unstable();
    let mut waiting = Vec::with_capacity(fan_outs.len());
    for (start_ms, id, audience) in fan_outs {
        let recipients = audience.saturating_sub(read_counts(tx, id)?.total());
        waiting.push((id, WaitingSend { start_ms, recipients }));
    }
    Ok(waiting)
}
