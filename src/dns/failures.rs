//! Which questions failed lately, so that a broken zone is not asked again at every message.
//!
//! RFC 9520 §3.2: a resolution failure is remembered, for longer each time, and never for more
//! than five minutes. Answers, negative ones too, are remembered by the upstream's own cache.

use std::collections::HashMap;

use hickory_resolver::proto::rr::RecordType;

/// The first window; each failed try after a window doubles it.
pub(super) const WINDOW_FIRST_MS: i64 = 5_000;
/// RFC 9520 §3.2: "MUST NOT be cached for longer than 5 minutes".
pub(super) const WINDOW_LONGEST_MS: i64 = 5 * 60_000;
/// A failure this long past its window is forgotten, and the next one starts small again.
const MEMORY_MS: i64 = WINDOW_LONGEST_MS;
/// About 1 MiB of names at worst; a flood of broken names then pushes out the oldest windows.
const ENTRIES_MAX: usize = 4_096;

/// A normalized name and the type asked for.
pub(super) type Question = (String, RecordType);

/// The failed questions and when each may be asked again.
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

    /// Returns why `question` must not be asked at `now_ms`, or `None` when it may.
    pub(super) fn reason(&self, question: &Question, now_ms: i64) -> Option<&str> {
        let failure = self.failures.get(question)?;
        // The lower bound frees the name when the wall clock was set back.
        let window = failure.until_ms - WINDOW_LONGEST_MS..failure.until_ms;
        window.contains(&now_ms).then_some(failure.reason.as_str())
    }

    /// Remembers that a try which began at `began_ms` failed at `failed_ms`.
    ///
    /// Tries that were under way together count once: only one that began after the last window
    /// makes the next longer.
    pub(super) fn record(&mut self, question: Question, began_ms: i64, failed_ms: i64, reason: String) {
        // The lower bound is the wall clock again: after a step back the old window means nothing.
        let window_ms = match self.failures.get(&question) {
            Some(last) if (last.until_ms - 2 * WINDOW_LONGEST_MS..last.until_ms).contains(&began_ms) => {
                return;
            }
            Some(last) if (last.until_ms..last.until_ms + MEMORY_MS).contains(&failed_ms) => {
                (2 * last.window_ms).min(WINDOW_LONGEST_MS)
            }
            _ => WINDOW_FIRST_MS,
        };
        if !self.failures.contains_key(&question) {
            self.make_room(failed_ms);
        }
        self.failures.insert(question, Failure { until_ms: failed_ms + window_ms, window_ms, reason });
    }

    /// Forgets `question` because it was answered.
    pub(super) fn forget(&mut self, question: &Question) {
        self.failures.remove(question);
    }

    fn make_room(&mut self, now_ms: i64) {
        if self.failures.len() < self.entries_max {
            return;
        }
        self.failures.retain(|_, failure| now_ms < failure.until_ms + MEMORY_MS);
        // An eighth at a time, so that a flood does not scan the map for each of its names.
        let surplus = self.failures.len().saturating_sub(self.entries_max - self.entries_max / 8 - 1);
        if self.failures.len() < self.entries_max || surplus == 0 {
            return;
        }
        let mut ends: Vec<i64> = self.failures.values().map(|failure| failure.until_ms).collect();
        let (_, last_to_go, _) = ends.select_nth_unstable(surplus - 1);
        let last_to_go = *last_to_go;
        let mut left_to_drop = surplus;
        self.failures.retain(|_, failure| {
            let drop = failure.until_ms <= last_to_go && left_to_drop > 0;
            left_to_drop -= usize::from(drop);
            !drop
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
    fn tries_under_way_together_count_once() {
        let mut cache = FailureCache::default();
        for _ in 0..50 {
            cache.record(question("a.example"), 0, 10_000, "timeout".to_owned());
        }
        assert_eq!(cache.reason(&question("a.example"), 14_999), Some("timeout"));
        assert_eq!(cache.reason(&question("a.example"), 15_000), None);
    }

    #[test]
    fn an_answer_or_a_long_silence_starts_over() {
        let mut cache = FailureCache::default();
        fail(&mut cache, "a.example", 0);
        fail(&mut cache, "a.example", 5_000);
        cache.forget(&question("a.example"));
        fail(&mut cache, "a.example", 15_000);
        assert_eq!(cache.reason(&question("a.example"), 20_000), None, "5 s after an answer");

        fail(&mut cache, "a.example", 20_000 + MEMORY_MS);
        assert_eq!(cache.reason(&question("a.example"), 25_000 + MEMORY_MS), None, "5 s after a silence");
    }

    #[test]
    fn a_clock_set_back_does_not_stretch_a_window() {
        let mut cache = FailureCache::default();
        fail(&mut cache, "a.example", 10_000_000);
        assert_eq!(cache.reason(&question("a.example"), 1_000_000), None);

        fail(&mut cache, "a.example", 1_000_000);
        assert_eq!(cache.reason(&question("a.example"), 1_004_999), Some("SERVFAIL"));
        assert_eq!(cache.reason(&question("a.example"), 1_005_000), None);
    }

    #[test]
    fn types_of_one_name_fail_apart() {
        let mut cache = FailureCache::default();
        fail(&mut cache, "a.example", 0);
        assert_eq!(cache.reason(&("a.example".to_owned(), RecordType::A), 1), None);
    }

    proptest! {
        #[test]
        fn the_map_never_outgrows_its_bound(
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
