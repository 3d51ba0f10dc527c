//! `GET /metrics`: figures of the instance as text for Prometheus.
//!
//! It is no endpoint of the API. Programs on this machine, keys with full access, and everyone at the address of
//! `--metrics-listen` can read it. A request through a reverse proxy is not one of this machine.

use std::sync::Arc;

use ipnet::IpNet;
use salvo::http::HeaderValue;
use salvo::http::header::CONTENT_TYPE;
use salvo::{Depot, Request, Response, Writer as _, handler};

use super::auth;
use super::error::ApiResult;
use super::peer::{is_local, peer_address};
use super::state::State;
use crate::base::blocking;

/// Content type of the text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

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
    if !peer_address(req).is_some_and(|peer| is_local(peer, req.headers(), &instance.trusted_proxies)) {
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
