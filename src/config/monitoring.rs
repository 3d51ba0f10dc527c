//! Settings of monitoring.

use std::net::SocketAddr;
use std::time::Duration;

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

    /// Time that due transactional email may wait for a working site before /health returns status 503, up to 5d; 0s is
    /// no limit.
    #[arg(long, env = "RINGMAIL_QUEUE_AGE_LIMIT", value_name = "DURATION", default_value = "1h",
          value_parser = values::queue_age, help_heading = "Serving")]
    queue_age_limit: Duration,
}

impl MonitoringSettings {
    /// Returns the age of due email at which the health fails; `None` is no limit.
    pub(super) fn queue_age_max(&self) -> Option<Duration> {
        (!self.queue_age_limit.is_zero()).then_some(self.queue_age_limit)
    }
}
