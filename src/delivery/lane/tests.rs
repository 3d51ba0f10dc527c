use super::*;
use crate::base::id::{EmailId, Id};

fn servers(site: &str) -> Arc<Servers> {
    Arc::new(Servers { site: site.into(), hosts: Vec::new(), credentials: None, is_final: true })
}

fn ready(site: &str, number: u8, class: Class) -> ReadyGroup {
    let email: EmailId = Id::from_bytes([number; 16]);
    let key = DueKey { due_ms: 0, class, email, group: 0 };
    ReadyGroup { due: Due { key, destination: site.into(), first_due_ms: 0, vanished: false }, servers: servers(site) }
}

fn lanes() -> Lanes {
    Lanes::new(2, Duration::from_secs(60))
}

fn taken(next: NextGroups) -> Vec<u8> {
    match next {
        NextGroups::Groups(groups) => groups.iter().map(|ready| ready.due.key.email.as_bytes()[0]).collect(),
        NextGroups::Wait { .. } | NextGroups::OtherServers | NextGroups::CoolingDown => Vec::new(),
    }
}

#[test]
fn transactional_mail_never_waits_behind_a_broadcast() {
    let mut lanes = lanes();
    lanes.push(ready("a", 1, Class::Broadcast));
    lanes.push(ready("a", 2, Class::Transactional));

    assert_eq!(taken(lanes.take("a", 0, |_| true)), [2, 1]);
}

#[test]
fn the_session_limit_applies_to_each_site_separately() {
    let mut lanes = lanes();
    for number in 0..100 {
        lanes.push(ready("a", number, Class::Transactional));
    }
    lanes.push(ready("b", 200, Class::Transactional));

    let mut sites = lanes.reserve_sessions(0, || true);
    sites.sort();

    assert_eq!(sites, ["a", "a", "b"]);
    assert!(lanes.reserve_sessions(0, || true).is_empty());
}

#[test]
fn the_cooldown_doubles_with_each_failure_and_ends_with_one_group() {
    let mut lanes = lanes();
    for number in 0..10 {
        lanes.push(ready("a", number, Class::Transactional));
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
fn a_lane_without_groups_or_sessions_is_removed_after_its_cooldown() {
    let mut lanes = lanes();
    lanes.push(ready("a", 1, Class::Transactional));
    lanes.failed("a", 0, Duration::from_millis(0));

    lanes.reserve_sessions(59_999, || true);
    assert_eq!(lanes.lanes.len(), 1);
    lanes.reserve_sessions(60_000, || true);

    assert!(lanes.lanes.is_empty());
}

#[test]
fn groups_for_other_servers_of_the_site_differ_from_an_empty_lane() {
    let mut lanes = lanes();
    lanes.push(ready("a", 1, Class::Transactional));

    assert!(matches!(lanes.take("a", 0, |_| false), NextGroups::OtherServers));
    assert_eq!(taken(lanes.take("a", 0, |_| true)), [1]);
    assert!(matches!(lanes.take("a", 0, |_| true), NextGroups::Wait { .. }));
}

#[test]
fn a_failure_returns_the_expired_groups() {
    let mut lanes = lanes();
    lanes.push(ready("a", 1, Class::Transactional));

    let expired = lanes.failed("a", 48 * 3_600_000, Duration::from_secs(48 * 3600));

    assert_eq!(expired.len(), 1);
}

#[test]
fn a_full_lane_rejects_groups_and_requests_a_refill_below_half() {
    let mut lanes = Lanes::new(1, Duration::from_secs(60));
    let mut results = Vec::new();
    for number in 0..=LANE_READY_MAX {
        let mut group = ready("a", 1, Class::Transactional);
        group.due.key.due_ms = i64::try_from(number).unwrap();
        assert!(lanes.track(group.due.key));
        results.push(lanes.push(group));
    }

    assert_eq!(results.last(), Some(&PushResult::Full));
    assert!(!lanes.take_refill_request("a"));
    while lanes.lanes["a"].len() >= LANE_READY_MAX / 2 {
        let _ = lanes.take("a", 0, |_| true);
    }
    assert!(lanes.take_refill_request("a"));
    assert!(!lanes.take_refill_request("a"));
}
