//! A histogram of durations that many threads can add to without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets in microseconds. A further bucket has the longer durations.
pub const BOUNDS_US: [u64; 14] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000,
];

/// Number of durations in each bucket, and their sum.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
    sum_us: AtomicU64,
}

/// The values of a histogram at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistogramReading {
    /// Number of durations up to each bound of [`BOUNDS_US`].
    pub up_to: [u64; BOUNDS_US.len()],
    /// Number of all durations.
    pub count: u64,
    /// Sum of all durations in microseconds.
    pub sum_us: u64,
}

impl Histogram {
    /// Adds a duration.
    pub fn record(&self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.iter().position(|bound_us| us <= *bound_us).unwrap_or(BOUNDS_US.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }

    /// Returns the current values. Durations that are added meanwhile may be missing in the sum.
    pub fn read(&self) -> HistogramReading {
        let mut reading = HistogramReading { sum_us: self.sum_us.load(Ordering::Relaxed), ..Default::default() };
        for (index, bucket) in self.buckets.iter().enumerate() {
            reading.count += bucket.load(Ordering::Relaxed);
            if let Some(up_to) = reading.up_to.get_mut(index) {
                *up_to = reading.count;
            }
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_counts_the_durations_up_to_its_bound() {
        let histogram = Histogram::default();
        for us in [0, 500, 501, 10_000_000, 10_000_001] {
            histogram.record(Duration::from_micros(us));
        }

        let reading = histogram.read();

        assert_eq!(reading.up_to[..2], [2, 3]);
        assert_eq!(reading.up_to[13], 4);
        assert_eq!((reading.count, reading.sum_us), (5, 20_001_002));
    }
}
