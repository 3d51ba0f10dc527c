//! More lanes than fit into memory.

use super::super::lanes::LANES_MAX;
use super::*;
use crate::delivery::queue::{HeldLanes, Hold, HoldKind};

#[test]
fn lanes_that_cannot_be_delivered_now_make_room_for_others() {
    let mut schedule = schedule();
    let team = |number: usize| u8::try_from(number % 250).unwrap();
    let dead = |number: usize| due_of(&format!("dead{}.example", number / 250), team(number), 0);
    for number in 0..LANES_MAX {
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

    assert_eq!(schedule.forget_held(at(0)), LANES_MAX - 1, "one lane is claimed");

    assert!(schedule.take_overflow());
    assert!(schedule.found(&good, at(0)));
    schedule.claimed(&reporting, LaneRest::default(), at(0));
    route(&mut schedule, at(0), |_| None);
    assert_eq!(sites(&schedule.reserve_sessions(at(0))), ["good.example"]);
    assert_eq!(schedule.lanes.len(), 1);
    // The forgotten lanes are found again, and wait for the same host.
    assert!(schedule.found(&dead(LANES_MAX - 1), at(1)));
    route(&mut schedule, at(1), |_| Some(servers("dead", &["mx.dead"])));
    assert_eq!(schedule.held_lanes(at(1)), [dead(LANES_MAX - 1).key.lane]);
}

#[test]
fn the_lanes_of_a_paused_site_make_room_and_are_delivered_later() {
    let mut schedule = schedule();
    queue(&mut schedule, &[due_of("a.example", 1, 0), due_of("a.example", 2, 0)], at(0));
    let mut slots = schedule.reserve_sessions(at(0));
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
