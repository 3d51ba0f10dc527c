//! Allowed hosts of the dashboard: those of the operator, as a protection against DNS rebinding.
//!
//! In DNS rebinding, a foreign page resolves its own host name to the address of this server, and then
//! reads the responses as its own. The browser sends the host name in `Host`. Requests with any other
//! host get status 404.

use std::sync::LazyLock;

use salvo::http::StatusCode;
use salvo::http::header::HOST;
use salvo::{FlowCtrl, Request, Response, Writer as _, handler};
use tracing::info;

use crate::base::printable::printable;
use crate::base::recent::Recent;
use crate::config::host::{self, OwnHosts};
use crate::http::State;

/// Characters of a host in the log.
const HOST_CHARS_MAX: usize = 100;

/// Answers requests with any other host with status 404.
#[handler]
pub(crate) async fn known_host(hosts: State<OwnHosts>, req: &mut Request, res: &mut Response, ctrl: &mut FlowCtrl) {
    let authority = req.headers().get(HOST).and_then(|host| host.to_str().ok());
    let is_own = |authority| hosts.contains(&host::of_authority(authority));
    if !authority.is_some_and(is_own) {
        log_foreign_host(authority.unwrap_or_default());
        res.status_code(StatusCode::NOT_FOUND);
        ctrl.skip_rest();
    }
}

/// Logs the settings that allow a host, at most once a minute. The client gets no hint, because it can be a foreign page.
fn log_foreign_host(authority: &str) {
    static LOGGED: LazyLock<Recent> = LazyLock::new(Recent::default);
    if !authority.is_empty() && !LOGGED.is_recent() {
        LOGGED.record();
        let host = printable(authority, HOST_CHARS_MAX);
        info!(
            server.address = %host,
            "the dashboard was requested at {host}, which is no host of this server; if it is yours, name it with \
             --dashboard-hosts or --public-url"
        );
    }
}
