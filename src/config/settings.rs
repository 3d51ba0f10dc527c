//! List of settings. Each is a flag and a variable. Doc comments are the help texts.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, value_parser};
use ipnet::IpNet;

use super::compat::CompatSettings;
use super::dashboard::DashboardSettings;
use super::disk::DiskSettings;
use super::engagement::EngagementSettings;
use super::guardrail::GuardrailSettings;
use super::limits::LimitSettings;
use super::log_format::LogFormat;
use super::monitoring::MonitoringSettings;
use super::notices::NoticeSettings;
use super::rates::RateSettings;
use super::remote_files::file_policy;
use super::retries::RetrySettings;
use super::routes::RouteSettings;
use super::send_limits::SendLimitSettings;
use super::sign_in::SignInSettings;
use super::surroundings::{DEV_DIRECTORY, SERVE_DIRECTORY, Surroundings};
use super::tls::TlsSettings;
use super::values::{self, SecretText};
use super::webhooks::WebhookSettings;
use super::{Config, ConfigError, Hostname, InstanceVerb, QueueConfig};
use crate::base::address::DomainName;
use crate::logs::RequestLogging;
use crate::store::StoreKind;

/// Default file name of the master key in the data directory.
const MASTER_KEY_NAME: &str = "master.key";

const MIB: usize = 1 << 20;

/// Settings as clap parses them.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// Listen address of the API and the dashboard; port 0 selects a free port.
    #[arg(long, env = "RINGMAIL_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8787",
          value_parser = values::listen_address, help_heading = "Serving")]
    pub(super) listen: SocketAddr,

    /// Public URL of this server [default: http:// and --listen].
    #[arg(long, env = "RINGMAIL_PUBLIC_URL", value_name = "URL", value_parser = values::parse_url,
          help_heading = "Serving")]
    public_url: Option<String>,

    /// Maximum number of requests per second and API key, up to 1000000; 0 is no limit.
    #[arg(long, env = "RINGMAIL_RATE_LIMIT", value_name = "N", default_value_t = 100,
          value_parser = value_parser!(u32).range(0..=1_000_000), help_heading = "Serving")]
    rate_limit: u32,

    /// Origins of web pages that may call the API, or * for any [default: none].
    #[arg(long, env = "RINGMAIL_CORS_ORIGINS", value_name = "ORIGIN", value_delimiter = ',',
          value_parser = values::cors_origin, help_heading = "Serving")]
    cors_origins: Vec<String>,

    /// Hosts of the dashboard, in addition to the host of --public-url and loopback [default: none].
    #[arg(long, env = "RINGMAIL_DASHBOARD_HOSTS", value_name = "HOST", value_delimiter = ',',
          value_parser = values::dashboard_host, help_heading = "Serving")]
    dashboard_hosts: Vec<String>,

    #[command(flatten)]
    dashboard: DashboardSettings,

    /// Regions of domains; the first is the default.
    #[arg(long, env = "RINGMAIL_REGIONS", value_name = "REGION", value_delimiter = ',',
          default_value = "us-east-1", value_parser = values::region, help_heading = "Serving")]
    regions: Vec<String>,

    #[command(flatten)]
    limits: LimitSettings,

    #[arg(
        long,
        env = "RINGMAIL_INGEST_SECRET",
        value_name = "SECRET",
        hide_env_values = true,
        help_heading = "Serving",
        help = "Secret that signs the delivery reports of other systems: whsec_ and the base64 of 24 to 64 bytes; \
                use the variable, because other users can see flags in the process list [default: no reports]"
    )]
    ingest_secret: Option<SecretText>,

    #[command(flatten)]
    sign_in: SignInSettings,
    #[command(flatten)]
    compat: CompatSettings,
    #[command(flatten)]
    notices: NoticeSettings,
    #[command(flatten)]
    monitoring: MonitoringSettings,

    /// Directory of the data file [default: STATE_DIRECTORY, or else ./ringmail-data; ringmail dev:
    /// ./ringmail-dev].
    #[arg(long, env = "RINGMAIL_DATA_DIR", value_name = "DIR", help_heading = "Storing")]
    pub(super) data_dir: Option<PathBuf>,

    /// File with the key that encrypts email content and signing keys on disk; created if missing
    /// [default: master.key in the data directory].
    #[arg(long, env = "RINGMAIL_MASTER_KEY_FILE", value_name = "FILE", help_heading = "Storing")]
    pub(super) master_key_file: Option<PathBuf>,

    #[command(flatten)]
    disk: DiskSettings,

    /// Retention period of email content, in days: 1 to 36500.
    #[arg(long, env = "RINGMAIL_CONTENT_RETENTION_DAYS", value_name = "DAYS", default_value_t = 30,
          value_parser = value_parser!(u32).range(1..=36_500), help_heading = "Storing")]
    content_retention_days: u32,

    /// Retention period of attachments and captured messages, in days: 1 to 36500, at most that of the content [default:
    /// that of the content].
    #[arg(long, env = "RINGMAIL_ATTACHMENT_RETENTION_DAYS", value_name = "DAYS",
          value_parser = value_parser!(u32).range(1..=36_500), help_heading = "Storing")]
    attachment_retention_days: Option<u32>,

    /// Retention period of idempotency keys, in hours: 1 to 720. A change applies to new keys.
    #[arg(long, env = "RINGMAIL_IDEMPOTENCY_RETENTION_HOURS", value_name = "HOURS", default_value_t = 24,
          value_parser = value_parser!(u32).range(1..=720), help_heading = "Storing")]
    idempotency_retention_hours: u32,

    /// Retention period of emails and their timelines, in days: 1 to 36500, at least that of the content.
    #[arg(long, env = "RINGMAIL_EMAIL_RETENTION_DAYS", value_name = "DAYS", default_value_t = 365,
          value_parser = value_parser!(u32).range(1..=36_500), help_heading = "Storing")]
    email_retention_days: u32,

    /// Retention period of SMTP attempts with their transcripts, in days: 1 to 36500.
    #[arg(long, env = "RINGMAIL_ATTEMPT_RETENTION_DAYS", value_name = "DAYS", default_value_t = 30,
          value_parser = value_parser!(u32).range(1..=36_500), help_heading = "Storing")]
    attempt_retention_days: u32,

    /// Retention period of webhook deliveries, and of events about contacts and suppressions, in days: 1 to 36500.
    #[arg(long, env = "WEBHOOK_DELIVERY_RETENTION_DAYS", value_name = "DAYS", default_value_t = 30,
          value_parser = value_parser!(u32).range(1..=36_500), help_heading = "Storing")]
    webhook_delivery_retention_days: u32,

    /// Retention period of the API request log, in days: 1 to 36500.
    #[arg(long, env = "RINGMAIL_LOG_RETENTION_DAYS", value_name = "DAYS", default_value_t = 30,
          value_parser = value_parser!(u32).range(1..=36_500), help_heading = "Storing")]
    log_retention_days: u32,

    /// Retention period of email metrics, in days: 1 to 36500.
    #[arg(long, env = "RINGMAIL_METRICS_RETENTION_DAYS", value_name = "DAYS", default_value_t = 730,
          value_parser = value_parser!(u32).range(1..=36_500), help_heading = "Storing")]
    metrics_retention_days: u32,

    /// Retention period of the audit log, in days: 1 to 36500.
    #[arg(long, env = "RINGMAIL_AUDIT_RETENTION_DAYS", value_name = "DAYS", default_value_t = 365,
          value_parser = value_parser!(u32).range(1..=36_500), help_heading = "Storing")]
    audit_retention_days: u32,

    /// Log API requests: true or false.
    #[arg(long, env = "RINGMAIL_REQUEST_LOG", value_name = "BOOL", default_value = "true",
          value_parser = BoolishValueParser::new(), action = ArgAction::Set, help_heading = "Storing")]
    request_log: bool,

    #[command(flatten)]
    routes: RouteSettings,

    /// Host name of this machine in SMTP, with matching forward and reverse DNS [default: the host name
    /// of the machine if it is fully qualified, or else localhost.localdomain, which direct delivery refuses].
    #[arg(long, env = "RINGMAIL_HOSTNAME", value_name = "NAME", value_parser = values::host_name,
          help_heading = "Delivering")]
    hostname: Option<DomainName>,

    /// DNS servers [default: the servers of the system].
    #[arg(long, env = "RINGMAIL_RESOLVER", value_name = "ADDRESS", value_delimiter = ',',
          value_parser = values::dns_server, help_heading = "Delivering")]
    resolver: Vec<SocketAddr>,

    /// Port of MX hosts in direct delivery.
    #[arg(long, env = "RINGMAIL_SMTP_PORT", value_name = "PORT", default_value_t = 25,
          value_parser = value_parser!(u16).range(1..), help_heading = "Delivering")]
    smtp_port: u16,

    /// Range of private addresses that direct delivery may connect to; may be repeated.
    #[arg(long, env = "RINGMAIL_ALLOW_ADDRESS", value_name = "CIDR", value_delimiter = ',',
          value_parser = values::cidr, help_heading = "Delivering")]
    allow_address: Vec<IpNet>,

    #[command(flatten)]
    tls: TlsSettings,

    #[command(flatten)]
    retries: RetrySettings,
    #[command(flatten)]
    rates: RateSettings,
    #[command(flatten)]
    send_limits: SendLimitSettings,
    #[command(flatten)]
    engagement: EngagementSettings,
    #[command(flatten)]
    guardrail: GuardrailSettings,

    /// Accept and queue emails, and start no delivery before the next start without this flag.
    #[arg(long, env = "RINGMAIL_HOLD", value_parser = BoolishValueParser::new(), help_heading = "Delivering")]
    hold: bool,

    /// Listen address of the built-in mailbox; port 0 selects a free port.
    #[arg(long, env = "RINGMAIL_CAPTURE_SMTP", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0",
          value_parser = values::listen_address, help_heading = "Delivering")]
    capture_smtp: SocketAddr,

    #[command(flatten)]
    webhooks: WebhookSettings,

    /// Format of log lines on standard error.
    #[arg(
        long,
        env = "RINGMAIL_LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value = "text",
        help_heading = "Logging"
    )]
    log_format: LogFormat,

    /// Log level: error, warn, info, debug or trace, optionally for each module, such as
    /// info,ringmail::delivery=debug [default: info; ringmail dev: warn].
    #[arg(long, env = "RINGMAIL_LOG", value_name = "FILTER", help_heading = "Logging")]
    log: Option<String>,
}

impl Settings {
    /// Checks rules about more than one setting, and adds defaults that depend on the machine.
    ///
    /// # Errors
    /// [`ConfigError`]. Its message names the setting to change.
    pub fn into_config(self, purpose: InstanceVerb) -> Result<Config, ConfigError> {
        self.into_config_within(purpose, Surroundings::read())
    }

    pub(super) fn into_config_within(
        self,
        purpose: InstanceVerb,
        surroundings: Surroundings,
    ) -> Result<Config, ConfigError> {
        let Self {
            listen,
            public_url,
            rate_limit,
            cors_origins,
            dashboard_hosts,
            dashboard,
            regions,
            limits,
            ingest_secret,
            sign_in,
            compat,
            notices,
            monitoring,
            data_dir,
            master_key_file,
            disk,
            content_retention_days,
            attachment_retention_days,
            idempotency_retention_hours,
            email_retention_days,
            attempt_retention_days,
            webhook_delivery_retention_days,
            log_retention_days,
            metrics_retention_days,
            audit_retention_days,
            request_log,
            routes,
            hostname,
            resolver,
            smtp_port,
            allow_address,
            tls,
            retries,
            rates,
            send_limits,
            engagement,
            guardrail,
            hold,
            capture_smtp,
            webhooks,
            log_format,
            log,
        } = self;
        let (delivery, relay_records, routes) = routes.into_config(&surroundings)?;
        let Surroundings { state_directory, runtime_directory, machine_name, .. } = surroundings;
        if email_retention_days < content_retention_days {
            return Err(ConfigError::RetentionOrder {
                content_days: content_retention_days,
                email_days: email_retention_days,
            });
        }
        let attachment_retention_days = attachment_retention_days.unwrap_or(content_retention_days);
        if attachment_retention_days > content_retention_days {
            return Err(ConfigError::AttachmentRetention {
                content_days: content_retention_days,
                attachment_days: attachment_retention_days,
            });
        }
        let (body, budget) = (limits.body_mb as usize, limits.body_budget_mb as usize);
        if budget < body {
            return Err(ConfigError::BodyBudget { body_mb: body, budget_mb: budget });
        }
        let (rates, sessions_max) = rates.into_rates()?;
        let auth_proxy_header = sign_in.proxy_header(&limits.trusted_proxies)?;
        let ingest_secret = ingest_secret.map(|text| text.parse().ok_or(ConfigError::IngestSecret)).transpose()?;
        let data_dir = data_dir.unwrap_or_else(|| match purpose.kind() {
            StoreKind::Serve => state_directory.unwrap_or_else(|| SERVE_DIRECTORY.into()),
            StoreKind::Dev => DEV_DIRECTORY.into(),
        });
        let log_default = purpose.log_filter().to_owned();
        let file_policy = file_policy(&purpose);
        let webhooks = webhooks.into_config(&purpose)?;
        let guardrail = guardrail.into_mode(&purpose, &delivery, &routes);
        Ok(Config {
            purpose,
            listen,
            metrics_listen: monitoring.metrics_listen,
            queue_age_max: monitoring.queue_age_max(),
            master_key_file: master_key_file.unwrap_or_else(|| data_dir.join(MASTER_KEY_NAME)),
            data_dir,
            runtime_dir: runtime_directory,
            public_url,
            hostname: Hostname::choose(hostname, machine_name.as_deref()),
            delivery,
            relay_records,
            routes,
            resolvers: resolver,
            smtp_port,
            allowed_addresses: allow_address,
            required_tls: tls.into(),
            retries: retries.into(),
            queue: if hold { QueueConfig::Hold } else { QueueConfig::Run },
            rates,
            sessions_max,
            send_limits: send_limits.into(),
            prefetch_window: engagement.prefetch_window(),
            guardrail,
            rate_limit,
            address_connections_max: limits.address_connections_max(),
            trusted_proxies: limits.trusted_proxies,
            auth_proxy_header,
            cors_origins,
            dashboard_hosts,
            ui_dir: dashboard.ui_dir,
            regions,
            cache_bytes: disk.cache_bytes(),
            disk_reserve: disk.disk_reserve(),
            content_retention_days,
            attachment_retention_days,
            idempotency_retention_hours,
            email_retention_days,
            attempt_retention_days,
            webhook_delivery_retention_days,
            log_retention_days,
            metrics_retention_days,
            audit_retention_days,
            request_log: if request_log { RequestLogging::On } else { RequestLogging::Off },
            attachment_bytes_max: u64::from(limits.attachment_mb) * MIB as u64,
            body_bytes_max: body * MIB,
            body_budget_bytes: budget * MIB,
            ingest_secret,
            compat: compat.into(),
            system_from: notices.system_from,
            capture_smtp,
            webhooks,
            file_policy,
            log_format,
            log_filter: log.unwrap_or(log_default),
        })
    }
}
