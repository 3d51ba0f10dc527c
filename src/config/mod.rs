//! Settings, with unit, default, range and variable of each.
//!
//! Clap parses [`Settings`] for `ringmail serve` and `ringmail dev`. A flag overrides its `RINGMAIL_`
//! variable, and the variable overrides the default. [`Settings::into_config`] checks rules about more
//! than one setting and returns the [`Config`] that the rest of the program uses.
//!
//! Reading order:
//! - `settings.rs`: the list of settings;
//! - `limits.rs`, `disk.rs`, `engagement.rs`, `log_format.rs`, `tls.rs`, `webhooks.rs`, `notices.rs`, `monitoring.rs`,
//!   `dashboard.rs`, `sign_in.rs`, `compat.rs`, `retries.rs`, `rates.rs`, `send_limits.rs`, `guardrail.rs`, `routes/` and
//!   `dev.rs`: more settings;
//! - `error.rs`;
//! - `environment.rs`: settings without flags;
//! - `values.rs`: parsers of values;
//! - `relay.rs`: URL of a smarthost;
//! - `hostname.rs` and `surroundings.rs`: values of the machine and the service manager;
//! - `variables.rs`: names of variables;
//! - `delivery.rs`: settings of the delivery engine;
//! - `doctor.rs`: settings of the checks;
//! - `remote_files.rs`: URLs of attachments;
//! - `host.rs`: host of a URL, and the hosts of the operator.
//!
//! Invariants:
//! - A [`Config`] is valid.
//! - An empty variable counts as unset, and a variable that no setting has is an error.
//! - `Debug` output and error messages contain no secret.

mod compat;
mod dashboard;
mod delivery;
mod dev;
mod disk;
mod doctor;
mod engagement;
mod environment;
mod error;
mod guardrail;
pub(crate) mod host;
mod hostname;
mod limits;
mod log_format;
mod monitoring;
mod notices;
mod rates;
mod relay;
mod remote_files;
mod retries;
mod routes;
mod send_limits;
mod settings;
mod sign_in;
mod surroundings;
mod tls;
mod values;
mod variables;
mod webhooks;

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

pub use dev::{DevSettings, DevSetup};
pub use error::ConfigError;
pub use hostname::{Hostname, HostnameOrigin};
pub use log_format::LogFormat;
pub use relay::{RelayCredentials, RelayPassword, RelayTls, RelayUrl, RelayUrlError};
pub use routes::{RouteConfig, RouteError, SourceConfig};
pub use settings::Settings;
pub use surroundings::{DEV_DIRECTORY, SERVE_DIRECTORY};
pub(crate) use surroundings::{SERVICE_DIRECTORY, state_directory, without_empty_variables};
pub(crate) use values::wait;
pub use values::{parse_duration, parse_url};
pub(crate) use variables::{UnknownVariable, check_variables};
pub use webhooks::WebhookConfig;

use crate::base::address::Mailbox;
use crate::base::compat::Compat;
use crate::base::signature::WebhookSecret;
use crate::broadcasts::planner::SendLimits;
use crate::deliverability::GuardrailMode;
use crate::delivery::smtp::RequiredTls;
use crate::delivery::{DIRECT, Rates, RetrySchedule};
use crate::domains::{DomainSettings, RelayRecords};
use crate::http_client::UrlPolicy;
use crate::logs::RequestLogging;
use crate::preferences::{LinkAudience, LinkSettings};
use crate::store::{DiskReserve, StoreKind};

/// Delivery mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryConfig {
    /// Emails go to the built-in mailbox and never leave the machine.
    Capture,
    /// Emails go to the MX hosts of each recipient domain.
    Direct,
    /// Emails go to one smarthost.
    Relay(RelayUrl),
}

impl DeliveryConfig {
    /// Returns the value of the setting.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Direct => "direct",
            Self::Relay(_) => "relay",
        }
    }
}

/// State of the delivery queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueConfig {
    /// Queued emails are delivered.
    Run,
    /// Emails are accepted and stay queued.
    Hold,
}

/// Verb that runs the instance.
#[derive(Clone, Debug)]
pub enum InstanceVerb {
    /// `ringmail serve`.
    Serve,
    /// `ringmail dev`, for development and tests.
    Dev(DevSetup),
}

impl InstanceVerb {
    /// Returns the kind of store that the verb opens.
    pub const fn kind(&self) -> StoreKind {
        match self {
            Self::Serve => StoreKind::Serve,
            Self::Dev(_) => StoreKind::Dev,
        }
    }

    /// Returns the default filter of log lines. `info` lines would hide the events that a development server prints.
    const fn log_filter(&self) -> &'static str {
        match self {
            Self::Serve => "info",
            Self::Dev(_) => "warn",
        }
    }
}

/// Valid settings of an instance.
#[derive(Clone, Debug)]
pub struct Config {
    pub purpose: InstanceVerb,
    /// Listen address of HTTP; port 0 selects a free port.
    pub listen: SocketAddr,
    /// Listen address of the metrics without a key; `None` if they have no listener of their own.
    pub metrics_listen: Option<SocketAddr>,
    /// Age of due email at which the health fails; `None` is no limit.
    pub queue_age_max: Option<Duration>,
    /// Directory of the store.
    pub data_dir: PathBuf,
    /// Directory for the socket of the command line; `None` selects the data directory.
    pub runtime_dir: Option<PathBuf>,
    /// File with the key that encrypts sealed values.
    pub master_key_file: PathBuf,
    /// Public URL of this server. Use [`Config::public_url`], which has a default.
    pub public_url: Option<String>,
    pub hostname: Hostname,
    pub delivery: DeliveryConfig,
    /// Return-path records that the smarthost requires; only for relay delivery.
    pub relay_records: Option<RelayRecords>,
    pub routes: RouteConfig,
    /// DNS servers; an empty list selects the servers of the system.
    pub resolvers: Vec<SocketAddr>,
    /// Port of MX hosts in direct delivery.
    pub smtp_port: u16,
    /// Private addresses that direct delivery may connect to.
    pub allowed_addresses: Vec<IpNet>,
    /// MX hosts and recipient domains that get no email without TLS in direct delivery.
    pub required_tls: RequiredTls,
    /// Delays between attempts, and the retry periods.
    pub retries: RetrySchedule,
    pub queue: QueueConfig,
    /// Limits of each site in delivery.
    pub rates: Rates,
    /// Maximum number of concurrent SMTP sessions.
    pub sessions_max: usize,
    /// Limits of all messages, which broadcasts keep.
    pub send_limits: SendLimits,
    /// Time after delivery in which opens and clicks are those of software; zero disables the rule.
    pub prefetch_window: Duration,
    /// Effect of a bounce or complaint rate that is too high.
    pub guardrail: GuardrailMode,
    /// Maximum number of requests per second and API key; 0 is no limit.
    pub rate_limit: u32,
    /// Maximum number of open connections from one address; `None` is no limit.
    pub address_connections_max: Option<usize>,
    /// Reverse proxies, which have no limit of connections.
    pub trusted_proxies: Vec<IpNet>,
    /// Header in which they send the address of a user of the dashboard, in lower case; `None` if none does.
    pub auth_proxy_header: Option<String>,
    /// Origins of web pages that may call the API; `*` allows any.
    pub cors_origins: Vec<String>,
    /// Hosts of the dashboard, in addition to the host of the public URL and loopback.
    pub dashboard_hosts: Vec<String>,
    /// Directory of the files of the dashboard; `None` for those in the binary.
    pub ui_dir: Option<PathBuf>,
    /// Regions of domains; the first is the default.
    pub regions: Vec<String>,
    /// Memory for cached pages of the store.
    pub cache_bytes: usize,
    /// Free disk space below which requests that add data are refused.
    pub disk_reserve: DiskReserve,
    /// Retention period of email content.
    pub content_retention_days: u32,
    /// Retention period of attachments; at most as long as that of the content.
    pub attachment_retention_days: u32,
    /// Retention period of the idempotency keys of callers, in hours.
    pub idempotency_retention_hours: u32,
    /// Retention period of email rows and timelines; at least as long as that of the content.
    pub email_retention_days: u32,
    /// Retention period of SMTP attempts with their transcripts.
    pub attempt_retention_days: u32,
    /// Retention period of webhook deliveries, and of events about contacts and suppressions.
    pub webhook_delivery_retention_days: u32,
    /// Retention period of the request log.
    pub log_retention_days: u32,
    /// Retention period of the counts of email metrics.
    pub metrics_retention_days: u32,
    /// Retention period of the audit log.
    pub audit_retention_days: u32,
    pub request_log: RequestLogging,
    /// Maximum size of all attachments of an email, decoded.
    pub attachment_bytes_max: u64,
    /// Maximum size of a request body with emails.
    pub body_bytes_max: usize,
    /// Maximum total size of the request bodies in memory; at least one body.
    pub body_budget_bytes: usize,
    /// Secret that signs delivery reports; `None` rejects all reports.
    pub ingest_secret: Option<WebhookSecret>,
    /// Forms of the compatible API that are accepted in addition.
    pub compat: Compat,
    /// Sender of notices to owners; `None` writes notices only to the log.
    pub system_from: Option<Mailbox>,
    /// Listen address of the built-in mailbox.
    pub capture_smtp: SocketAddr,
    pub webhooks: WebhookConfig,
    /// Policy for the URLs of attachments.
    pub file_policy: UrlPolicy,
    pub log_format: LogFormat,
    pub log_filter: String,
}

impl Config {
    /// Returns the public URL of this server: the setting, or else the URL of the bound address.
    pub fn public_url(&self, bound: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| local_url(bound))
    }

    /// Checks the settings that only a server that delivers email needs.
    ///
    /// # Errors
    /// [`ConfigError::LocalHostname`] if direct delivery has a host name that other servers cannot look up.
    pub fn check_delivery(&self) -> Result<(), ConfigError> {
        // A released message leaves this machine too.
        let is_direct = self.route_rules().names().any(|name| name == DIRECT);
        // A source address can have a name of its own.
        let sources = &self.routes.sources;
        let is_used = sources.is_empty() || sources.iter().any(|source| source.name.is_none());
        if is_direct && is_used && self.hostname.is_local() {
            return Err(ConfigError::LocalHostname { name: self.hostname.name.as_str().to_owned() });
        }
        Ok(())
    }

    /// Returns the URL of the dashboard.
    pub fn dashboard_url(&self, bound: SocketAddr) -> String {
        format!("{}/dashboard/", self.public_url(bound))
    }

    /// Returns the settings of domains, for a server that is bound to an address.
    pub fn domain_settings(&self, bound: SocketAddr) -> DomainSettings {
        let links = self.link_settings(bound);
        DomainSettings {
            hostname: self.hostname.name.as_str().to_owned(),
            regions: self.regions.clone(),
            // Without a smarthost, bounces return to this server.
            relay_records: self.relay_records.clone().filter(|_| matches!(self.delivery, DeliveryConfig::Relay(_))),
            links_allowed: links.links_work(),
            public_url: links.public_url,
        }
    }

    /// Returns whether emails leave this machine, except for those that are released one by one.
    pub fn delivers(&self) -> bool {
        self.delivery != DeliveryConfig::Capture || self.routes.delivers()
    }

    /// Returns the settings of generated links, for a server that is bound to an address.
    pub fn link_settings(&self, bound: SocketAddr) -> LinkSettings {
        let audience = if self.delivers() { LinkAudience::Delivered } else { LinkAudience::Captured };
        LinkSettings { public_url: self.public_url(bound), audience }
    }
}

/// Returns the URL of a bound address for clients on this machine.
pub fn local_url(bound: SocketAddr) -> String {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, bound.port()))
}
