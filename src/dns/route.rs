//! The mail route of a domain.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::error::LookupError;
use super::guard::Guard;
use super::host;
use super::lookup::CacheMode;
use super::mx::{self, MxCandidate, MxPlan};
use super::resolver::Resolver;
use super::select::{SelectError, select};
use super::site::Site;

/// Result of the lookup of a domain's mail hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailRoute {
    /// Hosts to dial, in this order.
    Hosts {
        /// The receiving site of the MX set.
        site: Site,
        /// 1 to [`mx::HOSTS_MAX`] hosts, with at most [`mx::ADDRESSES_MAX`] addresses in total.
        hosts: Vec<MxHost>,
    },
    /// The domain accepts no email (RFC 7505). Permanent.
    NullMx,
    /// The domain does not exist. Permanent after a confirmation by a [`Freshness::Fresh`] lookup.
    NoSuchDomain,
    /// The domain exists, but has no address that may be dialled. Permanent; [`Unroutable::NoAddresses`] only after a
    /// confirmation, as for a missing domain.
    NoAddresses(Unroutable),
    /// No response, or an unusable one. Transient.
    Temporary {
        /// Description of the failure, as a fragment for the transcript of the attempt.
        reason: String,
    },
}

/// Reason why email to an existing domain cannot be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unroutable {
    /// No host has an address.
    NoAddresses,
    /// The guard blocks all addresses.
    Guarded,
    /// All addresses are of a family that the policy excludes.
    OtherFamily,
    /// The host of the lowest preference value is this server.
    OwnHost,
}

/// One host of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MxHost {
    /// The name in the MX record, even if it is an alias. RFC 5321 §5.1 and RFC 8461 §4.1 check the certificate
    /// against this name.
    pub name: String,
    /// Preference of the MX record; zero for a domain without MX records.
    pub preference: u16,
    /// Never empty; in dialling order.
    pub addresses: Vec<IpAddr>,
}

/// The address families to dial, and their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Families {
    /// IPv4 only: this server has no IPv6 address, or none with a reverse name.
    V4Only,
    /// Both alternately, IPv4 first.
    #[default]
    V4First,
    /// Both alternately, IPv6 first.
    V6First,
    /// IPv6 only: this server sends from IPv6 addresses only.
    V6Only,
}

/// Whether cached answers may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// Cached answers may be used. For most deliveries.
    #[default]
    Cached,
    /// The DNS servers are queried. For the second lookup of a domain that did not exist at the first one.
    Fresh,
}

/// Names and addresses of this server, for the detection of mail loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnHost {
    /// Names in the form of [`host::normalize`].
    pub names: Vec<String>,
    /// Public addresses of this server.
    pub addresses: Vec<IpAddr>,
}

/// Parameters of a route lookup. Cheap to clone: `RoutePolicy { seed, ..policy.clone() }`.
#[derive(Clone, Debug, Default)]
pub struct RoutePolicy {
    /// Seed for the order of hosts of equal preference. The same seed gives the same order.
    pub seed: u64,
    pub families: Families,
    pub freshness: Freshness,
    pub guard: Arc<Guard>,
    pub own: Arc<OwnHost>,
}

impl Resolver {
    /// Finds the hosts that receive email for `domain`. Returns within twice the deadline of one lookup.
    pub async fn route(&self, domain: &str, now_ms: i64, policy: &RoutePolicy) -> MailRoute {
        // An address literal, or a name that no zone can contain.
        let Some(domain) = host::normalize(domain) else {
            return MailRoute::NoSuchDomain;
        };
        let cache_mode = match policy.freshness {
            Freshness::Cached => CacheMode::Use { now_ms },
            Freshness::Fresh => CacheMode::Bypass,
        };
        match self.mx_records(&domain, cache_mode).await {
            Ok(records) => match mx::plan(&records, &policy.own.names, policy.seed) {
                MxPlan::Null => MailRoute::NullMx,
                MxPlan::Unroutable(reason) => MailRoute::NoAddresses(reason),
                MxPlan::Lookup(candidates) => {
                    // The site depends on the whole published set, not only on the candidates.
                    let named: Vec<(u16, String)> = records
                        .into_iter()
                        .filter_map(|(preference, name)| Some((preference, host::normalize(&name)?)))
                        .collect();
                    self.dialable(Site::of(&domain, &named), candidates, cache_mode, policy).await
                }
            },
            // RFC 5321 §5.1: a domain without MX records is its own host, at preference 0. This requires an answer
            // without records. MX records that cannot be used are never replaced by the address of the domain.
            Err(LookupError::NoRecords) if policy.own.names.contains(&domain) => {
                MailRoute::NoAddresses(Unroutable::OwnHost)
            }
            Err(LookupError::NoRecords) => {
                let candidates = vec![MxCandidate { name: domain.clone(), preference: 0 }];
                self.dialable(Site::of(&domain, &[]), candidates, cache_mode, policy).await
            }
            Err(LookupError::NoSuchName) => MailRoute::NoSuchDomain,
            Err(LookupError::Temporary(reason)) => MailRoute::Temporary { reason },
        }
    }

    /// Looks up the addresses of all candidates concurrently and selects the hosts to dial.
    async fn dialable(
        &self,
        site: Site,
        candidates: Vec<MxCandidate>,
        cache_mode: CacheMode,
        policy: &RoutePolicy,
    ) -> MailRoute {
        let mut lookups = JoinSet::new();
        for (position, candidate) in candidates.into_iter().enumerate() {
            let resolver = self.clone();
            lookups.spawn(async move {
                let addresses = resolver.both_families(&candidate.name, cache_mode).await;
                (position, candidate, addresses)
            });
        }
        // Each lookup has its own deadline. `join_all` propagates panics.
        let mut found = lookups.join_all().await;
        found.sort_unstable_by_key(|(position, _, _)| *position);
        let found = found.into_iter().map(|(_, candidate, addresses)| (candidate, addresses)).collect();
        match select(found, policy) {
            Ok(hosts) => MailRoute::Hosts { site, hosts },
            Err(SelectError::Temporary(reason)) => MailRoute::Temporary { reason },
            Err(SelectError::Unroutable(reason)) => MailRoute::NoAddresses(reason),
        }
    }
}

impl MailRoute {
    /// Returns the enhanced status code of a route without hosts (RFC 3463, RFC 7505 §4.1).
    pub fn status(&self) -> Option<&'static str> {
        Some(match self {
            Self::Hosts { .. } => return None,
            Self::NullMx => "5.1.10",
            Self::NoSuchDomain => "5.1.2",
            Self::NoAddresses(Unroutable::OwnHost) => "5.4.6",
            Self::NoAddresses(_) => "5.4.4",
            Self::Temporary { .. } => "4.4.3",
        })
    }
}

/// Writes the line for the transcript of an attempt; nothing for a route with hosts.
impl fmt::Display for MailRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts { .. } => Ok(()),
            Self::NullMx => f.write_str("the domain takes no mail (null MX)"),
            Self::NoSuchDomain => f.write_str("the domain does not exist"),
            Self::NoAddresses(reason) => f.write_str(match reason {
                Unroutable::NoAddresses => "no mail host of the domain has an address",
                Unroutable::Guarded => {
                    "the mail hosts of the domain have private or reserved addresses, and this server does not connect \
                     to them"
                }
                Unroutable::OtherFamily => {
                    "the mail hosts of the domain have only addresses of a family (IPv4 or IPv6) that this server does not \
                     use"
                }
                Unroutable::OwnHost => "the mail host of the domain is this server, so the email would loop",
            }),
            Self::Temporary { reason } => write!(f, "the domain could not be looked up: {reason}"),
        }
    }
}
