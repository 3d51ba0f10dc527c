//! Limit of open connections for each client, so that one client cannot use all connections of the server.
//!
//! A client is an IPv4 address or the /64 network of an IPv6 address. A provider gives each of its customers at least a
//! /64.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use ipnet::IpNet;
use salvo::async_trait;
use salvo::conn::ConnCtrl;
use salvo::fuse::{ArcConnObserver, ConnObserver, FuseAction, FuseConfig, FuseInfo, FusePolicy};
use tracing::debug;

use super::counters::{HttpCounters, OpenConnectionGuard};
use crate::base::sync;

/// Bits of an IPv6 address that identify a client.
const IPV6_CLIENT_BITS: u128 = !(u64::MAX as u128);

/// Policy that accepts or closes each new connection.
pub(super) struct AddressLimit {
    /// Maximum number of open connections of one client; `None` is no limit.
    connections_max: Option<usize>,
    /// Addresses without a limit.
    exempt: Vec<IpNet>,
    /// Timeouts of an accepted connection.
    timeouts: FuseConfig,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    counters: Arc<HttpCounters>,
}

impl AddressLimit {
    pub(super) fn new(
        connections_max: Option<usize>,
        exempt: Vec<IpNet>,
        timeouts: FuseConfig,
        counters: Arc<HttpCounters>,
    ) -> Self {
        Self { connections_max, exempt, timeouts, open: Arc::default(), counters }
    }

    /// Returns the client whose connections are counted; `None` without a limit.
    fn counted(&self, info: &FuseInfo) -> Option<IpAddr> {
        self.connections_max?;
        let address = info.remote_addr.clone().into_std()?.ip().to_canonical();
        (!self.exempt.iter().any(|range| range.contains(&address))).then(|| client_of(address))
    }
}

/// Returns the address itself, or the /64 network of an IPv6 address.
pub(super) fn client_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & IPV6_CLIENT_BITS).into(),
    }
}

#[async_trait]
impl FusePolicy for AddressLimit {
    async fn decide(&self, info: &FuseInfo) -> FuseAction {
        if let (Some(client), Some(max)) = (self.counted(info), self.connections_max) {
            let open = sync::lock(&self.open).get(&client).copied().unwrap_or(0);
            if open >= max {
                debug!("closed a connection of an address that has {open} open connections");
                self.counters.connection_refused();
                return FuseAction::Reject;
            }
        }
        FuseAction::Accept(self.timeouts)
    }

    // The server accepts one connection at a time, so that no other one is counted between `decide` and this call.
    fn observe(&self, info: &FuseInfo, _ctrl: &ConnCtrl) -> Option<ArcConnObserver> {
        let client = self.counted(info);
        if let Some(client) = client {
            *sync::lock(&self.open).entry(client).or_insert(0) += 1;
        }
        Some(Arc::new(ConnectionGuard {
            client,
            open: Arc::clone(&self.open),
            _counted: self.counters.connection_opened(),
        }))
    }
}

/// Open connection of a client. The stream of the connection owns it. Drop ends the count.
struct ConnectionGuard {
    /// Client whose connections are limited.
    client: Option<IpAddr>,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _counted: OpenConnectionGuard,
}

impl ConnObserver for ConnectionGuard {}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut open = sync::lock(&self.open);
        if let Some(count) = open.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                open.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn from(address: &str) -> FuseInfo {
        let remote = SocketAddr::new(address.parse().unwrap(), 4_000);
        FuseInfo { trans_proto: Default::default(), remote_addr: remote.into(), local_addr: remote.into() }
    }

    fn limit(connections_max: usize, exempt: Vec<IpNet>) -> AddressLimit {
        AddressLimit::new(Some(connections_max), exempt, FuseConfig::default(), Arc::default())
    }

    /// Opens a connection; `None` if it is rejected.
    async fn connect(limit: &AddressLimit, address: &str) -> Option<ArcConnObserver> {
        match limit.decide(&from(address)).await {
            FuseAction::Accept(_) => limit.observe(&from(address), &ConnCtrl::new()),
            FuseAction::Reject => None,
        }
    }

    #[tokio::test]
    async fn a_client_at_its_limit_connects_again_after_it_closes_a_connection() {
        let limit = limit(2, Vec::new());
        let first = connect(&limit, "192.0.2.1").await.unwrap();
        let _second = connect(&limit, "::ffff:192.0.2.1").await.unwrap();
        assert!(connect(&limit, "192.0.2.1").await.is_none());
        assert!(connect(&limit, "192.0.2.2").await.is_some());

        drop(first);

        assert!(connect(&limit, "192.0.2.1").await.is_some());
    }

    #[tokio::test]
    async fn the_addresses_of_an_ipv6_network_share_one_limit() {
        let limit = limit(1, Vec::new());
        let _first = connect(&limit, "2001:db8:0:1::1").await.unwrap();

        assert!(connect(&limit, "2001:db8:0:1:ffff::2").await.is_none());
        assert!(connect(&limit, "2001:db8:0:2::1").await.is_some());
    }

    #[tokio::test]
    async fn a_trusted_proxy_has_no_limit_and_is_not_counted() {
        let proxies = vec!["10.0.0.0/8".parse().unwrap()];
        let limit = limit(0, proxies);

        let proxied = connect(&limit, "10.1.2.3").await;
        assert!(proxied.is_some() && sync::lock(&limit.open).is_empty());
        assert_eq!(limit.decide(&from("192.0.2.1")).await, FuseAction::Reject);
        // Monitoring counts every connection.
        assert_eq!((limit.counters.open_connections(), limit.counters.refused_connections()), (1, 1));
        drop(proxied);
        assert_eq!(limit.counters.open_connections(), 0);
    }

    #[tokio::test]
    async fn no_count_is_kept_of_a_client_without_connections() {
        let limit = limit(1, Vec::new());

        drop(connect(&limit, "192.0.2.1").await.unwrap());

        assert!(sync::lock(&limit.open).is_empty());
    }
}
