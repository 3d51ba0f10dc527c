//! Turns of the lanes of a slowed team.

use super::super::explain::LaneWait;
use super::super::slowed::STREAM_KEPT_MS;
use super::*;
use crate::base::id::TeamId;
use crate::delivery::queue::LanePace;

const TEAM: TeamId = Id::from_bytes([9; 16]);
const NAMES: [&str; 3] = ["a.example", "b.example", "c.example"];

/// A due group of a broadcast.
fn bulk(destination: &str, broadcast: u8) -> Due {
    let lane = LaneKey::new(destination, Class::Broadcast, Id::from_bytes([broadcast; 16]));
    Due { key: DueKey { lane, ..due(destination).key }, ..due(destination) }
}

/// Lets all sites with work claim, and ends their sessions. The claims have not ended.
fn claims(schedule: &mut Schedule, now: Now) -> Vec<Taken> {
    schedule.advance(now);
    route(schedule, now, |_| None);
    let mut claims = Vec::new();
    for mut slot in schedule.reserve_sessions(now) {
        while let Some((claim, _)) = taken(schedule, &mut slot, now) {
            claims.push(claim);
        }
        schedule.session_ended(&slot, now);
    }
    claims
}

/// Does the same as [`claims`], while the lookups of the destination `name` fail.
fn claims_without_servers(schedule: &mut Schedule, name: &str, now: Now) -> Vec<Taken> {
    schedule.advance(now);
    let mut reporting = Vec::new();
    while let Some(lookup) = schedule.next_lookup() {
        if lookup.name == name {
            reporting.extend(schedule.lookup_failed(&lookup, now));
        } else {
            let found = servers(&lookup.name, &[&format!("mx.{}", lookup.name)]);
            schedule.routed(&lookup, found, &StoredSite::default(), now);
        }
    }
    reporting.extend(claims(schedule, now));
    reporting
}

/// Ends a claim of a lane with one more group. The next message of the team is due at `next_ms`.
fn slowed(schedule: &mut Schedule, claim: &Taken, next_ms: i64, now: Now) {
    schedule.paced(claim.lane, LanePace::Slowed { team: TEAM, next_ms: at(next_ms).wall_ms }, now);
    schedule.claimed(claim, LaneRest { ready: 1, next_due_ms: Some(0) }, now);
}

/// Returns a schedule with three lanes that wait for a turn, the first one in a second.
fn waiting() -> Schedule {
    let mut schedule = schedule();
    queue(&mut schedule, &NAMES.map(|name| bulk(name, 1)), at(0));
    let first = claims(&mut schedule, at(0));
    assert_eq!(first.len(), 3, "the pace of the team is not known yet");
    for claim in &first {
        slowed(&mut schedule, claim, 1_000, at(0));
    }
    schedule
}

#[test]
fn one_lane_of_a_slowed_team_claims_each_second_and_all_get_turns() {
    let mut schedule = waiting();
    assert!(claims(&mut schedule, at(999)).is_empty());

    let mut order = Vec::new();
    for second in 1..=6 {
        let now = at(second * 1_000);
        let turn = claims(&mut schedule, now);
        assert_eq!(turn.len(), 1, "second {second}");
        order.push(turn[0].lane);
        slowed(&mut schedule, &turn[0], (second + 1) * 1_000, now);
    }

    assert_eq!(order[..3], order[3..]);
    order.truncate(3);
    order.sort_unstable();
    order.dedup();
    assert_eq!(order.len(), 3);
}

#[test]
fn a_slowed_team_does_not_delay_its_transactional_email_or_the_broadcasts_of_others() {
    let mut schedule = waiting();
    let others = [due("a.example"), bulk("a.example", 2)];
    queue(&mut schedule, &others, at(100));

    let mut lanes: Vec<LaneKey> = claims(&mut schedule, at(100)).iter().map(|claim| claim.lane).collect();

    lanes.sort_unstable();
    let mut expected = others.map(|due| due.key.lane);
    expected.sort_unstable();
    assert_eq!(lanes, expected);
}

#[test]
fn all_lanes_continue_after_the_first_claim_with_the_full_pace() {
    let mut schedule = waiting();
    let turn = claims(&mut schedule, at(1_000));

    schedule.paced(turn[0].lane, LanePace::Full, at(1_000));
    emptied(&mut schedule, &turn[0], at(1_000));

    assert_eq!(claims(&mut schedule, at(1_000)).len(), 2);
}

#[test]
fn a_lane_without_a_working_host_does_not_delay_the_others_and_is_held() {
    let mut schedule = waiting();
    schedule.host_failed("mx.b.example", false, at(0));

    let mut lanes = Vec::new();
    for second in 1..=3 {
        let now = at(second * 1_000);
        for turn in claims(&mut schedule, now) {
            lanes.push(turn.lane);
            slowed(&mut schedule, &turn, (second + 1) * 1_000, now);
        }
    }

    let held = bulk("b.example", 1).key.lane;
    assert_eq!(lanes.len(), 2);
    assert!(!lanes.contains(&held));
    assert_eq!(schedule.held_lanes(at(3_000)), [held]);
}

#[test]
fn a_lane_whose_lookups_fail_is_held_during_its_turn_and_after_the_recovery_of_its_team() {
    let mut schedule = waiting();
    let failing = bulk("a.example", 1).key.lane;
    // The routes are looked up again.
    let after = |second: i64| at(ROUTE_FRESH_MS + second * 1_000);
    for second in 0..7 {
        for claim in claims_without_servers(&mut schedule, "a.example", after(second)) {
            slowed(&mut schedule, &claim, after(second + 1).elapsed_ms, after(second));
        }
    }
    let now = after(7);
    assert_eq!(schedule.held_lanes(now), [failing]);

    let turn = claims_without_servers(&mut schedule, "a.example", now);
    schedule.paced(turn[0].lane, LanePace::Full, now);
    emptied(&mut schedule, &turn[0], now);

    assert_eq!(schedule.held_lanes(now), [failing]);
    assert!(!schedule.is_slowed(failing) && !schedule.needs_turn(failing));
}

#[test]
fn the_other_lanes_of_a_slowed_broadcast_wait_without_a_claim_and_a_lookup() {
    let (mut schedule, mut slots) = started(schedule(), &NAMES.map(|name| bulk(name, 1)));
    let (first, _) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();
    slowed(&mut schedule, &first, 1_000, at(0));

    assert!(slots.iter_mut().all(|slot| taken(&mut schedule, slot, at(0)).is_none()));
    let later = bulk("d.example", 1);
    schedule.queued(&later, at(0));

    assert!(schedule.next_lookup().is_none());
    for lane in NAMES.map(|name| bulk(name, 1).key.lane).into_iter().chain([later.key.lane]) {
        assert_eq!(schedule.explain(lane, at(0)), LaneWait::Slowed);
    }
}

#[test]
fn a_turn_reserves_one_session_and_takes_one_token_whatever_the_number_of_due_groups() {
    let mut schedule = schedule();
    queue(&mut schedule, &[bulk("a.example", 1)], at(0));
    let first = claims(&mut schedule, at(0));
    schedule.paced(first[0].lane, LanePace::Slowed { team: TEAM, next_ms: at(1_000).wall_ms }, at(0));
    schedule.claimed(&first[0], LaneRest { ready: 32, next_due_ms: Some(0) }, at(0));

    schedule.advance(at(1_000));
    let mut slots = schedule.reserve_sessions(at(1_000));
    // Further groups of the broadcast become due meanwhile.
    queue(&mut schedule, &vec![bulk("a.example", 1); 30], at(1_000));
    let (turn, groups_max) = taken(&mut schedule, &mut slots[0], at(1_000)).unwrap();

    assert_eq!((slots.len(), groups_max), (1, 1));
    assert!(taken(&mut schedule, &mut slots[0], at(1_000)).is_none());
    schedule.claimed(&turn, LaneRest { ready: 32, next_due_ms: Some(0) }, at(1_000));
    assert_eq!((schedule.lanes[&turn.lane].ready, schedule.sites["a.example"].ready), (32, 0));
}

#[test]
fn a_slowed_broadcast_without_lanes_in_memory_is_forgotten_after_an_hour() {
    let mut schedule = waiting();
    schedule.forget_unused(at(2 * STREAM_KEPT_MS));
    assert!(schedule.is_slowed(bulk("d.example", 1).key.lane), "it has lanes");
    schedule.forget_held(at(0));

    schedule.forget_unused(at(STREAM_KEPT_MS - 1));
    assert!(schedule.is_slowed(bulk("d.example", 1).key.lane));
    schedule.forget_unused(at(STREAM_KEPT_MS));

    assert!(schedule.slowed.is_empty() && schedule.slowed_streams.is_empty());
}

#[test]
fn waiting_lanes_make_room_for_others_and_count_as_paused() {
    let mut schedule = waiting();
    for name in NAMES {
        let lane = bulk(name, 1).key.lane;
        assert_eq!(schedule.explain(lane, at(0)), LaneWait::Slowed);
        assert!(schedule.site_status(lane, at(0)).is_paused);
    }

    assert_eq!(schedule.forget_held(at(0)), 3);

    assert!(schedule.lanes.is_empty());
    assert!(claims(&mut schedule, at(1_000)).is_empty());
    assert!(schedule.found(&bulk("a.example", 1), at(1_000)));
    assert_eq!(claims(&mut schedule, at(1_000)).len(), 1);
}
