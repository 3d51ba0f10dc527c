//! Tokens of messages and connections, suspensions, and the state that operators see.

use super::*;
use crate::base::clock::{DAY_MS, utc_day};
use crate::delivery::smtp::SiteThrottle;
use crate::delivery::warm_up::{Allowance, until_tomorrow_ms};

fn limited(messages: u32, connections: u32) -> Schedule {
    schedule_with(Limits { rates: rates(messages, connections), ..schedule().limits })
}

fn refusal(throttle: SiteThrottle) -> SiteRefusal {
    SiteRefusal { throttle, ..SiteRefusal::broken_off("421 4.7.28 no".into()) }
}

/// Returns the wait of a session for tokens in ms, if it waits.
fn token_wait(take: &Take) -> Option<u128> {
    match take {
        Take::Wait { tokens_in, .. } => tokens_in.map(|wait| wait.as_millis()),
        Take::Groups { .. } | Take::OtherServers | Take::End => None,
    }
}

#[test]
fn groups_without_a_token_stay_in_their_lane_while_the_open_session_waits() {
    let (mut schedule, mut slots) = started(limited(4, 0), &vec![due("a.example"); 100]);

    let (_, first) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();
    let wait = schedule.take(&mut slots[0], at(0), Some(100), |_| true);
    let (_, second) = taken(&mut schedule, &mut slots[0], at(1_000)).unwrap();

    assert_eq!((first, token_wait(&wait), second), (4, Some(1_000), 4));
    assert_eq!(schedule.sites["a.example"].ready, 92);
}

#[test]
fn a_session_ends_if_its_site_has_no_token_for_long_and_a_timer_starts_another() {
    let (mut schedule, mut slots) = started(limited(1, 0), &vec![due("a.example"); 100]);
    schedule.refused(&slots[0], &refusal(SiteThrottle::Trickle { minutes: 90 }), at(0));

    let take = schedule.take(&mut slots[0], at(1), Some(100), |_| true);
    for slot in &slots {
        schedule.session_ended(slot, at(1));
    }

    assert!(matches!(take, Take::End), "{take:?}");
    assert!(schedule.reserve_sessions(at(PAUSE_MS - 1)).is_empty());
    assert_eq!(schedule.time_until_work(at(1)), Some(Duration::from_millis(59_999)));
    schedule.advance(at(PAUSE_MS));
    let mut probes = schedule.reserve_sessions(at(PAUSE_MS));
    assert_eq!(probes.len(), 1);
    assert_eq!(taken(&mut schedule, &mut probes[0], at(PAUSE_MS)).unwrap().1, 1);
}

#[test]
fn unsent_groups_return_their_tokens() {
    let (mut schedule, mut slots) = started(limited(8, 0), &vec![due("a.example"); 100]);
    while taken(&mut schedule, &mut slots[0], at(0)).is_some() {}

    schedule.unsent(&slots[0], 2);

    assert_eq!(taken(&mut schedule, &mut slots[0], at(0)).unwrap().1, 2);
}

#[test]
fn a_site_gets_no_more_connections_than_its_rate() {
    let mut schedule = limited(0, 12);
    queue(&mut schedule, &vec![due("a.example"); 100], at(0));
    let mut first = schedule.reserve_sessions(at(0));
    assert_eq!(first.len(), 2, "the tokens of ten seconds");
    for slot in &mut first {
        schedule.connecting(slot, "mx.a.example", at(0));
        schedule.session_ended(slot, at(0));
    }
    assert!(schedule.reserve_sessions(at(0)).is_empty());

    let wait = schedule.time_until_work(at(0));
    schedule.advance(at(5_000));
    let second = schedule.reserve_sessions(at(5_000));

    assert_eq!((wait, second.len()), (Some(Duration::from_secs(5)), 1));
}

#[test]
fn a_session_that_ends_without_a_connection_returns_its_token() {
    let mut schedule = limited(0, 6);
    queue(&mut schedule, &vec![due("a.example"); 100], at(0));
    let slots = schedule.reserve_sessions(at(0));
    assert_eq!(slots.len(), 1);

    schedule.session_ended(&slots[0], at(0));

    assert_eq!(schedule.reserve_sessions(at(0)).len(), 1);
}

#[test]
fn a_session_whose_connection_has_ended_needs_another_token() {
    let (mut schedule, mut slots) = started(limited(0, 6), &vec![due("a.example"); 100]);
    schedule.connecting(&mut slots[0], "mx.a.example", at(0));

    let open = schedule.take(&mut slots[0], at(1), Some(100), |_| true);
    let without_token = schedule.take(&mut slots[0], at(1), None, |_| true);
    let with_token = schedule.take(&mut slots[0], at(10_000), None, |_| true);

    assert!(matches!(open, Take::Groups { .. }), "{open:?}");
    assert!(matches!(without_token, Take::End), "{without_token:?}");
    assert!(matches!(with_token, Take::Groups { .. }), "{with_token:?}");
}

#[test]
fn a_session_that_waits_for_tokens_makes_room_for_another_site() {
    let limits = Limits { sessions_max: 3, rates: rates(1, 0), ..schedule().limits };
    let (mut schedule, mut slots) = started(schedule_with(limits), &vec![due("a.example"); 100]);
    assert_eq!(slots.len(), 1);
    taken(&mut schedule, &mut slots[0], at(0)).unwrap();
    assert!(token_wait(&schedule.take(&mut slots[0], at(1), Some(100), |_| true)).is_some());
    schedule.set_idle(&slots[0], Idle::Begins);
    let evict = Arc::clone(&schedule.sites["a.example"].evict);
    let mut evicted = std::pin::pin!(evict.notified());
    evicted.as_mut().enable();

    queue(&mut schedule, &[due("b.example")], at(1));
    let started = schedule.reserve_sessions(at(1));

    assert!(started.is_empty());
    assert!(evicted.as_mut().enable(), "the session was asked to end");
}

#[test]
fn a_provider_has_fewer_sessions_and_messages_in_a_session() {
    let mut schedule = schedule();
    schedule.queued(&due("shop.example"), at(0));
    route(&mut schedule, at(0), |_| Some(servers("google", &["aspmx.l.google.com"])));
    let slots = schedule.reserve_sessions(at(0));

    assert_eq!(schedule.session_messages_max(&slots[0]), 50);
    assert_eq!(schedule.delisting(&slots[0]).map(|url| url.contains("google.com")), Some(true));
    assert_eq!(schedule.sites(at(0))[0].delisting, schedule.delisting(&slots[0]));
}

#[test]
fn a_site_continues_with_its_stored_throttle_after_a_restart() {
    let mut before = schedule();
    queue(&mut before, &vec![due("a.example"); 100], at(0));
    let slots = before.reserve_sessions(at(0));
    let row = before.refused(&slots[0], &refusal(SiteThrottle::Stop { minutes: 120 }), at(0)).unwrap();
    assert_eq!(before.refused(&slots[1], &refusal(SiteThrottle::Halve), at(1)), None);

    let mut after = schedule();
    after.queued(&due("a.example"), at(PAUSE_MS));
    let lookup = after.next_lookup().unwrap();
    let stored = StoredSite { row: Some(row), ..StoredSite::default() };
    after.routed(&lookup, servers("a.example", &["mx.a.example"]), &stored, at(PAUSE_MS));

    assert!(after.reserve_sessions(at(PAUSE_MS)).is_empty());
    assert_eq!(after.held_lanes(at(PAUSE_MS)).len(), 1);
    let end = at(120 * PAUSE_MS);
    after.advance(end);
    assert_eq!(after.reserve_sessions(end).len(), 1);
}

#[test]
fn a_success_is_stored_if_it_changes_the_throttle_and_once_an_hour() {
    let (mut schedule, mut slots) = started(schedule(), &vec![due("a.example"); 100]);

    let mut sessions: Vec<Option<u16>> = Vec::new();
    for _ in 0..11 {
        schedule.connecting(&mut slots[0], "mx.a.example", at(0));
        sessions.push(schedule.succeeded(&mut slots[0], at(0)).map(|row| row.sessions));
    }

    assert_eq!(sessions[..5], [Some(2), None, None, None, None]);
    assert_eq!(sessions[5..11], [Some(3), None, None, None, None, Some(4)]);
    let hour_ms = 60 * PAUSE_MS;
    assert_eq!(schedule.succeeded(&mut slots[0], at(hour_ms - 1)), None);
    assert!(schedule.succeeded(&mut slots[0], at(hour_ms)).is_some());
}

#[test]
fn a_site_that_accepted_mail_within_a_day_is_a_working_one_after_a_restart() {
    let mut before = schedule();
    queue(&mut before, &[due("a.example")], at(0));
    let mut slots = before.reserve_sessions(at(0));
    let accepted = before.succeeded(&mut slots[0], at(0)).unwrap();
    let refused = before.refused(&slots[0], &refusal(SiteThrottle::Halve), at(0)).unwrap();

    for (row, start_ms, kind) in [
        (&accepted, DAY_MS - 1, SiteKind::Working),
        (&accepted, DAY_MS, SiteKind::New),
        (&refused, PAUSE_MS, SiteKind::Failing),
    ] {
        let mut after = schedule();
        let start = at(start_ms);
        after.queued(&due_of("a.example", 1, start.wall_ms), start);
        let lookup = after.next_lookup().unwrap();
        let stored = StoredSite { row: Some(row.clone()), ..StoredSite::default() };
        after.routed(&lookup, servers("a.example", &["mx.a.example"]), &stored, start);

        let kinds: Vec<SiteKind> = after.reserve_sessions(start).iter().map(|slot| slot.kind).collect();

        assert_eq!(kinds, [kind], "{start_ms}");
    }
}

#[test]
fn the_limit_grows_after_five_sessions_however_many_messages_they_carry() {
    let (mut schedule, mut slots) = started(schedule(), &vec![due("a.example"); 100]);
    let limit = |schedule: &Schedule| schedule.sites["a.example"].throttle.learned_limit();
    for session in 1..=5 {
        schedule.connecting(&mut slots[0], "mx.a.example", at(session));
        for _ in 0..100 {
            schedule.succeeded(&mut slots[0], at(session));
        }
        assert_eq!(limit(&schedule), 2, "{session}");
    }
    schedule.session_ended(&slots[0], at(6));
    assert_eq!(limit(&schedule), 3);

    // A session without a message does not count.
    for session in 0..10 {
        schedule.connecting(&mut slots[1], "mx.a.example", at(10 + session));
    }
    schedule.session_ended(&slots[1], at(20));
    assert_eq!(limit(&schedule), 3);
}

#[test]
fn the_throttle_of_a_smarthost_is_not_stored_and_it_has_no_rates() {
    let mut schedule = Schedule::new(limited(1, 1).limits, RouteTable::single(true));
    for _ in 0..100 {
        schedule.queued(&due("a.example"), at(0));
    }
    route(&mut schedule, at(0), |_| Some(smarthost()));
    let mut slots = schedule.reserve_sessions(at(0));
    assert_eq!(slots.len(), 4);

    assert!((0..10).all(|_| taken(&mut schedule, &mut slots[0], at(0)).is_some()));
    assert_eq!(schedule.refused(&slots[0], &refusal(SiteThrottle::Halve), at(0)), None);
}

#[test]
fn operators_see_the_state_of_each_site() {
    let mut schedule = limited(1, 60);
    queue(&mut schedule, &vec![due("a.example"); 3], at(0));
    queue(&mut schedule, &[due("b.example"), due("c.example")], at(0));
    let mut slots = schedule.reserve_sessions(at(0));
    let slot = |site: &str| slots.iter().position(|slot| &*slot.site == site).unwrap();
    let (a, b) = (slot("a.example"), slot("b.example"));
    taken(&mut schedule, &mut slots[a], at(0)).unwrap();
    schedule.refused(&slots[b], &refusal(SiteThrottle::Trickle { minutes: 90 }), at(0));

    let mut sites = schedule.sites(at(500));

    sites.sort_by(|one, other| one.name.cmp(&other.name));
    let ms = Duration::from_millis;
    assert_eq!(sites.iter().map(|site| &*site.name).collect::<Vec<_>>(), ["a.example", "b.example", "c.example"]);
    assert_eq!((sites[0].kind, sites[0].sessions, sites[0].lanes, sites[0].ready), (SiteKind::New, 2, 1, 2));
    assert_eq!(sites[0].hold, Some((SiteHold::Rate, ms(500))));
    assert!(sites[0].messages_per_second.is_some_and(|rate| (rate - 1.0).abs() < 0.01));
    assert_eq!(sites[1].hold, Some((SiteHold::Reputation, ms(59_500))));
    assert_eq!(sites[1].suspended, Some(ms(90 * 60_000 - 500)));
    assert_eq!((sites[1].kind, sites[1].sessions_max), (SiteKind::Failing, 1));
    assert_eq!(sites[1].last_reply, Some(("421 4.7.28 no".into(), at(0).wall_ms)));
    assert_eq!((sites[2].hold, sites[2].sessions_max, sites[2].suspended), (None, 2, None));
}

/// Returns a schedule whose only site, a provider, may get ten messages today.
fn warming_up(dues: &[Due], now: Now) -> Schedule {
    let mut schedule = schedule();
    for due in dues {
        schedule.queued(due, now);
    }
    let allowance = Allowance::new(utc_day(now.wall_ms), Some(10), 0);
    let stored = StoredSite { allowance: Some(allowance), ..StoredSite::default() };
    while let Some(lookup) = schedule.next_lookup() {
        schedule.routed(&lookup, servers("google", &["aspmx.l.google.com"]), &stored, now);
    }
    schedule
}

/// Takes groups until none is allowed, and returns the numbers of transactional and of bulk groups.
fn take_all(schedule: &mut Schedule, slot: &mut Slot, now: Now) -> (usize, usize) {
    let (mut transactional, mut bulk) = (0, 0);
    while let Some((next, groups)) = taken(schedule, slot, now) {
        match next.lane.class {
            Class::Transactional => transactional += groups,
            Class::Broadcast => bulk += groups,
        }
    }
    (transactional, bulk)
}

fn bulk(mut due: Due) -> Due {
    due.key.lane.class = Class::Broadcast;
    due
}

#[test]
fn messages_above_the_allowance_wait_for_the_next_day() {
    let mut schedule = warming_up(&vec![due("a.example"); 30], at(0));
    let mut slots = schedule.reserve_sessions(at(0));
    assert_eq!(take_all(&mut schedule, &mut slots[0], at(0)), (10, 0));
    for slot in &slots {
        schedule.session_ended(slot, at(0));
    }

    assert!(schedule.reserve_sessions(at(0)).is_empty());
    assert_eq!(schedule.held_lanes(at(0)).len(), 1);
    let lane = due("a.example").key.lane;
    assert!(schedule.site_status(lane, at(0)).is_paused, "the health of the server does not fail for a day");
    let snapshot = &schedule.sites(at(0))[0];
    let tomorrow_ms = until_tomorrow_ms(at(0).wall_ms);
    assert_eq!(snapshot.warm_up, Some((10, 10)));
    let left = Duration::from_millis(u64::try_from(tomorrow_ms).unwrap());
    assert_eq!(snapshot.hold, Some((SiteHold::WarmUp, left)));

    let mut now_ms = 0;
    while now_ms < tomorrow_ms {
        now_ms += i64::try_from(schedule.time_until_work(at(now_ms)).unwrap().as_millis()).unwrap();
        schedule.advance(at(now_ms));
        assert_eq!(schedule.reserve_sessions(at(now_ms)).is_empty(), now_ms < tomorrow_ms);
    }
    assert_eq!(now_ms, tomorrow_ms);
}

#[test]
fn transactional_mail_precedes_bulk_mail_which_leaves_a_part_of_the_allowance() {
    let mut mail = vec![due("a.example"); 3];
    mail.extend(vec![bulk(due("a.example")); 30]);
    let mut schedule = warming_up(&mail, at(0));
    let mut slots = schedule.reserve_sessions(at(0));
    let first = taken(&mut schedule, &mut slots[0], at(0)).unwrap().0.lane.class;
    take_all(&mut schedule, &mut slots[0], at(0));
    assert_eq!((first, schedule.sites(at(0))[0].warm_up), (Class::Transactional, Some((8, 10))));
    assert!(schedule.reserve_sessions(at(0)).is_empty());

    schedule.queued(&due("a.example"), at(1));
    assert_eq!(take_all(&mut schedule, &mut slots[0], at(1)), (1, 0));
}

#[test]
fn mail_that_waits_for_the_next_day_does_not_enlarge_the_part_of_a_session() {
    let mut schedule = warming_up(&vec![bulk(due("a.example")); 100], at(0));
    let mut slots = schedule.reserve_sessions(at(0));
    take_all(&mut schedule, &mut slots[0], at(0));
    for _ in 0..2 {
        schedule.queued(&due("a.example"), at(1));
    }

    let (_, groups_max) = taken(&mut schedule, &mut slots[0], at(1)).unwrap();

    assert_eq!((slots.len(), groups_max), (2, 1));
}

#[test]
fn unsent_messages_return_to_the_allowance() {
    let mut schedule = warming_up(&vec![due("a.example"); 30], at(0));
    let mut slots = schedule.reserve_sessions(at(0));
    take_all(&mut schedule, &mut slots[0], at(0));

    schedule.unsent(&slots[0], 3);

    assert_eq!(take_all(&mut schedule, &mut slots[0], at(0)), (3, 0));
}

#[test]
fn a_session_takes_no_more_groups_than_its_connection_can_carry() {
    let (mut schedule, mut slots) = started(schedule(), &vec![due("a.example"); 100]);

    let numbers: Vec<usize> = [Some(3), Some(100), None]
        .into_iter()
        .map(|left| match schedule.take(&mut slots[0], at(0), left, |_| true) {
            Take::Groups { first, .. } => first.groups_max,
            other => panic!("{other:?}"),
        })
        .collect();

    assert_eq!(numbers, [3, 8, 8]);
}
