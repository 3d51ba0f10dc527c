//! A token bucket on the monotonic clock.

/// Microseconds of a millisecond.
const MS_US: i64 = 1_000;

/// A bucket that fills at a constant rate. It stores one time: when it is full again.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBucket {
    /// Time in which one token is added; 0 if the bucket has no limit.
    interval_us: i64,
    /// Maximum number of tokens.
    capacity: i64,
    full_at_us: i64,
}

impl TokenBucket {
    /// Returns a full bucket: `tokens` are added in `period_ms`, and at most those of `burst_ms` are stored, at least
    /// one. `None` is no limit.
    pub(super) fn new(tokens: Option<u32>, period_ms: i64, burst_ms: i64) -> Self {
        let Some(tokens) = tokens.map(i64::from).filter(|tokens| *tokens > 0) else {
            return Self { interval_us: 0, capacity: i64::MAX, full_at_us: i64::MIN };
        };
        let interval_us = (period_ms * MS_US / tokens).max(1);
        Self { interval_us, capacity: (burst_ms * MS_US / interval_us).max(1), full_at_us: i64::MIN }
    }

    /// Returns the number of tokens.
    pub(super) fn tokens(&self, now_ms: i64) -> usize {
        if self.interval_us == 0 {
            return usize::MAX;
        }
        let missing_us = self.full_at_us.saturating_sub(now_ms * MS_US).max(0);
        let missing = missing_us.saturating_add(self.interval_us - 1) / self.interval_us;
        usize::try_from(self.capacity - missing).unwrap_or(0)
    }

    /// Removes tokens. If there are fewer, the bucket owes them.
    pub(super) fn take(&mut self, tokens: usize, now_ms: i64) {
        self.full_at_us = self.full_at_us.max(now_ms * MS_US).saturating_add(self.duration_us(tokens));
    }

    /// Returns tokens that were not used.
    pub(super) fn give_back(&mut self, tokens: usize) {
        self.full_at_us = self.full_at_us.saturating_sub(self.duration_us(tokens));
    }

    /// Returns the time at which the bucket has this many tokens, at most its capacity: `now_ms` if it has them.
    pub(super) fn available_at_ms(&self, tokens: usize, now_ms: i64) -> i64 {
        if self.interval_us == 0 {
            return now_ms;
        }
        let tokens = i64::try_from(tokens).unwrap_or(i64::MAX).min(self.capacity);
        let at_us = self.full_at_us.saturating_sub((self.capacity - tokens) * self.interval_us);
        at_us.div_euclid(MS_US).saturating_add(i64::from(at_us.rem_euclid(MS_US) > 0)).max(now_ms)
    }

    /// Returns the number of tokens that are added in a second; `None` is no limit.
    pub(super) fn per_second(&self) -> Option<f64> {
        (self.interval_us > 0).then(|| 1e6 / self.interval_us as f64)
    }

    fn duration_us(&self, tokens: usize) -> i64 {
        i64::try_from(tokens).unwrap_or(i64::MAX).saturating_mul(self.interval_us)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE_MS: i64 = 60_000;

    #[test]
    fn a_bucket_fills_at_its_rate_up_to_its_capacity() {
        for (per_minute, burst_ms, taken, after_ms, tokens) in [
            (60, 1_000, 0, 0, 1),
            (60, 1_000, 1, 0, 0),
            (60, 1_000, 1, 999, 0),
            (60, 1_000, 1, 1_000, 1),
            (60, 1_000, 1, MINUTE_MS, 1),
            (60, 5_000, 5, 2_500, 2),
            (100, 10_000, 16, 600, 1),
            (100, 10_000, 16, 10_000, 16),
            // A debt.
            (60, 1_000, 3, 2_000, 0),
            (60, 1_000, 3, 3_000, 1),
            (6_000, 1_000, 100, 10, 1),
        ] {
            let mut bucket = TokenBucket::new(Some(per_minute), MINUTE_MS, burst_ms);
            bucket.take(taken, 7);
            assert_eq!(bucket.tokens(7 + after_ms), tokens, "{per_minute} {burst_ms} {taken} {after_ms}");
        }
    }

    #[test]
    fn a_bucket_without_a_limit_always_has_tokens() {
        for tokens in [None, Some(0)] {
            let mut bucket = TokenBucket::new(tokens, MINUTE_MS, 1_000);
            bucket.take(1_000_000, 5);

            assert_eq!((bucket.tokens(5), bucket.available_at_ms(10, 5)), (usize::MAX, 5));
            assert_eq!(bucket.per_second(), None);
        }
    }

    #[test]
    fn unused_tokens_return_and_do_not_exceed_the_capacity() {
        let mut bucket = TokenBucket::new(Some(60), MINUTE_MS, 4_000);
        bucket.take(4, 0);
        bucket.give_back(3);
        assert_eq!(bucket.tokens(0), 3);
        bucket.give_back(9);
        assert_eq!(bucket.tokens(0), 4);
    }

    proptest! {
        #[test]
        fn tokens_are_available_at_the_time_that_the_bucket_names(
            per_minute in 1_u32..100_000,
            burst_ms in 1_i64..20_000,
            takes in proptest::collection::vec((0_i64..5_000, 1_usize..40), 1..20),
            wanted in 1_usize..40,
        ) {
            let mut bucket = TokenBucket::new(Some(per_minute), MINUTE_MS, burst_ms);
            let (mut now_ms, mut taken) = (0, 0);
            for (wait_ms, tokens) in takes {
                now_ms += wait_ms;
                let tokens = tokens.min(bucket.tokens(now_ms));
                bucket.take(tokens, now_ms);
                taken += tokens;
            }

            let at_ms = bucket.available_at_ms(wanted, now_ms);
            let enough = wanted.min(usize::try_from(bucket.capacity).unwrap());
            prop_assert!(bucket.tokens(at_ms) >= enough);
            prop_assert!(at_ms == now_ms || bucket.tokens(at_ms - 1) < enough);
            let refilled = now_ms * MS_US / bucket.interval_us + bucket.capacity;
            prop_assert!(i64::try_from(taken).unwrap() <= refilled);
        }
    }
}
