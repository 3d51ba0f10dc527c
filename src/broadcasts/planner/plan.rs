//! Estimates: when a broadcast is finished, and why that is not at once.

use super::WINDOW_SLOTS;
use super::capacity::SendCapacity;
use super::slots::{SendSlots, slot_of};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::words::words;

/// Time from the due time of a message to its delivery, at most, while the sessions are not busy.
const DELIVERY_MS: i64 = 5_000;
/// Percentage by which an estimate from a measured rate is longer than the count divided by the rate.
const RATE_MARGIN_PERCENT: f64 = 10.0;

/// A broadcast that waits for its recipients to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingSend {
    /// Time at which it starts.
    pub start_ms: TimestampMs,
    /// Number of recipients without a place.
    pub recipients: u64,
}

/// A broadcast to plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanRequest {
    pub now_ms: TimestampMs,
    /// Requested start; a time in the past is the current time.
    pub start_ms: TimestampMs,
    pub recipients: u64,
    /// Longest time from the start to the last message.
    pub horizon_ms: i64,
    /// Measured delivery rate, in messages per second, at most the one that the server can keep up. Used without limits.
    pub measured_rate: f64,
}

/// The plan of a broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendPlan {
    /// Time at which the last email goes out; `None` if there is no recipient.
    pub finishes_ms: Option<TimestampMs>,
    pub warning: Option<PlanWarning>,
}

/// Reason why a broadcast is not sent at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanWarning {
    pub code: PlanWarningCode,
    /// Days from the start to the last email, rounded up; at least 1.
    pub days: u32,
    /// Explanation in one or two sentences.
    pub message: String,
}

words! {
    /// Kind of a warning.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PlanWarningCode {
        /// The broadcast alone exceeds the room.
        Paced = "paced",
        /// Other broadcasts use the room.
        QueuedBehind = "queued_behind",
    }
}

/// Error of a broadcast that needs more time than the horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BroadcastTooLarge {
    /// Longest time that a broadcast may take, in days.
    pub days_max: u32,
}

/// Plans a broadcast.
///
/// `slots` has the messages that are placed, from 24 hours before the earliest start. `waiting` has the broadcasts whose
/// recipients are placed earlier, in that order. `capacity` is `None` without limits; the two are then not used.
pub fn plan(
    capacity: Option<&SendCapacity>,
    slots: &mut SendSlots,
    waiting: &[WaitingSend],
    request: PlanRequest,
) -> Result<SendPlan, BroadcastTooLarge> {
    let PlanRequest { now_ms, recipients, horizon_ms, .. } = request;
    let start_ms = request.start_ms.max(now_ms);
    if recipients == 0 {
        return Ok(SendPlan { finishes_ms: None, warning: None });
    }
    let too_large = BroadcastTooLarge { days_max: days(horizon_ms) };
    let Some(capacity) = capacity else {
        let seconds = recipients as f64 / request.measured_rate.max(f64::MIN_POSITIVE);
        let duration_ms = seconds * 1_000.0 * (1.0 + RATE_MARGIN_PERCENT / 100.0);
        let finishes_ms = start_ms.saturating_add(duration_ms.ceil() as i64);
        return Ok(SendPlan { finishes_ms: Some(finishes_ms), warning: None });
    };
    let until_ms = start_ms.saturating_add(horizon_ms);
    let window = slot_of(start_ms).saturating_sub(WINDOW_SLOTS);
    // Messages of the current slot count as in flight: most of them have not left yet.
    let sent = slots.messages(window, slot_of(now_ms).saturating_sub(1));
    for earlier in waiting {
        slots.place(capacity, earlier.start_ms.max(now_ms), until_ms, earlier.recipients, |_| ());
    }
    let in_flight = slots.messages(window, u32::MAX - 1).saturating_sub(sent);
    let warning = warning(capacity.day_messages_max().saturating_sub(sent), in_flight, recipients);
    let mut last_ms = start_ms;
    let left = slots.place(capacity, start_ms, until_ms, recipients, |run| last_ms = run.last_ms());
    if left > 0 || last_ms > until_ms {
        return Err(too_large);
    }
    let finishes_ms = delivered_ms(last_ms);
    let warning = warning.map(|code| PlanWarning::new(code, days(finishes_ms - start_ms)));
    Ok(SendPlan { finishes_ms: Some(finishes_ms), warning })
}

/// Returns the time by which a message with this due time is delivered.
pub const fn delivered_ms(due_ms: TimestampMs) -> TimestampMs {
    due_ms.saturating_add(DELIVERY_MS)
}

/// Returns the warning of a broadcast. `room` is that of 24 hours without the broadcasts in flight.
fn warning(room: u64, in_flight: u64, recipients: u64) -> Option<PlanWarningCode> {
    if recipients > room {
        return Some(PlanWarningCode::Paced);
    }
    (recipients > room.saturating_sub(in_flight)).then_some(PlanWarningCode::QueuedBehind)
}

impl PlanWarning {
    fn new(code: PlanWarningCode, days: u32) -> Self {
        let time = if days == 1 { "about a day".to_owned() } else { format!("about {days} days") };
        let message = match code {
            PlanWarningCode::Paced => {
                format!("The audience exceeds the sending limits of this server. The broadcast takes {time}.")
            }
            PlanWarningCode::QueuedBehind => {
                format!("Other broadcasts are sent first. The broadcast takes {time}.")
            }
        };
        Self { code, days, message }
    }
}

/// Returns a duration in days, rounded up; at least 1.
fn days(duration_ms: i64) -> u32 {
    let days = duration_ms.max(1).saturating_add(DAY_MS - 1) / DAY_MS;
    u32::try_from(days).unwrap_or(u32::MAX)
}
