//! Pauses of hosts that are stored, and continue after a restart.

use super::*;

const HOST: &str = "mx.a.example";

/// Returns the time after a restart: the monotonic clock has started again.
fn restarted(ms: i64) -> Now {
    Now { wall_ms: at(ms).wall_ms, elapsed_ms: 7 }
}

fn after(start: Now, ms: i64) -> Now {
    Now { wall_ms: start.wall_ms + ms, elapsed_ms: start.elapsed_ms + ms }
}

/// Returns the changed pauses in the form of the store.
fn stored(schedule: &mut Schedule, now: Now) -> StoredSite {
    let changes = schedule.take_changed_hosts(usize::MAX, now);
    let hosts = changes.into_iter().filter_map(|change| Some((change.host, change.pause?))).collect();
    StoredSite { hosts, ..StoredSite::default() }
}

/// Returns the stored state of a host after these failures, each after the end of the pause before.
fn failed(failures: i64, is_slow: bool) -> StoredSite {
    let mut before = schedule();
    for failure in 0..failures {
        before.host_failed(HOST, is_slow, at(failure * 60 * PAUSE_MS));
    }
    stored(&mut before, at((failures - 1) * 60 * PAUSE_MS))
}

/// Returns a schedule with 40 groups, whose first lookup found this stored state.
fn restored(site: &StoredSite, now: Now) -> Schedule {
    let mut schedule = schedule();
    for _ in 0..40 {
        schedule.queued(&due("a.example"), now);
    }
    let lookup = schedule.next_lookup().unwrap();
    schedule.routed(&lookup, servers("a.example", &[HOST]), site, now);
    schedule
}

/// Returns the kinds of the sessions that start.
fn kinds(schedule: &mut Schedule, now: Now) -> Vec<SiteKind> {
    schedule.reserve_sessions(now).iter().map(|slot| slot.kind).collect()
}

#[test]
fn a_host_stays_paused_after_a_restart_and_one_group_tests_it_as_that_of_a_failing_site() {
    let start = restarted(10_000);
    let mut schedule = restored(&failed(1, false), start);
    assert!(schedule.is_host_paused(HOST, start) && schedule.reserve_sessions(start).is_empty());
    assert_eq!(schedule.held_lanes(start), [due("a.example").key.lane]);

    let end = after(start, PAUSE_MS - 10_000);
    schedule.advance(end);
    let mut slots = schedule.reserve_sessions(end);
    assert_eq!(slots.iter().map(|slot| slot.kind).collect::<Vec<_>>(), [SiteKind::Failing]);
    assert_eq!(taken(&mut schedule, &mut slots[0], end).unwrap().1, 1);
    schedule.connecting(&mut slots[0], HOST, end);
    schedule.host_failed(HOST, false, end);

    assert!(schedule.is_host_paused(HOST, after(end, 2 * PAUSE_MS - 1)), "the second failure");
    assert!(!schedule.is_host_paused(HOST, after(end, 2 * PAUSE_MS)));
}

#[test]
fn a_host_whose_pause_ended_before_the_restart_counts_as_failing_for_an_hour() {
    for (after_ms, expected) in
        [(60 * PAUSE_MS - 1, vec![SiteKind::Failing]), (60 * PAUSE_MS, vec![SiteKind::New, SiteKind::New])]
    {
        let start = restarted(PAUSE_MS + after_ms);
        let mut schedule = restored(&failed(1, false), start);

        assert_eq!(kinds(&mut schedule, start), expected, "{after_ms}");
    }
}

#[test]
fn a_dead_host_of_a_site_that_accepted_mail_does_not_make_the_site_a_failing_one() {
    let start = restarted(PAUSE_MS);
    let mut before = schedule();
    queue(&mut before, &[due("a.example")], at(0));
    let mut slots = before.reserve_sessions(at(0));
    let row = before.succeeded(&mut slots[0], at(0));

    let mut schedule = restored(&StoredSite { row, ..failed(1, false) }, start);

    assert_eq!(kinds(&mut schedule, start), [SiteKind::Working, SiteKind::Working]);
}

#[test]
fn a_host_with_a_slow_greeting_gets_more_time_after_a_restart() {
    for is_slow in [true, false] {
        assert_eq!(restored(&failed(1, is_slow), restarted(0)).is_host_slow(HOST), is_slow);
    }
}

#[test]
fn a_clock_that_was_set_back_makes_no_pause_longer() {
    let stored_ms = 9 * 60 * PAUSE_MS;
    for (set_back_ms, left_ms) in [(0, 30 * PAUSE_MS), (29 * PAUSE_MS, 30 * PAUSE_MS), (120 * PAUSE_MS, 0)] {
        let start = restarted(stored_ms - set_back_ms);
        let schedule = restored(&failed(10, false), start);

        assert_eq!(schedule.is_host_paused(HOST, after(start, left_ms - 1)), left_ms > 0, "{set_back_ms}");
        assert!(!schedule.is_host_paused(HOST, after(start, left_ms)), "{set_back_ms}");
    }
}

#[test]
fn the_state_in_memory_replaces_a_row_that_was_read_before_it() {
    let old = failed(1, true);
    let mut schedule = restored(&old, restarted(0));
    schedule.host_answered(HOST, restarted(0));
    schedule.queued(&due("b.example"), restarted(0));
    let lookup = schedule.next_lookup().unwrap();

    schedule.routed(&lookup, servers("b.example", &[HOST]), &old, restarted(0));

    assert!(!schedule.is_host_paused(HOST, restarted(0)) && !schedule.is_host_slow(HOST));
    assert_eq!(schedule.reserve_sessions(restarted(0)).len(), 2, "one for each site");
}

#[test]
fn only_a_change_of_a_pause_is_stored() {
    let (mut schedule, mut slots) = started(schedule(), &[due("a.example")]);
    let mut failures = |change: &mut dyn FnMut(&mut Schedule)| {
        change(&mut schedule);
        let changes = schedule.take_changed_hosts(usize::MAX, at(PAUSE_MS));
        assert!(!schedule.has_changed_hosts());
        changes.into_iter().map(|change| change.pause.map(|pause| pause.failures)).collect::<Vec<_>>()
    };

    assert_eq!(failures(&mut |it| it.host_failed(HOST, false, at(0))), [Some(1)]);
    assert_eq!(failures(&mut |it| it.host_failed(HOST, false, at(1))), [], "a concurrent session");
    assert_eq!(failures(&mut |it| it.host_failed(HOST, true, at(2))), [Some(1)], "its greeting is slow");
    assert_eq!(failures(&mut |it| it.end_host_pause(HOST, at(3))), [Some(1)], "on request");
    assert_eq!(failures(&mut |it| it.end_host_pause(HOST, at(4))), []);
    assert_eq!(failures(&mut |it| it.connecting(&mut slots[0], HOST, at(5))), [], "the start of a probe");
    assert_eq!(failures(&mut |it| it.host_failed(HOST, true, at(6))), [Some(2)]);
    assert_eq!(failures(&mut |it| it.session_opened(&mut slots[0], HOST, at(7))), [None]);
    assert_eq!(failures(&mut |it| it.session_opened(&mut slots[0], HOST, at(8))), [], "a host that works");
}

#[test]
fn changes_are_taken_in_parts_and_can_be_put_back() {
    let mut schedule = schedule();
    for host in ["a.mx", "b.mx", "c.mx"] {
        schedule.host_failed(host, false, at(0));
    }
    let taken = |schedule: &mut Schedule, hosts_max| -> Vec<String> {
        schedule.take_changed_hosts(hosts_max, at(0)).into_iter().map(|change| change.host).collect()
    };

    assert_eq!(taken(&mut schedule, 2), ["a.mx", "b.mx"]);
    schedule.put_changed_hosts_back(["a.mx".to_owned()]);

    assert_eq!(taken(&mut schedule, 3), ["a.mx", "c.mx"]);
}

#[test]
fn the_hosts_of_a_destination_are_read_with_its_first_lookup_unless_they_are_known() {
    let mut schedule = schedule();
    schedule.host_failed("known.mx", false, at(0));
    schedule.queued(&due("a.example"), at(0));
    let lookup = schedule.next_lookup().unwrap();
    let mut first = Servers::clone(&servers("a.example", &["known.mx", "new.mx"]));
    first.hosts[1].addresses = vec![([192, 0, 2, 1], 2_525).into()];
    first.fallback = Some(smarthost());
    let first = Arc::new(first);

    let hosts = vec!["new.mx:2525".to_owned(), "relay.example".to_owned()];
    assert_eq!(schedule.unread(&lookup, &first), UnreadState { has_site: true, hosts });
    schedule.routed(&lookup, Arc::clone(&first), &StoredSite::default(), at(0));
    let mut slots = schedule.reserve_sessions(at(0));
    let (all, _) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();
    emptied(&mut schedule, &all, at(0));

    // The route is too old for the next group.
    schedule.queued(&due("a.example"), at(ROUTE_FRESH_MS));
    let lookup = schedule.next_lookup().unwrap();
    assert_eq!(schedule.unread(&lookup, &first), UnreadState { has_site: false, hosts: Vec::new() });
}
