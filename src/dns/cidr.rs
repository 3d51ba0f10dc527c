//! Ranges of IP addresses, written `10.0.0.0/8` or as one address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses of one family. The bits after the prefix are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr {
    network: IpAddr,
    prefix_bits: u8,
}

/// Reason why a text is not a [`Cidr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CidrError {
    /// The part before the slash is not an IP address.
    Address,
    /// The part after the slash is not a number from 0 to 32, or to 128 for IPv6.
    Prefix,
}

impl Cidr {
    /// Returns an IPv4 range.
    ///
    /// # Panics
    ///
    /// If `prefix_bits` is above 32.
    pub const fn v4(network: Ipv4Addr, prefix_bits: u8) -> Self {
        assert!(prefix_bits <= 32, "an IPv4 prefix has at most 32 bits");
        let network = Ipv4Addr::from_bits(network.to_bits() & mask_v4(prefix_bits));
        Self { network: IpAddr::V4(network), prefix_bits }
    }

    /// Returns an IPv6 range.
    ///
    /// # Panics
    ///
    /// If `prefix_bits` is above 128.
    pub const fn v6(network: Ipv6Addr, prefix_bits: u8) -> Self {
        assert!(prefix_bits <= 128, "an IPv6 prefix has at most 128 bits");
        let network = Ipv6Addr::from_bits(network.to_bits() & mask_v6(prefix_bits));
        Self { network: IpAddr::V6(network), prefix_bits }
    }

    /// Returns whether `ip` is in this range. An address matches only a range of its own family: `::ffff:10.0.0.1` is
    /// not in `10.0.0.0/8`.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.network, ip) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => ip.to_bits() & mask_v4(self.prefix_bits) == network.to_bits(),
            (IpAddr::V6(network), IpAddr::V6(ip)) => ip.to_bits() & mask_v6(self.prefix_bits) == network.to_bits(),
            _ => false,
        }
    }
}

const fn mask_v4(prefix_bits: u8) -> u32 {
    if prefix_bits == 0 { 0 } else { u32::MAX << (32 - prefix_bits) }
}

const fn mask_v6(prefix_bits: u8) -> u128 {
    if prefix_bits == 0 { 0 } else { u128::MAX << (128 - prefix_bits) }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (address, prefix) = match text.trim().split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| CidrError::Address)?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix {
            None => bits_max,
            // `u8::from_str` accepts a plus sign.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_| CidrError::Prefix)?
            }
            Some(_) => return Err(CidrError::Prefix),
        };
        if prefix_bits > bits_max {
            return Err(CidrError::Prefix);
        }
        Ok(match address {
            IpAddr::V4(network) => Self::v4(network, prefix_bits),
            IpAddr::V6(network) => Self::v6(network, prefix_bits),
        })
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix_bits)
    }
}

impl fmt::Display for CidrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "not an IP address or range such as 10.0.0.0/8",
            Self::Prefix => "the prefix must be 0 to 32, or 0 to 128 for IPv6",
        })
    }
}

impl std::error::Error for CidrError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_parsed_and_masked() {
        for (text, want) in [
            ("10.1.2.3/8", Ok("10.0.0.0/8")),
            ("127.0.0.1", Ok("127.0.0.1/32")),
            ("0.0.0.0/0", Ok("0.0.0.0/0")),
            ("fd00::1/8", Ok("fd00::/8")),
            ("::1", Ok("::1/128")),
            (" ::/0 ", Ok("::/0")),
            ("10.0.0.0/33", Err(CidrError::Prefix)),
            ("::/129", Err(CidrError::Prefix)),
            ("10.0.0.0/", Err(CidrError::Prefix)),
            ("10.0.0.0/+8", Err(CidrError::Prefix)),
            ("10.0.0/8", Err(CidrError::Address)),
            ("010.0.0.0/8", Err(CidrError::Address)),
            ("localhost", Err(CidrError::Address)),
            ("", Err(CidrError::Address)),
        ] {
            let got = text.parse::<Cidr>().map(|cidr| cidr.to_string());
            assert_eq!(got.as_deref().map_err(|error| *error), want, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_range_contains_its_address_and_parses_from_its_display_form(bits: u128, v6: bool, prefix in 0u8..=128) {
            let ip = if v6 { IpAddr::V6(Ipv6Addr::from_bits(bits)) } else { IpAddr::V4(Ipv4Addr::from_bits(bits as u32)) };
            let prefix = if v6 { prefix } else { prefix % 33 };
            let cidr: Cidr = format!("{ip}/{prefix}").parse().unwrap();
            prop_assert!(cidr.contains(ip));
            prop_assert_eq!(cidr.to_string().parse::<Cidr>(), Ok(cidr));
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<Cidr>();
        }
    }
}
