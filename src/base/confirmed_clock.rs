//! The time for what cannot be undone: scheduled mail that leaves, and mail that expires.
//!
//! A step of the wall clock forward can be a mistake. This clock therefore follows the old time until the new one has
//! lasted for [`CONFIRM_MS`]. A step that only ends one back counts at once. A process takes the time of its start as
//! confirmed.
//!
//! A suspended machine makes no step: its boot clock continues. That of a virtual machine that was paused or moved can
//! stop.

use std::sync::Mutex;

use super::clock::{CLOCK_STEP_MS, Clock, TimestampMs};
use super::sync::lock;

/// Time for which a step forward has to last. Time services correct a wrong clock within minutes after it was changed.
pub(crate) const CONFIRM_MS: i64 = 10 * 60_000;

/// A wall clock that follows steps forward with a delay, and steps back at once.
#[derive(Debug)]
pub(crate) struct ConfirmedClock(Mutex<Offset>);

/// The time of a [`ConfirmedClock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConfirmedTime {
    /// Milliseconds since the Unix epoch.
    pub(crate) now_ms: TimestampMs,
    /// Time until it follows the last step forward, in milliseconds; 0 if it equals the wall clock.
    pub(crate) pending_ms: i64,
}

#[derive(Clone, Copy, Debug)]
struct Offset {
    /// Latest confirmed time minus the boot clock.
    confirmed_ms: i64,
    /// The step that has to last.
    step: Option<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// The wall clock minus the boot clock after the step.
    offset_ms: i64,
    /// The boot clock at the step.
    since_ms: i64,
}

impl ConfirmedClock {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self(Mutex::new(Offset { confirmed_ms: clock.now_ms() - clock.since_boot_ms(), step: None }))
    }

    /// Returns the confirmed time. A step counts from the first call after it.
    pub(crate) fn now(&self, clock: &Clock) -> ConfirmedTime {
        lock(&self.0).observe(clock.now_ms(), clock.since_boot_ms())
    }
}

impl Offset {
    fn observe(&mut self, wall_ms: TimestampMs, boot_ms: i64) -> ConfirmedTime {
        let offset_ms = wall_ms - boot_ms;
        let is_forward = offset_ms - self.confirmed_ms > CLOCK_STEP_MS;
        let same = self.step.filter(|step| (offset_ms - step.offset_ms).abs() <= CLOCK_STEP_MS);
        let step = same.unwrap_or(Step { offset_ms, since_ms: boot_ms });
        let pending_ms = step.since_ms + CONFIRM_MS - boot_ms;
        if is_forward && pending_ms > 0 {
            self.step = Some(step);
            return ConfirmedTime { now_ms: boot_ms + self.confirmed_ms, pending_ms };
        }
        // A small change moves the confirmed clock. After a step back, it stays: the end of that step is not a step
        // forward.
        let is_small = (offset_ms - self.confirmed_ms).abs() <= CLOCK_STEP_MS;
        *self = Self { confirmed_ms: if is_small { offset_ms } else { offset_ms.max(self.confirmed_ms) }, step: None };
        ConfirmedTime { now_ms: wall_ms, pending_ms: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::DAY_MS;

    const MINUTE_MS: i64 = 60_000;

    #[test]
    fn a_step_forward_counts_after_ten_minutes_and_every_other_step_at_once() {
        let mut clock = Offset { confirmed_ms: 0, step: None };
        let (day, minute) = (DAY_MS, MINUTE_MS);
        // The steps of the wall clock so far, the boot clock, the expected distance from the wall clock, and the rest.
        for (step_ms, boot_ms, behind_ms, pending_ms) in [
            (0, 0, 0, 0),
            // A small step.
            (minute, minute, 0, 0),
            // A day forward, and back after five minutes.
            (day, 2 * minute, day - minute, 10 * minute),
            (day, 7 * minute, day - minute, 5 * minute),
            (0, 7 * minute, 0, 0),
            // A day forward that lasts. A small step in between does not change it.
            (day, 20 * minute, day, 10 * minute),
            (day + minute, 29 * minute, day + minute, minute),
            (day, 30 * minute, 0, 0),
            // A second step forward has to last too.
            (2 * day, 31 * minute, day, 10 * minute),
            (3 * day, 40 * minute, 2 * day, 10 * minute),
            (3 * day, 41 * minute, 2 * day, 9 * minute),
            (3 * day, 50 * minute, 0, 0),
            // A day back, and its end.
            (2 * day, 51 * minute, 0, 0),
            (3 * day, 52 * minute, 0, 0),
            (4 * day, 53 * minute, day, 10 * minute),
        ] {
            let wall_ms = boot_ms + step_ms;
            let expected = ConfirmedTime { now_ms: wall_ms - behind_ms, pending_ms };
            assert_eq!(clock.observe(wall_ms, boot_ms), expected, "{step_ms} {boot_ms}");
        }
    }

    #[test]
    fn time_that_passes_without_a_call_is_no_step() {
        let clock = Clock::manual(DAY_MS);
        let confirmed = ConfirmedClock::new(&clock);

        clock.advance(std::time::Duration::from_secs(3_600));

        assert_eq!(confirmed.now(&clock), ConfirmedTime { now_ms: clock.now_ms(), pending_ms: 0 });
    }
}
