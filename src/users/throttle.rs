//! Throttle of sign-ins: limits of failed attempts in windows of 15 minutes.
//!
//! An attempt counts before its password is checked, so that parallel attempts cannot pass the limit. A successful
//! attempt is not counted. The counters are in memory: a start of the server resets them, and each process has its own.
//! [`SignInThrottle::begin`] is the only function that decides.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::base::clock::{Clock, TimestampMs};
use crate::base::sync;

/// Length of a window.
const WINDOW_MS: i64 = 15 * 60 * 1_000;
/// Failed attempts of one client with one account. The page shows how many are left.
const PAIR_MAX: u32 = 5;
/// Failed attempts of one client with any account.
const CLIENT_MAX: u32 = 20;
/// Failed attempts of all clients with one account. It is higher than the others, because reaching it keeps the user
/// out.
const ACCOUNT_MAX: u32 = 50;
/// Failed codes of the second factor with one account. Only a client with the password can reach it.
const CODE_MAX: u32 = 5;
/// Maximum number of counters. Above it, those with the fewest failed attempts are forgotten.
const COUNTERS_MAX: usize = 20_000;

/// Hash that names an account: that of the address for a password, that of the user for a code.
pub(super) type AccountKey = [u8; 32];

/// An attempt to sign in.
#[derive(Clone, Debug)]
pub(super) enum SignInAttempt {
    /// A password for an address, which may be that of no user.
    Password { account: AccountKey, client: String },
    /// A code of the second factor, after a correct password.
    Code { account: AccountKey, client: String },
}

/// Refusal of an attempt before it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThrottledAttempt {
    /// Time until a counter that refused the attempt starts again.
    pub(super) wait_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CounterKey {
    Pair(AccountKey, String),
    Client(String),
    Account(AccountKey),
    Code(AccountKey),
}

#[derive(Clone, Copy, Debug)]
struct AttemptCounter {
    since_ms: TimestampMs,
    failed: u32,
}

/// Counters of failed attempts.
pub(super) struct SignInThrottle {
    clock: Clock,
    counters: Mutex<HashMap<CounterKey, AttemptCounter>>,
}

impl SignInAttempt {
    fn counters(&self) -> Vec<(CounterKey, u32)> {
        match self {
            Self::Password { account, client } => vec![
                (CounterKey::Pair(*account, client.clone()), PAIR_MAX),
                (CounterKey::Client(client.clone()), CLIENT_MAX),
                (CounterKey::Account(*account), ACCOUNT_MAX),
            ],
            Self::Code { account, client } => {
                vec![(CounterKey::Code(*account), CODE_MAX), (CounterKey::Client(client.clone()), CLIENT_MAX)]
            }
        }
    }
}

impl SignInThrottle {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, counters: Mutex::default() }
    }

    /// Counts an attempt and returns the number of failed attempts that are left after it.
    ///
    /// # Errors
    /// [`ThrottledAttempt`] if a limit is reached. The attempt is not counted and must not be checked.
    pub(super) fn begin(&self, attempt: &SignInAttempt) -> Result<u32, ThrottledAttempt> {
        // Steps of the wall clock neither end a window nor lengthen it.
        let now_ms = self.clock.elapsed_ms();
        let limits = attempt.counters();
        let mut counters = sync::lock(&self.counters);
        let reached = limits.iter().filter_map(|(key, max)| {
            let counter = current(&counters, key, now_ms)?;
            (counter.failed >= *max).then_some(counter.since_ms + WINDOW_MS - now_ms)
        });
        if let Some(wait_ms) = reached.max() {
            return Err(ThrottledAttempt { wait_ms });
        }
        let mut left = u32::MAX;
        for (key, max) in limits {
            let mut counter =
                current(&counters, &key, now_ms).unwrap_or(AttemptCounter { since_ms: now_ms, failed: 0 });
            counter.failed += 1;
            left = left.min(max - counter.failed);
            if counters.len() >= COUNTERS_MAX && !counters.contains_key(&key) {
                forget(&mut counters, now_ms);
            }
            counters.insert(key, counter);
        }
        Ok(left)
    }

    /// Takes back an attempt that was not checked, or that was successful.
    pub(super) fn undo(&self, attempt: &SignInAttempt) {
        let mut counters = sync::lock(&self.counters);
        for (key, _) in attempt.counters() {
            if let Some(counter) = counters.get_mut(&key) {
                counter.failed = counter.failed.saturating_sub(1);
                if counter.failed == 0 {
                    counters.remove(&key);
                }
            }
        }
    }

    /// Takes back a successful attempt, and the earlier failures of its client with its account.
    pub(super) fn succeed(&self, attempt: &SignInAttempt) {
        self.undo(attempt);
        let mut counters = sync::lock(&self.counters);
        match attempt {
            SignInAttempt::Password { account, client } => counters.remove(&CounterKey::Pair(*account, client.clone())),
            SignInAttempt::Code { account, .. } => counters.remove(&CounterKey::Code(*account)),
        };
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        sync::lock(&self.counters).len()
    }
}

/// Returns a counter whose window has not ended.
fn current(
    counters: &HashMap<CounterKey, AttemptCounter>,
    key: &CounterKey,
    now_ms: TimestampMs,
) -> Option<AttemptCounter> {
    counters.get(key).filter(|counter| now_ms < counter.since_ms + WINDOW_MS).copied()
}

/// Forgets the counters whose window has ended. If all are in use, forgets a quarter: those with the fewest failed
/// attempts, and of these the oldest. Otherwise, attempts from many networks would reset the limit of the account that
/// they attack. The counters of codes stay longest, because only a client with a password adds one.
fn forget(counters: &mut HashMap<CounterKey, AttemptCounter>, now_ms: TimestampMs) {
    counters.retain(|_, counter| now_ms < counter.since_ms + WINDOW_MS);
    if counters.len() < COUNTERS_MAX {
        return;
    }
    let rank = |(key, AttemptCounter { since_ms, failed }): (&CounterKey, &AttemptCounter)| {
        ((matches!(key, CounterKey::Code(_)), *failed, *since_ms), key.clone())
    };
    let mut ranked: Vec<_> = counters.iter().map(rank).collect();
    ranked.sort_unstable_by_key(|(rank, _)| *rank);
    for (_, key) in ranked.into_iter().take(COUNTERS_MAX / 4) {
        counters.remove(&key);
    }
}

/// Refused sign-ins of users that one process records in the audit log in a minute, and those with unknown addresses.
const RECORDED_A_MINUTE: u32 = 10;

/// Limits of the refused sign-ins in the audit log, so that failed attempts do not fill the store. Users have a limit of
/// their own, so that attempts with unknown addresses do not hide those with an account.
#[derive(Default)]
pub(super) struct RecordedRefusals {
    known: Mutex<MinuteCount>,
    unknown: Mutex<MinuteCount>,
}

/// Minute since the epoch, and the number of refusals in it.
#[derive(Clone, Copy, Debug, Default)]
struct MinuteCount {
    minute: i64,
    refused: u32,
}

impl RecordedRefusals {
    /// Counts a refusal; returns whether it is recorded. `is_known` is whether a user has the address.
    pub(super) fn admit(&self, is_known: bool, now_ms: TimestampMs) -> bool {
        let minute = now_ms.div_euclid(60_000);
        let mut count = sync::lock(if is_known { &self.known } else { &self.unknown });
        if count.minute != minute {
            *count = MinuteCount { minute, refused: 0 };
        }
        count.refused = count.refused.saturating_add(1);
        count.refused <= RECORDED_A_MINUTE
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn throttle() -> (Clock, SignInThrottle) {
        let clock = Clock::manual(1_767_604_353_456);
        (clock.clone(), SignInThrottle::new(clock))
    }

    fn password(account: u8, client: &str) -> SignInAttempt {
        SignInAttempt::Password { account: [account; 32], client: client.into() }
    }

    #[test]
    fn a_client_has_five_attempts_with_an_account_in_a_window() {
        let (clock, throttle) = throttle();
        let attempt = password(1, "a");

        let left: Vec<u32> = (0..5).map(|_| throttle.begin(&attempt).unwrap()).collect();
        assert_eq!(left, [4, 3, 2, 1, 0]);
        clock.advance(Duration::from_millis(1_000));
        assert_eq!(throttle.begin(&attempt), Err(ThrottledAttempt { wait_ms: WINDOW_MS - 1_000 }));
        assert_eq!(throttle.begin(&password(1, "b")), Ok(4));
        assert_eq!(throttle.begin(&password(2, "a")), Ok(4));

        clock.advance(Duration::from_millis(WINDOW_MS.unsigned_abs() - 1_000));
        assert_eq!(throttle.begin(&attempt), Ok(4));
    }

    #[test]
    fn all_accounts_of_a_client_and_all_clients_of_an_account_share_a_limit() {
        let (_, throttle) = throttle();
        for account in 0..20 {
            throttle.begin(&password(account, "a")).unwrap();
        }
        assert!(throttle.begin(&password(20, "a")).is_err());
        assert!(throttle.begin(&password(20, "b")).is_ok());

        for client in 0..ACCOUNT_MAX {
            throttle.begin(&password(30, &client.to_string())).unwrap();
        }
        assert!(throttle.begin(&password(30, "another")).is_err());
    }

    #[test]
    fn an_account_has_five_codes_from_all_clients() {
        let (_, throttle) = throttle();
        let code = |client: &str| SignInAttempt::Code { account: [1; 32], client: client.into() };
        for client in ["a", "b", "c", "d", "e"] {
            throttle.begin(&code(client)).unwrap();
        }

        assert!(throttle.begin(&code("f")).is_err());
        assert!(throttle.begin(&password(1, "a")).is_ok());
    }

    #[test]
    fn a_successful_attempt_resets_the_count_of_its_client_and_account() {
        let (_, throttle) = throttle();
        let attempt = password(1, "a");
        for _ in 0..4 {
            throttle.begin(&attempt).unwrap();
        }
        throttle.begin(&attempt).unwrap();
        throttle.succeed(&attempt);

        assert_eq!(throttle.begin(&attempt), Ok(4));
        throttle.undo(&attempt);
        assert_eq!(throttle.begin(&attempt), Ok(4));
    }

    #[test]
    fn a_throttle_without_failures_uses_no_memory() {
        let (_, throttle) = throttle();
        let attempt = password(1, "a");
        throttle.begin(&attempt).unwrap();
        assert_eq!(throttle.len(), 3);

        throttle.succeed(&attempt);

        assert_eq!(throttle.len(), 0);
    }

    #[test]
    fn the_number_of_counters_is_bounded_and_ended_windows_are_forgotten_first() {
        let (clock, throttle) = throttle();
        let attempt = |number: usize| {
            let mut account = [0; 32];
            account[..8].copy_from_slice(&number.to_be_bytes());
            SignInAttempt::Password { account, client: number.to_string() }
        };
        for number in 0..COUNTERS_MAX / 3 + 10 {
            throttle.begin(&attempt(number)).unwrap();
        }
        assert!((COUNTERS_MAX / 2..=COUNTERS_MAX).contains(&throttle.len()), "{}", throttle.len());
        clock.advance(Duration::from_millis(WINDOW_MS.unsigned_abs()));
        let ended = throttle.len();
        let later = COUNTERS_MAX..COUNTERS_MAX + COUNTERS_MAX * 3 / 10;
        for number in later.clone() {
            throttle.begin(&attempt(number)).unwrap();
        }

        assert!(throttle.len() <= COUNTERS_MAX, "{} after {ended}", throttle.len());
        assert!(
            throttle.begin(&attempt(later.start)).is_ok_and(|left| left == 3),
            "no counter of this window is forgotten"
        );
    }

    #[test]
    fn attempts_from_many_networks_reset_no_limit_of_an_account() {
        let (clock, throttle) = throttle();
        let code = SignInAttempt::Code { account: [1; 32], client: "code".into() };
        throttle.begin(&code).unwrap();
        for client in 0..ACCOUNT_MAX {
            throttle.begin(&password(1, &client.to_string())).unwrap();
        }
        clock.advance(Duration::from_secs(1));

        for number in 0..COUNTERS_MAX {
            let mut account = [2; 32];
            account[..8].copy_from_slice(&number.to_be_bytes());
            throttle.begin(&SignInAttempt::Password { account, client: format!("many {number}") }).unwrap();
        }

        assert!(throttle.len() <= COUNTERS_MAX);
        assert!(throttle.begin(&password(1, "another")).is_err(), "the limit of the account is kept");
        assert_eq!(throttle.begin(&code), Ok(CODE_MAX - 2), "the count of codes is kept");
    }

    #[test]
    fn a_minute_records_a_bounded_number_of_refusals() {
        let refusals = RecordedRefusals::default();
        let recorded = |is_known, now_ms: TimestampMs| (0..25).filter(|_| refusals.admit(is_known, now_ms)).count();

        assert_eq!([0, 59_999, 60_000, -1].map(|now_ms| recorded(false, now_ms)), [10, 0, 10, 10]);
        assert_eq!([recorded(true, -1), recorded(true, -1)], [10, 0], "users have their own limit");
    }
}
