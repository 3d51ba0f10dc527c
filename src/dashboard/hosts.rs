//! Allowed hosts of the dashboard: those of the operator, as a protection against DNS rebinding.
//!
//! In DNS rebinding, a foreign page resolves its own host name to the address of this server, and then
//! reads the responses as its own. The browser sends the host name in `Host`. Requests with any other
//! host get status 404.

use salvo::http::StatusCode;
use salvo::http::header::HOST;
use salvo::{FlowCtrl, Request, Response, Writer as _, handler};

use crate::config::host::{self, OwnHosts};
use crate::http::State;

/// Answers requests with any other host with status 404.
#[handler]
pub(crate) async fn known_host(hosts: State<OwnHosts>, req: &mut Request, res: &mut Response, ctrl: &mut FlowCtrl) {
    let authority = req.headers().get(HOST).and_then(|host| host.to_str().ok());
    if !authority.is_some_and(|authority| hosts.contains(&host::of_authority(authority))) {
        res.status_code(StatusCode::NOT_FOUND);
        ctrl.skip_rest();
    }
}
