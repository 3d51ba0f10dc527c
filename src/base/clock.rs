//! The current time. Only this module reads the system clock, so that tests can use a manual clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds since the Unix epoch, UTC.
pub type TimestampMs = i64;

/// One day in milliseconds.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Minimum step of the wall clock that has effects. Smaller ones delay an attempt less than the jitter does.
pub const CLOCK_STEP_MS: i64 = 60_000;

/// Source of the current time. Clones of a manual clock share one value.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The wall clock of the operating system.
    #[default]
    System,
    /// Values that only [`Clock::advance`] and [`Clock::step`] change.
    Manual(Arc<ManualClock>),
}

/// The values of a manual clock.
#[derive(Debug, Default)]
pub struct ManualClock {
    elapsed_ms: AtomicI64,
    /// The wall clock minus `elapsed_ms`.
    step_ms: AtomicI64,
}

/// Start of [`Clock::elapsed_ms`].
static START: LazyLock<Instant> = LazyLock::new(monotonic);

impl Clock {
    /// Returns a manual clock that starts at `now_ms`.
    pub fn manual(now_ms: TimestampMs) -> Self {
        Self::Manual(Arc::new(ManualClock { elapsed_ms: AtomicI64::new(now_ms), step_ms: AtomicI64::new(0) }))
    }

    /// Returns the milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> TimestampMs {
        match self {
            Self::System => system_ms(),
            Self::Manual(clock) => clock.elapsed_ms.load(Ordering::SeqCst) + clock.step_ms.load(Ordering::SeqCst),
        }
    }

    /// Returns the milliseconds since an arbitrary start. Steps of the wall clock do not change them.
    pub fn elapsed_ms(&self) -> i64 {
        match self {
            Self::System => i64::try_from(START.elapsed().as_millis()).unwrap_or(i64::MAX),
            Self::Manual(clock) => clock.elapsed_ms.load(Ordering::SeqCst),
        }
    }

    /// Returns the milliseconds since the start of the machine, including the time for which it was suspended.
    pub fn since_boot_ms(&self) -> i64 {
        match self {
            Self::System => {
                let since_boot = clock_gettime(ClockId::Boottime);
                since_boot.tv_sec * 1_000 + since_boot.tv_nsec / 1_000_000
            }
            Self::Manual(_) => self.elapsed_ms(),
        }
    }

    /// Moves a manual clock forward. Has no effect on the system clock.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(clock) = self {
            let by_ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            clock.elapsed_ms.fetch_add(by_ms, Ordering::SeqCst);
        }
    }

    /// Sets the wall clock of a manual clock forward, or back by a negative time. Has no effect on the system clock.
    pub fn step(&self, by_ms: i64) {
        if let Self::Manual(clock) = self {
            clock.step_ms.fetch_add(by_ms, Ordering::SeqCst);
        }
    }
}

/// Returns the CPU time that the calling thread has used.
pub fn thread_cpu_time() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanoseconds) = (u64::try_from(used.tv_sec), u32::try_from(used.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanoseconds.unwrap_or_default())
}

#[expect(clippy::disallowed_methods, reason = "the only module that reads the clock")]
fn system_ms() -> TimestampMs {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a monotonic instant. Only for measuring durations: due times use [`Clock`].
#[expect(clippy::disallowed_methods, reason = "the only module that reads the clock")]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// Returns the UTC day of a time, in days since 1970. A time before 1970 has day 0.
pub fn utc_day(at_ms: TimestampMs) -> u32 {
    u32::try_from(at_ms.div_euclid(DAY_MS)).unwrap_or(0)
}

/// Formats a timestamp for the API: ISO 8601 in UTC with milliseconds and `Z`.
pub fn to_iso(ms: TimestampMs) -> String {
    chrono::DateTime::from_timestamp_millis(ms).unwrap_or_default().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_format_is_utc_with_milliseconds() {
        assert_eq!(to_iso(1_767_604_353_456), "2026-01-05T09:12:33.456Z");
        assert_eq!(to_iso(0), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_utc_day_begins_at_midnight_and_no_day_is_before_1970() {
        for (at_ms, day) in [(0, 0), (DAY_MS - 1, 0), (DAY_MS, 1), (-1, 0), (i64::MIN, 0)] {
            assert_eq!(utc_day(at_ms), day, "{at_ms}");
        }
    }

    #[test]
    fn a_manual_clock_changes_only_on_advance() {
        let clock = Clock::manual(1_000);

        assert_eq!(clock.now_ms(), 1_000);
        clock.advance(Duration::from_secs(2));

        assert_eq!(clock.now_ms(), 3_000);
    }

    #[test]
    fn a_step_of_a_manual_clock_changes_only_the_wall_clock() {
        let clock = Clock::manual(5_000);

        clock.step(-2_000);

        assert_eq!((clock.now_ms(), clock.elapsed_ms()), (3_000, 5_000));
    }
}
