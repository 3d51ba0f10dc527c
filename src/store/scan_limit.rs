//! Limit of a scan whose rows can match or not. A scan without a match reads a part of the rows only.

use std::time::{Duration, Instant};

/// Number of rows between two reads of the clock, some 10 µs apart.
const ROWS_PER_CLOCK_READ: usize = 32;

/// Limit of one scan. A scan that reaches it returns its position, from which the next transaction or request continues.
/// A scan runs in one read transaction, and a long transaction keeps the file from reusing space.
#[derive(Clone, Copy, Debug)]
pub struct ScanLimit {
    /// Maximum number of rows.
    pub rows_max: usize,
    /// Maximum duration. The cost of a row depends on its size and on the filter.
    pub time_max: Duration,
}

impl ScanLimit {
    /// Limit of one transaction of a scan in several steps: 20,000 rows, or 20 milliseconds.
    pub const STEP: Self = Self { rows_max: 20_000, time_max: Duration::from_millis(20) };
    /// Limit of a request that ends after one scan: 50,000 rows, or 200 milliseconds.
    pub const REQUEST: Self = Self { rows_max: 50_000, time_max: Duration::from_millis(200) };

    /// Returns whether no further row may be read, after `read` rows since `started`.
    #[inline]
    pub fn is_reached(self, read: usize, started: Instant) -> bool {
        read >= self.rows_max
            || (read > 0 && read.is_multiple_of(ROWS_PER_CLOCK_READ) && started.elapsed() >= self.time_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::monotonic;

    #[test]
    fn a_scan_ends_at_its_number_of_rows_or_at_its_time() {
        let started = monotonic();
        let rows_read = |rows_max, time_max| {
            let limit = ScanLimit { rows_max, time_max };
            (0..).find(|read| limit.is_reached(*read, started)).unwrap()
        };

        assert_eq!(rows_read(1, Duration::from_secs(3_600)), 1);
        assert_eq!(rows_read(1_000, Duration::from_secs(3_600)), 1_000);
        assert_eq!(rows_read(1_000, Duration::ZERO), ROWS_PER_CLOCK_READ);
    }
}
