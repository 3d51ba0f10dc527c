//! All name resolution of the product: where mail for a domain goes, which addresses may be
//! dialled, and whether a customer's records are in place.
//!
//! A route is found in four steps: [`Resolver::route`] asks for the MX records, [`mx::plan`]
//! orders them and applies the rules of RFC 5321 §5.1 and RFC 7505, the resolver asks for the
//! addresses of the first few hosts at once, and [`select::select`] keeps what may be dialled. The
//! two pure steps take a seed, so that a route can be worked out again from its inputs.
//!
//! Files, in reading order:
//! - `host.rs`: the one spelling of a host name;
//! - `cidr.rs` and `guard.rs`: address ranges, and which addresses may be dialled. Nothing in
//!   them is about mail: webhook endpoints pass the same guard;
//! - `site.rs`: the provider behind an MX set;
//! - `mx.rs` and `select.rs`: the pure rules of routing; `route.rs`: the search for a route;
//! - `error.rs`: how lookups fail; `failures.rs`: which questions failed lately; `upstream.rs`: one DNS server, and what its
//!   answers mean; `lookup.rs`: one question, asked of several; `resolver.rs`: the questions the rest
//!   of the program asks;
//! - `records.rs`, `txt.rs` and `dmarc.rs`: verdicts on a domain's records.
//!
//! Invariants:
//! - only an answer is permanent: a timeout, SERVFAIL, a refusal or a referral is always
//!   [`LookupError::Temporary`];
//! - an address leaves [`Route::Hosts`] only after the guard has permitted it;
//! - the search list and the hosts file never touch mail routing: what the world sees counts;
//! - every lookup has a deadline, every list a bound, and the number of questions in flight too.
//!
//! Deliberately not here: DNSSEC validation, connections of any kind, and the second look at
//! a vanished domain that the delivery schedule owes it ([`Freshness::Fresh`] exists for that).

mod cidr;
mod dmarc;
mod error;
mod failures;
pub mod guard;
pub mod host;
mod lookup;
pub mod mx;
mod records;
mod resolver;
mod route;
pub mod select;
mod site;
mod txt;
mod upstream;

#[cfg(test)]
pub(crate) mod tests;

pub use cidr::{Cidr, CidrError};
pub use dmarc::{Dmarc, compare_dmarc};
pub use error::{DnsError, LookupError};
pub use guard::{BlockedAddress, Guard};
pub use lookup::Timings;
pub use records::{DnsMatch, Expected, RecordVerdict, compare_cname, compare_mx};
pub use resolver::Resolver;
pub use route::{Families, Freshness, MxHost, OwnHost, Route, RoutePolicy, Unroutable};
pub use site::Site;
pub(crate) use site::registrable;
pub use txt::compare_txt;
