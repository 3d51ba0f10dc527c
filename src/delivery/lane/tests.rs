use super::*;
use crate::base::id::{EmailId, Id};
use crate::delivery::smtp::TlsPolicy;

fn servers(site: &str) -> Arc<Servers> {
    Arc::new(Servers { site: site.into(), hosts: Vec::new(), tls: TlsPolicy::Never, credentials: None })
}

fn ready(site: &str, number: u8, class: Class) -> ReadyGroup {
    let email: EmailId = Id::from_bytes([number; 16]);
    let key = DueKey { due_ms: 0, class, email, group: 0 };
    ReadyGroup { due: Due { key, destination: site.into(), first_due_ms: 0, vanished: false }, servers: servers(site) }
}

fn lanes() -> Lanes {
    Lanes::new(2, Duration::from_secs(60))
}

fn taken(take: NextGroups) -> Vec<u8> {
    match take {
        NextGroups::Groups(groups) => groups.iter().map(|ready| ready.due.key.email.as_bytes()[0]).collect(),
        NextGroups::Wait { .. } | NextGroups::OtherServers | NextGroups::CoolingDown => Vec::new(),
    }
}

#[test]
fn transactional_mail_never_waits_behind_a_broadcast() {
    let mut lanes = lanes();
    lanes.offer(ready("a", 1, Class::Broadcast));
    lanes.offer(ready("a", 2, Class::Transactional));

    assert_eq!(taken(lanes.take("a", 0, |_| true)), [2, 1]);
}

#[test]
fn a_site_gets_no_more_sessions_than_its_share_and_another_gets_its_own() {
    let mut lanes = lanes();
    for number in 0..100 {
        lanes.offer(ready("a", number, Class::Transactional));
    }
    lanes.offer(ready("b", 200, Class::Transactional));

    let mut sites = lanes.reserve_sessions(0, || true);
    sites.sort();

    assert_eq!(sites, ["a", "a", "b"]);
    assert!(lanes.reserve_sessions(0, || true).is_empty());
}

#[test]
fn a_site_that_fails_rests_longer_each_time_and_is_probed_with_one_group() {
    let mut lanes = lanes();
    for number in 0..10 {
        lanes.offer(ready("a", number, Class::Transactional));
    }
    let forever = Duration::MAX;

    lanes.failed("a", 0, forever);
    assert!(lanes.reserve_sessions(59_999, || true).is_empty());
    assert_eq!(lanes.next_cooldown_end(0), Some(60_000));
    assert_eq!(lanes.reserve_sessions(60_000, || true), ["a"]);
    assert_eq!(taken(lanes.take("a", 60_000, |_| true)).len(), 1);
    lanes.failed("a", 60_000, forever);
    assert_eq!(lanes.next_cooldown_end(60_000), Some(180_000));
    lanes.succeeded("a");

    assert_eq!(taken(lanes.take("a", 60_001, |_| true)).len(), 8);
}

#[test]
fn a_lane_without_work_or_sessions_is_dropped_once_its_rest_is_over() {
    let mut lanes = lanes();
    lanes.offer(ready("a", 1, Class::Transactional));
    lanes.failed("a", 0, Duration::from_millis(0));

    lanes.reserve_sessions(59_999, || true);
    assert_eq!(lanes.lanes.len(), 1);
    lanes.reserve_sessions(60_000, || true);

    assert!(lanes.lanes.is_empty());
}

#[test]
fn work_for_other_servers_of_the_site_is_told_from_no_work() {
    let mut lanes = lanes();
    lanes.offer(ready("a", 1, Class::Transactional));

    assert!(matches!(lanes.take("a", 0, |_| false), NextGroups::OtherServers));
    assert_eq!(taken(lanes.take("a", 0, |_| true)), [1]);
    assert!(matches!(lanes.take("a", 0, |_| true), NextGroups::Wait { .. }));
}

#[test]
fn what_expired_while_a_site_failed_is_handed_back() {
    let mut lanes = lanes();
    lanes.offer(ready("a", 1, Class::Transactional));

    let expired = lanes.failed("a", 48 * 3_600_000, Duration::from_secs(48 * 3600));

    assert_eq!(expired.len(), 1);
}

#[test]
fn a_full_lane_leaves_the_rest_in_the_table_and_asks_for_more_later() {
    let mut lanes = Lanes::new(1, Duration::from_secs(60));
    let mut offers = Vec::new();
    for number in 0..=LANE_READY_MAX {
        let mut one = ready("a", 1, Class::Transactional);
        one.due.key.due_ms = i64::try_from(number).unwrap();
        assert!(lanes.know(one.due.key));
        offers.push(lanes.offer(one));
    }

    assert_eq!(offers.last(), Some(&PushResult::Full));
    assert!(!lanes.wants_more("a"));
    while lanes.lanes["a"].len() >= LANE_READY_MAX / 2 {
        let _ = lanes.take("a", 0, |_| true);
    }
    assert!(lanes.wants_more("a"));
    assert!(!lanes.wants_more("a"));
}
