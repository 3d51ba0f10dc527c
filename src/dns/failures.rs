//! Cache of failed lookups, so that a broken zone is not queried again for every message.
//!
//! RFC 9520 §3.2: a resolution failure is cached, for longer each time, and for at most five minutes. Positive and
//! negative answers are in the cache of the upstream.

use std::collections::HashMap;

use hickory_resolver::proto::rr::RecordType;

/// First period without queries after a failure. Each failure after such a window doubles the next one.
pub(super) const WINDOW_FIRST_MS: i64 = 5_000;
/// Longest window. RFC 9520 §3.2: "MUST NOT be cached for longer than 5 minutes".
pub(super) const WINDOW_MAX_MS: i64 = 5 * 60_000;
/// Time after the end of a window in which a further failure doubles it. After that, the first window applies again.
const RETENTION_MS: i64 = WINDOW_MAX_MS;
/// Maximum number of failures: at most about 1 MiB of names. If more names fail, the windows that end first are
/// removed.
const ENTRIES_MAX: usize = 4_096;

/// A normalized name and a record type.
pub(super) type Question = (String, RecordType);

/// Failed questions with the time of the next allowed query.
#[derive(Debug)]
pub(super) struct FailureCache {
    failures: HashMap<Question, Failure>,
    entries_max: usize,
}

#[derive(Debug)]
struct Failure {
    until_ms: i64,
    window_ms: i64,
    reason: String,
}

impl Default for FailureCache {
    fn default() -> Self {
        Self::with_capacity(ENTRIES_MAX)
    }
}

impl FailureCache {
    pub(super) fn with_capacity(entries_max: usize) -> Self {
        Self { failures: HashMap::new(), entries_max }
    }

    /// Returns the reason of the failure if `question` must not be queried at `now_ms`; `None` if it may be queried.
    pub(super) fn reason(&self, question: &Question, now_ms: i64) -> Option<&str> {
        let failure = self.failures.get(question)?;
        // The lower bound ends the window if the wall clock was set back.
        let window = failure.until_ms - WINDOW_MAX_MS..failure.until_ms;
        window.contains(&now_ms).then_some(failure.reason.as_str())
    }

    /// Records a lookup that began at `began_ms` and failed at `failed_ms`.
    ///
    /// Concurrent lookups count once: only a lookup that began after the last window doubles the window.
    pub(super) fn record(&mut self, question: Question, began_ms: i64, failed_ms: i64, reason: String) {
        // As in `reason`, the lower bound ignores a window from before the wall clock was set back.
        let window_ms = match self.failures.get(&question) {
            Some(last) if (last.until_ms - 2 * WINDOW_MAX_MS..last.until_ms).contains(&began_ms) => {
                return;
            }
            Some(last) if (last.until_ms..last.until_ms + RETENTION_MS).contains(&failed_ms) => {
                (2 * last.window_ms).min(WINDOW_MAX_MS)
            }
            _ => WINDOW_FIRST_MS,
        };
        if !self.failures.contains_key(&question) {
            self.make_room(failed_ms);
        }
        self.failures.insert(question, Failure { until_ms: failed_ms + window_ms, window_ms, reason });
    }

    /// Removes the failure of `question` after an answer.
    pub(super) fn remove(&mut self, question: &Question) {
        self.failures.remove(question);
    }

    fn make_room(&mut self, now_ms: i64) {
        if self.failures.len() < self.entries_max {
            return;
        }
        self.failures.retain(|_, failure| now_ms < failure.until_ms + RETENTION_MS);
        // Removes an eighth of the entries, so that not every further failure scans the map.
        let surplus = self.failures.len().saturating_sub(self.entries_max - self.entries_max / 8 - 1);
        if self.failures.len() < self.entries_max || surplus == 0 {
            return;
        }
        let mut ends: Vec<i64> = self.failures.values().map(|failure| failure.until_ms).collect();
        let (_, cutoff_ms, _) = ends.select_nth_unstable(surplus - 1);
        let cutoff_ms = *cutoff_ms;
        let mut left_to_remove = surplus;
        self.failures.retain(|_, failure| {
            let remove = failure.until_ms <= cutoff_ms && left_to_remove > 0;
            left_to_remove -= usize::from(remove);
            !remove
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn question(name: &str) -> Question {
        (name.to_owned(), RecordType::MX)
    }

    fn fail(cache: &mut FailureCache, name: &str, at_ms: i64) {
        cache.record(question(name), at_ms, at_ms, "SERVFAIL".to_owned());
    }

    #[test]
    fn windows_double_from_five_seconds_to_five_minutes() {
        let mut cache = FailureCache::default();
        let mut now_ms = 1_000_000;
        for window_s in [5, 10, 20, 40, 80, 160, 300, 300] {
            fail(&mut cache, "a.example", now_ms);
            let end_ms = now_ms + window_s * 1_000;
            assert_eq!(cache.reason(&question("a.example"), end_ms - 1), Some("SERVFAIL"), "{window_s} s");
            assert_eq!(cache.reason(&question("a.example"), end_ms), None, "{window_s} s");
            now_ms = end_ms;
        }
    }

    #[test]
    fn concurrent_failures_count_once() {
        let mut cache = FailureCache::default();
        for _ in 0..50 {
            cache.record(question("a.example"), 0, 10_000, "timeout".to_owned());
        }
        assert_eq!(cache.reason(&question("a.example"), 14_999), Some("timeout"));
        assert_eq!(cache.reason(&question("a.example"), 15_000), None);
    }

    #[test]
    fn an_answer_or_a_long_pause_resets_the_window() {
        let mut cache = FailureCache::default();
        fail(&mut cache, "a.example", 0);
        fail(&mut cache, "a.example", 5_000);
        cache.remove(&question("a.example"));
        fail(&mut cache, "a.example", 15_000);
        assert_eq!(cache.reason(&question("a.example"), 20_000), None, "5 s after an answer");

        fail(&mut cache, "a.example", 20_000 + RETENTION_MS);
        assert_eq!(cache.reason(&question("a.example"), 25_000 + RETENTION_MS), None, "5 s after a pause");
    }

    #[test]
    fn a_clock_set_back_does_not_extend_a_window() {
        let mut cache = FailureCache::default();
        fail(&mut cache, "a.example", 10_000_000);
        assert_eq!(cache.reason(&question("a.example"), 1_000_000), None);

        fail(&mut cache, "a.example", 1_000_000);
        assert_eq!(cache.reason(&question("a.example"), 1_004_999), Some("SERVFAIL"));
        assert_eq!(cache.reason(&question("a.example"), 1_005_000), None);
    }

    #[test]
    fn record_types_of_one_name_fail_separately() {
        let mut cache = FailureCache::default();
        fail(&mut cache, "a.example", 0);
        assert_eq!(cache.reason(&("a.example".to_owned(), RecordType::A), 1), None);
    }

    proptest! {
        #[test]
        fn the_map_never_exceeds_its_bound(
            entries_max in 1usize..40,
            tries in proptest::collection::vec((0u8..80, 0i64..1_000_000), 0..300)
        ) {
            let mut cache = FailureCache::with_capacity(entries_max);
            let mut now_ms = 0;
            for (name, pause_ms) in tries {
                now_ms += pause_ms;
                let name = format!("{name}.example");
                fail(&mut cache, &name, now_ms);
                prop_assert!(cache.failures.len() <= entries_max);
                prop_assert!(cache.reason(&question(&name), now_ms).is_some(), "the latest failure stays");
            }
        }
    }
}
