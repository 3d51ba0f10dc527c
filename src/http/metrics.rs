//! `GET /metrics`: figures of the instance as text for Prometheus.
//!
//! It is no endpoint of the API. Programs on this machine, keys with full access, and everyone at the address of
//! `--metrics-listen` can read it. A request through a reverse proxy is not one of this machine.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use salvo::http::header::{CONTENT_TYPE, HOST};
use salvo::http::uri::Authority;
use salvo::http::{HeaderMap, HeaderValue};
use salvo::{Depot, Request, Response, Writer as _, handler};

use super::auth;
use super::error::ApiResult;
use super::state::State;
use crate::base::blocking;

/// Content type of the text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Headers that a reverse proxy adds.
const PROXY_HEADERS: [&str; 6] =
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];

/// Function that returns the text of all metrics. Blocks.
type Render = Arc<dyn Fn() -> String + Send + Sync>;

/// Metrics of an instance.
pub struct Metrics {
    render: Render,
    trusted_proxies: Vec<IpNet>,
}

impl Metrics {
    /// Returns the metrics whose text `render` returns. `trusted_proxies` are no programs of this machine.
    pub fn new(render: impl Fn() -> String + Send + Sync + 'static, trusted_proxies: Vec<IpNet>) -> Self {
        Self { render: Arc::new(render), trusted_proxies }
    }

    async fn write_to(&self, res: &mut Response) {
        let render = Arc::clone(&self.render);
        let text = blocking::run(move || render()).await;
        res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT));
        res.body(text);
    }
}

/// Returns the metrics to a program on this machine, or to a key with full access.
#[handler]
pub(crate) async fn metrics(
    req: &mut Request,
    depot: &mut Depot,
    res: &mut Response,
    instance: State<Metrics>,
) -> ApiResult<()> {
    let peer = req.remote_addr().clone().into_std().map(|address| address.ip());
    if !peer.is_some_and(|peer| is_local(peer, req.headers(), &instance.trusted_proxies)) {
        auth::admit(req, depot)?;
    }
    instance.write_to(res).await;
    Ok(())
}

/// Returns the metrics to everyone: for the listener of `--metrics-listen`.
#[handler]
pub(crate) async fn open_metrics(res: &mut Response, instance: State<Metrics>) {
    instance.write_to(res).await;
}

/// Returns whether a request comes from a program on this machine. A reverse proxy on this machine forwards the requests
/// of others, and the page of a browser on this machine has another host.
fn is_local(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> bool {
    let peer = peer.to_canonical();
    peer.is_loopback()
        && !trusted_proxies.iter().any(|range| range.contains(&peer))
        && !PROXY_HEADERS.iter().any(|name| headers.contains_key(*name))
        && headers.get(HOST).is_none_or(is_loopback_host)
}

fn is_loopback_host(host: &HeaderValue) -> bool {
    let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use salvo::http::HeaderName;

    use super::*;

    #[test]
    fn a_program_on_this_machine_has_a_loopback_address_and_no_proxy() {
        for (peer, headers, expected) in [
            ("127.0.0.1", &[][..], true),
            ("127.0.0.1", &[("host", "127.0.0.1:8787")], true),
            ("::1", &[("host", "[::1]:8787")], true),
            ("::ffff:127.0.0.1", &[("host", "LocalHost")], true),
            ("192.0.2.1", &[("host", "127.0.0.1")], false),
            ("10.0.0.1", &[], false),
            // A trusted proxy.
            ("127.0.0.2", &[("host", "127.0.0.1")], false),
            ("127.0.0.1", &[("x-forwarded-for", "192.0.2.1")], false),
            ("127.0.0.1", &[("x-real-ip", "127.0.0.1")], false),
            ("127.0.0.1", &[("forwarded", "for=192.0.2.1")], false),
            ("127.0.0.1", &[("via", "1.1 proxy")], false),
            ("127.0.0.1", &[("host", "mail.example.com")], false),
            ("127.0.0.1", &[("host", "localhost.example.com")], false),
        ] {
            let headers: HeaderMap = headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect();
            let proxies = ["127.0.0.2/32".parse().unwrap()];
            assert_eq!(is_local(peer.parse().unwrap(), &headers, &proxies), expected, "{peer} {headers:?}");
        }
    }
}
