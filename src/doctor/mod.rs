//! Checks of the setup of an instance: the observation, the expectation, and the next step.
//!
//! A server executes the checks with its own settings. Without a server, the command line does, with the settings of
//! the environment. A check that cannot run says why.
//!
//! Files, in reading order; in most, one function looks, and a pure one judges:
//! - `report.rs`: results;
//! - `smtp_port.rs`: outgoing SMTP;
//! - `host_name.rs`: EHLO name and reverse DNS; `host_name_monitor.rs`: their repetition in a running server;
//! - `resolver.rs`: DNS servers;
//! - `domain_records.rs`: SPF, DKIM, DMARC;
//! - `clock.rs`: SNTP;
//! - `machine.rs`: disk, open files, permissions;
//! - `queue.rs`: the age of the queue;
//! - `corrupt_rows.rs`: the rows that were removed from the queue because they cannot be read;
//! - `public_url.rs`: the public URL, also for one-click unsubscribe;
//! - `complaints.rs`, `tls.rs`: complaint rates of teams, and the encryption of sessions.
//!
//! Invariants:
//! - Every wait has a timeout, and all checks together end within [`TIME_MAX`].
//! - A check changes nothing.
//! - A result contains no secret, no recipient and no content.

mod clock;
mod complaints;
mod corrupt_rows;
mod domain_records;
mod host_name;
mod host_name_monitor;
mod machine;
mod public_url;
mod queue;
mod report;
mod resolver;
mod smtp_port;
mod tls;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

pub use report::{CheckStatus, DoctorReport, SetupCheck};

use host_name_monitor::HostNameMonitor;

use crate::base::blocking;
use crate::base::clock::Clock;
use crate::deliverability::TeamDeliverability;
use crate::delivery::Engine;
use crate::dns::{Resolver, RoutePolicy};
use crate::domains::Domains;
use crate::store::{DiskReserve, Store};

/// Maximum time of a check. The command line waits longer for the response.
pub const TIME_MAX: Duration = Duration::from_secs(20);
/// Text of a check that took too long.
const TOO_SLOW: &str = "the check did not end in time";

/// Settings of an instance that the checks need.
#[derive(Clone)]
pub struct DoctorSettings {
    pub delivery: CheckedDelivery,
    /// Setting of the public URL.
    pub public_url: Option<String>,
    pub data_dir: PathBuf,
    pub master_key_file: PathBuf,
    /// Free disk space below which the server accepts no email.
    pub disk_reserve: DiskReserve,
    /// Maximum number of SMTP sessions.
    pub sessions_max: usize,
    /// Age of the oldest due email at which the queue is too slow; `None` is no limit.
    pub queue_age_max: Option<Duration>,
}

/// The ways in which emails leave this machine, released messages included.
#[derive(Clone)]
pub struct CheckedDelivery {
    /// `None` if no route leads to MX hosts.
    pub direct: Option<CheckedDirect>,
    /// The smarthosts of routes.
    pub smarthosts: Vec<CheckedSmarthost>,
    /// Whether recipients open links: emails leave without a release.
    pub has_links: bool,
}

/// Direct delivery.
#[derive(Clone)]
pub struct CheckedDirect {
    pub port: u16,
    pub policy: RoutePolicy,
    /// The EHLO names, each once.
    pub ehlo_names: Vec<CheckedName>,
}

/// An EHLO name.
#[derive(Clone)]
pub struct CheckedName {
    pub name: String,
    /// Whether other servers cannot look up the name.
    pub is_local: bool,
    /// Source addresses of its sessions; empty if the system chooses the address.
    pub sources: Vec<IpAddr>,
}

/// A smarthost.
#[derive(Clone)]
pub struct CheckedSmarthost {
    /// `None` for the smarthost of `--relay`.
    pub name: Option<String>,
    pub host: String,
    pub port: u16,
    /// Whether the server sends a greeting without TLS.
    pub has_greeting: bool,
}

/// Parameters of a run of the checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorOptions {
    /// Domains whose mail servers are connected to.
    pub probe: Vec<String>,
    /// Host and port of the time server; `None` skips the check of the clock.
    pub time_server: Option<(String, u16)>,
}

/// The checks of one instance.
pub struct Doctor {
    settings: DoctorSettings,
    /// The error if the resolver cannot be set up.
    resolver: Result<Resolver, String>,
    /// `None` without a store.
    domains: Option<Arc<Domains>>,
    /// `None` without a store.
    deliverability: Option<Arc<TeamDeliverability>>,
    /// `None` if no server runs.
    pub engine: Option<Arc<Engine>>,
    /// `None` before the first start.
    store: Option<Store>,
    host_names: HostNameMonitor,
}

impl Doctor {
    /// Returns the checks of an instance without a store. `resolver` is the error if it cannot be set up.
    pub fn new(settings: DoctorSettings, resolver: Result<Resolver, String>) -> Self {
        let host_names = HostNameMonitor::default();
        Self { settings, resolver, domains: None, deliverability: None, engine: None, store: None, host_names }
    }

    /// Returns the checks with the services of an open store. `engine` is `None` if no server runs.
    #[must_use]
    pub fn with_store(
        self,
        store: &Store,
        domains: &Arc<Domains>,
        deliverability: &Arc<TeamDeliverability>,
        engine: Option<&Arc<Engine>>,
    ) -> Self {
        Self {
            store: Some(store.clone()),
            domains: Some(Arc::clone(domains)),
            deliverability: Some(Arc::clone(deliverability)),
            engine: engine.map(Arc::clone),
            ..self
        }
    }

    /// Executes all checks at the same time.
    pub async fn run(&self, options: &DoctorOptions) -> DoctorReport {
        let (mut checks, local) = tokio::join!(self.network_checks(options), self.local_checks());
        checks.extend(local);
        DoctorReport::new(checks)
    }

    /// Executes the checks that use the network.
    async fn network_checks(&self, options: &DoctorOptions) -> Vec<SetupCheck> {
        let settings = &self.settings;
        let resolver = match &self.resolver {
            Ok(resolver) => resolver,
            Err(error) => return vec![resolver::not_set_up(error)],
        };
        let (port, host, resolving, records, clock, url) = tokio::join!(
            limited("smtp_port", smtp_port::check(settings, resolver, &options.probe)),
            limited("hostname", host_name::checks(settings, resolver)),
            limited("resolver", resolver::check(resolver, &options.probe)),
            limited("domains", domain_records::checks(self.domains.as_deref(), resolver)),
            limited("clock", clock::check(resolver, options.time_server.as_ref())),
            limited("public_url", public_url::check(settings, resolver)),
        );
        [resolving, port, host, records, url, clock].concat()
    }

    /// Executes the checks of this machine, the settings and the store.
    async fn local_checks(&self) -> Vec<SetupCheck> {
        let (settings, engine) = (self.settings.clone(), self.engine.as_deref());
        let (mut checks, rows, complaints) = tokio::join!(
            blocking::run(move || machine::checks(&settings)),
            limited("corrupt_rows", corrupt_rows::check(self.store.as_ref())),
            limited("complaints", complaints::checks(self.deliverability.as_deref())),
        );
        checks.push(queue::check(engine, self.settings.queue_age_max));
        checks.extend(rows);
        checks.push(public_url::one_click(&self.settings));
        checks.extend(complaints);
        checks.push(tls::check(&self.settings, engine));
        checks
    }
}

/// Waits for checks, up to [`TIME_MAX`].
async fn limited(name: &str, checks: impl Future<Output = Vec<SetupCheck>>) -> Vec<SetupCheck> {
    timeout(TIME_MAX, checks).await.unwrap_or_else(|_| vec![SetupCheck::not_checked(name, TOO_SLOW)])
}

/// Returns the wall clock, for the caches of the resolver.
fn now_ms() -> i64 {
    Clock::System.now_ms()
}

/// Formats addresses for a sentence.
fn listed(addresses: &[impl std::fmt::Display]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Parses `HOST` or `HOST:PORT` of a time server.
///
/// # Errors
/// A sentence with the accepted form.
pub fn parse_time_server(text: &str) -> Result<(String, u16), String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok((address.ip().to_string(), address.port()));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, port.parse().ok()),
        _ => (text, Some(clock::NTP_PORT)),
    };
    match port {
        Some(port) if !host.is_empty() => Ok((host.to_owned(), port)),
        _ => Err(format!("`{text}` is not a time server; use HOST or HOST:PORT, such as pool.ntp.org")),
    }
}
