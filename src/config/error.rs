//! Errors in combinations of settings.

use std::path::PathBuf;

use super::relay::RelayUrlError;
use super::routes::RouteError;

/// Error in a combination of settings, or in a setting that clap does not check. Each message names the
/// setting to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("--relay (or RINGMAIL_RELAY) is not the URL of a smarthost: {0}")]
    Relay(RelayUrlError),
    #[error("{0}")]
    Route(RouteError),
    #[error(
        "--ingest-secret (or RINGMAIL_INGEST_SECRET) is not a signing secret: use whsec_ and the base64 of 24 \
         to 64 bytes, as printed by: echo whsec_$(openssl rand -base64 32)"
    )]
    IngestSecret,
    /// The content would be kept longer than the row. The API could not distinguish a deleted attachment
    /// from a missing one.
    #[error(
        "emails cannot be kept for a shorter time than their content: raise --email-retention-days \
         ({email_days}) to at least --content-retention-days ({content_days})"
    )]
    RetentionOrder { content_days: u32, email_days: u32 },
    #[error(
        "attachments cannot be kept for a longer time than the content of their email: lower \
         --attachment-retention-days ({attachment_days}) to at most --content-retention-days ({content_days})"
    )]
    AttachmentRetention { content_days: u32, attachment_days: u32 },
    #[error(
        "relay delivery needs a smarthost: name one with --relay smtp://USER@HOST:PORT, \
         or choose --delivery capture or direct"
    )]
    NoRelay,
    #[error(
        "--relay has a user without a password: add a line relay=PASSWORD to the --password-file, set \
         RINGMAIL_RELAY_PASSWORD, or remove the user"
    )]
    UserWithoutPassword,
    #[error("RINGMAIL_RELAY_PASSWORD is set and --relay has no user: use smtp://USER@HOST:PORT")]
    PasswordWithoutUser,
    #[error(
        "one request body can exceed the budget of all bodies: raise --body-budget-mb ({budget_mb}) \
         to at least --body-mb ({body_mb})"
    )]
    BodyBudget { body_mb: usize, budget_mb: usize },
    #[error("--webhook-ca-file (or RINGMAIL_WEBHOOK_CA_FILE) {path} cannot be read as certificates in PEM: {why}")]
    WebhookCertificates { path: PathBuf, why: String },
    #[error(
        "one site cannot have more sessions than the total: raise --sessions ({all}) \
         to at least --concurrency ({site})"
    )]
    Sessions { site: usize, all: usize },
    #[error(
        "direct delivery needs a host name that other servers can look up, and {name} is not: set --hostname \
         (or RINGMAIL_HOSTNAME) to a name with an address record and matching reverse DNS, such as \
         mail.example.com"
    )]
    LocalHostname { name: String },
    #[error(
        "--auth-proxy-header (or RINGMAIL_AUTH_PROXY_HEADER) needs the addresses of the proxies that send it: \
         set --trusted-proxies"
    )]
    ProxyHeader,
}
