//! The time of the last failure of a part of the program, for the health of an instance.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::clock::monotonic;
use super::sync;

/// Time for which a failure counts as recent. A check of the health once a minute therefore sees each failure.
pub const RECENT: Duration = Duration::from_secs(60);

/// Time of the last failure of one part.
#[derive(Debug, Default)]
pub struct Recent(Mutex<Option<Instant>>);

impl Recent {
    /// Records a failure now.
    pub fn record(&self) {
        *sync::lock(&self.0) = Some(monotonic());
    }

    /// Returns whether a failure was recorded within [`RECENT`].
    pub fn is_recent(&self) -> bool {
        sync::lock(&self.0).is_some_and(|at| at.elapsed() < RECENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_recent_for_a_minute() {
        let recent = Recent::default();
        assert!(!recent.is_recent());

        recent.record();
        assert!(recent.is_recent());

        *sync::lock(&recent.0) = monotonic().checked_sub(RECENT);
        assert!(!recent.is_recent());
    }
}
