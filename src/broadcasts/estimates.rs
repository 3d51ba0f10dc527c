//! The input of the planner: the limits of the server, the stored slots, and the measured delivery rate.
//!
//! Slots are stored only while there are limits. The fan-out worker counts the messages of broadcasts in them, in the
//! transaction that queues these messages. A worker adds the transactional email of the last seconds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::forecast::{LazyForecast, SendForecast, read_waiting};
use super::placement::delete_old;
use super::planner::{
    BroadcastTooLarge, PlanRequest, SendCapacity, SendLimits, SendPlan, SendSlots, SlotNumber, WINDOW_SLOTS,
    delivered_ms, plan, slot_of,
};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::BroadcastId;
use crate::base::sync;
use crate::broadcast_rows::{BroadcastCountsRow, BroadcastRow, BroadcastStatus};
use crate::store::{NEXT, Order, Reads, StoreError, WriteTx};
use crate::tables::{BROADCAST_FAN_OUTS, SEND_SLOTS};

/// Rate before one is measured, in messages per second.
const RATE_ASSUMED: f64 = 100.0;
/// Share of a new measurement in the rate.
const RATE_WEIGHT: f64 = 0.5;
/// Messages of broadcasts per second from which a measurement counts: with fewer, the delivery engine waits for mail.
const MEASURED_MIN: f64 = 10.0;
/// Attempts of a broadcast from which its own rate is used.
const OWN_ATTEMPTS_MIN: u64 = 200;
/// Time since the start of a broadcast from which its own rate is used.
const OWN_TIME_MIN_MS: i64 = 2_000;
/// Longest time that a broadcast may take, in days, with a content retention of at least 30 days.
const HORIZON_DAYS_MAX: u32 = 30;
/// Percentage of the content retention that a broadcast may take.
const HORIZON_PERCENT: i64 = 80;

/// Estimates of broadcasts on this server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SendEstimates {
    limits: SendLimits,
    horizon_ms: i64,
    /// Measured delivery rate of broadcasts, in messages per second.
    rate: Arc<Mutex<f64>>,
}

impl Default for SendEstimates {
    fn default() -> Self {
        Self::new(SendLimits::default(), HORIZON_DAYS_MAX)
    }
}

impl SendEstimates {
    /// Returns the estimates of a server with these limits, which keeps the content of emails for that time.
    pub fn new(limits: SendLimits, content_retention_days: u32) -> Self {
        let days = i64::from(content_retention_days.min(HORIZON_DAYS_MAX)) * HORIZON_PERCENT / 100;
        Self { limits, horizon_ms: days.max(1) * DAY_MS, rate: Arc::new(Mutex::new(RATE_ASSUMED)) }
    }

    /// Returns whether messages are paced.
    pub fn is_limited(&self) -> bool {
        !self.limits.are_off()
    }

    /// Plans a broadcast to `recipients` that would start at `start_ms`, behind the broadcasts that start earlier.
    ///
    /// # Errors
    /// [`StoreError`]. The inner error is [`BroadcastTooLarge`].
    pub fn plan(
        &self,
        tx: &impl Reads,
        now_ms: TimestampMs,
        start_ms: TimestampMs,
        recipients: u64,
    ) -> Result<Result<SendPlan, BroadcastTooLarge>, StoreError> {
        let start_ms = start_ms.max(now_ms);
        let request = self.request(now_ms, start_ms, recipients, self.rate());
        // Without a recipient, the plan has no end and no warning, whatever the room is.
        if self.limits.are_off() || recipients == 0 {
            return Ok(plan(None, &mut SendSlots::default(), &[], request));
        }
        let (mut slots, capacity) = self.room(tx, now_ms, now_ms)?;
        let waiting = read_waiting(tx)?.into_iter().map(|(_, waiting)| waiting);
        let earlier: Vec<_> = waiting.take_while(|waiting| waiting.start_ms <= start_ms).collect();
        Ok(plan(capacity.as_ref(), &mut slots, &earlier, request))
    }

    /// Plans all broadcasts with recipients that are not placed. Without limits, none is planned.
    pub(super) fn forecast(&self, tx: &impl Reads, now_ms: TimestampMs) -> Result<SendForecast, StoreError> {
        if self.limits.are_off() {
            return Ok(SendForecast::default());
        }
        let (slots, Some(capacity)) = self.room(tx, now_ms, now_ms)? else { return Ok(SendForecast::default()) };
        Ok(SendForecast::of(&capacity, slots, &read_waiting(tx)?, now_ms, self.horizon_ms))
    }

    /// Returns the estimated time of the last email of a broadcast. `None` for a broadcast that is not scheduled or
    /// queued, and if no email remains.
    pub(super) fn finishes_ms(
        &self,
        tx: &impl Reads,
        forecast: &LazyForecast,
        now_ms: TimestampMs,
        id: BroadcastId,
        row: &BroadcastRow,
        counts: &BroadcastCountsRow,
    ) -> Result<Option<TimestampMs>, StoreError> {
        let fan_out = tx.get_valid(&BROADCAST_FAN_OUTS, &(id,))?;
        let unplaced = match row.status {
            BroadcastStatus::Scheduled | BroadcastStatus::Queued if !row.is_queued_whole => {
                row.audience.saturating_sub(counts.total())
            }
            BroadcastStatus::Queued => 0,
            _ => return Ok(None),
        };
        let start_ms = fan_out.as_ref().map_or(now_ms, |fan_out| fan_out.due_ms);
        let rate = self.rate_of(row, counts, now_ms);
        if self.limits.are_off() {
            return Ok(self.plan_at_rate(now_ms, start_ms, unplaced + counts.queued, rate));
        }
        let placed_ms = match &fan_out {
            Some(fan_out) => fan_out.planned_ms.map(delivered_ms),
            None => row.finishes_ms.filter(|_| counts.queued > 0),
        };
        // Mail that is late leaves at the rate of the delivery.
        let late = self.plan_at_rate(now_ms, now_ms, counts.queued, rate);
        let placed_ms = match placed_ms.filter(|_| counts.queued > 0) {
            Some(placed_ms) if placed_ms < now_ms => late,
            placed_ms => placed_ms,
        };
        let planned_ms = match unplaced {
            0 => None,
            _ => forecast.end_of(tx, self, now_ms, id)?.or(row.finishes_ms),
        };
        Ok(planned_ms.max(placed_ms))
    }

    /// Returns the time of the last of `recipients` at a delivery rate; `None` if there is no recipient.
    fn plan_at_rate(
        &self,
        now_ms: TimestampMs,
        start_ms: TimestampMs,
        recipients: u64,
        rate: f64,
    ) -> Option<TimestampMs> {
        let request = self.request(now_ms, start_ms, recipients, rate);
        plan(None, &mut SendSlots::default(), &[], request).ok().and_then(|plan| plan.finishes_ms)
    }

    fn request(&self, now_ms: TimestampMs, start_ms: TimestampMs, recipients: u64, measured_rate: f64) -> PlanRequest {
        PlanRequest { now_ms, start_ms, recipients, horizon_ms: self.horizon_ms, measured_rate }
    }

    /// Returns the stored slots that the placement of messages from `from_ms` on needs, and the room in them; `None` for
    /// the room without limits.
    pub(super) fn room(
        &self,
        tx: &impl Reads,
        now_ms: TimestampMs,
        from_ms: TimestampMs,
    ) -> Result<(SendSlots, Option<SendCapacity>), StoreError> {
        if self.limits.are_off() {
            return Ok((SendSlots::default(), None));
        }
        let today = slot_of(now_ms).saturating_sub(WINDOW_SLOTS);
        let first = slot_of(from_ms).saturating_sub(WINDOW_SLOTS + 1);
        let mut slots = SendSlots::starting_at(first);
        let mut transactional: u64 = 0;
        tx.scan_valid(&SEND_SLOTS, &(first.min(today),), &(SlotNumber::MAX,), Order::Ascending, |(slot,), row| {
            if slot >= today {
                transactional = transactional.saturating_add(row.transactional);
            }
            slots.set(slot, row.slot());
            NEXT
        })?;
        Ok((slots, SendCapacity::of(self.limits, transactional)))
    }

    fn rate(&self) -> f64 {
        *sync::lock(&self.rate)
    }

    /// Returns the rate of the broadcast itself, once enough of its emails went out; otherwise that of the server.
    fn rate_of(&self, row: &BroadcastRow, counts: &BroadcastCountsRow, now_ms: TimestampMs) -> f64 {
        let passed_ms = row.started_ms.map_or(0, |started_ms| now_ms - started_ms);
        if counts.attempted < OWN_ATTEMPTS_MIN || passed_ms < OWN_TIME_MIN_MS {
            return self.rate();
        }
        counts.attempted as f64 * 1_000.0 / passed_ms as f64
    }

    /// Records the number of messages of broadcasts that went out during `elapsed`.
    pub fn record_rate(&self, messages: u64, elapsed: Duration) {
        let measured = messages as f64 / elapsed.as_secs_f64().max(0.001);
        if measured >= MEASURED_MIN {
            let mut rate = sync::lock(&self.rate);
            *rate += (measured - *rate) * RATE_WEIGHT;
        }
    }

    /// Adds transactional messages to the slot of `now_ms`, and deletes some slots that no plan needs. Does nothing without
    /// limits.
    pub fn count_transactional(&self, tx: &WriteTx<'_>, now_ms: TimestampMs, messages: u64) -> Result<(), StoreError> {
        if self.limits.are_off() || messages == 0 {
            return Ok(());
        }
        let key = (slot_of(now_ms),);
        let mut row = tx.get_valid(&SEND_SLOTS, &key)?.unwrap_or_default();
        row.transactional = row.transactional.saturating_add(messages);
        tx.put(&SEND_SLOTS, &key, &row)?;
        delete_old(tx, now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;

    #[test]
    fn the_rate_follows_the_measurements_with_enough_mail() {
        let estimates = SendEstimates::default();
        for (messages, seconds, expected) in [(9, 1, 100.0), (3_000, 10, 200.0), (4_000, 10, 300.0), (0, 10, 300.0)] {
            estimates.record_rate(messages, Duration::from_secs(seconds));

            assert_eq!(estimates.rate(), expected, "{messages} in {seconds} s");
        }
    }

    #[test]
    fn a_broadcast_with_enough_attempts_is_estimated_at_its_own_rate() {
        let estimates = SendEstimates::default();
        let row = BroadcastRow { started_ms: Some(1_000), ..BroadcastRow::draft("a@example.com".into(), "Hi".into()) };
        for (attempted, passed_ms, expected) in
            [(199, 60_000, 100.0), (200, 1_999, 100.0), (200, 4_000, 50.0), (600, 2_000, 300.0)]
        {
            let counts = BroadcastCountsRow { attempted, ..BroadcastCountsRow::default() };

            assert_eq!(estimates.rate_of(&row, &counts, 1_000 + passed_ms), expected, "{attempted} in {passed_ms} ms");
        }
    }

    #[test]
    fn a_broadcast_takes_no_longer_than_most_of_the_content_retention() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        for (retention_days, days) in [(90, 24), (30, 24), (10, 8), (2, 1), (1, 1)] {
            // 70 messages of broadcasts a day.
            let estimates = SendEstimates::new(SendLimits { per_second: None, per_day: Some(100) }, retention_days);
            let plan = |recipients| context.read(|tx| estimates.plan(tx, now_ms, now_ms, recipients));

            assert!(plan(70 * days).is_ok(), "{retention_days} days");
            assert!(plan(70 * days + 1).is_err(), "{retention_days} days");
        }
    }
}
