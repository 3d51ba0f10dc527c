//! Settings of the limits of requests and connections.

use clap::{Args, value_parser};
use ipnet::IpNet;

use super::values;

/// Settings of limits as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct LimitSettings {
    /// Maximum size of a request with emails, in MiB: 1 to 512.
    #[arg(long, env = "RINGMAIL_BODY_MB", value_name = "MIB", default_value_t = 56,
          value_parser = value_parser!(u32).range(1..=512), help_heading = "Serving")]
    pub(super) body_mb: u32,

    /// Memory for all request bodies together, in MiB: 1 to 65536; further requests get status 503.
    #[arg(long, env = "RINGMAIL_BODY_BUDGET_MB", value_name = "MIB", default_value_t = 128,
          value_parser = value_parser!(u32).range(1..=65_536), help_heading = "Serving")]
    pub(super) body_budget_mb: u32,

    /// Maximum size of all attachments of an email, decoded, in MiB: 1 to 256.
    #[arg(long, env = "RINGMAIL_ATTACHMENT_MB", value_name = "MIB", default_value_t = 40,
          value_parser = value_parser!(u32).range(1..=256), help_heading = "Serving")]
    pub(super) attachment_mb: u32,

    /// Maximum number of open connections from one IPv4 address or one IPv6 /64 network, up to 10000; further ones are
    /// closed; 0 is no limit.
    #[arg(long, env = "RINGMAIL_ADDRESS_CONNECTIONS", value_name = "N", default_value_t = 512,
          value_parser = value_parser!(u16).range(0..=10_000), help_heading = "Serving")]
    address_connections: u16,

    /// Addresses or ranges of reverse proxies in front of this server, which --address-connections does not limit, and
    /// whose X-Forwarded-For names the client of a sign-in, an open or a click [default: none].
    #[arg(long, env = "RINGMAIL_TRUSTED_PROXIES", value_name = "CIDR", value_delimiter = ',',
          value_parser = values::cidr, help_heading = "Serving")]
    pub(super) trusted_proxies: Vec<IpNet>,
}

impl LimitSettings {
    /// Returns the maximum number of connections from one address; `None` is no limit.
    pub(super) fn address_connections_max(&self) -> Option<usize> {
        (self.address_connections > 0).then(|| self.address_connections.into())
    }
}
