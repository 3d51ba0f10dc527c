//! The address guard: which IP addresses may be dialled for names from recipients and customers.
//!
//! Such a name can resolve to any address: loopback, a cloud metadata service, a host in the private network. The
//! guard checks the resolved address, after all CNAMEs, and permits only global unicast. It does not depend on email,
//! names or sockets.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::base::words::words;

words! {
    /// Reason why an address is not dialled. Its words are a fragment for logs and error messages.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum BlockedAddress {
        /// `0.0.0.0/8` and `::`.
        Unspecified = "unspecified address",
        /// `127.0.0.0/8` and `::1`.
        Loopback = "loopback address",
        /// RFC 1918.
        Private = "private address",
        /// RFC 6598, for carrier-grade NAT.
        CarrierNat = "carrier-grade NAT address",
        /// RFC 3927 and `fe80::/10`. Cloud metadata services use these ranges.
        LinkLocal = "link-local address",
        /// RFC 4193.
        UniqueLocal = "unique local address",
        /// The deprecated `fec0::/10`.
        SiteLocal = "site-local address",
        /// `224.0.0.0/4` and `ff00::/8`.
        Multicast = "multicast address",
        /// RFC 5737, RFC 3849 and RFC 9637.
        Documentation = "documentation address",
        /// RFC 2544 and RFC 5180.
        Benchmarking = "benchmarking address",
        /// An IPv4 address inside an IPv6 one: mapped, compatible, translated, NAT64, 6to4, Teredo.
        EmbedsIpv4 = "IPv6 address with an IPv4 address inside",
        /// Reserved for protocols, or not assigned.
        Reserved = "reserved address",
    }
}

impl fmt::Display for BlockedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for BlockedAddress {}

/// Address guard. The default permits only global unicast addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    allowed: Vec<IpNet>,
}

impl Guard {
    /// Returns a guard that also permits `allowed`, such as an operator's private relay or the loopback of a test. An
    /// allowed IPv4 range does not permit IPv6 addresses that contain its addresses.
    pub fn allowing(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Checks one resolved address.
    ///
    /// # Errors
    ///
    /// Returns the reason if the address is not permitted.
    pub fn check(&self, ip: IpAddr) -> Result<(), BlockedAddress> {
        match blocked(ip) {
            Some(reason) if !self.allowed.iter().any(|range| range.contains(&ip)) => Err(reason),
            _ => Ok(()),
        }
    }

    /// Returns whether `ip` may be dialled.
    pub fn permits(&self, ip: IpAddr) -> bool {
        self.check(ip).is_ok()
    }
}

/// Returns the reason that `ip` is blocked; `None` if it is a global unicast address.
fn blocked(ip: IpAddr) -> Option<BlockedAddress> {
    let reason = BLOCKED_RANGES.iter().find(|(range, _)| range.contains(&ip)).map(|(_, reason)| *reason);
    match ip {
        IpAddr::V4(_) => reason,
        // RFC 4291 §2.4: only 2000::/3 is assigned for global unicast. Other ranges have no meaning yet.
        IpAddr::V6(v6) => reason.or((v6.segments()[0] >> 13 != 0b001).then_some(BlockedAddress::Reserved)),
    }
}

const fn net_v6(network: Ipv6Addr, prefix_bits: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(network, prefix_bits))
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix_bits: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix_bits))
}

const fn v6(head: [u16; 3], prefix_bits: u8) -> IpNet {
    net_v6(Ipv6Addr::new(head[0], head[1], head[2], 0, 0, 0, 0, 0), prefix_bits)
}

/// Ranges of the IANA special-purpose registries (RFC 6890). Of two ranges that overlap, the narrower one is first.
const BLOCKED_RANGES: &[(IpNet, BlockedAddress)] = &[
    (v4(0, 0, 0, 0, 8), BlockedAddress::Unspecified),
    (v4(10, 0, 0, 0, 8), BlockedAddress::Private),
    (v4(100, 64, 0, 0, 10), BlockedAddress::CarrierNat),
    (v4(127, 0, 0, 0, 8), BlockedAddress::Loopback),
    (v4(169, 254, 0, 0, 16), BlockedAddress::LinkLocal),
    (v4(172, 16, 0, 0, 12), BlockedAddress::Private),
    (v4(192, 0, 2, 0, 24), BlockedAddress::Documentation),
    (v4(192, 0, 0, 0, 24), BlockedAddress::Reserved),
    (v4(192, 31, 196, 0, 24), BlockedAddress::Reserved), // AS112
    (v4(192, 52, 193, 0, 24), BlockedAddress::Reserved), // AMT
    (v4(192, 88, 99, 0, 24), BlockedAddress::Reserved),  // 6to4 relays, RFC 7526
    (v4(192, 168, 0, 0, 16), BlockedAddress::Private),
    (v4(192, 175, 48, 0, 24), BlockedAddress::Reserved), // AS112
    (v4(198, 18, 0, 0, 15), BlockedAddress::Benchmarking),
    (v4(198, 51, 100, 0, 24), BlockedAddress::Documentation),
    (v4(203, 0, 113, 0, 24), BlockedAddress::Documentation),
    (v4(224, 0, 0, 0, 4), BlockedAddress::Multicast),
    (v4(240, 0, 0, 0, 4), BlockedAddress::Reserved), // includes broadcast
    (net_v6(Ipv6Addr::UNSPECIFIED, 128), BlockedAddress::Unspecified),
    (net_v6(Ipv6Addr::LOCALHOST, 128), BlockedAddress::Loopback),
    (v6([0, 0, 0], 96), BlockedAddress::EmbedsIpv4), // compatible
    (net_v6(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96), BlockedAddress::EmbedsIpv4), // mapped
    (net_v6(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96), BlockedAddress::EmbedsIpv4), // translated, RFC 2765
    (v6([0x64, 0xff9b, 0], 96), BlockedAddress::EmbedsIpv4), // NAT64, RFC 6052
    (v6([0x64, 0xff9b, 1], 48), BlockedAddress::EmbedsIpv4), // NAT64, RFC 8215
    (v6([0x2001, 0, 0], 32), BlockedAddress::EmbedsIpv4), // Teredo
    (v6([0x2001, 2, 0], 48), BlockedAddress::Benchmarking),
    (v6([0x2001, 0xdb8, 0], 32), BlockedAddress::Documentation),
    (v6([0x2001, 0, 0], 23), BlockedAddress::Reserved), // protocol assignments, includes ORCHID
    (v6([0x2002, 0, 0], 16), BlockedAddress::EmbedsIpv4), // 6to4
    (v6([0x2620, 0x4f, 0x8000], 48), BlockedAddress::Reserved), // AS112
    (v6([0x3ffe, 0, 0], 16), BlockedAddress::Reserved), // 6bone, RFC 3701
    (v6([0x3fff, 0, 0], 20), BlockedAddress::Documentation), // RFC 9637
    (v6([0xfc00, 0, 0], 7), BlockedAddress::UniqueLocal),
    (v6([0xfe80, 0, 0], 10), BlockedAddress::LinkLocal),
    (v6([0xfec0, 0, 0], 10), BlockedAddress::SiteLocal),
    (v6([0xff00, 0, 0], 8), BlockedAddress::Multicast),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn every_type_of_special_address_is_blocked() {
        for (address, want) in [
            ("8.8.8.8", None),
            ("1.1.1.1", None),
            ("100.63.255.255", None),
            ("100.128.0.0", None),
            ("172.15.255.255", None),
            ("172.32.0.0", None),
            ("198.17.255.255", None),
            ("198.20.0.0", None),
            ("223.255.255.255", None),
            ("2606:4700::1111", None),
            ("2a00:1450:400c::1a", None),
            ("2001:4860:4860::8888", None),
            ("2001:200::1", None),
            ("2003::1", None),
            ("3fff:1000::1", None),
            ("0.0.0.0", Some(BlockedAddress::Unspecified)),
            ("0.1.2.3", Some(BlockedAddress::Unspecified)),
            ("10.255.255.255", Some(BlockedAddress::Private)),
            ("100.64.0.1", Some(BlockedAddress::CarrierNat)),
            ("127.0.0.1", Some(BlockedAddress::Loopback)),
            ("127.255.255.254", Some(BlockedAddress::Loopback)),
            ("169.254.169.254", Some(BlockedAddress::LinkLocal)),
            ("172.31.255.255", Some(BlockedAddress::Private)),
            ("192.0.0.8", Some(BlockedAddress::Reserved)),
            ("192.0.2.1", Some(BlockedAddress::Documentation)),
            ("192.88.99.1", Some(BlockedAddress::Reserved)),
            ("192.168.0.1", Some(BlockedAddress::Private)),
            ("198.19.255.255", Some(BlockedAddress::Benchmarking)),
            ("198.51.100.7", Some(BlockedAddress::Documentation)),
            ("203.0.113.9", Some(BlockedAddress::Documentation)),
            ("224.0.0.1", Some(BlockedAddress::Multicast)),
            ("240.0.0.1", Some(BlockedAddress::Reserved)),
            ("255.255.255.255", Some(BlockedAddress::Reserved)),
            ("::", Some(BlockedAddress::Unspecified)),
            ("::1", Some(BlockedAddress::Loopback)),
            ("::8.8.8.8", Some(BlockedAddress::EmbedsIpv4)),
            ("::ffff:8.8.8.8", Some(BlockedAddress::EmbedsIpv4)),
            ("::ffff:127.0.0.1", Some(BlockedAddress::EmbedsIpv4)),
            ("::ffff:0:7f00:1", Some(BlockedAddress::EmbedsIpv4)),
            ("64:ff9b::a00:1", Some(BlockedAddress::EmbedsIpv4)),
            ("64:ff9b:1::a00:1", Some(BlockedAddress::EmbedsIpv4)),
            ("2001::1", Some(BlockedAddress::EmbedsIpv4)),
            ("2001:2::1", Some(BlockedAddress::Benchmarking)),
            ("2001:20::1", Some(BlockedAddress::Reserved)),
            ("2001:db8::1", Some(BlockedAddress::Documentation)),
            ("2002:7f00:1::", Some(BlockedAddress::EmbedsIpv4)),
            ("3ffe::1", Some(BlockedAddress::Reserved)),
            ("3fff::1", Some(BlockedAddress::Documentation)),
            ("100::1", Some(BlockedAddress::Reserved)),
            ("4000::1", Some(BlockedAddress::Reserved)),
            ("5f00::1", Some(BlockedAddress::Reserved)),
            ("fc00::1", Some(BlockedAddress::UniqueLocal)),
            ("fdff::1", Some(BlockedAddress::UniqueLocal)),
            ("fe80::1", Some(BlockedAddress::LinkLocal)),
            ("fec0::1", Some(BlockedAddress::SiteLocal)),
            ("ff02::1", Some(BlockedAddress::Multicast)),
        ] {
            assert_eq!(Guard::default().check(ip(address)).err(), want, "{address}");
        }
    }

    #[test]
    fn the_allow_list_permits_only_its_ranges() {
        let guard = Guard::allowing(vec!["127.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()]);

        assert!(guard.permits(ip("127.0.0.53")));
        assert!(guard.permits(ip("fd12::1")));
        assert!(guard.permits(ip("8.8.8.8")));
        assert!(!guard.permits(ip("10.0.0.1")));
        assert!(!guard.permits(ip("::ffff:127.0.0.1")));
        assert!(!guard.permits(ip("::1")));
    }

    proptest! {
        #[test]
        fn an_ipv6_address_with_an_ipv4_address_inside_is_blocked(bits: u32) {
            let high = u128::from(bits);
            for embedding in [
                high,
                0xffff << 32 | high,
                0xffff << 48 | high,
                0x0064_ff9b << 96 | high,
                0x2002 << 112 | high << 80,
                0x2001 << 112 | (high ^ 0xffff_ffff),
            ] {
                prop_assert!(!Guard::default().permits(IpAddr::V6(Ipv6Addr::from_bits(embedding))));
            }
        }

        #[test]
        fn every_local_address_of_the_standard_library_is_blocked(bits: u128) {
            let v4 = Ipv4Addr::from_bits(bits as u32);
            let v6 = Ipv6Addr::from_bits(bits);
            if v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_multicast() || v4.is_documentation() {
                prop_assert!(!Guard::default().permits(v4.into()));
            }
            if v6.is_multicast() || v6.is_unique_local() || v6.is_unicast_link_local() || v6.is_loopback() {
                prop_assert!(!Guard::default().permits(v6.into()));
            }
        }
    }
}
