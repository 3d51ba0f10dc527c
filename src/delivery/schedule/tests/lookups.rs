//! Lookups that fail.

use super::super::lookups::{LOOKUP_PAUSE_MS, REPEATED_LOOKUPS_MAX};
use super::*;

#[test]
fn a_failed_lookup_holds_the_groups_and_reports_one_delay() {
    let mut schedule = schedule();
    for team in 1..=3 {
        schedule.queued(&due_of("a.example", team, 0), at(0));
    }
    let lookup = schedule.next_lookup().unwrap();
    assert_eq!(schedule.next_lookup(), None);

    let reporting = schedule.lookup_failed(&lookup, at(0)).unwrap();
    schedule.claimed(&reporting, LaneRest { ready: 0, next_due_ms: Some(at(60_000).wall_ms) }, at(0));

    assert_eq!(schedule.held_lanes(at(0)).len(), 2);
    assert_eq!(schedule.next_lookup(), None);
    schedule.advance(at(LOOKUP_PAUSE_MS));
    let again = schedule.next_lookup().unwrap();
    schedule.routed(&again, servers("a.example", &["mx.a.example"]), &StoredSite::default(), at(LOOKUP_PAUSE_MS));
    assert_eq!(schedule.held_lanes(at(LOOKUP_PAUSE_MS)), []);
    assert_eq!(sites(&schedule.reserve_sessions(at(LOOKUP_PAUSE_MS))), ["a.example", "a.example"]);
}

#[test]
fn all_failed_lookups_are_repeated_when_one_succeeds_again() {
    let mut schedule = schedule();
    for (at_ms, name) in [(0, "a.example"), (1_000, "b.example"), (2_000, "c.example")] {
        schedule.queued(&due(name), at(at_ms));
        let lookup = schedule.next_lookup().unwrap();
        let reporting = schedule.lookup_failed(&lookup, at(at_ms)).unwrap();
        schedule.claimed(&reporting, LaneRest { ready: 1, next_due_ms: Some(0) }, at(at_ms));
    }
    // The lookup that failed last is repeated without a longer pause.
    let mut repeated = Vec::new();
    for second in 3..=40 {
        schedule.advance(at(second * 1_000));
        while let Some(lookup) = schedule.next_lookup() {
            assert!(lookup.fresh && schedule.lookup_failed(&lookup, at(second * 1_000)).is_none());
            repeated.push(format!("{second} {}", lookup.name));
        }
    }
    let expected =
        ["5 a", "6 b", "7 c", "12 c", "15 a", "16 b", "17 c", "22 c", "27 c", "32 c", "35 a", "36 b", "37 c"];
    assert_eq!(repeated, expected.map(|name| format!("{name}.example")));

    schedule.advance(at(42_000));
    let probe = schedule.next_lookup().unwrap();
    schedule.routed(&probe, servers("c.example", &["mx.c.example"]), &StoredSite::default(), at(42_000));

    let mut others: Vec<_> = std::iter::from_fn(|| schedule.next_lookup()).map(|lookup| lookup.name).collect();
    others.sort();
    assert_eq!(others, ["a.example", "b.example"]);
}

#[test]
fn an_outage_of_the_dns_for_fourteen_minutes_ends_for_all_destinations_within_seconds() {
    let mut schedule = schedule();
    for name in ["a.example", "b.example", "c.example"] {
        schedule.queued(&due(name), at(0));
        let lookup = schedule.next_lookup().unwrap();
        let reporting = schedule.lookup_failed(&lookup, at(0)).unwrap();
        schedule.claimed(&reporting, LaneRest { ready: 1, next_due_ms: Some(0) }, at(0));
    }
    let mut seconds = vec![0];
    for second in 1..=840 {
        schedule.advance(at(second * 1_000));
        while let Some(lookup) = schedule.next_lookup() {
            assert!(schedule.lookup_failed(&lookup, at(second * 1_000)).is_none());
            seconds.push(second);
        }
    }
    seconds.push(841);
    assert!(seconds.windows(2).all(|pair| pair[1] - pair[0] <= 10), "{seconds:?}");

    let mut found = Vec::new();
    for second in 841..=850 {
        schedule.advance(at(second * 1_000));
        while let Some(lookup) = schedule.next_lookup() {
            let mx = servers(&lookup.name, &[&format!("mx.{}", lookup.name)]);
            schedule.routed(&lookup, mx, &StoredSite::default(), at(second * 1_000));
            found.push(lookup.name);
        }
    }
    found.sort();
    assert_eq!(found, ["a.example", "b.example", "c.example"]);
}

#[test]
fn each_lane_behind_a_smarthost_reports_the_delay_of_failed_lookups_once() {
    let mut schedule = Schedule::new(schedule().limits, RouteTable::single(true));
    for name in ["a.example", "b.example"] {
        schedule.queued(&due(name), at(0));
    }
    let mut reported = Vec::new();
    for second in 0..=30 {
        schedule.advance(at(second * 1_000));
        while let Some(lookup) = schedule.next_lookup() {
            if let Some(taken) = schedule.lookup_failed(&lookup, at(second * 1_000)) {
                reported.push(taken.lane);
                schedule.claimed(&taken, LaneRest { ready: 1, next_due_ms: Some(0) }, at(second * 1_000));
            }
        }
    }

    assert_eq!(reported, ["a.example", "b.example"].map(|name| due(name).key.lane));
}

#[test]
fn lookups_of_new_destinations_precede_repeated_ones() {
    let mut schedule = schedule();
    let failing: Vec<Due> = (0..200).map(|number| due(&format!("failing{number}.example"))).collect();
    for due in &failing {
        schedule.queued(due, at(0));
    }
    while let Some(lookup) = schedule.next_lookup() {
        if let Some(taken) = schedule.lookup_failed(&lookup, at(0)) {
            schedule.claimed(&taken, LaneRest { ready: 1, next_due_ms: Some(0) }, at(0));
        }
    }
    schedule.advance(at(LOOKUP_PAUSE_MS));
    let repeated = std::iter::from_fn(|| schedule.next_lookup()).count();
    assert_eq!(repeated, REPEATED_LOOKUPS_MAX);

    schedule.queued(&due("good.example"), at(LOOKUP_PAUSE_MS));

    assert_eq!(schedule.next_lookup().unwrap().name, "good.example");
}
