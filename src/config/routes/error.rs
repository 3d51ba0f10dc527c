//! Errors in the settings of routes.

use std::net::IpAddr;
use std::path::PathBuf;

use super::{NAME_CHARS_MAX, password_variable};
use crate::config::{ConfigError, RelayUrlError};
use crate::delivery::{CAPTURE, DIRECT, RELAY};

/// Error in the settings of routes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    #[error("--smarthost (or RINGMAIL_SMARTHOST) is NAME=URL, such as backup=smtp://HOST:587")]
    SmarthostForm,
    #[error(
        "the name of a --smarthost has 1 to {NAME_CHARS_MAX} lower-case letters, digits and hyphens, and is not \
         {DIRECT}, {CAPTURE} or {RELAY}"
    )]
    SmarthostName,
    #[error("two --smarthost have the name {0}; rename one")]
    SmarthostTwice(String),
    #[error("--smarthost {name} is not the URL of a smarthost: {error}")]
    Smarthost { name: String, error: RelayUrlError },
    /// Flags are visible to other users of the machine.
    #[error(
        "--smarthost {0} has a password, which other users can see; use --password-file or set {variable} instead",
        variable = password_variable(.0)
    )]
    PasswordInUrl(String),
    #[error(
        "--smarthost {0} has a user without a password: add a line {0}=PASSWORD to the --password-file, set {variable}, \
         or remove the user",
        variable = password_variable(.0)
    )]
    UserWithoutPassword(String),
    /// The file with the passwords cannot be read, or a line is invalid.
    #[error("--password-file (or RINGMAIL_PASSWORD_FILE) {path}: {why}; write one NAME=PASSWORD a line")]
    PasswordFile { path: PathBuf, why: String },
    #[error(
        "{variable} is set and --smarthost {0} has no user: use {0}=smtp://USER@HOST:PORT",
        variable = password_variable(.0)
    )]
    PasswordWithoutUser(String),
    #[error("{0} is set and no --smarthost has this name; add the smarthost, or unset the variable")]
    PasswordWithoutSmarthost(String),
    /// A route or the release names a transport that does not exist.
    #[error("{}", unknown_target(.0))]
    UnknownTarget(String),
    #[error("--release cannot be capture: use direct, relay or a smarthost")]
    ReleaseToCapture,
    #[error("--source names {0} twice; remove one of them")]
    SourceTwice(IpAddr),
    #[error("every --source is an IPv6 address and --ipv6 is off; add an IPv4 address, or use --ipv6 on")]
    NoUsableSource,
    #[error(
        "--deliver-only selects recipients, but all email is captured: choose --delivery direct or relay, or add \
         a --route"
    )]
    NothingDelivers,
}

/// Returns the message about a transport that does not exist.
fn unknown_target(name: &str) -> String {
    if name == RELAY {
        return "a --route or --release names relay: set --relay smtp://USER@HOST:PORT".to_owned();
    }
    format!(
        "no smarthost has the name {name}, which a --route or --release names: add --smarthost {name}=URL, or use \
         {DIRECT}, {CAPTURE} or {RELAY}"
    )
}

impl From<RouteError> for ConfigError {
    fn from(error: RouteError) -> Self {
        Self::Route(error)
    }
}
