//! The time, read in one place so that tests turn it by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch, UTC.
pub type TimestampMs = i64;

/// One day in milliseconds.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Where the time comes from: the machine, or a hand that a test moves.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's wall clock.
    #[default]
    System,
    /// A value that stands still until [`Clock::advance`] moves it.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// Returns a clock that stands at `now_ms` until it is moved.
    pub fn manual(now_ms: TimestampMs) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(now_ms)))
    }

    /// Returns the milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> TimestampMs {
        match self {
            Self::System => system_ms(),
            Self::Manual(now) => now.load(Ordering::SeqCst),
        }
    }

    /// Moves a manual clock forward; the machine's clock cannot be moved and is left alone.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(now) = self {
            let by_ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            now.fetch_add(by_ms, Ordering::SeqCst);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the place that reads the clock")]
fn system_ms() -> TimestampMs {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a monotonic instant, for durations alone: it never decides what is due.
#[expect(clippy::disallowed_methods, reason = "this is the place that reads the clock")]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// Formats a timestamp for the wire: ISO 8601, UTC, milliseconds and `Z`.
pub fn to_iso(ms: TimestampMs) -> String {
    chrono::DateTime::from_timestamp_millis(ms).unwrap_or_default().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_is_utc_with_milliseconds() {
        assert_eq!(to_iso(1_767_604_353_456), "2026-01-05T09:12:33.456Z");
        assert_eq!(to_iso(0), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_manual_clock_stands_still_until_it_is_moved() {
        let clock = Clock::manual(1_000);

        assert_eq!(clock.now_ms(), 1_000);
        clock.advance(Duration::from_secs(2));

        assert_eq!(clock.now_ms(), 3_000);
    }
}
