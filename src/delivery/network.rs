//! The addresses of this server as the DNS shows them: whether it may use IPv6, and which addresses are its own.
//!
//! Large receivers refuse email over IPv6 from an address without reverse DNS. Therefore IPv4 alone is used until the
//! reverse DNS of the IPv6 address has been confirmed. The check runs at the start and every six hours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tracing::{info, warn};

use super::source::Sources;
use crate::base::clock::TimestampMs;
use crate::dns::{Families, Guard, LookupError, OwnHost, Resolver, ReverseDns};

/// Time between two checks.
const CHECK_EVERY_MS: i64 = 6 * 60 * 60 * 1_000;
/// Time until the next check if the DNS did not answer.
const REPEAT_AFTER_MS: i64 = 5 * 60 * 1_000;
/// Maximum time that a lookup waits for the first check.
const FIRST_CHECK_WAIT: Duration = Duration::from_secs(2);
/// Public addresses (a.root-servers.net) that the system has a route to if it is on the Internet. Nothing is sent.
const PUBLIC_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 41, 0, 4));
const PUBLIC_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0x503, 0xba3e, 0, 0, 0, 2, 0x30));

/// Setting of IPv6 in direct delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ipv6Mode {
    /// IPv6 is used while the reverse DNS of the IPv6 address is confirmed.
    #[default]
    Auto,
    Off,
    On,
}

/// Whether direct delivery uses IPv6, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ipv6State {
    /// The setting decides.
    Set { is_on: bool },
    /// The reverse DNS of every IPv6 source address is confirmed.
    Confirmed,
    /// This server has no public IPv6 address.
    NoAddress,
    /// The reverse DNS of an address is missing or names another address.
    Unconfirmed { address: IpAddr, reverse: ReverseDns },
    /// The DNS has not answered since the start.
    Unknown { reason: String },
}

impl Ipv6State {
    /// Returns whether direct delivery uses IPv6.
    pub fn is_on(&self) -> bool {
        matches!(self, Self::Set { is_on: true } | Self::Confirmed)
    }
}

impl std::fmt::Display for Ipv6State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Set { is_on: true } => f.write_str("IPv6 is on, as --ipv6 says"),
            Self::Set { is_on: false } => f.write_str("IPv6 is off, as --ipv6 says"),
            Self::Confirmed => f.write_str("IPv6 is on: the reverse DNS of this server's address is correct"),
            Self::NoAddress => f.write_str("IPv6 is off: this server has no public IPv6 address"),
            Self::Unconfirmed { address, reverse: ReverseDns::OtherAddress(name) } => write!(
                f,
                "IPv6 is off: the reverse name of {address} is {name}, which has another address; add an AAAA record \
                 {name} {address}"
            ),
            Self::Unconfirmed { address, .. } => write!(
                f,
                "IPv6 is off: {address} has no reverse name; set its PTR record to the host name of this server"
            ),
            Self::Unknown { reason } => write!(f, "IPv6 is off: its reverse DNS could not be looked up: {reason}"),
        }
    }
}

/// Result of the last check.
#[derive(Clone, Debug)]
pub(super) struct NetworkState {
    pub(super) ipv6: Ipv6State,
    /// Names and addresses of this server.
    pub(super) own: Arc<OwnHost>,
    is_checked: bool,
}

/// The addresses of this server. One instance for all lookups.
pub struct OwnNetwork {
    resolver: Arc<Resolver>,
    /// The host name of this server.
    hostname: String,
    sources: Sources,
    mode: Ipv6Mode,
    state: watch::Sender<NetworkState>,
    next_check_ms: AtomicI64,
}

impl OwnNetwork {
    pub fn new(resolver: Arc<Resolver>, hostname: String, sources: Sources, mode: Ipv6Mode) -> Arc<Self> {
        let names = std::iter::once(hostname.clone()).chain(sources.iter().map(|source| source.ehlo_name.clone()));
        let own = OwnHost { names: names.collect(), addresses: source_addresses(&sources) };
        let ipv6 = match mode {
            Ipv6Mode::Auto => Ipv6State::Unknown { reason: "the check has not ended".to_owned() },
            Ipv6Mode::Off | Ipv6Mode::On => Ipv6State::Set { is_on: mode == Ipv6Mode::On },
        };
        let state = watch::Sender::new(NetworkState { ipv6, own: Arc::new(own), is_checked: false });
        Arc::new(Self { resolver, hostname, sources, mode, state, next_check_ms: AtomicI64::new(TimestampMs::MIN) })
    }

    /// Returns the source addresses.
    pub(super) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Returns the result of the last check. Waits for the first one, up to two seconds.
    pub(super) async fn state(&self) -> NetworkState {
        let mut watched = self.state.subscribe();
        let first = watched.wait_for(|state| state.is_checked);
        if let Ok(Ok(state)) = tokio::time::timeout(FIRST_CHECK_WAIT, first).await {
            return state.clone();
        }
        self.state.borrow().clone()
    }

    /// Returns the families that direct delivery uses; `None` if every source address is an IPv6 address and IPv6 is
    /// off.
    pub(super) fn families(&self, ipv6: &Ipv6State) -> Option<Families> {
        let has = |is_ipv4: bool| {
            self.sources.is_empty() || self.sources.iter().any(|source| source.address.is_ipv4() == is_ipv4)
        };
        match (has(true), has(false) && ipv6.is_on()) {
            (true, true) => Some(Families::V4First),
            (true, false) => Some(Families::V4Only),
            (false, true) => Some(Families::V6Only),
            (false, false) => None,
        }
    }

    /// Returns whether a check is due, and records that it starts.
    pub(super) fn start_check(&self, now_ms: TimestampMs) -> bool {
        let next_ms = self.next_check_ms.load(Ordering::Relaxed);
        // The upper bound keeps the checks if the wall clock was set back.
        if next_ms > now_ms && next_ms - now_ms <= CHECK_EVERY_MS {
            return false;
        }
        self.next_check_ms.store(now_ms + CHECK_EVERY_MS, Ordering::Relaxed);
        true
    }

    /// Looks up the addresses of this server. A lookup that fails temporarily keeps the earlier result. The deadlines of
    /// the resolver bound its time.
    pub(super) async fn check(&self, now_ms: TimestampMs) {
        let (addresses, ipv6) = tokio::join!(self.own_addresses(), self.ipv6_state());
        let is_temporary = addresses.is_err() || matches!(ipv6, Ipv6State::Unknown { .. });
        if is_temporary {
            self.next_check_ms.store(now_ms + REPEAT_AFTER_MS, Ordering::Relaxed);
        }
        let before = self.state.borrow().clone();
        self.state.send_modify(|state| {
            state.is_checked = true;
            if let Ok(addresses) = addresses {
                state.own = Arc::new(OwnHost { names: state.own.names.clone(), addresses });
            }
            let is_worse =
                matches!(ipv6, Ipv6State::Unknown { .. }) && !matches!(state.ipv6, Ipv6State::Unknown { .. });
            if !is_worse {
                state.ipv6 = ipv6;
            }
        });
        let after = self.state.borrow().ipv6.clone();
        if before.is_checked && before.ipv6.is_on() && !after.is_on() {
            warn!("{after}");
        } else if before.ipv6 != after {
            info!("{after}");
        }
    }

    /// Returns the source addresses, or else the addresses of the host name and those that the system uses. Loopback is
    /// omitted: another mail server may listen there, and `--allow-address` permits it.
    async fn own_addresses(&self) -> Result<Vec<IpAddr>, LookupError> {
        if !self.sources.is_empty() {
            return Ok(source_addresses(&self.sources));
        }
        let mut addresses = match self.resolver.published_addresses(&self.hostname).await {
            Ok(addresses) => addresses,
            Err(LookupError::NoSuchName | LookupError::NoRecords) => Vec::new(),
            Err(error) => return Err(error),
        };
        addresses.extend([PUBLIC_V4, PUBLIC_V6].into_iter().filter_map(local_address));
        addresses.retain(|address| !address.is_loopback());
        Ok(addresses)
    }

    /// Returns whether direct delivery uses IPv6. `ringmail doctor` can call it without an engine.
    pub async fn ipv6_state(&self) -> Ipv6State {
        if self.mode != Ipv6Mode::Auto {
            return Ipv6State::Set { is_on: self.mode == Ipv6Mode::On };
        }
        let mut addresses: Vec<IpAddr> =
            self.sources.iter().map(|source| source.address).filter(IpAddr::is_ipv6).collect();
        if self.sources.is_empty() {
            addresses.extend(local_address(PUBLIC_V6).filter(|address| Guard::default().permits(*address)));
        }
        if addresses.is_empty() {
            return Ipv6State::NoAddress;
        }
        for address in addresses {
            match self.resolver.reverse_dns(address).await {
                Ok(ReverseDns::Confirmed(_)) => {}
                Ok(reverse) => return Ipv6State::Unconfirmed { address, reverse },
                Err(error) => return Ipv6State::Unknown { reason: error.to_string() },
            }
        }
        Ipv6State::Confirmed
    }
}

fn source_addresses(sources: &Sources) -> Vec<IpAddr> {
    sources.iter().map(|source| source.address).filter(|address| !address.is_loopback()).collect()
}

/// Returns the local address that the system uses for connections to a public address; `None` without a route.
fn local_address(public: IpAddr) -> Option<IpAddr> {
    let any = if public.is_ipv4() { IpAddr::from(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // Connecting a UDP socket selects the route and sends nothing.
    socket.connect((public, 53)).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::source::Source;
    use crate::dns::tests::authority::Authority;

    const NOW_MS: TimestampMs = 1_000_000_000_000;
    const ADDRESS: &str = "2001:db8::25";
    const PTR: &str = "5.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.";

    async fn zone(records: &str) -> Authority {
        Authority::serving_root(&format!("@ 300 IN SOA ns. hostmaster. 1 3600 600 86400 300\n{records}")).await
    }

    fn network(dns: &Authority, hostname: &str, sources: &[&str], mode: Ipv6Mode) -> Arc<OwnNetwork> {
        let source = |text: &&str| Source { address: text.parse().unwrap(), ehlo_name: "mx.own.example".to_owned() };
        let sources = Sources::new(sources.iter().map(source).collect());
        let resolver = Resolver::with_servers(&[dns.address]).unwrap();
        OwnNetwork::new(Arc::new(resolver), hostname.to_owned(), sources, mode)
    }

    async fn checked(network: &OwnNetwork) -> NetworkState {
        network.check(NOW_MS).await;
        network.state().await
    }

    #[tokio::test]
    async fn ipv6_is_used_only_if_the_reverse_name_leads_back_to_the_address() {
        let ptr = format!("{PTR} 300 IN PTR mx.own.example.\n");
        let confirmed = format!("{ptr}mx.own.example. 300 IN AAAA {ADDRESS}\n");
        let other = format!("{ptr}mx.own.example. 300 IN AAAA 2001:db8::26\n");
        for (records, is_on, sentence) in [
            (confirmed.as_str(), true, "IPv6 is on: the reverse DNS"),
            (other.as_str(), false, "the reverse name of 2001:db8::25 is mx.own.example, which has another address"),
            (ptr.as_str(), false, "the reverse name of 2001:db8::25 is mx.own.example, which has another address"),
            ("", false, "2001:db8::25 has no reverse name"),
        ] {
            let dns = zone(records).await;
            let network = network(&dns, "mx.own.example", &["192.0.2.1", ADDRESS], Ipv6Mode::Auto);

            let state = checked(&network).await;

            assert!(state.ipv6.to_string().contains(sentence), "{}", state.ipv6);
            let families = if is_on { Families::V4First } else { Families::V4Only };
            assert_eq!(network.families(&state.ipv6), Some(families), "{records}");
        }
    }

    #[tokio::test]
    async fn the_setting_overrides_the_check() {
        let dns = zone("").await;
        for (sources, mode, families) in [
            (&[][..], Ipv6Mode::On, Some(Families::V4First)),
            (&[], Ipv6Mode::Off, Some(Families::V4Only)),
            (&[ADDRESS], Ipv6Mode::On, Some(Families::V6Only)),
            (&["192.0.2.1"], Ipv6Mode::On, Some(Families::V4Only)),
            (&[ADDRESS], Ipv6Mode::Auto, None),
        ] {
            let network = network(&dns, "mx.own.example", sources, mode);

            let state = checked(&network).await;

            assert_eq!(network.families(&state.ipv6), families, "{sources:?} {mode:?}");
        }
    }

    #[tokio::test]
    async fn a_failed_lookup_keeps_the_earlier_result_and_is_repeated_soon() {
        let confirmed = format!("{PTR} 300 IN PTR mx.own.example.\nmx.own.example. 300 IN AAAA {ADDRESS}\n");
        let dns = zone(&confirmed).await;
        let network = network(&dns, "mx.own.example", &[ADDRESS], Ipv6Mode::Auto);
        assert!(network.start_check(NOW_MS) && !network.start_check(NOW_MS + CHECK_EVERY_MS - 1));
        assert!(checked(&network).await.ipv6.is_on());
        assert!(!network.start_check(NOW_MS + REPEAT_AFTER_MS));

        drop(dns);
        assert!(checked(&network).await.ipv6.is_on());

        assert!(network.start_check(NOW_MS + REPEAT_AFTER_MS));
    }

    #[tokio::test]
    async fn own_addresses_are_the_sources_or_else_those_of_the_host_name() {
        let dns = zone("mx.own.example. 300 IN A 192.0.2.7\nmx.own.example. 300 IN A 127.0.0.1\n").await;

        let named = checked(&network(&dns, "mx.own.example", &[], Ipv6Mode::Off)).await;
        let sources = checked(&network(&dns, "mx.own.example", &["192.0.2.9"], Ipv6Mode::Off)).await;

        let contains = |state: &NetworkState, text: &str| state.own.addresses.contains(&text.parse().unwrap());
        assert!(contains(&named, "192.0.2.7") && !contains(&named, "127.0.0.1"), "{:?}", named.own);
        assert_eq!(sources.own.addresses, ["192.0.2.9".parse::<IpAddr>().unwrap()]);
    }
}
