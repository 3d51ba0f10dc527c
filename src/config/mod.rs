//! The settings: every one with its unit, default, range and variable.
//!
//! A flag beats its `RINGMAIL_` variable, which beats the default; an empty variable is unset.
//! [`Settings`] is what the command line reads, shared by `ringmail serve` and `ringmail dev`;
//! [`Settings::into_config`] checks what concerns more than one setting and gives the plain values the rest of the program reads.
//!
//! `settings.rs` the list of settings; `dev.rs` those of `ringmail dev` alone; `surroundings.rs` what
//! the machine and the service manager say; `values.rs` how durations, addresses and names are
//! written; `delivery.rs` what the delivery engine is told, `webhooks.rs` the dispatcher;
//! `notices.rs` the sender of notices; `relay.rs` the smarthost's URL; `hostname.rs` the name this machine goes by;
//! `host.rs` the host inside a URL.
//!
//! Invariants: a [`Config`] needs no further checks; no secret is in a debug print.

mod delivery;
mod dev;
pub(crate) mod host;
mod hostname;
mod notices;
mod relay;
mod settings;
mod surroundings;
mod values;
mod webhooks;

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

pub use dev::{DevSettings, DevSetup};
pub use hostname::{Hostname, HostnameOrigin};
pub use relay::{RelayCredentials, RelayPassword, RelayTls, RelayUrl, RelayUrlError};
pub use settings::{DEV_DIRECTORY, LogFormat, SERVE_DIRECTORY, Settings};
pub(crate) use surroundings::{state_directory, without_empty_variables};
pub(crate) use values::wait;
pub use values::{parse_duration, parse_url};
pub use webhooks::WebhookConfig;

use crate::base::address::Mailbox;
use crate::base::signature::WebhookSecret;
use crate::dns::Cidr;
use crate::domains::{DomainSettings, RelayRecords};
use crate::logs::Recording;
use crate::preferences::{LinkAudience, LinkSettings};
use crate::store::StoreKind;

/// Where accepted emails go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryConfig {
    /// Into the built-in mailbox: nothing leaves the machine.
    Capture,
    /// To the hosts of each recipient's domain.
    Direct,
    /// To one smarthost, which delivers.
    Relay(RelayUrl),
}

impl DeliveryConfig {
    /// Returns the word of the setting.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Direct => "direct",
            Self::Relay(_) => "relay",
        }
    }
}

/// Whether the queue is worked off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueConfig {
    /// It is.
    Run,
    /// Emails are accepted and wait.
    Hold,
}

/// What an instance is run for.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// Real mail.
    Serve,
    /// Development and tests, with what is made ready for them.
    Dev(DevSetup),
}

impl Purpose {
    /// Returns which command's store this is.
    pub const fn kind(&self) -> StoreKind {
        match self {
            Self::Serve => StoreKind::Serve,
            Self::Dev(_) => StoreKind::Dev,
        }
    }
}

/// The settings of an instance, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the instance is run for.
    pub purpose: Purpose,
    /// Where HTTP is served; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Where the store lies.
    pub data_dir: PathBuf,
    /// Where the service manager wants the socket of the command line; the data directory when none.
    pub runtime_dir: Option<PathBuf>,
    /// Where the key of everything encrypted at rest lies.
    pub master_key_file: PathBuf,
    /// The address the outside world reaches this server under; see [`Config::public_url`].
    pub public_url: Option<String>,
    /// The name this machine says in EHLO and in the records of domains.
    pub hostname: Hostname,
    /// Where accepted emails go.
    pub delivery: DeliveryConfig,
    /// The return-path records that a smarthost asks for; of relay delivery alone.
    pub relay_records: Option<RelayRecords>,
    /// DNS servers; the system's when there are none.
    pub resolvers: Vec<SocketAddr>,
    /// The port of receiving hosts in direct delivery.
    pub smtp_port: u16,
    /// Addresses that direct delivery may dial although they are not public.
    pub allowed_addresses: Vec<Cidr>,
    /// The delay after each failed attempt; the last one repeats.
    pub retry_delays: Vec<Duration>,
    /// How long a transactional email is tried.
    pub expire_after: Duration,
    /// Whether the queue is worked off.
    pub queue: QueueConfig,
    /// SMTP sessions at once with one receiving site.
    pub site_sessions_max: usize,
    /// SMTP sessions at once in all.
    pub sessions_max: usize,
    /// Requests per second and key; 0 is no limit.
    pub rate_limit: u32,
    /// Origins whose pages may call the API; `*` alone for any.
    pub cors_origins: Vec<String>,
    /// Hosts the dashboard answers for beside the public one and loopback.
    pub dashboard_hosts: Vec<String>,
    /// The regions a domain can be added under; the first is the default.
    pub regions: Vec<String>,
    /// Bytes of the store's pages kept in memory.
    pub cache_bytes: usize,
    /// Days the content and attachments of an email are kept.
    pub content_retention_days: u32,
    /// Days the row and timeline of an email are kept; never fewer than its content.
    pub email_retention_days: u32,
    /// Days that webhook deliveries, and the events about contacts that they tell, are kept.
    pub webhook_delivery_retention_days: u32,
    /// Days that the log of API requests is kept.
    pub log_retention_days: u32,
    /// Whether API requests are logged.
    pub request_log: Recording,
    /// Bytes of an email's attachments, decoded.
    pub attachment_bytes_max: u64,
    /// Bytes of a request body that carries emails.
    pub body_bytes_max: usize,
    /// Bytes of all request bodies in memory at once; at least one body.
    pub body_budget_bytes: usize,
    /// What reports of other systems are signed with; none are taken without it.
    pub ingest_secret: Option<WebhookSecret>,
    /// Whom notices to owners come from; they go to the log alone without it.
    pub system_from: Option<Mailbox>,
    /// Where the built-in mailbox takes mail.
    pub capture_smtp: SocketAddr,
    /// How webhooks are delivered.
    pub webhooks: WebhookConfig,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Which log lines are written.
    pub log_filter: String,
}

impl Config {
    /// Returns the address the outside world reaches this server under: the setting, or the
    /// address that was bound.
    pub fn public_url(&self, bound: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| local_url(bound))
    }

    /// Returns where people look after the instance.
    pub fn dashboard_url(&self, bound: SocketAddr) -> String {
        format!("{}/dashboard/", self.public_url(bound))
    }

    /// Returns what domains show of these settings, for a server that is bound to an address.
    pub fn domain_settings(&self, bound: SocketAddr) -> DomainSettings {
        let links = self.link_settings(bound);
        DomainSettings {
            hostname: self.hostname.name.as_str().to_owned(),
            regions: self.regions.clone(),
            // Without a smarthost the return path is this server's own.
            relay_records: self.relay_records.clone().filter(|_| matches!(self.delivery, DeliveryConfig::Relay(_))),
            links_allowed: links.links_work(),
            public_url: links.public_url,
        }
    }

    /// Returns what generated links are made of, for a server that is bound to an address.
    pub fn link_settings(&self, bound: SocketAddr) -> LinkSettings {
        let reach = match self.delivery {
            DeliveryConfig::Capture => LinkAudience::Captured,
            DeliveryConfig::Direct | DeliveryConfig::Relay(_) => LinkAudience::Delivered,
        };
        LinkSettings { public_url: self.public_url(bound), reach }
    }
}

/// Returns the URL under which this machine reaches a bound address.
pub fn local_url(bound: SocketAddr) -> String {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, bound.port()))
}

/// Why settings that are each in order do not go together. Each sentence names what helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The smarthost's URL is none.
    Relay(RelayUrlError),
    /// The secret of reports is none.
    IngestSecret,
    /// Rows would go before their content, and a purged attachment could not be told from none.
    RetentionOrder { content_days: u32, email_days: u32 },
    /// Relay delivery without a smarthost.
    NoRelay,
    /// A user who cannot sign in.
    UserWithoutPassword,
    /// A password without the user it belongs to.
    PasswordWithoutUser,
    /// A single body does not fit into the budget of all.
    BodyBudget { body_mb: usize, budget_mb: usize },
    /// The file of certificates for webhooks cannot be used.
    WebhookCertificates { path: PathBuf, why: String },
    /// The sessions of one site do not fit into those of all.
    Sessions { site: usize, all: usize },
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Relay(error) => write!(f, "--relay (or RINGMAIL_RELAY) is no smarthost's URL: {error}"),
            Self::IngestSecret => f.write_str(
                "--ingest-secret (or RINGMAIL_INGEST_SECRET) is no signing secret: it is whsec_ and the base64 of 24 \
                 to 64 bytes, as printed by: echo whsec_$(openssl rand -base64 32)",
            ),
            Self::RetentionOrder { content_days, email_days } => write!(
                f,
                "emails cannot be kept for a shorter time than their content: raise --email-retention-days \
                 ({email_days}) to at least --content-retention-days ({content_days})"
            ),
            Self::NoRelay => f.write_str(
                "relay delivery needs a smarthost: name one with --relay smtp://USER@HOST:PORT, \
                 or choose --delivery capture or direct",
            ),
            Self::UserWithoutPassword => {
                f.write_str("--relay names a user and no password: set RINGMAIL_RELAY_PASSWORD, or leave the user out")
            }
            Self::PasswordWithoutUser => {
                f.write_str("RINGMAIL_RELAY_PASSWORD is set and --relay names no user: write smtp://USER@HOST:PORT")
            }
            Self::BodyBudget { body_mb, budget_mb } => write!(
                f,
                "one request body does not fit into the budget of all: raise --body-budget-mb ({budget_mb}) \
                 to at least --body-mb ({body_mb})"
            ),
            Self::WebhookCertificates { path, why } => write!(
                f,
                "--webhook-ca-file (or RINGMAIL_WEBHOOK_CA_FILE) {} cannot be read as certificates in PEM: {why}",
                path.display()
            ),
            Self::Sessions { site, all } => write!(
                f,
                "one site cannot have more sessions than there are: raise --sessions ({all}) \
                 to at least --concurrency ({site})"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}
