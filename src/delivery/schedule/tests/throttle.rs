//! The throttle of a site.

use std::time::Duration;

use super::super::throttle::Throttle;
use crate::base::clock::DAY_MS;
use crate::delivery::rows::SiteRow;
use crate::delivery::schedule::Now;
use crate::delivery::site_merge::merged;
use crate::delivery::site_refusal::SiteRefusal;
use crate::delivery::smtp::SiteThrottle;

const PAUSE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * PAUSE_MS;

fn at(ms: i64) -> Now {
    Now { wall_ms: 1_767_700_800_000 + ms, elapsed_ms: ms }
}

fn doubling(failures: u32) -> i64 {
    PAUSE_MS << failures.saturating_sub(1)
}

fn refusal(throttle: SiteThrottle, pause_s: Option<u64>) -> SiteRefusal {
    let pause = pause_s.map(Duration::from_secs);
    SiteRefusal { throttle, reply: "421 4.7.0 no".into(), pause, delisting: None }
}

const HALVE: SiteThrottle = SiteThrottle::Halve;
const TRICKLE: SiteThrottle = SiteThrottle::Trickle { minutes: 90 };
const STOP: SiteThrottle = SiteThrottle::Stop { minutes: 120 };

#[test]
fn the_limit_starts_at_two_grows_after_five_sessions_and_is_halved() {
    for (limit_max, sessions, refused, limit) in [
        (10, 0, false, 2),
        (10, 4, false, 2),
        (10, 5, false, 3),
        (10, 39, false, 9),
        (10, 40, false, 10),
        (10, 400, false, 10),
        (5, 400, false, 5),
        (1, 400, false, 1),
        (10, 40, true, 5),
        (10, 15, true, 2),
        (10, 0, true, 1),
        (1, 0, true, 1),
    ] {
        let mut throttle = Throttle::new(limit_max);
        for _ in 0..sessions {
            throttle.ended_clean(0, at(0));
        }
        if refused {
            throttle.refused(&refusal(HALVE, None), at(0), doubling);
        }
        assert_eq!(throttle.learned_limit(), limit, "{limit_max} {sessions} {refused}");
        assert_eq!(throttle.limit(), if refused { 1 } else { limit });
    }
}

#[test]
fn a_session_that_ends_after_a_refusal_of_the_site_does_not_raise_the_limit() {
    let mut throttle = Throttle::new(10);
    throttle.refused(&refusal(HALVE, None), at(100), doubling);

    for _ in 0..20 {
        throttle.ended_clean(100, at(200));
    }
    assert_eq!(throttle.learned_limit(), 1);
    for _ in 0..5 {
        throttle.ended_clean(101, at(200));
    }
    assert_eq!(throttle.learned_limit(), 2);
}

#[test]
fn a_pause_is_the_one_that_the_reply_names_or_doubles() {
    for (earlier, kind, named_s, pause_ms) in [
        (0, HALVE, None, PAUSE_MS),
        (2, HALVE, None, 4 * PAUSE_MS),
        (2, HALVE, Some(300), 300_000),
        (0, HALVE, Some(5), PAUSE_MS),
        (0, TRICKLE, None, PAUSE_MS),
        (3, TRICKLE, None, PAUSE_MS),
        (0, TRICKLE, Some(300), 300_000),
        (0, STOP, Some(300), 2 * HOUR_MS),
    ] {
        let mut throttle = Throttle::new(10);
        let mut now_ms = 0;
        for _ in 0..earlier {
            throttle.refused(&refusal(HALVE, None), at(now_ms), doubling);
            now_ms = throttle.paused_until_ms();
        }
        assert!(throttle.refused(&refusal(kind, named_s), at(now_ms), doubling));
        assert_eq!(throttle.paused_until_ms() - now_ms, pause_ms, "{earlier} {kind:?} {named_s:?}");
    }
}

#[test]
fn a_stop_doubles_up_to_a_day_and_an_accepted_message_resets_it() {
    let mut throttle = Throttle::new(10);
    let mut now_ms = 0;
    for hours in [2, 4, 8, 16, 24, 24] {
        assert!(throttle.refused(&refusal(STOP, None), at(now_ms), doubling));
        assert_eq!(throttle.paused_until_ms() - now_ms, hours * HOUR_MS);
        assert!(throttle.suspension(now_ms).is_some_and(|suspension| suspension.is_stop));
        now_ms = throttle.paused_until_ms();
        assert_eq!((throttle.suspension(now_ms), throttle.limit()), (None, 1), "one message tests the site");
    }

    assert!(throttle.succeeded(now_ms, at(now_ms)));
    assert!(throttle.refused(&refusal(STOP, None), at(now_ms + 1), doubling));

    assert_eq!(throttle.paused_until_ms() - now_ms - 1, 2 * HOUR_MS);
}

#[test]
fn refusals_of_concurrent_sessions_count_once_unless_one_is_more_severe() {
    for (first, second, counts) in [
        (HALVE, HALVE, false),
        (HALVE, TRICKLE, true),
        (TRICKLE, HALVE, false),
        (TRICKLE, TRICKLE, false),
        (TRICKLE, STOP, true),
        (STOP, TRICKLE, false),
    ] {
        let mut throttle = Throttle::new(10);
        assert!(throttle.refused(&refusal(first, None), at(0), doubling));
        assert_eq!(throttle.refused(&refusal(second, None), at(1), doubling), counts, "{first:?} {second:?}");
    }
}

#[test]
fn a_suspension_ends_with_an_accepted_probe_but_not_with_a_message_that_was_taken_before() {
    let mut throttle = Throttle::new(10);
    throttle.refused(&refusal(TRICKLE, None), at(100), doubling);

    assert!(!throttle.succeeded(100, at(102)));
    assert!(throttle.suspension(101).is_some() && throttle.paused_until_ms() > 101);
    assert!(throttle.succeeded(101, at(102)));

    assert_eq!((throttle.suspension(101), throttle.paused_until_ms(), throttle.limit()), (None, 0, 1));
    assert_eq!(throttle.last_reply().unwrap().0.as_ref(), "421 4.7.0 no");
}

#[test]
fn a_suspension_lasts_ninety_minutes_after_the_last_refused_probe() {
    let mut throttle = Throttle::new(10);
    throttle.refused(&refusal(TRICKLE, None), at(0), doubling);
    throttle.refused(&refusal(TRICKLE, None), at(PAUSE_MS), doubling);
    throttle.refused(&refusal(HALVE, None), at(2 * PAUSE_MS), doubling);

    assert_eq!(throttle.paused_until_ms(), 3 * PAUSE_MS);
    assert!(throttle.suspension(PAUSE_MS + 90 * PAUSE_MS - 1).is_some());
    assert!(throttle.suspension(PAUSE_MS + 90 * PAUSE_MS).is_none());
}

#[test]
fn a_stored_throttle_continues_after_a_restart_and_after_a_step_of_the_clock() {
    let mut throttle = Throttle::new(10);
    for _ in 0..30 {
        throttle.ended_clean(0, at(0));
    }
    throttle.refused(&refusal(STOP, None), at(0), doubling);
    let row = throttle.row("google", at(HOUR_MS));

    for (wall_ms, stopped_ms) in
        [(HOUR_MS, HOUR_MS), (2 * HOUR_MS - 1, 1), (2 * HOUR_MS, 0), (90 * HOUR_MS, 0), (-90 * HOUR_MS, HOUR_MS)]
    {
        // The monotonic clock starts again.
        let now = Now { wall_ms: at(wall_ms).wall_ms, elapsed_ms: 7 };
        let restored = Throttle::restore(&row, 10, now);
        assert_eq!(restored.paused_until_ms(), 7 + stopped_ms, "{wall_ms}");
        assert_eq!(restored.suspension(7).is_some_and(|suspension| suspension.is_stop), stopped_ms > 0);
        assert_eq!((restored.learned_limit(), restored.limit()), (1, 1));
        let (reply, replied_ms) = throttle.last_reply().unwrap();
        assert_eq!(restored.last_reply(), Some((reply, replied_ms.min(now.wall_ms))));
    }
    let working = Throttle::new(10).row("google", at(HOUR_MS));
    assert_eq!(Throttle::restore(&working, 10, at(-90 * HOUR_MS)).paused_until_ms(), -90 * HOUR_MS);
    assert_eq!(Throttle::restore(&SiteRow { sessions: 8, ..row.clone() }, 5, at(0)).learned_limit(), 5);
    assert_eq!(Throttle::restore(&SiteRow { sessions: 0, ..row }, 5, at(0)).learned_limit(), 1);
}

#[test]
fn a_row_expires_a_week_after_its_last_change_unless_the_site_is_suspended() {
    let row = |until_ms| {
        let throttle = Throttle::new(10).row("google", at(0));
        SiteRow { suspended_until_ms: until_ms, ..throttle }
    };
    for (until_ms, now_ms, is_expired) in [
        (None, 7 * DAY_MS - 1, false),
        (None, 7 * DAY_MS, true),
        (None, -1, false),
        (None, -7 * DAY_MS, true),
        (Some(at(7 * DAY_MS + 5).wall_ms), 7 * DAY_MS, false),
        (Some(at(7 * DAY_MS + 5).wall_ms), 7 * DAY_MS + 5, true),
        (Some(at(90 * DAY_MS).wall_ms), 7 * DAY_MS, true),
    ] {
        assert_eq!(row(until_ms).is_expired(at(now_ms).wall_ms), is_expired, "{until_ms:?} {now_ms}");
    }
}

#[test]
fn the_last_of_two_outcomes_determines_the_row_also_if_it_is_stored_first() {
    let mut throttle = Throttle::new(10);
    let mut rows = vec![throttle.row("google", at(0))];
    for _ in 0..5 {
        throttle.ended_clean(0, at(1));
    }
    rows.push(throttle.row("google", at(10)));
    for kind in [HALVE, STOP] {
        throttle.refused(&refusal(kind, None), at(100), doubling);
        rows.push(throttle.row("google", at(100 + i64::from(kind == STOP))));
    }
    throttle.succeeded(200, at(300));
    rows.push(throttle.row("google", at(300)));
    // The message was taken before the connection failed.
    throttle.open_failed(at(400));
    rows.push(throttle.row("google", at(401)));
    throttle.succeeded(350, at(450));
    rows.push(throttle.row("google", at(450)));

    for (index, newer) in rows.iter().enumerate() {
        for older in &rows[..index] {
            assert_eq!(merged(older, newer, at(500).wall_ms), *newer);
            assert_eq!(merged(newer, older, at(500).wall_ms), *newer);
        }
    }
}

#[test]
fn a_suspension_ends_with_a_later_message_of_a_process_that_knows_it() {
    // The second process restores the throttle, or has a failure of its own.
    for (is_known, taken_ms, failures, is_suspended) in
        [(true, 60, 1, true), (true, 110, 0, false), (false, 60, 1, true), (false, 110, 0, true)]
    {
        let mut throttle = Throttle::new(10);
        throttle.refused(&refusal(if is_known { STOP } else { HALVE }, None), at(50), doubling);
        let mut other = Throttle::restore(&throttle.row("google", at(50)), 10, at(50));
        let mut stopping = Throttle::new(10);
        stopping.refused(&refusal(STOP, None), at(100), doubling);

        assert!(other.succeeded(taken_ms, at(120)));
        let row = merged(&stopping.row("google", at(100)), &other.row("google", at(120)), at(130).wall_ms);

        assert_eq!((row.failures, row.suspended_until_ms.is_some()), (failures, is_suspended), "{is_known} {taken_ms}");
        let restored = Throttle::restore(&row, 10, at(130));
        assert_eq!(restored.paused_until_ms() > 130, is_suspended, "{is_known} {taken_ms}");
    }
}

#[test]
fn a_change_keeps_its_age_after_the_clock_was_set_back() {
    let mut throttle = Throttle::new(10);
    throttle.refused(&refusal(STOP, None), at(HOUR_MS), doubling);
    let now = Now { wall_ms: at(0).wall_ms, elapsed_ms: HOUR_MS + 1 };

    for _ in 0..2 {
        let row = throttle.row("google", now);

        let changes = [row.sessions_changed_ms, row.failures_changed_ms, row.suspension_changed_ms, row.last_reply_ms];
        assert_eq!(changes, [Some(now.wall_ms - 1); 4]);
    }
}

#[test]
fn a_change_keeps_its_time_with_jitter_and_after_a_step_forward_that_ends() {
    let mut throttle = Throttle::new(10);
    throttle.refused(&refusal(STOP, None), at(0), doubling);

    for (ms, elapsed_ms) in [(4, 5), (DAY_MS, 6), (7, 7)] {
        let row = throttle.row("google", Now { wall_ms: at(ms).wall_ms, elapsed_ms });

        let changes = [row.sessions_changed_ms, row.failures_changed_ms, row.suspension_changed_ms, row.last_reply_ms];
        assert_eq!(changes, [Some(at(0).wall_ms); 4], "{ms}");
    }
}

// The stored suspension had a later time than the suspension in memory, so that it continued after a restart.
#[test]
fn a_refusal_after_a_suspension_ends_the_stored_one_also_after_the_clock_was_set_back() {
    let mut stopped = Throttle::new(10);
    stopped.refused(&refusal(STOP, None), at(0), doubling);
    let stored = stopped.row("google", at(0));
    let back = |elapsed_ms| Now { wall_ms: at(elapsed_ms - HOUR_MS).wall_ms, elapsed_ms };
    let restarted = Throttle::restore(&stored, 10, back(0));

    for mut throttle in [stopped, restarted] {
        let now = back(2 * HOUR_MS);
        assert!(throttle.refused(&refusal(HALVE, None), now, doubling));
        let row = merged(&stored, &throttle.row("google", now), now.wall_ms);

        assert_eq!((row.suspended_until_ms, row.paused_until_ms), (None, now.wall_ms + 2 * PAUSE_MS));
    }
}

#[test]
fn a_refusal_after_a_suspension_keeps_a_newer_one_of_another_process() {
    let (mut ours, mut theirs) = (Throttle::new(10), Throttle::new(10));
    ours.refused(&refusal(STOP, None), at(0), doubling);
    theirs.refused(&refusal(STOP, None), at(2 * HOUR_MS + 1), doubling);
    let stored = theirs.row("google", at(2 * HOUR_MS + 1));

    let now = at(2 * HOUR_MS + 2);
    assert!(ours.refused(&refusal(HALVE, None), now, doubling));
    let row = merged(&stored, &ours.row("google", now), now.wall_ms);

    assert_eq!(row.suspended_until_ms, Some(at(4 * HOUR_MS + 1).wall_ms));
}

// After a step back, each row of a process had its own time for all parts that were changed before the step. The
// process therefore replaced newer parts of another one.
#[test]
fn after_the_clock_was_set_back_a_process_replaces_only_the_parts_that_it_has_changed() {
    // The clock can be later than the first changes again when the process continues.
    for (back_ms, waited_ms) in [(0, 2), (10_000, 2), (10_000, 30_000), (DAY_MS, 2), (HOUR_MS, 2 * HOUR_MS)] {
        let after = |ms| Now { wall_ms: at(HOUR_MS + ms - back_ms).wall_ms, elapsed_ms: HOUR_MS + ms };
        let mut one = Throttle::new(10);
        one.refused(&refusal(HALVE, None), at(HOUR_MS - 2), doubling);
        assert!(one.succeeded(HOUR_MS - 1, at(HOUR_MS - 1)));
        for _ in 0..5 {
            one.ended_clean(HOUR_MS - 1, at(HOUR_MS));
        }
        let mut other = Throttle::restore(&one.row("google", at(HOUR_MS)), 10, at(HOUR_MS));

        let later = SiteRefusal { reply: "421 4.7.0 later".into(), ..refusal(STOP, None) };
        assert!(other.refused(&later, after(1), doubling));
        let stored = other.row("google", after(1));
        one.open_failed(after(waited_ms));
        let now = after(waited_ms + 1);
        let row = merged(&stored, &one.row("google", now), now.wall_ms);

        assert_eq!((row.sessions, row.sessions_changed_ms), (1, Some(after(1).wall_ms)), "{back_ms}");
        assert_eq!((row.stops, row.suspension_changed_ms), (1, Some(after(1).wall_ms)), "{back_ms}");
        assert_eq!(row.last_reply.as_deref(), Some("421 4.7.0 later"), "{back_ms}");
        assert_eq!(row.failures_changed_ms, Some(after(waited_ms).wall_ms), "{back_ms}");
    }
}
