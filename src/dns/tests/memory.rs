//! What is remembered: answers within their bounds, failures within their windows.

use std::time::Duration;

use hickory_resolver::proto::rr::RecordType;

use super::authority::Authority;
use super::{NOW_MS, policy, resolver, timings};
use crate::dns::failures::{WINDOW_FIRST_MS, WINDOW_LONGEST_MS};
use crate::dns::{Freshness, Resolver, Route, RoutePolicy, Timings};

const ZONE: &str = include_str!("zone.txt");

#[tokio::test]
async fn a_failed_lookup_is_not_repeated_within_its_window() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);
    let asked = || authority.asked("servfail.example", RecordType::MX);
    let route = async |now_ms| resolver.route("servfail.example", now_ms, &policy()).await;

    assert!(matches!(route(NOW_MS).await, Route::Temporary { .. }));
    let first = asked();
    assert_eq!(first, timings().tries);

    let Route::Temporary { reason } = route(NOW_MS + WINDOW_FIRST_MS - 1).await else { panic!("a route") };
    assert!(reason.contains("SERVFAIL"), "{reason}");
    assert_eq!(asked(), first, "inside the window");

    // The lookup took some real milliseconds, which count as well.
    let second_ms = NOW_MS + WINDOW_FIRST_MS + 1_000;
    route(second_ms).await;
    assert_eq!(asked(), 2 * first, "after the window");
    route(second_ms + 2 * WINDOW_FIRST_MS - 1).await;
    assert_eq!(asked(), 2 * first, "the second window is twice as long");

    authority.heal();
    assert!(matches!(route(second_ms + WINDOW_LONGEST_MS).await, Route::Hosts { .. }));
}

#[tokio::test]
async fn a_silence_is_remembered_from_its_end() {
    let authority = Authority::serving(ZONE).await;
    let impatient = Timings { timeout: Duration::from_millis(200), ..timings() };
    let resolver = Resolver::with_timings(&[authority.address], &impatient).unwrap();
    let tried_for_ms = 2 * 200;

    resolver.route("silent.example", NOW_MS, &policy()).await;
    let asked = authority.asked("silent.example", RecordType::MX);
    assert!(asked > 0);
    let route = resolver.route("silent.example", NOW_MS + tried_for_ms + WINDOW_FIRST_MS - 10, &policy()).await;
    assert!(matches!(route, Route::Temporary { .. }));
    assert_eq!(authority.asked("silent.example", RecordType::MX), asked);
}

#[tokio::test]
async fn a_fresh_route_asks_past_every_memory() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);
    let fresh = RoutePolicy { freshness: Freshness::Fresh, ..policy() };
    for (domain, questions) in [("absent.example", 1), ("ordered.example", 1), ("servfail.example", timings().tries)] {
        resolver.route(domain, NOW_MS, &policy()).await;
        resolver.route(domain, NOW_MS, &policy()).await;
        assert_eq!(authority.asked(domain, RecordType::MX), questions, "{domain}: remembered");
        resolver.route(domain, NOW_MS, &fresh).await;
        resolver.route(domain, NOW_MS, &fresh).await;
        assert_eq!(authority.asked(domain, RecordType::MX), 3 * questions, "{domain}: asked afresh");
    }
}

#[tokio::test]
async fn a_record_check_asks_again_each_time() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);
    for _ in 0..3 {
        let _ = resolver.txt("spf.example").await;
        let _ = resolver.txt("absent.example").await;
    }
    assert_eq!(authority.asked("spf.example", RecordType::TXT), 3);
    assert_eq!(authority.asked("absent.example", RecordType::TXT), 3, "somebody may have added it meanwhile");
}

#[tokio::test]
async fn lifetimes_are_brought_within_their_bounds() {
    let authority = Authority::serving(ZONE).await;

    // A lifetime of zero is stretched to the minute, so that the second question is ours alone.
    let usual = resolver(authority.address);
    for _ in 0..2 {
        usual.route("fleeting.example", NOW_MS, &policy()).await;
    }
    assert_eq!(authority.asked("fleeting.example", RecordType::MX), 1);

    // A bound of nothing cuts lifetimes of weeks, and of half an hour for an absent name.
    let forgetful = Timings {
        positive_ttl: Duration::ZERO..=Duration::ZERO,
        negative_ttl: Duration::ZERO..=Duration::ZERO,
        ..timings()
    };
    let forgetful = Resolver::with_timings(&[authority.address], &forgetful).unwrap();
    for _ in 0..2 {
        forgetful.route("eternal.example", NOW_MS, &policy()).await;
        forgetful.route("absent.example", NOW_MS, &policy()).await;
    }
    assert_eq!(authority.asked("eternal.example", RecordType::MX), 2);
    assert_eq!(authority.asked("absent.example", RecordType::MX), 2);
}

#[tokio::test]
async fn many_lookups_at_once_all_get_their_answer() {
    let mut zone = ZONE.to_owned();
    for host in 0..600 {
        zone.push_str(&format!("many{host} IN MX 10 c.mx\n"));
    }
    let authority = Authority::serving(&zone).await;
    let patient = Timings { timeout: Duration::from_secs(10), ..timings() };
    let resolver = Resolver::with_timings(&[authority.address], &patient).unwrap();

    let mut lookups = tokio::task::JoinSet::new();
    for host in 0..600 {
        let resolver = resolver.clone();
        lookups.spawn(async move { resolver.route(&format!("many{host}.example"), NOW_MS, &policy()).await });
    }
    for route in lookups.join_all().await {
        assert!(matches!(route, Route::Hosts { .. }), "{route:?}");
    }
}
