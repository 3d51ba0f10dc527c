//! The paths that a tracking host answers: `/t/…` and `/unsubscribe/…`.
//!
//! A tracking host is a name in the domain of a customer. The API and the dashboard are not at that name.

use std::net::IpAddr;
use std::sync::Arc;

use salvo::http::StatusCode;
use salvo::http::header::HOST;
use salvo::{Depot, FlowCtrl, Handler, Request, Response, async_trait};
use tracing::debug;

use crate::config::host::{self, OwnHosts};
use crate::domains;
use crate::http::ApiError;
use crate::store::{Store, StoreError};

/// Paths of a tracking host.
const PATHS: [&str; 2] = ["/t/", "/unsubscribe/"];

/// Handler that answers all other paths of a tracking host with status 404. If the host cannot be looked up, it answers 503:
/// the request could be one of a tracking host.
pub(crate) struct TrackingHostGuard {
    store: Store,
    /// Hosts of the operator. They are no tracking hosts.
    own_hosts: Arc<OwnHosts>,
}

impl TrackingHostGuard {
    /// Returns the guard of an instance.
    pub(crate) fn new(store: Store, own_hosts: Arc<OwnHosts>) -> Self {
        Self { store, own_hosts }
    }

    /// Returns the name to look up for a `Host` header; `None` if it cannot be a tracking host.
    fn name(&self, authority: &str) -> Option<String> {
        let host = host::of_authority(authority);
        let is_own = host.is_empty() || host.parse::<IpAddr>().is_ok() || self.own_hosts.contains(&host);
        (!is_own).then_some(host)
    }

    async fn is_tracking_host(&self, name: String) -> Result<bool, StoreError> {
        self.store.read(move |tx| domains::is_tracking_host(tx, &name)).await
    }
}

#[async_trait]
impl Handler for TrackingHostGuard {
    async fn handle(&self, req: &mut Request, _depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
        if PATHS.iter().any(|path| req.uri().path().starts_with(path)) {
            return;
        }
        let host = req.headers().get(HOST).and_then(|host| host.to_str().ok());
        let Some(name) = host.and_then(|host| self.name(host)) else { return };
        match self.is_tracking_host(name).await {
            Ok(false) => return,
            Ok(true) => {
                res.status_code(StatusCode::NOT_FOUND);
            }
            Err(error) => {
                debug!(%error, "could not look up a host: {error}");
                ApiError::unavailable("The server cannot look up this host. Try again.").render(req, res);
            }
        }
        ctrl.skip_rest();
    }
}

#[cfg(test)]
mod tests {
    use salvo::http::HeaderValue;

    use super::*;
    use crate::context::Context;

    fn guard(context: &Context) -> TrackingHostGuard {
        let own_hosts = OwnHosts::new("https://mail.example.com", &["Box.lan".to_owned()]);
        TrackingHostGuard::new(context.store.clone(), Arc::new(own_hosts))
    }

    #[tokio::test]
    async fn a_host_that_cannot_be_looked_up_is_unavailable() {
        let (_directory, context) = Context::temporary();
        let guard = guard(&context);
        context.store.close().await;
        let mut req = Request::new();
        req.headers_mut().insert(HOST, HeaderValue::from_static("links.example.com"));
        let (mut res, mut ctrl) = (Response::new(), FlowCtrl::new(Vec::new()));

        guard.handle(&mut req, &mut Depot::new(), &mut res, &mut ctrl).await;

        assert_eq!(res.status_code, Some(StatusCode::SERVICE_UNAVAILABLE));
    }

    #[tokio::test]
    async fn only_a_foreign_name_is_looked_up() {
        let (_directory, context) = Context::temporary();
        let guard = guard(&context);

        for (authority, expected) in [
            ("Links.example.com:443", Some("links.example.com")),
            ("links.example.com.", Some("links.example.com")),
            ("mail.example.com", None),
            ("MAIL.example.com:8443", None),
            ("box.lan", None),
            ("localhost:8787", None),
            ("127.0.0.1:8787", None),
            ("192.0.2.1", None),
            ("[2001:db8::1]:80", None),
            ("", None),
        ] {
            assert_eq!(guard.name(authority).as_deref(), expected, "{authority}");
        }
        assert!(!guard.is_tracking_host("links.example.com".to_owned()).await.unwrap());
    }
}
