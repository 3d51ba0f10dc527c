//! More lanes than fit into memory.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::*;
use crate::delivery::lane_scan::LaneScan;
use crate::delivery::queue::{HeldLanes, Hold, HoldKind};

/// Number of lanes that fit.
const LANES: usize = 1_000;

fn bounded(lanes_max: usize) -> Schedule {
    schedule_with(Limits { lanes_max, ..schedule().limits })
}

#[test]
fn lanes_that_cannot_be_delivered_now_make_room_for_others() {
    let mut schedule = bounded(LANES);
    let team = |number: usize| u8::try_from(number % 250).unwrap();
    let dead = |number: usize| due_of(&format!("dead{}.example", number / 250), team(number), 0);
    for number in 0..LANES {
        assert!(schedule.found(&dead(number), at(0)));
    }
    let good = due("good.example");
    assert!(!schedule.found(&good, at(0)));
    // One destination fails its lookup, the hosts of the others are paused.
    let failing = schedule.next_lookup().unwrap();
    let reporting = schedule.lookup_failed(&failing, at(0)).unwrap();
    schedule.host_failed("mx.dead", false, at(0));
    route(&mut schedule, at(0), |_| Some(servers("dead", &["mx.dead"])));
    assert!(!schedule.take_overflow(), "there is no room");

    assert_eq!(schedule.forget_held(at(0)), LANES - 1, "one lane is claimed");

    assert!(schedule.take_overflow());
    assert!(schedule.found(&good, at(0)));
    schedule.claimed(&reporting, LaneRest::default(), at(0));
    route(&mut schedule, at(0), |_| None);
    assert_eq!(sites(&schedule.reserve_sessions(at(0))), ["good.example"]);
    assert_eq!(schedule.lanes.len(), 1);
    // The forgotten lanes are found again, and wait for the same host.
    assert!(schedule.found(&dead(LANES - 1), at(1)));
    route(&mut schedule, at(1), |_| Some(servers("dead", &["mx.dead"])));
    assert_eq!(schedule.held_lanes(at(1)), [dead(LANES - 1).key.lane]);
}

#[test]
fn new_email_has_places_that_the_lanes_of_the_table_do_not_use() {
    let mut schedule = bounded(LANES);
    for number in 0..LANES {
        assert!(schedule.found(&due(&format!("old{number}.example")), at(0)));
    }
    let new = due("new.example");
    assert!(!schedule.found(&new, at(0)));

    schedule.queued(&new, at(0));

    assert!(schedule.lanes.contains_key(&new.key.lane));
    // The lookup of a new destination is the next one.
    assert_eq!(schedule.next_lookup().unwrap().name, "new.example");
}

#[test]
fn the_lanes_of_a_paused_site_make_room_and_are_delivered_later() {
    let (mut schedule, mut slots) = started(schedule(), &[due_of("a.example", 1, 0), due_of("a.example", 2, 0)]);
    let (claimed, _) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();
    schedule.refused(&slots[0], &SiteRefusal::broken_off("421 slow down".into()), at(0));

    assert_eq!(schedule.forget_held(at(0)), 1);

    schedule.claimed(&claimed, LaneRest { ready: 1, next_due_ms: Some(0) }, at(0));
    for slot in &slots {
        schedule.session_ended(slot, at(0));
    }
    assert!(schedule.found(&due_of("a.example", 2, 0), at(1)));
    schedule.advance(at(PAUSE_MS));
    route(&mut schedule, at(PAUSE_MS), |_| None);
    let mut slots = schedule.reserve_sessions(at(PAUSE_MS));
    let mut lanes = Vec::new();
    while let Some((next, _)) = taken(&mut schedule, &mut slots[0], at(PAUSE_MS)) {
        emptied(&mut schedule, &next, at(PAUSE_MS));
        lanes.push(next.lane);
    }
    lanes.sort_unstable();
    let mut expected = [claimed.lane, due_of("a.example", 2, 0).key.lane];
    expected.sort_unstable();
    assert_eq!(lanes, expected);
}

#[test]
fn a_lane_that_the_operator_held_while_room_was_made_is_delivered_after_the_hold() {
    for is_host_paused in [false, true] {
        let mut schedule = schedule();
        let shared = |_: &str| Some(servers("site", &["mx.site"]));
        let lanes = ["held.example", "other.example"];
        if is_host_paused {
            schedule.host_failed("mx.site", false, at(0));
        }
        lanes.iter().for_each(|name| schedule.queued(&due(name), at(0)));
        route(&mut schedule, at(0), shared);
        for slot in schedule.reserve_sessions(at(0)) {
            schedule.refused(&slot, &SiteRefusal::broken_off("421 slow down".into()), at(0));
            schedule.session_ended(&slot, at(0));
        }
        let hold = Hold { kind: HoldKind::Domain, name: lanes[0].into(), since_ms: 0 };
        schedule.set_holds(HeldLanes::new(&[hold]), at(0));

        assert_eq!(schedule.forget_held(at(0)), 2, "{is_host_paused}");

        schedule.set_holds(HeldLanes::default(), at(1));
        assert!(lanes.iter().all(|name| schedule.found(&due(name), at(1))));
        route(&mut schedule, at(1), shared);
        schedule.advance(at(PAUSE_MS));
        route(&mut schedule, at(PAUSE_MS), shared);
        let mut slots = schedule.reserve_sessions(at(PAUSE_MS));
        schedule.session_opened(&mut slots[0], "mx.site", at(PAUSE_MS));
        let mut taken_lanes = Vec::new();
        while let Some((next, _)) = taken(&mut schedule, &mut slots[0], at(PAUSE_MS)) {
            emptied(&mut schedule, &next, at(PAUSE_MS));
            taken_lanes.push(next.lane);
        }
        taken_lanes.sort_unstable();
        let mut expected = lanes.map(|name| due(name).key.lane);
        expected.sort_unstable();
        assert_eq!(taken_lanes, expected, "{is_host_paused}");
    }
}

/// Does the work of the dispatcher with the lanes of a table, and that of the workers. Groups for a destination that
/// starts with `dead` are never delivered.
fn run_second(schedule: &mut Schedule, scan: &mut LaneScan, table: &mut BTreeMap<LaneKey, Due>, now: Now) {
    schedule.advance(now);
    if schedule.take_overflow() {
        scan.start();
    }
    while scan.is_running() {
        let after = scan.after().map_or(Bound::Unbounded, Bound::Excluded);
        let page: Vec<Due> = table.range((after, Bound::Unbounded)).map(|(_, due)| due.clone()).take(7).collect();
        let fitting = page.iter().take_while(|due| schedule.found(due, now)).count();
        let last = page[..fitting].last().map(|due| due.key.lane);
        match fitting == page.len() {
            true => scan.read(last, page.len() < 7),
            false => scan.overflowed(last, || schedule.forget_held(now)),
        }
    }
    route(schedule, now, |_| None);
    let mut slots = schedule.reserve_sessions(now);
    while let Some(mut slot) = slots.pop() {
        while let Some((next, _)) = taken(schedule, &mut slot, now) {
            if !slot.site.starts_with("dead") {
                table.remove(&next.lane);
                emptied(schedule, &next, now);
                continue;
            }
            let host = format!("mx.{}", slot.site);
            schedule.connecting(&mut slot, &host, now);
            schedule.host_failed(&host, false, now);
            schedule.opening_failed(&slot, now);
            schedule.claimed(&next, LaneRest { ready: 1, next_due_ms: Some(0) }, now);
        }
        schedule.session_ended(&slot, now);
        slots.extend(schedule.reserve_sessions(now));
    }
}

/// Returns a table with 20 lanes that can be delivered among 200 that cannot.
fn mixed_table() -> BTreeMap<LaneKey, Due> {
    let dues =
        (0..220).map(|number| due(&format!("{}{number}.example", if number % 11 == 0 { "good" } else { "dead" })));
    dues.map(|due| (due.key.lane, due)).collect()
}

fn deliverable(table: &BTreeMap<LaneKey, Due>) -> usize {
    table.values().filter(|due| due.destination.starts_with("good")).count()
}

#[test]
fn no_lane_starves_after_a_start_with_more_lanes_than_fit() {
    for start in [0, 40, 130, 255] {
        let (mut schedule, mut table) = (bounded(16), mixed_table());
        let first = LaneKey { destination: [start; 16], ..due("a.example").key.lane };
        let mut scan = LaneScan::behind(first);
        scan.start();
        let mut second = 0;
        while deliverable(&table) > 0 {
            assert!(second < 1_800, "{} lanes have not been delivered", deliverable(&table));
            if second % 60 == 59 {
                scan.start();
            }
            run_second(&mut schedule, &mut scan, &mut table, at(second * 1_000));
            second += 1;
        }
        assert_eq!(table.len(), 200);
    }
}

#[test]
fn no_lane_starves_if_each_process_ends_after_its_first_lanes() {
    let mut table = mixed_table();
    for number in 0..64_u8 {
        let first = LaneKey { destination: [number.wrapping_mul(37); 16], ..due("a.example").key.lane };
        let (mut schedule, mut scan) = (bounded(16), LaneScan::behind(first));
        scan.start();
        run_second(&mut schedule, &mut scan, &mut table, at(0));
    }

    assert_eq!(deliverable(&table), 0);
}
