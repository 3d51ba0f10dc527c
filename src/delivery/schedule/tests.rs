use super::lanes::CLAIM_FAILED_MS;
use super::lookups::{LOOKUP_PAUSE_MS, REPEATED_LOOKUPS_MAX};
use super::sessions::SLICE_MS;
use super::*;
use crate::base::id::Id;
use crate::delivery::queue::{Due, DueKey, FoundLane, LaneRest};
use crate::delivery::rows::Class;
use crate::delivery::simulated;
use crate::delivery::smtp::TlsPolicy;
use crate::delivery::transport::MailHost;

const PAUSE_MS: i64 = 60_000;

fn at(ms: i64) -> Now {
    Now { wall_ms: 1_000_000 + ms, elapsed_ms: ms }
}

fn schedule() -> Schedule {
    Schedule::new(Limits {
        sessions_max: 20,
        site_sessions_max: 4,
        pause_min: Duration::from_millis(60_000),
        is_single: false,
    })
}

fn due_of(destination: &str, team: u8, due_ms: TimestampMs) -> Due {
    let lane = LaneKey::new(destination, Class::Transactional, Id::from_bytes([team; 16]));
    let key = DueKey { lane, due_ms, email: Id::MIN, group: 0 };
    Due { key, destination: destination.into(), vanished: false }
}

fn due(destination: &str) -> Due {
    due_of(destination, 1, 0)
}

fn servers(site: &str, hosts: &[&str]) -> Arc<Servers> {
    let host = |name: &&str| MailHost { name: (*name).into(), addresses: Vec::new(), tls: TlsPolicy::Never };
    let hosts = hosts.iter().map(host).collect();
    Arc::new(Servers { site: site.into(), hosts, credentials: None, is_final: true })
}

/// Completes the lookups that are due. Each destination is a site with one host, unless `routes` names another.
fn route(schedule: &mut Schedule, now: Now, routes: impl Fn(&str) -> Option<Arc<Servers>>) {
    while let Some(lookup) = schedule.next_lookup() {
        let servers = routes(&lookup.name).unwrap_or_else(|| servers(&lookup.name, &[&format!("mx.{}", lookup.name)]));
        schedule.routed(&lookup, servers, now);
    }
}

fn queue(schedule: &mut Schedule, dues: &[Due], now: Now) {
    for due in dues {
        schedule.queued(due, now);
    }
    route(schedule, now, |_| None);
}

/// Takes the next lane of a session, whatever its servers are.
fn taken(schedule: &mut Schedule, slot: &Slot, now: Now) -> Option<(Taken, usize)> {
    match schedule.take(slot, now, |_| true) {
        Take::Groups { taken, groups_max, .. } => Some((taken, groups_max)),
        Take::Wait { .. } | Take::OtherServers | Take::End => None,
    }
}

fn sites(slots: &[Slot]) -> Vec<&str> {
    slots.iter().map(|slot| &*slot.site).collect()
}

/// Ends a claim after which the lane is empty.
fn emptied(schedule: &mut Schedule, taken: &Taken, now: Now) {
    schedule.claimed(taken, LaneRest::default(), now);
}

#[test]
fn a_group_is_taken_at_its_due_time_and_an_empty_lane_is_forgotten() {
    let mut schedule = schedule();
    queue(&mut schedule, &[due_of("a.example", 1, at(5_000).wall_ms)], at(0));
    assert!(schedule.reserve_sessions(at(4_999)).is_empty());
    assert_eq!(schedule.time_until_work(at(0)), Some(Duration::from_secs(5)));

    schedule.advance(at(5_000));
    route(&mut schedule, at(5_000), |_| None);
    let slots = schedule.reserve_sessions(at(5_000));
    let (taken, groups_max) = taken(&mut schedule, &slots[0], at(5_000)).unwrap();
    emptied(&mut schedule, &taken, at(5_000));

    assert_eq!((sites(&slots), groups_max), (vec!["a.example"], 1));
    assert!(schedule.lanes.is_empty());
}

#[test]
fn a_group_that_is_queued_during_a_claim_is_not_forgotten() {
    let mut schedule = schedule();
    queue(&mut schedule, &[due("a.example")], at(0));
    let slots = schedule.reserve_sessions(at(0));
    let (first, _) = taken(&mut schedule, &slots[0], at(0)).unwrap();
    queue(&mut schedule, &[due("a.example")], at(1));

    emptied(&mut schedule, &first, at(1));

    assert!(taken(&mut schedule, &slots[0], at(1)).is_some());
}

#[test]
fn a_claim_that_fails_is_repeated_some_seconds_later() {
    let mut schedule = schedule();
    queue(&mut schedule, &[due("a.example")], at(0));
    let slots = schedule.reserve_sessions(at(0));
    let (first, _) = taken(&mut schedule, &slots[0], at(0)).unwrap();

    schedule.claim_failed(&first, at(0));

    assert!(taken(&mut schedule, &slots[0], at(0)).is_none());
    schedule.advance(at(CLAIM_FAILED_MS));
    assert!(taken(&mut schedule, &slots[0], at(CLAIM_FAILED_MS)).is_some());
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
    let slots = schedule.reserve_sessions(now);
    schedule.host_failed("dead.example.mx", false, now);

    let (next, _) = taken(&mut schedule, &slots[0], at(1_000)).unwrap();

    assert_eq!(next.lane, due("good.example").key.lane);
    assert!(taken(&mut schedule, &slots[0], at(1_000)).is_none());
    assert_eq!(schedule.held_lanes(at(1_000)), [due("dead.example").key.lane]);
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
    let (probe, groups_max) = taken(&mut schedule, &slots[0], at(PAUSE_MS)).unwrap();
    schedule.connecting(&shared("").unwrap(), at(PAUSE_MS));
    let while_probed = taken(&mut schedule, &slots[0], at(PAUSE_MS)).is_some();
    schedule.session_opened(&mut slots[0], "mx.shared", at(PAUSE_MS));
    emptied(&mut schedule, &probe, at(PAUSE_MS));

    assert_eq!((groups_max, while_probed), (1, false));
    let mut lanes: Vec<LaneKey> =
        (0..2).map(|_| taken(&mut schedule, &slots[0], at(PAUSE_MS)).unwrap().0.lane).collect();
    lanes.push(probe.lane);
    lanes.sort_unstable();
    let mut expected = destinations.map(|destination| due(destination).key.lane);
    expected.sort_unstable();
    assert_eq!(lanes, expected);
}

#[test]
fn the_pause_of_a_host_doubles_with_each_failed_probe_and_concurrent_failures_count_once() {
    let mut schedule = schedule();
    let mx = servers("a.example", &["mx.a.example"]);
    schedule.host_failed("mx.a.example", false, at(0));
    schedule.host_failed("mx.a.example", false, at(10));
    assert!(schedule.is_host_paused("mx.a.example", at(PAUSE_MS - 1)));
    assert!(!schedule.is_host_paused("mx.a.example", at(PAUSE_MS)));

    schedule.connecting(&mx, at(PAUSE_MS));
    schedule.host_failed("mx.a.example", false, at(PAUSE_MS + 100));

    assert!(schedule.is_host_paused("mx.a.example", at(PAUSE_MS + 100 + 2 * PAUSE_MS - 1)));
    assert!(!schedule.is_host_paused("mx.a.example", at(PAUSE_MS + 100 + 2 * PAUSE_MS)));
}

#[test]
fn silent_servers_leave_sessions_to_a_site_that_is_seen_for_the_first_time() {
    let mut schedule = schedule();
    let silent: Vec<Due> = (0..500).map(|number| due(&format!("silent{number}.example"))).collect();
    queue(&mut schedule, &silent, at(0));
    let mut slots = schedule.reserve_sessions(at(0));
    assert_eq!(slots.len(), 10, "the guaranteed parts of working and failing sites stay free");
    // After three seconds, the openings use the part of the failing sites, or end.
    let kept: Vec<bool> = slots.iter_mut().map(|slot| schedule.opening_is_slow(slot)).collect();
    for (slot, kept) in slots.iter().zip(&kept) {
        if !kept {
            schedule.session_ended(slot, at(3_000));
        }
    }
    assert_eq!(kept.iter().filter(|kept| **kept).count(), 6, "a third of the sessions");

    queue(&mut schedule, &[due("good.example")], at(3_001));
    let started = schedule.reserve_sessions(at(3_001));

    assert_eq!(started[0].site.as_ref(), "good.example");
}

#[test]
fn a_backlog_for_many_working_sites_does_not_delay_a_site_that_gets_its_first_message() {
    let mut schedule = schedule();
    let backlog: Vec<Due> = (0..100).flat_map(|number| vec![due(&format!("busy{number}.example")); 50]).collect();
    queue(&mut schedule, &backlog, at(0));
    let mut running = Vec::new();
    loop {
        let started = schedule.reserve_sessions(at(0));
        if started.is_empty() {
            break;
        }
        for mut slot in started {
            let host = format!("mx.{}", slot.site);
            schedule.session_opened(&mut slot, &host, at(0));
            running.push(slot);
        }
    }
    assert_eq!(running.len(), 18, "the guaranteed part of failing sites stays free");

    queue(&mut schedule, &[due("good.example")], at(1));
    let mut ended = 0;
    for slot in &running {
        if matches!(schedule.take(slot, at(SLICE_MS), |_| true), Take::End) {
            schedule.session_ended(slot, at(SLICE_MS));
            ended += 1;
        }
    }

    assert_eq!(ended, 18);
    assert_eq!(schedule.reserve_sessions(at(SLICE_MS))[0].site.as_ref(), "good.example");
}

#[test]
fn a_session_ends_after_its_slice_if_other_sites_wait() {
    let mut schedule = schedule();
    let backlog: Vec<Due> = (0..40).flat_map(|number| vec![due(&format!("busy{number}.example")); 50]).collect();
    queue(&mut schedule, &backlog, at(0));
    let slots = schedule.reserve_sessions(at(0));

    let before = schedule.take(&slots[0], at(SLICE_MS - 1), |_| true);
    let after = schedule.take(&slots[0], at(SLICE_MS), |_| true);

    assert!(matches!(before, Take::Groups { .. }), "{before:?}");
    assert!(matches!(after, Take::End), "{after:?}");
}

#[test]
fn a_team_with_many_groups_for_a_site_does_not_delay_another_team() {
    let mut schedule = schedule();
    let many: Vec<Due> = (0..1_000).map(|_| due_of("a.example", 1, 0)).collect();
    queue(&mut schedule, &many, at(0));
    let slots = schedule.reserve_sessions(at(0));
    taken(&mut schedule, &slots[0], at(0)).unwrap();

    queue(&mut schedule, &[due_of("a.example", 2, 0)], at(1));
    let next: Vec<u8> =
        (0..2).map(|_| taken(&mut schedule, &slots[0], at(1)).unwrap().0.lane.stream.as_bytes()[0]).collect();

    assert!(next.contains(&2), "{next:?}");
}

#[test]
fn bulk_mail_gets_one_turn_of_ten() {
    let mut schedule = schedule();
    let bulk = |mut due: Due| {
        due.key.lane.class = Class::Broadcast;
        due
    };
    let mut mail: Vec<Due> = vec![due("a.example"); 1_000];
    mail.extend(vec![bulk(due("a.example")); 1_000]);
    queue(&mut schedule, &mail, at(0));
    let slots = schedule.reserve_sessions(at(0));

    let turns: Vec<Class> = (0..20).map(|_| taken(&mut schedule, &slots[0], at(0)).unwrap().0.lane.class).collect();

    assert_eq!(turns.iter().filter(|class| **class == Class::Broadcast).count(), 2);
}

#[test]
fn a_site_that_limits_our_mail_is_paused_and_gets_half_of_its_sessions() {
    let mut schedule = schedule();
    queue(&mut schedule, &vec![due("a.example"); 500], at(0));
    let slots = schedule.reserve_sessions(at(0));
    assert_eq!(slots.len(), 2);
    for _ in 0..10 {
        schedule.succeeded(&slots[0]);
    }
    assert_eq!(schedule.reserve_sessions(at(0)).len(), 0, "a further session waits for a notification");
    let (next, _) = taken(&mut schedule, &slots[0], at(0)).unwrap();
    schedule.claimed(&next, LaneRest { ready: 32, next_due_ms: Some(0) }, at(0));
    assert_eq!(schedule.reserve_sessions(at(0)).len(), 0);
    schedule.session_ended(&slots[1], at(0));
    assert_eq!(schedule.reserve_sessions(at(0)).len(), 3);

    schedule.pause_site(&slots[0], Duration::ZERO, at(0));

    assert!(matches!(schedule.take(&slots[0], at(1), |_| true), Take::End));
    assert_eq!(schedule.held_lanes(at(1)).len(), 1);
    schedule.session_ended(&slots[0], at(1));
    schedule.advance(at(PAUSE_MS));
    // One session tests the site.
    assert_eq!(schedule.sites["a.example"].paused_until_ms, PAUSE_MS);
}

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
    schedule.routed(&again, servers("a.example", &["mx.a.example"]), at(LOOKUP_PAUSE_MS));
    assert_eq!(schedule.held_lanes(at(LOOKUP_PAUSE_MS)), []);
    assert_eq!(sites(&schedule.reserve_sessions(at(LOOKUP_PAUSE_MS))), ["a.example", "a.example"]);
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

#[test]
fn all_destinations_share_the_servers_of_a_smarthost() {
    let mut schedule = Schedule::new(Limits { is_single: true, ..schedule().limits });
    for number in 0..10 {
        schedule.queued(&due(&format!("d{number}.example")), at(0));
    }
    schedule.queued(&due(simulated::DESTINATION), at(0));

    let lookups: Vec<Lookup> = std::iter::from_fn(|| schedule.next_lookup()).collect();

    assert_eq!(lookups.len(), 2, "one for the smarthost, and one for the simulated recipients");
    let relay = lookups.iter().find(|lookup| lookup.name != simulated::DESTINATION).unwrap();
    schedule.routed(relay, servers("relay", &["relay.example"]), at(0));
    assert_eq!(schedule.reserve_sessions(at(0)).len(), 4);
}

#[test]
fn lanes_that_a_scan_finds_are_known_after_a_restart() {
    let mut schedule = schedule();
    let found = |destination: &str| FoundLane { first: due(destination) };
    for number in 0..3 {
        assert!(schedule.found(&found(&format!("d{number}.example")), at(0)));
        assert!(schedule.found(&found(&format!("d{number}.example")), at(0)));
    }
    route(&mut schedule, at(0), |_| None);

    let slots = schedule.reserve_sessions(at(0));

    assert_eq!(slots.len(), 3);
    for slot in &slots {
        assert_eq!(taken(&mut schedule, slot, at(0)).unwrap().1, 1);
    }
}
