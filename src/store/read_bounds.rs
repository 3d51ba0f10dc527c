//! Bounds of a scan whose rows can match or not. A search without a match reads a part of the rows only.

use std::time::{Duration, Instant};

/// Number of rows between two reads of the clock.
const ROWS_PER_CLOCK_READ: usize = 32;

/// Bounds of one scan. A search that reaches them returns its position, from which the next request continues.
#[derive(Clone, Copy, Debug)]
pub struct ReadBounds {
    pub rows: usize,
    pub time: Duration,
}

impl ReadBounds {
    /// Bounds of one request: 50,000 rows, or 200 milliseconds.
    pub const REQUEST: Self = Self { rows: 50_000, time: Duration::from_millis(200) };

    /// Returns whether no further row may be read, after `read` rows since `started`.
    pub fn are_reached(self, read: usize, started: Instant) -> bool {
        read >= self.rows || (read > 0 && read.is_multiple_of(ROWS_PER_CLOCK_READ) && started.elapsed() >= self.time)
    }
}
