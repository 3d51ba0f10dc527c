mod holds;
mod hosts;
mod lookups;
mod overflow;
mod parts;
mod rates;
mod simulation;
mod slowed;
mod stored_hosts;
mod throttle;

use super::lanes::CLAIM_FAILED_MS;
use super::sessions::SLICE_MS;
use super::*;
use crate::base::id::Id;
use crate::delivery::queue::{Due, DueKey, LaneRest, READY_COUNTED_MAX};
use crate::delivery::rates::SiteLimits;
use crate::delivery::rows::Class;
use crate::delivery::simulated;
use crate::delivery::site_refusal::SiteRefusal;
use crate::delivery::smtp::TlsPolicy;
use crate::delivery::transport::MailHost;

const PAUSE_MS: i64 = 60_000;

fn at(ms: i64) -> Now {
    Now { wall_ms: 1_000_000 + ms, elapsed_ms: ms }
}

fn schedule() -> Schedule {
    let pause_min = Duration::from_millis(60_000);
    schedule_with(Limits { sessions_max: 20, rates: rates(0, 0), pause_min, lanes_max: LANES_MAX })
}

/// Returns a schedule of direct delivery.
fn schedule_with(limits: Limits) -> Schedule {
    Schedule::new(limits, RouteTable::single(false))
}

/// Returns limits with these numbers of messages a second and connections a minute; 0 is no limit.
fn rates(messages: u32, connections: u32) -> Rates {
    let rate = |rate| Some(rate).filter(|rate| *rate > 0);
    let defaults = SiteLimits {
        sessions_max: 4,
        session_messages_max: 100,
        messages_per_second: rate(messages),
        connections_per_minute: rate(connections),
    };
    Rates { defaults, single_sessions_max: 4, overrides: Vec::new(), warm_up: None }
}

fn due_of(destination: &str, team: u8, due_ms: TimestampMs) -> Due {
    let lane = LaneKey::new(destination, Class::Transactional, Id::from_bytes([team; 16]));
    let key = DueKey { lane, due_ms, email: Id::MIN, group: 0 };
    Due { key, team: lane.stream.cast(), destination: destination.into(), vanished: false }
}

fn due(destination: &str) -> Due {
    due_of(destination, 1, 0)
}

fn servers(site: &str, hosts: &[&str]) -> Arc<Servers> {
    let host = |name: &&str| MailHost { name: (*name).into(), addresses: Vec::new(), tls: TlsPolicy::Never };
    let hosts = hosts.iter().map(host).collect();
    Arc::new(Servers::new(site.into(), hosts))
}

fn smarthost() -> Arc<Servers> {
    Arc::new(Servers { is_shared: true, ..Servers::clone(&servers("relay", &["relay.example"])) })
}

/// Completes the lookups that are due. Each destination is a site with one host, unless `routes` names another.
fn route(schedule: &mut Schedule, now: Now, routes: impl Fn(&str) -> Option<Arc<Servers>>) {
    while let Some(lookup) = schedule.next_lookup() {
        let servers = routes(&lookup.name).unwrap_or_else(|| servers(&lookup.name, &[&format!("mx.{}", lookup.name)]));
        schedule.routed(&lookup, servers, &StoredSite::default(), now);
    }
}

fn queue(schedule: &mut Schedule, dues: &[Due], now: Now) {
    for due in dues {
        schedule.queued(due, now);
    }
    route(schedule, now, |_| None);
}

/// Returns a schedule with these groups, and the sessions that it starts for them.
fn started(mut schedule: Schedule, dues: &[Due]) -> (Schedule, Vec<Slot>) {
    queue(&mut schedule, dues, at(0));
    let slots = schedule.reserve_sessions(at(0));
    (schedule, slots)
}

/// Takes the next lane of a session, whatever its servers are.
fn taken(schedule: &mut Schedule, slot: &mut Slot, now: Now) -> Option<(Taken, usize)> {
    match schedule.take(slot, now, Some(100), |_| true) {
        Take::Groups { first, .. } => Some((first.taken, first.groups_max)),
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
    let mut slots = schedule.reserve_sessions(at(5_000));
    let (taken, groups_max) = taken(&mut schedule, &mut slots[0], at(5_000)).unwrap();
    emptied(&mut schedule, &taken, at(5_000));

    assert_eq!((sites(&slots), groups_max), (vec!["a.example"], 1));
    assert!(schedule.lanes.is_empty());
}

#[test]
fn a_group_that_is_queued_during_a_claim_is_not_forgotten() {
    let (mut schedule, mut slots) = started(schedule(), &[due("a.example")]);
    let (first, _) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();
    queue(&mut schedule, &[due("a.example")], at(1));

    emptied(&mut schedule, &first, at(1));

    assert!(taken(&mut schedule, &mut slots[0], at(1)).is_some());
}

#[test]
fn groups_that_were_dropped_cause_no_further_claims() {
    let (mut schedule, mut slots) = started(schedule(), &vec![due("a.example"); 1_000]);
    let mut claims = 0;
    while let Some((taken, _)) = taken(&mut schedule, &mut slots[0], at(0)) {
        emptied(&mut schedule, &taken, at(0));
        claims += 1;
    }

    assert_eq!((claims, schedule.lanes.len(), schedule.sites["a.example"].ready), (2, 0, 0));
}

#[test]
fn a_claim_that_fails_is_repeated_some_seconds_later() {
    let (mut schedule, mut slots) = started(schedule(), &[due("a.example")]);
    let (first, _) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();

    schedule.claim_failed(&first, at(0));

    assert!(taken(&mut schedule, &mut slots[0], at(0)).is_none());
    schedule.advance(at(CLAIM_FAILED_MS));
    assert!(taken(&mut schedule, &mut slots[0], at(CLAIM_FAILED_MS)).is_some());
}

#[test]
fn silent_servers_leave_sessions_to_a_site_that_is_seen_for_the_first_time() {
    let silent: Vec<Due> = (0..500).map(|number| due(&format!("silent{number}.example"))).collect();
    let (mut schedule, mut slots) = started(schedule(), &silent);
    assert_eq!(slots.len(), 10, "the guaranteed parts of working and failing sites stay free");
    // After three seconds, the openings use the part of the failing sites, or end.
    let kept: Vec<bool> = slots.iter_mut().map(|slot| schedule.opening_is_slow(slot, at(3_000))).collect();
    for (slot, kept) in slots.iter().zip(&kept) {
        if !kept {
            schedule.session_ended(slot, at(3_000));
        }
    }
    assert_eq!(kept.iter().filter(|kept| **kept).count(), 6, "a third of the sessions");

    queue(&mut schedule, &[due("good.example")], at(3_001));
    let started = schedule.reserve_sessions(at(3_001));

    assert!(sites(&started)[..2].contains(&"good.example"), "{:?}", sites(&started));
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
    for slot in &mut running {
        if matches!(schedule.take(slot, at(SLICE_MS), Some(100), |_| true), Take::End) {
            schedule.session_ended(slot, at(SLICE_MS));
            ended += 1;
        }
    }

    assert_eq!(ended, 18);
    let started = schedule.reserve_sessions(at(SLICE_MS));
    assert!(sites(&started)[..2].contains(&"good.example"), "{:?}", sites(&started));
}

#[test]
fn a_session_ends_after_its_slice_if_other_sites_wait() {
    let backlog: Vec<Due> = (0..40).flat_map(|number| vec![due(&format!("busy{number}.example")); 50]).collect();
    let (mut schedule, mut slots) = started(schedule(), &backlog);

    let before = schedule.take(&mut slots[0], at(SLICE_MS - 1), Some(100), |_| true);
    let after = schedule.take(&mut slots[0], at(SLICE_MS), Some(100), |_| true);

    assert!(matches!(before, Take::Groups { .. }), "{before:?}");
    assert!(matches!(after, Take::End), "{after:?}");
}

#[test]
fn a_team_with_many_groups_for_a_site_does_not_delay_another_team() {
    let many: Vec<Due> = (0..1_000).map(|_| due_of("a.example", 1, 0)).collect();
    let (mut schedule, mut slots) = started(schedule(), &many);
    taken(&mut schedule, &mut slots[0], at(0)).unwrap();

    queue(&mut schedule, &[due_of("a.example", 2, 0)], at(1));
    let next: Vec<u8> =
        (0..2).map(|_| taken(&mut schedule, &mut slots[0], at(1)).unwrap().0.lane.stream.as_bytes()[0]).collect();

    assert!(next.contains(&2), "{next:?}");
}

#[test]
fn a_site_has_at_most_a_quarter_of_all_sessions() {
    for (all, expected) in [(3, 1), (8, 2), (13, 3), (400, 4)] {
        let mut schedule = schedule_with(Limits { sessions_max: all, ..schedule().limits });
        queue(&mut schedule, &[due("a.example")], at(0));

        assert_eq!(schedule.sites["a.example"].limits.sessions_max, expected, "{all}");
    }
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
    let mut slots = schedule.reserve_sessions(at(0));

    let turns: Vec<Class> = (0..20).map(|_| taken(&mut schedule, &mut slots[0], at(0)).unwrap().0.lane.class).collect();

    assert_eq!(turns.iter().filter(|class| **class == Class::Broadcast).count(), 2);
}

#[test]
fn a_site_that_limits_our_mail_is_paused_and_gets_half_of_its_sessions() {
    let (mut schedule, mut slots) = started(schedule(), &vec![due("a.example"); 500]);
    assert_eq!(slots.len(), 2);
    for _ in 0..=10 {
        schedule.connecting(&mut slots[0], "mx.a.example", at(0));
        schedule.succeeded(&mut slots[0], at(0));
    }
    assert_eq!(schedule.reserve_sessions(at(0)).len(), 2, "the limit has grown to four");

    schedule.refused(&slots[0], &SiteRefusal::broken_off("421 slow down".into()), at(0));

    assert!(matches!(schedule.take(&mut slots[0], at(1), Some(100), |_| true), Take::End));
    assert_eq!(schedule.held_lanes(at(1)).len(), 1);
    schedule.session_ended(&slots[0], at(1));
    schedule.advance(at(PAUSE_MS));
    // One session tests the site.
    assert_eq!(schedule.sites["a.example"].throttle.paused_until_ms(), PAUSE_MS);
}

#[test]
fn a_session_sends_none_of_its_groups_after_the_refusal_of_another() {
    let mut schedule = schedule();
    queue(&mut schedule, &vec![due("a.example"); 50], at(0));
    queue(&mut schedule, &[due("b.example")], at(0));
    let mut slots = schedule.reserve_sessions(at(0));
    slots.sort_by(|one, other| one.site.cmp(&other.site));
    assert_eq!(sites(&slots), ["a.example", "a.example", "b.example"]);
    for slot in &mut slots {
        taken(&mut schedule, slot, at(0)).unwrap();
        assert!(schedule.may_send(slot, at(0)));
    }

    schedule.refused(&slots[0], &SiteRefusal::broken_off("421 slow down".into()), at(1));

    let may_send = |at_ms: i64| slots.iter().map(|slot| schedule.may_send(slot, at(at_ms))).collect::<Vec<_>>();
    assert_eq!(may_send(1), [false, false, true]);
    assert_eq!(may_send(1 + PAUSE_MS), [true, true, true]);
}

#[test]
fn all_destinations_share_the_servers_of_a_smarthost() {
    let mut schedule = Schedule::new(schedule().limits, RouteTable::single(true));
    for number in 0..10 {
        schedule.queued(&due(&format!("d{number}.example")), at(0));
    }
    schedule.queued(&due(simulated::DESTINATION), at(0));

    let lookups: Vec<Lookup> = std::iter::from_fn(|| schedule.next_lookup()).collect();

    assert_eq!(lookups.len(), 2, "one for the smarthost, and one for the simulated recipients");
    let relay = lookups.iter().find(|lookup| lookup.name != simulated::DESTINATION).unwrap();
    schedule.routed(relay, smarthost(), &StoredSite::default(), at(0));
    assert_eq!(schedule.reserve_sessions(at(0)).len(), 4);
}

#[test]
fn lanes_that_a_scan_finds_are_known_after_a_restart() {
    let mut schedule = schedule();
    for number in 0..3 {
        assert!(schedule.found(&due(&format!("d{number}.example")), at(0)));
        assert!(schedule.found(&due(&format!("d{number}.example")), at(0)));
    }
    route(&mut schedule, at(0), |_| None);

    let mut slots = schedule.reserve_sessions(at(0));

    assert_eq!(slots.len(), 3);
    for slot in &mut slots {
        assert_eq!(taken(&mut schedule, slot, at(0)).unwrap().1, 1);
    }
}

#[test]
fn a_message_that_takes_long_does_not_delay_the_next_one() {
    let (mut schedule, mut slots) = started(schedule(), &[due("a.example")]);
    let (first, _) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();
    emptied(&mut schedule, &first, at(0));
    queue(&mut schedule, &[due("a.example")], at(1_000));
    assert!(schedule.reserve_sessions(at(1_000)).is_empty());

    schedule.set_stuck(&mut slots[0], true, at(5_000));

    assert_eq!(sites(&schedule.reserve_sessions(at(5_000))), ["a.example"]);
}

#[test]
fn a_lane_has_one_due_time_however_often_it_is_claimed() {
    let far_ms = at(3_600_000).wall_ms;
    let (mut schedule, mut slots) = started(schedule(), &[due("a.example")]);
    for _ in 0..10 {
        let (taken, _) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();
        schedule.claimed(&taken, LaneRest { ready: 0, next_due_ms: Some(far_ms) }, at(0));
        queue(&mut schedule, &[due("a.example")], at(0));
    }

    assert_eq!(schedule.later.len(), 1);
}
