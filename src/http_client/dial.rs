//! Connection to a URL's host: lookup, guard, TCP and TLS.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::client::HttpClient;
use super::failure::{RequestError, RequestPhase, TlsFailure};
use super::metered_io::HttpStream;
use super::url::{CustomerUrl, UrlHost, UrlScheme};
use crate::base::clock::TimestampMs;
use crate::dns::{BlockedAddress, Guard, LookupError};

/// Maximum number of addresses of one host that are tried. More would leave too little time for each.
const ADDRESSES_MAX: usize = 4;

impl HttpClient {
    /// Connects to the URL's host, with TLS for an `https` URL.
    pub(super) async fn dial(
        &self,
        url: &CustomerUrl,
        now_ms: TimestampMs,
        deadline: Instant,
    ) -> Result<HttpStream, RequestError> {
        let addresses = timeout_at(deadline, self.addresses(&url.host, now_ms))
            .await
            .map_err(|_| RequestError::Timeout(RequestPhase::Dns))?
            .map_err(RequestError::Dns)?;
        let addresses = permitted(&addresses, &self.inner.policy.guard)?;
        let tcp = self.connect(&addresses, url.port(), deadline).await?;
        match url.scheme {
            UrlScheme::Http => Ok(HttpStream::Plain(tcp)),
            UrlScheme::Https => Ok(HttpStream::Tls(Box::new(self.handshake(tcp, &url.host, deadline).await?))),
        }
    }

    /// Returns the host's addresses. The guard has not checked them. A name is looked up for every connection; the
    /// resolver may cache the records.
    async fn addresses(&self, host: &UrlHost, now_ms: TimestampMs) -> Result<Vec<IpAddr>, LookupError> {
        let inner = &self.inner;
        match host {
            UrlHost::Address(ip) => Ok(vec![*ip]),
            // RFC 6761 §6.3: the loopback addresses, without a lookup.
            UrlHost::Local(_) => Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]),
            UrlHost::Name(name) if inner.policy.local_names => inner.resolver.addresses(name, now_ms).await,
            // Customers must not use the host names in the hosts file of this machine.
            UrlHost::Name(name) => inner.resolver.dns_addresses(name, now_ms).await,
        }
    }

    /// Connects to the first address that accepts the connection. Each address gets an equal share of the remaining
    /// time. Returns the failure of the last address if all fail.
    async fn connect(&self, addresses: &[IpAddr], port: u16, deadline: Instant) -> Result<TcpStream, RequestError> {
        let end = deadline.min(Instant::now() + self.inner.timeouts.connect);
        let mut last_error = RequestError::Timeout(RequestPhase::Connect);
        for (remaining, ip) in (1..=addresses.len()).rev().zip(addresses) {
            let share = end.saturating_duration_since(Instant::now()).div_f64(remaining as f64);
            last_error = match timeout(share, connect(SocketAddr::new(*ip, port))).await {
                Ok(Ok(tcp)) => return Ok(tcp),
                Ok(Err(error)) => RequestError::Connect(error.kind()),
                Err(_) => RequestError::Timeout(RequestPhase::Connect),
            };
        }
        Err(last_error)
    }

    /// Performs the TLS handshake. The certificate must be valid for the URL's host, not for the address of the
    /// connection.
    async fn handshake(
        &self,
        tcp: TcpStream,
        host: &UrlHost,
        deadline: Instant,
    ) -> Result<TlsStream<TcpStream>, RequestError> {
        let name = match host {
            UrlHost::Address(ip) => ServerName::from(*ip),
            UrlHost::Name(name) | UrlHost::Local(name) => {
                ServerName::try_from(String::from(&**name)).map_err(|_| RequestError::Tls(TlsFailure::WrongHost))?
            }
        };
        let end = deadline.min(Instant::now() + self.inner.timeouts.tls);
        let handshake = TlsConnector::from(self.inner.tls.clone()).connect(name, tcp);
        match timeout_at(end, handshake).await {
            Ok(Ok(tls)) => Ok(tls),
            Ok(Err(error)) => Err(RequestError::Tls(TlsFailure::of(&error))),
            Err(_) => Err(RequestError::Timeout(RequestPhase::Tls)),
        }
    }
}

async fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let tcp = TcpStream::connect(address).await?;
    // A request is one write, so Nagle's algorithm would only delay it.
    tcp.set_nodelay(true)?;
    Ok(tcp)
}

/// Returns the addresses that the guard permits, without duplicates, in the order of connection attempts. Each family
/// keeps the order of the lookup. The two families alternate, so a long list of one does not exclude the other.
///
/// # Errors
///
/// If no address is permitted, returns the reason for the first blocked one, or [`LookupError::NoRecords`] if
/// `addresses` is empty.
fn permitted(addresses: &[IpAddr], guard: &Guard) -> Result<Vec<IpAddr>, RequestError> {
    let mut first_blocked: Option<BlockedAddress> = None;
    let mut families: [Vec<IpAddr>; 2] = Default::default();
    for ip in addresses {
        let family = &mut families[usize::from(ip.is_ipv6())];
        match guard.check(*ip) {
            Ok(()) if family.contains(ip) || family.len() == ADDRESSES_MAX => {}
            Ok(()) => family.push(*ip),
            Err(reason) => first_blocked = first_blocked.or(Some(reason)),
        }
    }
    let alternating = (0..ADDRESSES_MAX).flat_map(|at| families.iter().filter_map(move |family| family.get(at)));
    let order: Vec<IpAddr> = alternating.take(ADDRESSES_MAX).copied().collect();
    match first_blocked {
        _ if !order.is_empty() => Ok(order),
        Some(reason) => Err(RequestError::Blocked(reason)),
        None => Err(RequestError::Dns(LookupError::NoRecords)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(list: &[&str]) -> Vec<IpAddr> {
        list.iter().map(|ip| ip.parse().unwrap()).collect()
    }

    #[test]
    fn the_addresses_tried_are_permitted_bounded_and_of_both_families() {
        type Case<'a> = (&'a [&'a str], Result<&'a [&'a str], RequestError>);
        let cases: &[Case<'_>] = &[
            (&["8.8.8.8"], Ok(&["8.8.8.8"])),
            (&["8.8.8.8", "8.8.8.8", "8.8.4.4"], Ok(&["8.8.8.8", "8.8.4.4"])),
            (&["8.8.8.8", "127.0.0.1", "2606:4700::1"], Ok(&["8.8.8.8", "2606:4700::1"])),
            (
                &["8.8.8.1", "8.8.8.2", "8.8.8.3", "8.8.8.4", "8.8.8.5", "2606:4700::1"],
                Ok(&["8.8.8.1", "2606:4700::1", "8.8.8.2", "8.8.8.3"]),
            ),
            (&["10.0.0.1", "127.0.0.1", "::1"], Err(RequestError::Blocked(BlockedAddress::Private))),
            (&["::1"], Err(RequestError::Blocked(BlockedAddress::Loopback))),
            (&[], Err(RequestError::Dns(LookupError::NoRecords))),
        ];
        for (resolved, want) in cases {
            let got = permitted(&ips(resolved), &Guard::default());
            assert_eq!(got, want.clone().map(ips), "{resolved:?}");
        }
    }
}
