//! Parsing of a URL's host.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::policy::UrlPolicy;
use super::url::UrlError;
use crate::base::address::{AddressError, DomainName};
use crate::dns::host;

/// The host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// A name in lowercase A-labels, without the final dot.
    Name(Box<str>),
    /// `localhost` or a name below it.
    Local(Box<str>),
    Address(IpAddr),
}

impl Host {
    /// Parses the host part of a URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a host, or if `policy` does not allow the host. Does not look a name up.
    pub(super) fn parse(text: &str, policy: &UrlPolicy) -> Result<Self, UrlError> {
        if text.is_empty() {
            return Err(UrlError::NoHost);
        }
        if let Some(literal) = text.strip_prefix('[') {
            // RFC 3986 §3.2.2: brackets contain an IPv6 address. A zone (RFC 6874) names a network interface of this
            // server, and is rejected.
            let literal = literal.strip_suffix(']').ok_or(UrlError::AddressLiteral)?;
            let ip: Ipv6Addr = literal.parse().map_err(|_| UrlError::AddressLiteral)?;
            return Self::address(ip.into(), policy);
        }
        // Only four decimal numbers are an address. `127.1`, `0177.0.0.1` and `2130706433` are not. They are also
        // rejected as names, because their last label is a number.
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Self::address(ip.into(), policy);
        }
        let name: Box<str> = match DomainName::parse(text) {
            Ok(domain) => domain.as_str().into(),
            // `localhost`, or the name of a container in development. Such names are not in the public DNS.
            Err(error @ AddressError::DomainWithoutDot) => host::normalize(text)
                .filter(|name| policy.plain_http || is_local(name))
                .ok_or(UrlError::Host(error))?
                .into(),
            Err(error) => return Err(UrlError::Host(error)),
        };
        match is_local(&name) {
            false => Ok(Self::Name(name)),
            true if policy.plain_http => Ok(Self::Local(name)),
            true => Err(UrlError::Localhost),
        }
    }

    fn address(ip: IpAddr, policy: &UrlPolicy) -> Result<Self, UrlError> {
        policy.guard.check(ip).map_err(UrlError::Blocked)?;
        Ok(Self::Address(ip))
    }
}

/// Returns whether `name` is `localhost` or below it (RFC 6761 §6.3).
fn is_local(name: &str) -> bool {
    host::is_within(name, "localhost")
}

/// Writes the host as in a `Host` header.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) | Self::Local(name) => f.write_str(name),
            Self::Address(IpAddr::V4(ip)) => write!(f, "{ip}"),
            Self::Address(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}
