//! Turns of the lanes of a slowed team.

use super::super::explain::LaneWait;
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
fn a_lane_without_a_working_host_does_not_delay_the_others_and_does_not_expire() {
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

    assert_eq!(lanes.len(), 2);
    assert!(!lanes.contains(&bulk("b.example", 1).key.lane));
    assert!(schedule.held_lanes(at(3_000)).is_empty());
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
