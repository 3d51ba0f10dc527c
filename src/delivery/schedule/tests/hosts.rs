//! Hosts that cannot be connected to.

use super::*;

/// Adds lanes of as many destinations, and completes their lookups.
fn lanes(schedule: &mut Schedule, count: usize, routes: impl Fn(&str) -> Option<Arc<Servers>>) {
    for number in 0..count {
        schedule.queued(&due(&format!("d{number}.example")), at(0));
    }
    route(schedule, at(0), &routes);
}

#[test]
fn a_host_that_cannot_be_connected_to_holds_only_its_own_destinations() {
    let mut schedule = schedule();
    let now = at(0);
    for destination in ["dead.example", "good.example"] {
        schedule.queued(&due(destination), now);
    }
    let provider = |name: &str| Some(servers("provider", &[&format!("{name}.mx")]));
    route(&mut schedule, now, provider);
    let mut slots = schedule.reserve_sessions(now);
    schedule.host_failed("dead.example.mx", false, now);

    let (next, _) = taken(&mut schedule, &mut slots[0], at(1_000)).unwrap();

    assert_eq!(next.lane, due("good.example").key.lane);
    assert!(taken(&mut schedule, &mut slots[0], at(1_000)).is_none());
    assert_eq!(schedule.held_lanes(at(1_000)), [due("dead.example").key.lane]);
}

#[test]
fn a_dead_tenant_takes_no_session_of_a_provider_that_works() {
    let mut schedule = schedule();
    schedule.queued(&due("dead.example"), at(0));
    for _ in 0..40 {
        schedule.queued(&due("good.example"), at(0));
    }
    route(&mut schedule, at(0), |name| Some(servers("provider", &[&format!("{name}.mx")])));
    let mut slots = schedule.reserve_sessions(at(0));
    assert_eq!(slots.len(), 2);
    schedule.session_opened(&mut slots[0], "good.example.mx", at(1));

    schedule.host_failed("dead.example.mx", false, at(2));
    schedule.opening_failed(&slots[1], at(2));
    schedule.session_ended(&slots[1], at(3));

    assert_eq!(sites(&schedule.reserve_sessions(at(3))), ["provider"], "the second session starts again");
    let (next, groups_max) = taken(&mut schedule, &mut slots[0], at(3)).unwrap();
    assert_eq!((next.lane, groups_max), (due("good.example").key.lane, 8));
}

#[test]
fn a_site_whose_only_host_fails_is_tested_by_one_session() {
    let mut schedule = schedule();
    for _ in 0..40 {
        schedule.queued(&due("a.example"), at(0));
    }
    route(&mut schedule, at(0), |_| None);
    let mut slots = schedule.reserve_sessions(at(0));
    schedule.session_opened(&mut slots[0], "mx.a.example", at(1));
    schedule.host_failed("mx.a.example", false, at(2));
    for slot in &slots {
        schedule.opening_failed(slot, at(2));
        schedule.session_ended(slot, at(2));
    }

    schedule.advance(at(2 + PAUSE_MS));
    route(&mut schedule, at(2 + PAUSE_MS), |_| None);

    assert_eq!(schedule.reserve_sessions(at(2 + PAUSE_MS)).len(), 1);
}

#[test]
fn a_port_that_cannot_be_connected_to_does_not_pause_another_port_of_the_host() {
    let mut schedule = schedule();
    for destination in ["dead.example", "good.example"] {
        schedule.queued(&due(destination), at(0));
    }
    let smarthost = |name: &str| {
        let port = if name == "dead.example" { 2_525 } else { 587 };
        let mut servers = Servers::clone(&servers(&format!("relay {name}"), &["smtp.relay.example"]));
        servers.hosts[0].addresses = vec![([192, 0, 2, 1], port).into()];
        Some(Arc::new(servers))
    };
    let dead = smarthost("dead.example").unwrap().hosts[0].health_name().into_owned();
    schedule.host_failed(&dead, false, at(0));

    route(&mut schedule, at(0), smarthost);

    assert_eq!(sites(&schedule.reserve_sessions(at(0))), ["relay good.example"]);
    assert_eq!(schedule.held_lanes(at(0)), [due("dead.example").key.lane]);
}

#[test]
fn one_group_tests_a_paused_host_and_all_follow_when_it_works_again() {
    let mut schedule = schedule();
    let destinations = ["a.example", "b.example", "c.example"];
    for destination in destinations {
        schedule.queued(&due(destination), at(0));
    }
    let shared = |_: &str| Some(servers("shared", &["mx.shared"]));
    schedule.host_failed("mx.shared", false, at(0));
    route(&mut schedule, at(0), shared);
    assert!(schedule.reserve_sessions(at(0)).is_empty());

    schedule.advance(at(PAUSE_MS));
    route(&mut schedule, at(PAUSE_MS), shared);
    let mut slots = schedule.reserve_sessions(at(PAUSE_MS));
    let (probe, groups_max) = taken(&mut schedule, &mut slots[0], at(PAUSE_MS)).unwrap();
    schedule.connecting(&mut slots[0], "mx.shared", at(PAUSE_MS));
    let while_probed = taken(&mut schedule, &mut slots[0], at(PAUSE_MS)).is_some();
    schedule.session_opened(&mut slots[0], "mx.shared", at(PAUSE_MS));
    emptied(&mut schedule, &probe, at(PAUSE_MS));

    assert_eq!((groups_max, while_probed), (1, false));
    let mut lanes: Vec<LaneKey> =
        (0..2).map(|_| taken(&mut schedule, &mut slots[0], at(PAUSE_MS)).unwrap().0.lane).collect();
    lanes.push(probe.lane);
    lanes.sort_unstable();
    let mut expected = destinations.map(|destination| due(destination).key.lane);
    expected.sort_unstable();
    assert_eq!(lanes, expected);
}

#[test]
fn a_paused_host_that_refuses_a_session_is_not_paused_any_more() {
    let mut schedule = schedule();
    schedule.host_failed("mx.shared", false, at(0));
    let shared = |_: &str| Some(servers("shared", &["mx.shared"]));
    lanes(&mut schedule, 2, shared);
    schedule.advance(at(PAUSE_MS));
    route(&mut schedule, at(PAUSE_MS), shared);
    let mut slots = schedule.reserve_sessions(at(PAUSE_MS));
    let (probe, _) = taken(&mut schedule, &mut slots[0], at(PAUSE_MS)).unwrap();
    schedule.connecting(&mut slots[0], "mx.shared", at(PAUSE_MS));
    assert!(
        taken(&mut schedule, &mut slots[0], at(PAUSE_MS)).is_none()
            && schedule.is_host_paused("mx.shared", at(PAUSE_MS))
    );

    schedule.host_answered("mx.shared", at(PAUSE_MS));
    emptied(&mut schedule, &probe, at(PAUSE_MS));

    assert!(!schedule.is_host_paused("mx.shared", at(PAUSE_MS)));
    assert!(taken(&mut schedule, &mut slots[0], at(PAUSE_MS)).is_some(), "the other lane waits at the site");
}

#[test]
fn many_lanes_that_wait_for_a_host_have_one_timer() {
    let mut schedule = schedule();
    schedule.host_failed("mx.shared", false, at(0));
    lanes(&mut schedule, 100, |_: &str| Some(servers("shared", &["mx.shared"])));

    assert_eq!((schedule.held_lanes(at(0)).len(), schedule.timers.len()), (100, 1));
    schedule.advance(at(PAUSE_MS));
    route(&mut schedule, at(PAUSE_MS), |_: &str| Some(servers("shared", &["mx.shared"])));
    assert!(schedule.held_lanes(at(PAUSE_MS)).is_empty());
}

#[test]
fn the_pause_of_a_host_doubles_with_each_failed_probe_and_concurrent_failures_count_once() {
    let (mut schedule, mut slots) = started(schedule(), &[due("a.example")]);
    schedule.host_failed("mx.a.example", false, at(0));
    schedule.host_failed("mx.a.example", false, at(10));
    assert!(schedule.is_host_paused("mx.a.example", at(PAUSE_MS - 1)));
    assert!(!schedule.is_host_paused("mx.a.example", at(PAUSE_MS)));

    schedule.connecting(&mut slots[0], "mx.a.example", at(PAUSE_MS));
    schedule.host_failed("mx.a.example", false, at(PAUSE_MS + 100));

    assert!(schedule.is_host_paused("mx.a.example", at(PAUSE_MS + 100 + 2 * PAUSE_MS - 1)));
    assert!(!schedule.is_host_paused("mx.a.example", at(PAUSE_MS + 100 + 2 * PAUSE_MS)));
}

#[test]
fn the_pause_of_a_host_is_at_most_thirty_minutes() {
    const PAUSE_MAX_MS: i64 = 30 * 60_000;
    let mut schedule = schedule();
    for failure in 0..10 {
        schedule.host_failed("mx.a.example", false, at(failure * PAUSE_MAX_MS));
    }

    assert!(schedule.is_host_paused("mx.a.example", at(10 * PAUSE_MAX_MS - 1)));
    assert!(!schedule.is_host_paused("mx.a.example", at(10 * PAUSE_MAX_MS)));
}

#[test]
fn a_slow_host_does_not_pause_the_other_hosts_of_its_destination() {
    let mut schedule = schedule();
    schedule.queued(&due("evil.example"), at(0));
    route(&mut schedule, at(0), |_| Some(servers("evil.example", &["slow.evil.example", "mx.provider.example"])));
    let mut slots = schedule.reserve_sessions(at(0));

    schedule.connecting(&mut slots[0], "slow.evil.example", at(0));
    schedule.opening_interrupted(&slots[0], at(3_000));

    assert!(schedule.is_host_paused("slow.evil.example", at(3_001)));
    assert!(!schedule.is_host_paused("mx.provider.example", at(3_001)));
}

#[test]
fn a_host_without_a_greeting_is_slow_until_it_sends_one_or_fails_in_another_way() {
    let (mut schedule, mut slots) = started(schedule(), &[due("a.example")]);
    let host = "mx.a.example";

    schedule.host_failed(host, true, at(0));
    assert!(schedule.is_host_slow(host));
    schedule.host_failed(host, false, at(PAUSE_MS));
    assert!(!schedule.is_host_slow(host));

    schedule.host_failed(host, true, at(3 * PAUSE_MS));
    assert!(schedule.is_host_slow(host));
    schedule.session_opened(&mut slots[0], host, at(3 * PAUSE_MS));
    assert!(!schedule.is_host_slow(host));
}

#[test]
fn a_destination_continues_with_the_first_host_that_works() {
    let mut schedule = schedule();
    let hosts = ["a.mx.example", "b.mx.example"];
    schedule.host_failed(hosts[0], false, at(0));
    schedule.host_failed(hosts[1], false, at(1_000));
    schedule.queued(&due("a.example"), at(1_000));
    let both = |_: &str| Some(servers("a.example", &hosts));
    route(&mut schedule, at(1_000), both);
    assert_eq!(schedule.held_lanes(at(1_000)).len(), 1);

    // The first host stays down.
    schedule.advance(at(PAUSE_MS));
    let mut slots = schedule.reserve_sessions(at(PAUSE_MS));
    schedule.connecting(&mut slots[0], hosts[0], at(PAUSE_MS));
    schedule.host_failed(hosts[0], false, at(PAUSE_MS));
    assert!(taken(&mut schedule, &mut slots[0], at(PAUSE_MS)).is_none());
    schedule.advance(at(PAUSE_MS + 1_000));
    route(&mut schedule, at(PAUSE_MS + 1_000), both);

    assert_eq!(schedule.held_lanes(at(PAUSE_MS + 1_000)), []);
}

/// Returns the servers of a site with one host, and those of its fallback.
fn with_fallback() -> Arc<Servers> {
    let fallback = servers("fallback", &["mx.fallback"]);
    Arc::new(Servers { fallback: Some(fallback), ..Servers::clone(&servers("first", &["mx.first"])) })
}

#[test]
fn the_fallback_is_used_while_no_host_of_the_first_transport_can_be_connected_to() {
    let mut schedule = schedule();
    schedule.queued(&due("a.example"), at(0));
    route(&mut schedule, at(0), |_| Some(with_fallback()));
    let mut slots = schedule.reserve_sessions(at(0));
    assert_eq!(sites(&slots), ["first"]);
    let both = with_fallback();
    assert!(!schedule.has_fallback(&both, at(0)));

    schedule.host_failed("mx.first", false, at(0));
    assert!(schedule.has_fallback(&both, at(0)) && !schedule.has_fallback(both.fallback.as_ref().unwrap(), at(0)));
    // The lane moves to the other site, and the worker of the first one finds no group.
    assert!(taken(&mut schedule, &mut slots[0], at(1)).is_none());
    schedule.opening_failed(&slots[0], at(1));
    schedule.session_ended(&slots[0], at(1));
    let mut slots = schedule.reserve_sessions(at(1));
    assert_eq!(sites(&slots), ["fallback"]);

    // The first transport is used again after the pause.
    schedule.advance(at(PAUSE_MS));
    assert!(taken(&mut schedule, &mut slots[0], at(PAUSE_MS)).is_none());
    let mut slots = schedule.reserve_sessions(at(PAUSE_MS));
    assert_eq!(sites(&slots), ["first"]);
    assert_eq!(taken(&mut schedule, &mut slots[0], at(PAUSE_MS)).unwrap().0.lane, due("a.example").key.lane);
}

#[test]
fn a_lane_waits_for_the_first_pause_of_both_transports() {
    let mut schedule = schedule();
    schedule.host_failed("mx.first", false, at(0));
    schedule.host_failed("mx.first", false, at(PAUSE_MS));
    schedule.host_failed("mx.fallback", false, at(PAUSE_MS));
    schedule.queued(&due("a.example"), at(PAUSE_MS));
    route(&mut schedule, at(PAUSE_MS), |_| Some(with_fallback()));
    assert_eq!(schedule.held_lanes(at(PAUSE_MS)).len(), 1);
    assert!(!schedule.has_fallback(&with_fallback(), at(PAUSE_MS)));

    // The second failure of the first host pauses it for two minutes, and the fallback for one.
    schedule.advance(at(2 * PAUSE_MS));
    route(&mut schedule, at(2 * PAUSE_MS), |_| Some(with_fallback()));

    assert_eq!(sites(&schedule.reserve_sessions(at(2 * PAUSE_MS))), ["fallback"]);
}
