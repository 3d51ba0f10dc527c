//! Caching of answers and failures.

use std::time::Duration;

use hickory_resolver::proto::rr::RecordType;

use super::authority::Authority;
use super::{NOW_MS, policy, resolver, timings};
use crate::dns::failures::{WINDOW_FIRST_MS, WINDOW_MAX_MS};
use crate::dns::{Freshness, LookupTimings, MailRoute, Resolver, RoutePolicy};

const ZONE: &str = include_str!("zone.txt");

#[tokio::test]
async fn a_failed_lookup_is_not_repeated_within_its_window() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);
    let queries = || authority.query_count("servfail.example", RecordType::MX);
    let route = async |now_ms| resolver.route("servfail.example", now_ms, &policy()).await;

    assert!(matches!(route(NOW_MS).await, MailRoute::Temporary { .. }));
    let first = queries();
    assert_eq!(first, timings().tries);

    let MailRoute::Temporary { reason } = route(NOW_MS + WINDOW_FIRST_MS - 1).await else { panic!("a route") };
    assert!(reason.contains("SERVFAIL"), "{reason}");
    assert_eq!(queries(), first, "inside the window");

    // The window starts at the end of the lookup, which takes some milliseconds of real time.
    let second_ms = NOW_MS + WINDOW_FIRST_MS + 1_000;
    route(second_ms).await;
    assert_eq!(queries(), 2 * first, "after the window");
    route(second_ms + 2 * WINDOW_FIRST_MS - 1).await;
    assert_eq!(queries(), 2 * first, "the second window is twice as long");

    authority.heal();
    assert!(matches!(route(second_ms + WINDOW_MAX_MS).await, MailRoute::Hosts { .. }));
}

#[tokio::test]
async fn the_window_of_a_timeout_starts_at_its_end() {
    let authority = Authority::serving(ZONE).await;
    let short = LookupTimings { timeout: Duration::from_millis(200), ..timings() };
    let resolver = Resolver::with_timings(&[authority.address], &short).unwrap();
    let tried_for_ms = 2 * 200;

    resolver.route("silent.example", NOW_MS, &policy()).await;
    let queries = authority.query_count("silent.example", RecordType::MX);
    assert!(queries > 0);
    let route = resolver.route("silent.example", NOW_MS + tried_for_ms + WINDOW_FIRST_MS - 10, &policy()).await;
    assert!(matches!(route, MailRoute::Temporary { .. }));
    assert_eq!(authority.query_count("silent.example", RecordType::MX), queries);
}

#[tokio::test]
async fn a_fresh_route_bypasses_all_caches() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);
    let fresh = RoutePolicy { freshness: Freshness::Fresh, ..policy() };
    for (domain, queries) in [("absent.example", 1), ("ordered.example", 1), ("servfail.example", timings().tries)] {
        resolver.route(domain, NOW_MS, &policy()).await;
        resolver.route(domain, NOW_MS, &policy()).await;
        assert_eq!(authority.query_count(domain, RecordType::MX), queries, "{domain}: cached");
        resolver.route(domain, NOW_MS, &fresh).await;
        resolver.route(domain, NOW_MS, &fresh).await;
        assert_eq!(authority.query_count(domain, RecordType::MX), 3 * queries, "{domain}: not cached");
    }
}

#[tokio::test]
async fn a_record_check_bypasses_the_cache() {
    let authority = Authority::serving(ZONE).await;
    let resolver = resolver(authority.address);
    for _ in 0..3 {
        let _ = resolver.txt("spf.example").await;
        let _ = resolver.txt("absent.example").await;
    }
    assert_eq!(authority.query_count("spf.example", RecordType::TXT), 3);
    assert_eq!(authority.query_count("absent.example", RecordType::TXT), 3, "a record can have been added since");
}

#[tokio::test]
async fn cache_lifetimes_are_within_their_bounds() {
    let authority = Authority::serving(ZONE).await;

    // A TTL of zero is raised to one minute, so the second lookup uses the cache.
    let usual = resolver(authority.address);
    for _ in 0..2 {
        usual.route("fleeting.example", NOW_MS, &policy()).await;
    }
    assert_eq!(authority.query_count("fleeting.example", RecordType::MX), 1);

    // An upper bound of zero disables the cache for a TTL of weeks, and for an absent name with a TTL of half an hour.
    let uncached = LookupTimings {
        positive_ttl: Duration::ZERO..=Duration::ZERO,
        negative_ttl: Duration::ZERO..=Duration::ZERO,
        ..timings()
    };
    let uncached = Resolver::with_timings(&[authority.address], &uncached).unwrap();
    for _ in 0..2 {
        uncached.route("eternal.example", NOW_MS, &policy()).await;
        uncached.route("absent.example", NOW_MS, &policy()).await;
    }
    assert_eq!(authority.query_count("eternal.example", RecordType::MX), 2);
    assert_eq!(authority.query_count("absent.example", RecordType::MX), 2);
}

#[tokio::test]
async fn six_hundred_concurrent_lookups_all_succeed() {
    let mut zone = ZONE.to_owned();
    for host in 0..600 {
        zone.push_str(&format!("many{host} IN MX 10 c.mx\n"));
    }
    let authority = Authority::serving(&zone).await;
    let long = LookupTimings { timeout: Duration::from_secs(10), ..timings() };
    let resolver = Resolver::with_timings(&[authority.address], &long).unwrap();

    let mut lookups = tokio::task::JoinSet::new();
    for host in 0..600 {
        let resolver = resolver.clone();
        lookups.spawn(async move { resolver.route(&format!("many{host}.example"), NOW_MS, &policy()).await });
    }
    for route in lookups.join_all().await {
        assert!(matches!(route, MailRoute::Hosts { .. }), "{route:?}");
    }
}
