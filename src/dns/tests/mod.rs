//! Tests of the resolver with real servers: an authoritative server in this process, and unbound.
//!
//! `authority.rs` is the server. `routing.rs` and `caching.rs` test the resolver with it. `unbound.rs` repeats the
//! important cases with a recursive server of another implementation.

pub(crate) mod authority;
mod caching;
mod routing;
mod unbound;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::{Guard, LookupTimings, Resolver, RoutePolicy};

/// Time of the tests, in 2001. Any time works.
const NOW_MS: i64 = 1_000_000_000_000;

/// Timings with a short timeout. The bounds on cache lifetimes are the default ones.
fn timings() -> LookupTimings {
    LookupTimings { timeout: Duration::from_secs(1), ..LookupTimings::default() }
}

fn resolver(server: SocketAddr) -> Resolver {
    Resolver::with_timings(&[server], &timings()).unwrap()
}

/// Policy that permits the documentation ranges, which the zone uses.
fn policy() -> RoutePolicy {
    let allowed = ["192.0.2.0/24", "2001:db8::/32"].map(|range| range.parse().unwrap());
    RoutePolicy { guard: Arc::new(Guard::allowing(allowed.to_vec())), ..RoutePolicy::default() }
}
