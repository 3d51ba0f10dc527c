//! Settings of monitoring.

use std::net::SocketAddr;

use clap::Args;

use super::values;

/// Settings of monitoring as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct MonitoringSettings {
    /// Listen address of /metrics and /health without a key, for a Prometheus server on another machine; port 0 selects a
    /// free port [default: none].
    #[arg(long, env = "RINGMAIL_METRICS_LISTEN", value_name = "ADDRESS:PORT", value_parser = values::listen_address,
          help_heading = "Serving")]
    pub(super) metrics_listen: Option<SocketAddr>,
}
