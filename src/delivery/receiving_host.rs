//! The stored rows of receiving hosts, and their TLS history for opportunistic TLS. Their pauses are in `host_store.rs`.
//!
//! One failure of STARTTLS has an effect on one attempt only. A row changes in a transaction that reads it first, so
//! that the failures in several processes add up, and a pause and the TLS history do not overwrite each other.

use tracing::{error, warn};

use super::rows::{ReceivingHostRow, TlsFailuresRow};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::context::Context;
use crate::store::{Reads as _, StoreError, WriteTx, name_hash};
use crate::tables::RECEIVING_HOSTS;

/// Number of failures of STARTTLS after which the host counts as broken.
const FAILURES_MIN: u32 = 3;
/// Number of sessions, one after the other, in which these failures must occur.
const SESSIONS_MIN: u32 = 2;
/// Time within which these failures must occur.
const FAILURES_WITHIN_MS: i64 = DAY_MS;
/// Time for which STARTTLS is not tried with a broken host.
const BROKEN_TLS_MS: i64 = 6 * 60 * 60 * 1_000;
/// Time since the last session with TLS in which a session in clear text is a downgrade.
const TLS_KNOWN_MS: i64 = 7 * DAY_MS;

/// Returns the TLS history of a host; empty if none is stored or the row is corrupt. Logs a store error and returns an
/// empty history.
pub(super) async fn tls_history(context: &Context, host: &str) -> ReceivingHostRow {
    let key = (name_hash(host),);
    let known = context.store.read::<_, StoreError>(move |tx| tx.get_valid(&RECEIVING_HOSTS, &key)).await;
    let known = known.unwrap_or_else(|error| {
        error!(%error, "could not read the state of a receiving host: {error}");
        None
    });
    known.unwrap_or_else(|| ReceivingHostRow::new(host))
}

/// Records a session with TLS. Writes only if the history changes, which is at most once a day while TLS works.
pub(super) async fn record_tls(context: &Context, history: &ReceivingHostRow) {
    let now_ms = context.now_ms();
    if history.clone().add_tls(now_ms) {
        change(context, &history.name, move |row| row.add_tls(now_ms)).await;
    }
}

/// Records a failure of STARTTLS in a session whose opening started at `started_ms`.
pub(super) async fn record_tls_failure(context: &Context, host: &str, started_ms: TimestampMs) {
    let now_ms = context.now_ms();
    let changed = change(context, host, move |row| row.add_failure(started_ms, now_ms)).await;
    if changed.is_some_and(|row| row.has_broken_tls(now_ms)) {
        warn!(host, "STARTTLS failed {FAILURES_MIN} times with {host}: it gets clear text for 6 hours");
    }
}

/// Changes the row of a host in one transaction. See [`change_row`]. Logs a store error: the cost is one more failed
/// handshake.
async fn change(
    context: &Context,
    host: &str,
    apply: impl Fn(&mut ReceivingHostRow) -> bool + Send + 'static,
) -> Option<ReceivingHostRow> {
    let (host, now_ms) = (host.to_owned(), context.now_ms());
    let changed = context.store.write_bulk::<_, StoreError>(move |tx| change_row(tx, &host, now_ms, &apply)).await;
    changed.unwrap_or_else(|error| {
        error!(%error, "could not store the state of a receiving host: {error}");
        None
    })
}

/// Changes the row of a host, and replaces a corrupt one. `apply` returns whether it changed the row. Deletes a row that has
/// no effect any more. Returns the changed row.
pub(super) fn change_row(
    tx: &WriteTx<'_>,
    host: &str,
    now_ms: TimestampMs,
    apply: impl Fn(&mut ReceivingHostRow) -> bool,
) -> Result<Option<ReceivingHostRow>, StoreError> {
    let key = (name_hash(host),);
    let mut row = tx.get_valid(&RECEIVING_HOSTS, &key)?.unwrap_or_else(|| ReceivingHostRow::new(host));
    if !apply(&mut row) {
        return Ok(None);
    }
    if row.is_expired(now_ms) {
        tx.delete(&RECEIVING_HOSTS, &key)?;
    } else {
        tx.put(&RECEIVING_HOSTS, &key, &row)?;
    }
    Ok(Some(row))
}

impl ReceivingHostRow {
    fn new(host: &str) -> Self {
        Self { name: host.to_owned(), tls_ms: None, tls_failures: None, broken_tls_until_ms: None, pause: None }
    }

    /// Returns whether STARTTLS must not be tried.
    pub(super) fn has_broken_tls(&self, now_ms: TimestampMs) -> bool {
        // The upper bound ends the time if the clock was set back.
        self.broken_tls_until_ms.is_some_and(|until_ms| (1..=BROKEN_TLS_MS).contains(&(until_ms - now_ms)))
    }

    /// Returns whether the host had a session with TLS within the last days.
    pub(super) fn had_tls(&self, now_ms: TimestampMs) -> bool {
        self.tls_ms.is_some_and(|tls_ms| now_ms - tls_ms < TLS_KNOWN_MS)
    }

    /// Returns whether the row has no effect any more.
    pub(super) fn is_expired(&self, now_ms: TimestampMs) -> bool {
        let has_failures = self.tls_failures.as_ref().is_some_and(|failures| failures.are_recent(now_ms));
        let has_pause = self.pause.as_ref().is_some_and(|pause| !pause.is_expired(now_ms));
        !self.has_broken_tls(now_ms) && !self.had_tls(now_ms) && !has_failures && !has_pause
    }

    /// Adds a session with TLS. Returns whether the row changed.
    fn add_tls(&mut self, now_ms: TimestampMs) -> bool {
        let today_ms = now_ms - now_ms.rem_euclid(DAY_MS);
        let is_first_today = self.tls_ms.is_none_or(|tls_ms| tls_ms < today_ms);
        let had_failures = self.tls_failures.take().is_some();
        if is_first_today {
            self.tls_ms = Some(today_ms);
        }
        is_first_today || had_failures
    }

    /// Adds a failure of STARTTLS. Returns whether the row changed.
    ///
    /// Sessions that started before the last failure count as one: a fault of a moment fails all concurrent sessions.
    fn add_failure(&mut self, started_ms: TimestampMs, now_ms: TimestampMs) -> bool {
        if self.has_broken_tls(now_ms) {
            return false;
        }
        let failures = match self.tls_failures.take().filter(|failures| failures.are_recent(now_ms)) {
            None => TlsFailuresRow { first_ms: now_ms, last_ms: now_ms, failures: 1, sessions: 1 },
            Some(before) => TlsFailuresRow {
                first_ms: before.first_ms,
                last_ms: now_ms,
                failures: before.failures.saturating_add(1),
                sessions: before.sessions.saturating_add(u32::from(started_ms > before.last_ms)),
            },
        };
        if failures.failures >= FAILURES_MIN && failures.sessions >= SESSIONS_MIN {
            self.broken_tls_until_ms = Some(now_ms + BROKEN_TLS_MS);
        } else {
            self.tls_failures = Some(failures);
        }
        true
    }
}

impl TlsFailuresRow {
    fn are_recent(&self, now_ms: TimestampMs) -> bool {
        (0..FAILURES_WITHIN_MS).contains(&(now_ms - self.first_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON_MS: TimestampMs = 1_767_700_800_000;
    const HOUR_MS: i64 = 60 * 60 * 1_000;

    /// Returns the row after failures, each with the start of its session and its time after noon in ms.
    fn failed(failures: &[(i64, i64)]) -> ReceivingHostRow {
        let mut row = ReceivingHostRow::new("mx.example.net");
        for (started_ms, at_ms) in failures {
            row.add_failure(NOON_MS + started_ms, NOON_MS + at_ms);
        }
        row
    }

    #[test]
    fn tls_is_broken_after_three_failures_in_two_sessions_within_a_day() {
        for (failures, is_broken) in [
            (&[(0, 1)][..], false),
            (&[(0, 1), (2, 3)], false),
            (&[(0, 1), (2, 3), (4, 5)], true),
            // Concurrent sessions count as one.
            (&[(0, 1), (0, 1), (0, 2), (1, 3), (2, 4)], false),
            (&[(0, 1), (0, 1), (2, 3)], true),
            // The first failure is too old.
            (&[(0, 1), (2, 3), (DAY_MS, DAY_MS + 1)], false),
            (&[(0, 1), (2, 3), (DAY_MS - 1, DAY_MS)], true),
        ] {
            let row = failed(failures);
            let last_ms = NOON_MS + failures.last().unwrap().1;
            assert_eq!(row.has_broken_tls(last_ms), is_broken, "{failures:?}");
        }
    }

    #[test]
    fn broken_tls_ends_after_six_hours_or_if_the_clock_is_set_back() {
        let row = failed(&[(0, 1), (2, 3), (4, 5)]);
        let broken_ms = NOON_MS + 5;

        for (after_ms, is_broken) in [(0, true), (6 * HOUR_MS - 1, true), (6 * HOUR_MS, false), (-1, false)] {
            assert_eq!(row.has_broken_tls(broken_ms + after_ms), is_broken, "{after_ms}");
        }
        assert_eq!(row.tls_failures, None);
    }

    #[test]
    fn a_session_with_tls_resets_the_failures_and_changes_the_row_once_a_day() {
        let mut row = failed(&[(0, 1), (2, 3)]);

        assert!(row.add_tls(NOON_MS + 4));
        assert!(!row.add_tls(NOON_MS + 5));
        assert!(!row.add_tls(NOON_MS - DAY_MS), "the clock was set back");
        row.add_failure(NOON_MS + 6, NOON_MS + 7);
        assert!(!row.has_broken_tls(NOON_MS + 7));
        assert!(row.add_tls(NOON_MS + 8));
        assert!(row.add_tls(NOON_MS + DAY_MS));
    }

    #[test]
    fn a_row_expires_after_its_last_effect() {
        let with_tls = |at_ms| {
            let mut row = ReceivingHostRow::new("mx.example.net");
            row.add_tls(at_ms);
            row
        };
        for (row, after_ms, is_expired) in [
            (failed(&[(0, 0)]), DAY_MS - 1, false),
            (failed(&[(0, 0)]), DAY_MS, true),
            (failed(&[(0, 0), (1, 1), (2, 2)]), 6 * HOUR_MS, false),
            (failed(&[(0, 0), (1, 1), (2, 2)]), 6 * HOUR_MS + 2, true),
            (with_tls(NOON_MS), 6 * DAY_MS, false),
            (with_tls(NOON_MS), 7 * DAY_MS, true),
        ] {
            assert_eq!(row.is_expired(NOON_MS + after_ms), is_expired, "{row:?} {after_ms}");
        }
    }

    #[tokio::test]
    async fn a_corrupt_row_is_replaced() {
        let (_directory, context) = Context::temporary();
        let (host, key) = ("mx.example.net", (name_hash("mx.example.net"),));
        context.corrupt(&RECEIVING_HOSTS, key).await;
        assert_eq!(tls_history(&context, host).await, ReceivingHostRow::new(host));

        record_tls_failure(&context, host, context.now_ms()).await;

        assert!(tls_history(&context, host).await.tls_failures.is_some());
    }

    #[tokio::test]
    async fn concurrent_failures_add_up_and_tls_is_written_once() {
        let (_directory, context) = Context::temporary();
        let host = "mx.example.net";

        let started_ms = context.now_ms();
        tokio::join!(record_tls_failure(&context, host, started_ms), record_tls_failure(&context, host, started_ms));
        let history = tls_history(&context, host).await;
        assert_eq!(history.tls_failures.as_ref().map(|it| (it.failures, it.sessions)), Some((2, 1)));

        record_tls(&context, &history).await;
        let history = tls_history(&context, host).await;
        assert_eq!(history.tls_failures, None);
        assert!(history.had_tls(context.now_ms()));
    }
}
