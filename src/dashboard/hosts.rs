//! Under which hosts the dashboard answers.
//!
//! A page from elsewhere can give its own name the address of this server and then read what is
//! served to that name as its own (DNS rebinding). The browser says the name in `Host`, so that
//! names which are not this server's see nothing.

use salvo::http::StatusCode;
use salvo::http::header::HOST;
use salvo::{FlowCtrl, Request, Response, Writer as _, handler};

use crate::config::host;
use crate::http::State;

/// The hosts that the dashboard answers for, beside those of loopback.
#[derive(Clone, Debug)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// Joins the host of the public URL and those of the setting.
    pub fn new(public_url: &str, listed: &[String]) -> Self {
        let listed = listed.iter().map(|listed| listed.to_ascii_lowercase());
        Self(std::iter::once(host::of_url(public_url)).chain(listed).collect())
    }

    fn answer_for(&self, authority: &str) -> bool {
        let host = host::of_authority(authority);
        host::is_loopback(&host) || self.0.contains(&host)
    }
}

/// Answers as for any path that does not exist where the host is another's.
#[handler]
pub(crate) async fn known_host(hosts: State<Hosts>, req: &mut Request, res: &mut Response, ctrl: &mut FlowCtrl) {
    let said = req.headers().get(HOST).and_then(|said| said.to_str().ok());
    if !said.is_some_and(|said| hosts.answer_for(said)) {
        res.status_code(StatusCode::NOT_FOUND);
        ctrl.skip_rest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_host_loopback_and_the_listed_hosts_are_answered_for() {
        let hosts = Hosts::new("https://mail.example.com", &["Box.lan".to_owned(), "192.168.1.5".to_owned()]);
        for (said, answered) in [
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
            assert_eq!(hosts.answer_for(said), answered, "{said}");
        }
    }
}
