//! The merge of the throttle of a site with the stored one. Pure.
//!
//! An outcome can be stored after a newer one, and another process can have learned something else about the site. Each part
//! of a row therefore has the time of its last change, and the later change wins.

use super::rows::SiteRow;
use crate::base::clock::TimestampMs;

/// Returns the row to store for an update. Of two parts with the same change, that of the later row wins. A stored time that
/// is later than now does not win: the clock was set back since then, and no change would win for a long time.
pub(super) fn merged(stored: &SiteRow, update: &SiteRow, now_ms: TimestampMs) -> SiteRow {
    if stored.changed_ms > now_ms {
        return update.clone();
    }
    let newest = |part_ms: fn(&SiteRow) -> Option<TimestampMs>| {
        let is_valid = part_ms(stored) <= Some(now_ms);
        let is_newer = (part_ms(stored), stored.changed_ms) > (part_ms(update), update.changed_ms);
        if is_valid && is_newer { stored } else { update }
    };
    let limited = newest(|row| row.sessions_changed_ms);
    let failed = newest(|row| row.failures_changed_ms);
    let replied = newest(|row| row.last_reply_ms);
    let suspended = if stored.suspension_changed_ms == update.suspension_changed_ms {
        // Both know the suspension. A flush of the queue changes only its pause.
        failed
    } else {
        newest(|row| row.suspension_changed_ms)
    };
    // A refusal of a process that does not know the suspension does not shorten its pause.
    let suspended_pause_ms = suspended.suspended_until_ms.map_or(0, |_| suspended.paused_until_ms);
    SiteRow {
        name: update.name.clone(),
        sessions: limited.sessions,
        sessions_changed_ms: limited.sessions_changed_ms,
        failures: failed.failures,
        paused_until_ms: failed.paused_until_ms.max(suspended_pause_ms),
        failures_changed_ms: failed.failures_changed_ms,
        suspended_until_ms: suspended.suspended_until_ms,
        is_stopped: suspended.is_stopped,
        stops: suspended.stops,
        suspension_changed_ms: suspended.suspension_changed_ms,
        last_reply: replied.last_reply.clone(),
        last_reply_ms: replied.last_reply_ms,
        changed_ms: stored.changed_ms.max(update.changed_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_000;

    /// Returns a row with three parts, each with the time of its change: the sessions, the failures with the end of the
    /// pause, and the end of the suspension.
    fn row(
        changed_ms: i64,
        (sessions, sessions_changed_ms): (u16, Option<i64>),
        (failures, paused_until_ms, failures_changed_ms): (u32, i64, Option<i64>),
        (suspended_until_ms, suspension_changed_ms): (Option<i64>, Option<i64>),
    ) -> SiteRow {
        SiteRow {
            name: "google".into(),
            sessions,
            sessions_changed_ms,
            failures,
            paused_until_ms,
            failures_changed_ms,
            suspended_until_ms,
            is_stopped: suspended_until_ms.is_some(),
            stops: suspended_until_ms.is_some().into(),
            suspension_changed_ms,
            last_reply: failures_changed_ms.map(|at_ms| format!("421 {at_ms}")),
            last_reply_ms: failures_changed_ms,
            changed_ms,
        }
    }

    /// A refusal, and the suspension after it.
    fn stopped() -> SiteRow {
        row(200, (1, Some(200)), (2, 7_200, Some(200)), (Some(7_200), Some(200)))
    }

    /// A row of a process that has not seen a refusal.
    fn grown() -> SiteRow {
        row(400, (3, Some(400)), (0, 400, None), (None, None))
    }

    #[test]
    fn the_last_row_of_one_process_wins_in_any_order() {
        let history = [
            row(10, (2, None), (0, 10, None), (None, None)),
            row(20, (3, Some(15)), (0, 20, None), (None, None)),
            row(100, (1, Some(100)), (1, 160, Some(100)), (None, None)),
            stopped(),
            // An accepted message ended the suspension.
            row(300, (1, Some(200)), (0, 300, Some(290)), (None, Some(290))),
            // The change has the time of the one before it: the message was taken before a connection failed.
            row(310, (1, Some(200)), (1, 310, Some(305)), (None, Some(290))),
            row(320, (1, Some(200)), (0, 320, Some(305)), (None, Some(290))),
        ];
        for (index, newer) in history.iter().enumerate() {
            for older in &history[..=index] {
                for (stored, update) in [(older, newer), (newer, older)] {
                    assert_eq!(merged(stored, update, NOW_MS), *newer, "{} {}", stored.changed_ms, update.changed_ms);
                }
            }
        }
    }

    #[test]
    fn of_two_processes_each_part_is_that_of_the_newer_change() {
        let refused_later = row(500, (1, Some(500)), (3, 560, Some(500)), (None, None));
        let accepted_later = row(600, (2, Some(150)), (0, 600, Some(590)), (None, None));
        let accepted_before = row(600, (2, Some(150)), (0, 600, Some(190)), (None, None));
        let resumed = row(300, (1, Some(200)), (0, 300, Some(290)), (None, Some(290)));
        let flushed = SiteRow { paused_until_ms: 250, failures_changed_ms: Some(250), changed_ms: 250, ..stopped() };
        let after_flush = SiteRow { changed_ms: 260, ..stopped() };
        // Sessions, failures, end of the pause and end of the suspension.
        for (one, other, expected) in [
            (stopped(), grown(), (3, 2, 7_200, Some(7_200))),
            (stopped(), refused_later.clone(), (1, 3, 7_200, Some(7_200))),
            (stopped(), accepted_later, (1, 0, 7_200, Some(7_200))),
            (stopped(), accepted_before, (1, 2, 7_200, Some(7_200))),
            (resumed, refused_later, (1, 3, 560, None)),
            (flushed, after_flush, (1, 2, 250, Some(7_200))),
        ] {
            for (stored, update) in [(&one, &other), (&other, &one)] {
                let row = merged(stored, update, NOW_MS);

                let found = (row.sessions, row.failures, row.paused_until_ms, row.suspended_until_ms);
                assert_eq!(found, expected, "{stored:?} {update:?}");
                assert_eq!((row.is_stopped, row.stops > 0), (expected.3.is_some(), expected.3.is_some()));
                assert_eq!(row.last_reply_ms, stored.last_reply_ms.max(update.last_reply_ms));
                assert_eq!(row.changed_ms, stored.changed_ms.max(update.changed_ms));
            }
        }
    }

    #[test]
    fn a_time_that_is_later_than_now_does_not_win() {
        let after_step = row(150, (2, None), (0, 150, None), (None, None));
        assert_eq!(merged(&stopped(), &after_step, 199), after_step);
        assert_eq!(merged(&stopped(), &after_step, 200).suspended_until_ms, Some(7_200));

        // A flush after the step changed one part of the row.
        let flushed = SiteRow { changed_ms: 140, failures_changed_ms: Some(140), paused_until_ms: 140, ..stopped() };
        let row = merged(&flushed, &after_step, 199);
        assert_eq!((row.sessions, row.failures, row.suspended_until_ms), (2, 2, None));
    }
}
