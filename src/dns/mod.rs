//! All DNS lookups of the program: mail routes, the address guard, and checks of published records.
//!
//! A route is found in four steps:
//! 1. [`Resolver::route`] looks up the MX records.
//! 2. [`mx::plan`] sorts them and applies RFC 5321 §5.1 and RFC 7505.
//! 3. The resolver looks up the addresses of the first hosts concurrently.
//! 4. [`select::select`] selects the hosts and addresses that may be dialled.
//!
//! Steps 2 and 4 are pure and take a seed, so the same inputs give the same route.
//!
//! Files, in reading order:
//! - `host.rs`: normalization of host names;
//! - `guard.rs`: the guard that decides which addresses may be dialled. Webhook requests use the same guard;
//! - `site.rs`: the receiving site of an MX set;
//! - `mx.rs` and `select.rs`: the pure routing rules; `route.rs`: the lookup of a route;
//! - `error.rs` and `failures.rs`: lookup errors, and the cache of failed lookups;
//! - `upstream.rs`: one DNS server and the interpretation of its responses;
//! - `lookup.rs`: one lookup over several servers;
//! - `resolver.rs`: the API of lookups;
//! - `reverse.rs`: the reverse DNS of an address;
//! - `records.rs`, `txt.rs` and `dmarc.rs`: comparison of a domain's published records with the expected ones.
//!
//! Invariants:
//! - A timeout, SERVFAIL, REFUSED or a referral is always [`LookupError::Temporary`]. Only NXDOMAIN and an empty
//!   answer are permanent.
//! - [`MailRoute::Hosts`] contains only addresses that the guard permits.
//! - Mail routing uses neither the search list nor the hosts file.
//! - Every lookup has a deadline. Every list and the number of queries in flight have a bound.
//!
//! Not in this module: DNSSEC validation, connections, and the second lookup before email to a domain that no longer
//! exists bounces. The delivery schedule requests that lookup with [`Freshness::Fresh`].

mod dmarc;
mod error;
mod failures;
pub mod guard;
pub mod host;
mod lookup;
pub mod mx;
mod records;
mod resolver;
mod reverse;
mod route;
pub mod select;
mod site;
mod txt;
mod upstream;

#[cfg(test)]
pub(crate) mod tests;

pub use dmarc::{Dmarc, compare_dmarc};
pub use error::{DnsError, LookupError};
pub use guard::{BlockedAddress, Guard};
pub use lookup::LookupTimings;
pub use records::{DnsMatch, DnsRecord, RecordVerdict, compare_cname, compare_mx};
pub use resolver::Resolver;
pub use reverse::ReverseDns;
pub use route::{Families, Freshness, MailRoute, MxHost, OwnHost, RoutePolicy, Unroutable};
pub use site::Site;
#[cfg(test)]
pub(crate) use site::is_provider;
pub(crate) use site::{provider_of, registrable};
pub use txt::compare_txt;
