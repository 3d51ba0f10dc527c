//! From a URL's host to a connection: lookup, guard, TCP, TLS.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::client::Client;
use super::failure::{RequestError, RequestPhase, TlsFailure};
use super::host::Host;
use super::metered_io::Stream;
use super::url::{CustomerUrl, Scheme};
use crate::base::clock::TimestampMs;
use crate::dns::{BlockedAddress, Guard, LookupError};

/// Addresses of one host that are tried. With more, each would get too small a share of the time.
const ADDRESSES_MAX: usize = 4;

impl Client {
    /// Makes a connection to the URL's host, and a secure one where the URL says so.
    pub(super) async fn dial(
        &self,
        url: &CustomerUrl,
        now_ms: TimestampMs,
        deadline: Instant,
    ) -> Result<Stream, RequestError> {
        let addresses = timeout_at(deadline, self.addresses(&url.host, now_ms))
            .await
            .map_err(|_| RequestError::Timeout(RequestPhase::Dns))?
            .map_err(RequestError::Dns)?;
        let addresses = permitted(&addresses, &self.inner.policy.guard)?;
        let tcp = self.connect(&addresses, url.port(), deadline).await?;
        match url.scheme {
            Scheme::Http => Ok(Stream::Plain(tcp)),
            Scheme::Https => Ok(Stream::Tls(Box::new(self.handshake(tcp, &url.host, deadline).await?))),
        }
    }

    /// Returns the host's addresses, refused ones among them. A name is looked up for every connection; the resolver
    /// may remember the answer for as long as the answer says.
    async fn addresses(&self, host: &Host, now_ms: TimestampMs) -> Result<Vec<IpAddr>, LookupError> {
        let shared = &self.inner;
        match host {
            Host::Address(ip) => Ok(vec![*ip]),
            // RFC 6761 §6.3: the loopback addresses, without asking anybody.
            Host::Local(_) => Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]),
            Host::Name(name) if shared.policy.plain_http => shared.resolver.addresses(name, now_ms).await,
            // What this machine calls its neighbours is no customer's business: the hosts file does not count.
            Host::Name(name) => shared.resolver.dns_addresses(name, now_ms).await,
        }
    }

    /// Connects to the first address that takes the connection, giving each an equal share of the time that is left.
    async fn connect(&self, addresses: &[IpAddr], port: u16, deadline: Instant) -> Result<TcpStream, RequestError> {
        let end = deadline.min(Instant::now() + self.inner.timings.connect);
        let mut failure = RequestError::Timeout(RequestPhase::Connect);
        for (left, ip) in (1..=addresses.len()).rev().zip(addresses) {
            let share = end.saturating_duration_since(Instant::now()).div_f64(left as f64);
            failure = match timeout(share, connect(SocketAddr::new(*ip, port))).await {
                Ok(Ok(tcp)) => return Ok(tcp),
                Ok(Err(error)) => RequestError::Connect(error.kind()),
                Err(_) => RequestError::Timeout(RequestPhase::Connect),
            };
        }
        Err(failure)
    }

    /// Asks for a certificate that is valid for the URL's host, never for the address that was dialled.
    async fn handshake(
        &self,
        tcp: TcpStream,
        host: &Host,
        deadline: Instant,
    ) -> Result<TlsStream<TcpStream>, RequestError> {
        let name = match host {
            Host::Address(ip) => ServerName::from(*ip),
            Host::Name(name) | Host::Local(name) => {
                ServerName::try_from(String::from(&**name)).map_err(|_| RequestError::Tls(TlsFailure::WrongHost))?
            }
        };
        let end = deadline.min(Instant::now() + self.inner.timings.tls);
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
    // A request leaves in one write, and waiting for an acknowledgement would only delay it.
    tcp.set_nodelay(true)?;
    Ok(tcp)
}

/// Returns the addresses that may be dialled, in dialling order: those of each family in the order of the answer, the
/// families taking turns, so that a long list of one does not hide the other.
///
/// # Errors
///
/// Why the first one is refused, when not one is left.
fn permitted(addresses: &[IpAddr], guard: &Guard) -> Result<Vec<IpAddr>, RequestError> {
    let mut refusal: Option<BlockedAddress> = None;
    let mut families: [Vec<IpAddr>; 2] = Default::default();
    for ip in addresses {
        let family = &mut families[usize::from(ip.is_ipv6())];
        match guard.check(*ip) {
            Ok(()) if family.contains(ip) || family.len() == ADDRESSES_MAX => {}
            Ok(()) => family.push(*ip),
            Err(why) => refusal = refusal.or(Some(why)),
        }
    }
    let turns = (0..ADDRESSES_MAX).flat_map(|at| families.iter().filter_map(move |family| family.get(at)));
    let order: Vec<IpAddr> = turns.take(ADDRESSES_MAX).copied().collect();
    match refusal {
        _ if !order.is_empty() => Ok(order),
        Some(refusal) => Err(RequestError::Refused(refusal)),
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
    fn what_is_dialled_is_permitted_bounded_and_of_both_families() {
        type Case<'a> = (&'a [&'a str], Result<&'a [&'a str], RequestError>);
        let cases: &[Case<'_>] = &[
            (&["8.8.8.8"], Ok(&["8.8.8.8"])),
            (&["8.8.8.8", "8.8.8.8", "8.8.4.4"], Ok(&["8.8.8.8", "8.8.4.4"])),
            (&["8.8.8.8", "127.0.0.1", "2606:4700::1"], Ok(&["8.8.8.8", "2606:4700::1"])),
            (
                &["8.8.8.1", "8.8.8.2", "8.8.8.3", "8.8.8.4", "8.8.8.5", "2606:4700::1"],
                Ok(&["8.8.8.1", "2606:4700::1", "8.8.8.2", "8.8.8.3"]),
            ),
            (&["10.0.0.1", "127.0.0.1", "::1"], Err(RequestError::Refused(BlockedAddress::Private))),
            (&["::1"], Err(RequestError::Refused(BlockedAddress::Loopback))),
            (&[], Err(RequestError::Dns(LookupError::NoRecords))),
        ];
        for (found, want) in cases {
            let got = permitted(&ips(found), &Guard::default());
            assert_eq!(got, want.clone().map(ips), "{found:?}");
        }
    }
}
