//! The rate limit of API keys and its response headers.

use std::collections::HashMap;
use std::sync::Mutex;

use salvo::Response;
use salvo::http::HeaderValue;

use crate::base::clock::Clock;
use crate::base::id::ApiKeyId;
use crate::base::sync;

/// Length of a window in milliseconds. The `ratelimit-policy` header has it in seconds.
const WINDOW_MS: i64 = 1_000;

/// Values of the rate limit headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitState {
    /// Requests per window; 0 if the limit is off.
    pub limit: u32,
    /// Requests left in this window.
    pub remaining: u32,
    /// Seconds until the window ends, rounded up.
    pub reset_s: u32,
}

/// Decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// The request is accepted.
    Admitted(RateLimitState),
    /// The request exceeds the limit.
    Refused(RateLimitState),
}

/// Counter of requests per key in windows of one second.
pub struct RateLimiter {
    limit: u32,
    clock: Clock,
    /// Current window and its number of requests, per key. One entry for each key in use.
    windows: Mutex<HashMap<ApiKeyId, (i64, u32)>>,
}

impl RateLimiter {
    /// Returns a limiter of `limit` requests per second and key; 0 turns it off.
    pub fn new(limit: u32, clock: Clock) -> Self {
        Self { limit, clock, windows: Mutex::default() }
    }

    /// Counts a request of a key.
    pub fn admit(&self, key: ApiKeyId) -> RateLimit {
        if self.limit == 0 {
            return RateLimit::Admitted(self.unused());
        }
        let window = self.clock.now_ms().div_euclid(WINDOW_MS);
        let mut windows = sync::lock(&self.windows);
        let (since, used) = windows.entry(key).or_insert((window, 0));
        if *since != window {
            (*since, *used) = (window, 0);
        }
        if *used >= self.limit {
            return RateLimit::Refused(RateLimitState { limit: self.limit, remaining: 0, reset_s: 1 });
        }
        *used += 1;
        RateLimit::Admitted(RateLimitState { limit: self.limit, remaining: self.limit - *used, reset_s: 1 })
    }

    /// Returns the state of a response without a key: the full limit.
    pub fn unused(&self) -> RateLimitState {
        RateLimitState { limit: self.limit, remaining: self.limit, reset_s: 1 }
    }
}

impl RateLimitState {
    /// Writes the headers in the form of the draft that the SDKs read: integers and one policy.
    pub(crate) fn write_headers(self, res: &mut Response) {
        if self.limit == 0 {
            return;
        }
        let headers = res.headers_mut();
        headers.insert("ratelimit-limit", HeaderValue::from(self.limit));
        headers.insert("ratelimit-remaining", HeaderValue::from(self.remaining));
        headers.insert("ratelimit-reset", HeaderValue::from(self.reset_s));
        let policy = HeaderValue::try_from(format!("{};w=1", self.limit));
        headers.insert("ratelimit-policy", policy.expect("digits and ;w=1 are a header value"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::id::Id;

    #[test]
    fn each_key_has_its_own_limit_per_second() {
        let clock = Clock::manual(1_000_000);
        let limiter = RateLimiter::new(2, clock.clone());

        assert!(matches!(limiter.admit(Id::MIN), RateLimit::Admitted(state) if state.remaining == 1));
        assert!(matches!(limiter.admit(Id::MIN), RateLimit::Admitted(state) if state.remaining == 0));
        assert!(matches!(limiter.admit(Id::MIN), RateLimit::Refused(_)));
        assert!(matches!(limiter.admit(Id::MAX), RateLimit::Admitted(_)));
        clock.advance(Duration::from_secs(1));

        assert!(matches!(limiter.admit(Id::MIN), RateLimit::Admitted(_)));
    }

    #[test]
    fn a_limit_of_zero_is_off() {
        let limiter = RateLimiter::new(0, Clock::manual(0));

        assert!((0..1_000).all(|_| matches!(limiter.admit(Id::MIN), RateLimit::Admitted(_))));
    }
}
