//! CPU time of composing and of signing messages, which the bench of delivery reads from the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tracing::debug;

/// CPU times of one process.
#[derive(Debug, Default)]
pub(super) struct CpuTimes {
    messages: AtomicU64,
    composing_ns: AtomicU64,
    signing_ns: AtomicU64,
}

impl CpuTimes {
    /// Adds messages that were composed and signed together.
    pub(super) fn add(&self, messages: usize, composing: Duration, signing: Duration) {
        self.messages.fetch_add(messages as u64, Ordering::Relaxed);
        self.composing_ns.fetch_add(nanoseconds(composing), Ordering::Relaxed);
        self.signing_ns.fetch_add(nanoseconds(signing), Ordering::Relaxed);
    }

    /// Logs the averages.
    pub(super) fn log(&self) {
        let messages = self.messages.load(Ordering::Relaxed);
        let average_us = |sum: &AtomicU64| sum.load(Ordering::Relaxed) / messages.max(1) / 1_000;
        let (composing_us, signing_us) = (average_us(&self.composing_ns), average_us(&self.signing_ns));
        debug!(
            messages,
            composing_us, signing_us, "CPU time of a message: composing {composing_us} us, signing {signing_us} us"
        );
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_all_messages_are_added() {
        let times = CpuTimes::default();

        times.add(1, Duration::from_micros(60), Duration::from_micros(240));
        times.add(2, Duration::from_micros(60), Duration::from_micros(40));

        let read = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        let sums = (read(&times.messages), read(&times.composing_ns), read(&times.signing_ns));
        assert_eq!(sums, (3, 120_000, 280_000));
    }
}
