//! Allowed hosts of the dashboard, as a protection against DNS rebinding.
//!
//! In DNS rebinding, a foreign page resolves its own host name to the address of this server, and then
//! reads the responses as its own. The browser sends the host name in `Host`. Requests with any other
//! host get status 404.

use salvo::http::StatusCode;
use salvo::http::header::HOST;
use salvo::{FlowCtrl, Request, Response, Writer as _, handler};

use crate::config::host;
use crate::http::State;

/// Allowed hosts of the dashboard, in addition to loopback.
#[derive(Clone, Debug)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// Returns the host of the public URL and the hosts of the setting.
    pub fn new(public_url: &str, listed: &[String]) -> Self {
        let listed = listed.iter().map(|listed| listed.to_ascii_lowercase());
        Self(std::iter::once(host::of_url(public_url)).chain(listed).collect())
    }

    fn allows(&self, authority: &str) -> bool {
        let host = host::of_authority(authority);
        host::is_loopback(&host) || self.0.contains(&host)
    }
}

/// Answers requests with any other host with status 404.
#[handler]
pub(crate) async fn known_host(hosts: State<Hosts>, req: &mut Request, res: &mut Response, ctrl: &mut FlowCtrl) {
    let host = req.headers().get(HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| hosts.allows(host)) {
        res.status_code(StatusCode::NOT_FOUND);
        ctrl.skip_rest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_host_loopback_and_the_listed_hosts_are_allowed() {
        let hosts = Hosts::new("https://mail.example.com", &["Box.lan".to_owned(), "192.168.1.5".to_owned()]);
        for (host, is_allowed) in [
            ("mail.example.com", true),
            ("MAIL.example.com:443", true),
            ("localhost:8787", true),
            ("127.0.0.1:8787", true),
            ("[::1]:8787", true),
            ("box.lan:8787", true),
            ("192.168.1.5:8787", true),
            ("192.168.1.6:8787", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("mail.example.com.evil.example", false),
            ("", false),
        ] {
            assert_eq!(hosts.allows(host), is_allowed, "{host}");
        }
    }
}
