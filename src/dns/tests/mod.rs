//! The resolver against real servers: an authority in this process, and unbound where installed.
//!
//! `authority.rs` is the server, `routing.rs` and `memory.rs` drive the resolver against it,
//! `unbound.rs` repeats the important cases against a recursive server of another make.

pub(crate) mod authority;
mod memory;
mod routing;
mod unbound;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::{Guard, Resolver, RoutePolicy, Timings};

/// A day in 2001: any wall clock will do.
const NOW_MS: i64 = 1_000_000_000_000;

/// Timeouts short enough to wait for; the bounds on lifetimes are the real ones.
fn timings() -> Timings {
    Timings { timeout: Duration::from_secs(1), ..Timings::default() }
}

fn resolver(server: SocketAddr) -> Resolver {
    Resolver::with_timings(&[server], &timings()).unwrap()
}

/// The zones' hosts live in ranges for documentation.
fn policy() -> RoutePolicy {
    let allowed = ["192.0.2.0/24", "2001:db8::/32"].map(|range| range.parse().unwrap());
    RoutePolicy { guard: Arc::new(Guard::allowing(allowed.to_vec())), ..RoutePolicy::default() }
}
