//! How fast requests to one endpoint may begin. Pure.

use std::time::{Duration, Instant};

/// How far a lane that was held up may fall behind its pace and still catch up: what a busy machine
/// delays, and no more than a few requests close together.
const CATCH_UP: Duration = Duration::from_millis(100);

/// Spreads the beginnings of requests evenly.
#[derive(Debug)]
pub(super) struct RequestPacer {
    /// The time between two beginnings; none when there is no limit.
    interval: Option<Duration>,
    /// When the next may begin.
    next: Option<Instant>,
}

impl RequestPacer {
    /// Returns a pace of `per_second` beginnings; 0 is no limit.
    pub(super) fn new(per_second: u32) -> Self {
        let interval = (per_second > 0).then(|| Duration::from_secs(1) / per_second);
        Self { interval, next: None }
    }

    /// Returns when the next request may begin; none for at once.
    pub(super) fn next_at(&self, now: Instant) -> Option<Instant> {
        self.next.filter(|next| *next > now)
    }

    /// Notes that a request begins.
    pub(super) fn begin(&mut self, now: Instant) {
        let Some(interval) = self.interval else { return };
        let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
        let from = self.next.map_or(now, |next| next.max(earliest));
        self.next = Some(from + interval);
    }

    /// Notes that nothing waits: what was not used is not saved up.
    pub(super) fn rest(&mut self, now: Instant) {
        self.next = self.next.filter(|next| *next > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins whenever it may, looking every `look`, for `span`; returns how often.
    fn begun(pace: &mut RequestPacer, start: Instant, look: Duration, span: Duration) -> u32 {
        let mut begun = 0;
        let mut now = start;
        while now < start + span {
            while pace.next_at(now).is_none() {
                pace.begin(now);
                begun += 1;
            }
            now += look;
        }
        begun
    }

    #[test]
    fn fifty_a_second_are_fifty_a_second_however_late_the_looks() {
        let start = crate::base::clock::monotonic();
        for look_ms in [1, 7, 33, 90] {
            let mut pace = RequestPacer::new(50);
            let count = begun(&mut pace, start, Duration::from_millis(look_ms), Duration::from_secs(60));
            assert!((2_950..=3_001).contains(&count), "{count} with a look every {look_ms} ms");
        }
    }

    #[test]
    fn idle_time_is_not_saved_up() {
        let start = crate::base::clock::monotonic();
        let mut pace = RequestPacer::new(50);
        pace.begin(start);
        let later = start + Duration::from_secs(60);
        pace.rest(later);

        let count = begun(&mut pace, later, Duration::from_millis(1), Duration::from_secs(1));

        assert_eq!(count, 50);
    }

    #[test]
    fn a_pace_of_nought_is_no_limit() {
        let mut pace = RequestPacer::new(0);
        let now = crate::base::clock::monotonic();
        pace.begin(now);

        assert_eq!(pace.next_at(now), None);
    }
}
