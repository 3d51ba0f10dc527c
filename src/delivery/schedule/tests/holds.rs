//! Holds of the operator, the explanation of lanes, and the end of pauses on request.

use super::super::explain::LaneWait;
use super::*;
use crate::base::id::TeamId;
use crate::delivery::queue::{HeldLanes, Hold, HoldKind};

fn holds(holds: &[(HoldKind, &str)]) -> HeldLanes {
    let hold = |(kind, name): &(HoldKind, &str)| Hold { kind: *kind, name: (*name).into(), since_ms: 0 };
    HeldLanes::new(&holds.iter().map(hold).collect::<Vec<_>>())
}

#[test]
fn a_held_domain_or_team_is_not_in_memory_and_others_are_delivered() {
    let team: TeamId = Id::from_bytes([2; 16]);
    let mut schedule = schedule();
    queue(&mut schedule, &[due("held.example"), due_of("a.example", 2, 0), due("a.example")], at(0));

    schedule.set_holds(holds(&[(HoldKind::Domain, "held.example"), (HoldKind::Team, &team.to_string())]), at(0));
    queue(&mut schedule, &[due("held.example"), due_of("later.example", 2, at(5_000).wall_ms)], at(0));

    let mut slots = schedule.reserve_sessions(at(0));
    let lanes: Vec<LaneKey> =
        slots.iter_mut().filter_map(|slot| taken(&mut schedule, slot, at(0))).map(|(taken, _)| taken.lane).collect();
    assert_eq!(lanes, [due("a.example").key.lane]);
    assert_eq!(schedule.lanes.keys().collect::<Vec<_>>(), [&due("a.example").key.lane]);
    assert!(schedule.is_held(due("held.example").key.lane) && !schedule.is_held(due("a.example").key.lane));
}

#[test]
fn a_held_site_gets_no_session_until_the_end_of_the_hold() {
    let (mut schedule, mut slots) = started(schedule(), &vec![due("a.example"); 50]);

    schedule.set_holds(holds(&[(HoldKind::Site, "a.example")]), at(0));
    queue(&mut schedule, &[due("a.example")], at(0));

    assert!(matches!(schedule.take(&mut slots[0], at(0), Some(100), |_| true), Take::End));
    for slot in &slots {
        schedule.session_ended(slot, at(0));
    }
    assert!(schedule.reserve_sessions(at(0)).is_empty());
    // The held groups must not expire.
    assert!(schedule.held_lanes(at(0)).is_empty());
    schedule.set_holds(HeldLanes::default(), at(0));
    assert_eq!(sites(&schedule.reserve_sessions(at(0))), ["a.example", "a.example"]);
}

#[test]
fn groups_that_the_operator_holds_do_not_count_as_waiting_for_the_delivery() {
    let mut schedule = schedule();
    queue(&mut schedule, &[due("a.example"), due("b.example")], at(0));
    let paused = |schedule: &Schedule| {
        ["a.example", "b.example"].map(|name| schedule.site_status(due(name).key.lane, at(0)).is_paused)
    };
    assert_eq!(paused(&schedule), [false, false]);

    // The lane of a held domain is not in memory, and that of a held site is.
    for (kind, expected) in
        [(HoldKind::Domain, [true, false]), (HoldKind::Site, [true, false]), (HoldKind::Queue, [true, true])]
    {
        schedule.set_holds(holds(&[(kind, "a.example")]), at(0));
        assert_eq!(paused(&schedule), expected, "{kind:?}");
    }
}

#[test]
fn a_lane_that_is_held_during_a_claim_leaves_the_memory_after_it() {
    let (mut schedule, mut slots) = started(schedule(), &vec![due("a.example"); 50]);
    let (first, _) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();

    schedule.set_holds(holds(&[(HoldKind::Domain, "a.example")]), at(0));
    assert!(taken(&mut schedule, &mut slots[0], at(0)).is_none());
    schedule.claimed(&first, LaneRest { ready: 32, next_due_ms: Some(0) }, at(0));

    assert!(schedule.lanes.is_empty());
}

#[test]
fn each_place_of_a_lane_is_explained_and_its_pauses_end_on_request() {
    let (mut schedule, now) = (schedule(), at(1_000));
    let lane = |name: &str| due(name).key.lane;
    let names = ["unknown.example", "failed.example", "dead.example", "paused.example", "good.example"];
    for name in names {
        schedule.queued(&due(name), now);
    }
    schedule.host_failed("mx.dead.example", false, now);
    let mut unknown = Vec::new();
    while let Some(lookup) = schedule.next_lookup() {
        match lookup.name.as_str() {
            "unknown.example" => unknown.push(lookup),
            "failed.example" => {
                let first = schedule.lookup_failed(&lookup, now).unwrap();
                schedule.claimed(&first, LaneRest { ready: 1, next_due_ms: None }, now);
            }
            name => {
                let servers = servers(name, &[&format!("mx.{name}")]);
                schedule.routed(&lookup, servers, &StoredSite::default(), now);
            }
        }
    }
    for slot in schedule.reserve_sessions(now) {
        if &*slot.site == "paused.example" {
            schedule.refused(&slot, &SiteRefusal::broken_off("421 slow down".into()), now);
        }
        schedule.session_ended(&slot, now);
    }

    let until = |ms: i64| now.wall_ms + ms;
    let site = |name: &str| Arc::<str>::from(name);
    let explained = |schedule: &Schedule| names.map(|name| schedule.explain(lane(name), now));
    assert_eq!(
        explained(&schedule),
        [
            LaneWait::Lookup,
            LaneWait::LookupFailed { until_ms: until(5_000) },
            LaneWait::HostsPaused { until_ms: until(PAUSE_MS) },
            LaneWait::SiteHeld { site: site("paused.example"), hold: SiteHold::Failure, until_ms: until(PAUSE_MS) },
            LaneWait::Session { site: site("good.example") },
        ]
    );
    assert_eq!(schedule.explain(lane("absent.example"), now), LaneWait::Unloaded);
    assert_eq!(schedule.site_of(lane("dead.example")), Some(site("dead.example")));
    assert_eq!(schedule.site_of(lane("failed.example")), None);

    for name in names {
        schedule.end_pauses(lane(name), now);
    }

    assert_eq!(schedule.next_lookup().map(|lookup| lookup.name), Some("failed.example".to_owned()));
    let [_, _, dead, paused, _] = explained(&schedule);
    assert_eq!(dead, LaneWait::Session { site: site("dead.example") });
    assert_eq!(paused, LaneWait::Session { site: site("paused.example") });
    assert!(sites(&schedule.reserve_sessions(now)).contains(&"paused.example"));
}
