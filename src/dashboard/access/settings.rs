//! Settings of the sign-in: the kind of server, its proxies, and its URL.

use std::net::IpAddr;

use ipnet::IpNet;
use salvo::Request;
use salvo::http::header::{HOST, ORIGIN, USER_AGENT};

use super::cookies::CookieTransport;
use crate::base::printable::printable;
use crate::config::{Config, InstanceVerb, host};
use crate::http::peer;
use crate::users::SessionClient;

/// Characters of a user agent that a session stores.
const USER_AGENT_CHARS_MAX: usize = 200;

/// Header in which a proxy sends the protocol of its client.
const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// Settings of the sign-in to one instance.
#[derive(Clone, Debug)]
pub struct AccessSettings {
    /// Whether the server is a development server, which has no accounts.
    pub(super) is_dev: bool,
    /// Host of the public URL. The sign-in page names it, and authenticator apps show it.
    pub(super) name: String,
    /// Path of the files of the dashboard, with a slash at the end.
    pub(super) files: String,
    has_https: bool,
    trusted_proxies: Vec<IpNet>,
    proxy_header: Option<String>,
}

impl AccessSettings {
    /// Returns the settings of a server whose public URL is `public_url`. `files` is the path of the files of the
    /// dashboard, with a slash at the end.
    pub fn new(config: &Config, public_url: &str, files: String) -> Self {
        Self {
            files,
            is_dev: matches!(config.purpose, InstanceVerb::Dev(_)),
            name: host::of_url(public_url),
            has_https: public_url.starts_with("https://"),
            trusted_proxies: config.trusted_proxies.clone(),
            proxy_header: config.auth_proxy_header.clone(),
        }
    }

    /// Returns the transport of cookies: HTTPS if the browser used it. Other hosts, such as loopback at the end of a
    /// tunnel, may have HTTP only.
    pub(super) fn cookie_transport(&self, req: &Request) -> CookieTransport {
        let value = |name: &str| req.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_public_url = self.has_https && host::of_authority(value(HOST.as_str())) == self.name;
        // A proxy with TLS may send another host. A client that invents these headers restricts its own cookie only.
        let is_named = value(ORIGIN.as_str()).starts_with("https://") || is_https(value(FORWARDED_PROTO));
        if is_public_url || is_named { CookieTransport::HttpsOnly } else { CookieTransport::Any }
    }

    /// Returns whether a request comes from a program on this machine.
    pub(super) fn is_local(&self, req: &Request) -> bool {
        peer::peer_address(req).is_some_and(|address| peer::is_local(address, req.headers(), &self.trusted_proxies))
    }

    fn client_address(&self, req: &Request) -> Option<IpAddr> {
        let address = peer::peer_address(req)?;
        Some(peer::client_address(address, req.headers(), &self.trusted_proxies))
    }

    /// Returns the client of a request, for the list of sessions.
    pub(super) fn client(&self, req: &Request) -> SessionClient {
        let ip = self.client_address(req).map_or_else(String::new, |address| address.to_string());
        let user_agent = req.headers().get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
        SessionClient { ip, user_agent: printable(&user_agent.unwrap_or_default(), USER_AGENT_CHARS_MAX) }
    }

    /// Returns the name of the client's network, for the limit of failed attempts.
    pub(super) fn network(&self, req: &Request) -> String {
        self.client_address(req).map_or_else(String::new, |address| peer::network_of(address).to_string())
    }

    /// Returns the address of the user that a trusted proxy names. `None` without a setting, from any other peer, and
    /// if the header is empty or repeated.
    pub(super) fn proxied_user<'r>(&self, req: &'r Request) -> Option<&'r str> {
        let name = self.proxy_header.as_deref()?;
        if !peer::peer_address(req).is_some_and(|address| peer::is_trusted(address, &self.trusted_proxies)) {
            return None;
        }
        let mut values = req.headers().get_all(name).iter();
        // A proxy that appends to the header of its client does not authenticate.
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        value.to_str().ok().map(str::trim).filter(|value| !value.is_empty())
    }
}

/// Returns whether the first protocol of a list is HTTPS: that of the proxy which the browser reached.
fn is_https(protocols: &str) -> bool {
    protocols.split(',').next().is_some_and(|first| first.trim().eq_ignore_ascii_case("https"))
}
