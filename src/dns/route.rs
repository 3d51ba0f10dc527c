//! Where mail for a domain goes.

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
use super::select::{Dead, select};
use super::site::Site;

/// The outcome of looking for a domain's mail hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Dial these in this order.
    Hosts {
        /// Whose servers they are.
        site: Site,
        /// At least one and at most [`mx::HOSTS_MAX`], with [`mx::ADDRESSES_MAX`] addresses in all.
        hosts: Vec<MxHost>,
    },
    /// The domain says that it takes no mail (RFC 7505). Permanent.
    NullMx,
    /// The domain does not exist. Permanent, once confirmed by a [`Freshness::Fresh`] lookup.
    NoSuchDomain,
    /// The domain exists and nothing in it can be dialled. Permanent.
    NoAddresses(Unroutable),
    /// No answer, or none to rely on. Transient.
    Temporary {
        /// What failed, as a fragment for the attempt's transcript.
        reason: String,
    },
}

/// Why a domain that exists cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unroutable {
    /// No host has an address.
    NoAddresses,
    /// All addresses are refused by the guard.
    Guarded,
    /// All addresses are of a family this server does not send from.
    OtherFamily,
    /// The best host is this server, which does not deliver to itself.
    OwnHost,
}

/// One host of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MxHost {
    /// The name as published in the MX record, also when it is an alias: RFC 5321 §5.1 and
    /// RFC 8461 §4.1 check the certificate against this one.
    pub name: String,
    /// Zero for a domain without MX records.
    pub preference: u16,
    /// At least one, in dialling order.
    pub addresses: Vec<IpAddr>,
}

/// Which address families to dial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Families {
    /// IPv4 alone: the host has no IPv6, or none with a reverse name.
    V4Only,
    /// Both, taking turns, IPv4 first.
    #[default]
    V4First,
    /// Both, taking turns, IPv6 first.
    V6First,
}

/// Whether remembered answers will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// Yes: every ordinary delivery.
    #[default]
    Cached,
    /// No: the second look at a domain that seems to have vanished.
    Fresh,
}

/// The names and addresses this server goes by, for the loop guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnHost {
    /// Normalized names, see [`host::normalize`].
    pub names: Vec<String>,
    /// Addresses the world reaches this server on.
    pub addresses: Vec<IpAddr>,
}

/// What a route has to respect. Cheap to clone: `RoutePolicy { seed, ..policy.clone() }`.
#[derive(Clone, Debug, Default)]
pub struct RoutePolicy {
    /// Spreads load over hosts of equal preference; the same seed gives the same order.
    pub seed: u64,
    /// Which families to dial.
    pub families: Families,
    /// Whether remembered answers will do.
    pub freshness: Freshness,
    /// Which addresses may be dialled.
    pub guard: Arc<Guard>,
    /// What counts as this server.
    pub own: Arc<OwnHost>,
}

impl Resolver {
    /// Finds the hosts that take mail for `domain`. Answers within twice the longest lookup.
    pub async fn route(&self, domain: &str, now_ms: i64, policy: &RoutePolicy) -> Route {
        // An address literal, or what no zone can hold.
        let Some(domain) = host::normalize(domain) else {
            return Route::NoSuchDomain;
        };
        let memory = match policy.freshness {
            Freshness::Cached => CacheMode::Use { now_ms },
            Freshness::Fresh => CacheMode::Bypass,
        };
        match self.mx_records(&domain, memory).await {
            Ok(records) => match mx::plan(&records, &policy.own.names, policy.seed) {
                MxPlan::Null => Route::NullMx,
                MxPlan::Dead(why) => Route::NoAddresses(why),
                MxPlan::Ask(targets) => {
                    // The whole set as published, so that a site does not change with a cap.
                    let named: Vec<(u16, String)> = records
                        .into_iter()
                        .filter_map(|(preference, name)| Some((preference, host::normalize(&name)?)))
                        .collect();
                    self.dialable(Site::of(&domain, &named), targets, memory, policy).await
                }
            },
            // RFC 5321 §5.1: without an MX record the domain is its own host, at preference 0.
            // Only an answer that says so counts; a broken set of records never leads here.
            Err(LookupError::NoRecords) if policy.own.names.contains(&domain) => {
                Route::NoAddresses(Unroutable::OwnHost)
            }
            Err(LookupError::NoRecords) => {
                let targets = vec![MxCandidate { name: domain.clone(), preference: 0 }];
                self.dialable(Site::of(&domain, &[]), targets, memory, policy).await
            }
            Err(LookupError::NoSuchName) => Route::NoSuchDomain,
            Err(LookupError::Temporary(reason)) => Route::Temporary { reason },
        }
    }

    async fn dialable(&self, site: Site, targets: Vec<MxCandidate>, memory: CacheMode, policy: &RoutePolicy) -> Route {
        let mut lookups = JoinSet::new();
        for (place, target) in targets.into_iter().enumerate() {
            let resolver = self.clone();
            lookups.spawn(async move {
                let addresses = resolver.both_families(&target.name, memory).await;
                (place, target, addresses)
            });
        }
        // `join_all` passes a panic on; each lookup has its own deadline.
        let mut found = lookups.join_all().await;
        found.sort_unstable_by_key(|(place, _, _)| *place);
        let found = found.into_iter().map(|(_, target, addresses)| (target, addresses)).collect();
        match select(found, policy) {
            Ok(hosts) => Route::Hosts { site, hosts },
            Err(Dead::Temporary(reason)) => Route::Temporary { reason },
            Err(Dead::Unroutable(why)) => Route::NoAddresses(why),
        }
    }
}

impl Route {
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

/// What an attempt's transcript says; an empty text for a route with hosts.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts { .. } => Ok(()),
            Self::NullMx => f.write_str("the domain takes no mail (null MX)"),
            Self::NoSuchDomain => f.write_str("the domain does not exist"),
            Self::NoAddresses(why) => f.write_str(match why {
                Unroutable::NoAddresses => "no mail host of the domain has an address",
                Unroutable::Guarded => "all mail hosts of the domain are at addresses that are not dialled",
                Unroutable::OtherFamily => "the mail hosts of the domain have IPv6 addresses only",
                Unroutable::OwnHost => "the mail of the domain would loop back to this server",
            }),
            Self::Temporary { reason } => write!(f, "the domain could not be looked up: {reason}"),
        }
    }
}
