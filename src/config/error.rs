//! Errors in combinations of settings.

use std::path::PathBuf;

use super::relay::RelayUrlError;
use super::routes::RouteError;

/// Error in a combination of settings, or in a setting that clap does not check. Each message names the
/// setting to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The URL of the smarthost is invalid.
    Relay(RelayUrlError),
    Route(RouteError),
    /// The secret of delivery reports is invalid.
    IngestSecret,
    /// The content would be kept longer than the row. The API could not distinguish a deleted attachment
    /// from a missing one.
    RetentionOrder {
        content_days: u32,
        email_days: u32,
    },
    /// Attachments would be kept for a longer time than the content of their email.
    AttachmentRetention {
        content_days: u32,
        attachment_days: u32,
    },
    /// Relay delivery has no smarthost.
    NoRelay,
    /// The URL of the smarthost has a user, and there is no password.
    UserWithoutPassword,
    /// There is a password, and the URL of the smarthost has no user.
    PasswordWithoutUser,
    /// The maximum size of one body exceeds the budget of all bodies.
    BodyBudget {
        body_mb: usize,
        budget_mb: usize,
    },
    /// The file of trusted certificates cannot be read.
    WebhookCertificates {
        path: PathBuf,
        why: String,
    },
    /// The maximum number of sessions of one site exceeds the total.
    Sessions {
        site: usize,
        all: usize,
    },
    /// Direct delivery has a host name that other servers cannot look up.
    LocalHostname {
        name: String,
    },
    /// A header authenticates users, and no proxy is trusted to send it.
    ProxyHeader,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Relay(error) => write!(f, "--relay (or RINGMAIL_RELAY) is not the URL of a smarthost: {error}"),
            Self::Route(error) => write!(f, "{error}"),
            Self::IngestSecret => f.write_str(
                "--ingest-secret (or RINGMAIL_INGEST_SECRET) is not a signing secret: use whsec_ and the base64 of 24 \
                 to 64 bytes, as printed by: echo whsec_$(openssl rand -base64 32)",
            ),
            Self::RetentionOrder { content_days, email_days } => write!(
                f,
                "emails cannot be kept for a shorter time than their content: raise --email-retention-days \
                 ({email_days}) to at least --content-retention-days ({content_days})"
            ),
            Self::AttachmentRetention { content_days, attachment_days } => write!(
                f,
                "attachments cannot be kept for a longer time than the content of their email: lower \
                 --attachment-retention-days ({attachment_days}) to at most --content-retention-days ({content_days})"
            ),
            Self::NoRelay => f.write_str(
                "relay delivery needs a smarthost: name one with --relay smtp://USER@HOST:PORT, \
                 or choose --delivery capture or direct",
            ),
            Self::UserWithoutPassword => f.write_str(
                "--relay has a user without a password: add a line relay=PASSWORD to the --password-file, set \
                     RINGMAIL_RELAY_PASSWORD, or remove the user",
            ),
            Self::PasswordWithoutUser => {
                f.write_str("RINGMAIL_RELAY_PASSWORD is set and --relay has no user: use smtp://USER@HOST:PORT")
            }
            Self::BodyBudget { body_mb, budget_mb } => write!(
                f,
                "one request body can exceed the budget of all bodies: raise --body-budget-mb ({budget_mb}) \
                 to at least --body-mb ({body_mb})"
            ),
            Self::WebhookCertificates { path, why } => write!(
                f,
                "--webhook-ca-file (or RINGMAIL_WEBHOOK_CA_FILE) {} cannot be read as certificates in PEM: {why}",
                path.display()
            ),
            Self::Sessions { site, all } => write!(
                f,
                "one site cannot have more sessions than the total: raise --sessions ({all}) \
                 to at least --concurrency ({site})"
            ),
            Self::ProxyHeader => f.write_str(
                "--auth-proxy-header (or RINGMAIL_AUTH_PROXY_HEADER) needs the addresses of the proxies that send it: \
                 set --trusted-proxies",
            ),
            Self::LocalHostname { name } => write!(
                f,
                "direct delivery needs a host name that other servers can look up, and {name} is not: set --hostname \
                 (or RINGMAIL_HOSTNAME) to a name with an address record and matching reverse DNS, such as \
                 mail.example.com"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}
