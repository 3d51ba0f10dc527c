//! Errors in the settings of routes.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use super::{NAME_CHARS_MAX, password_variable};
use crate::config::{ConfigError, RelayUrlError};
use crate::delivery::{CAPTURE, DIRECT, RELAY};

/// Error in the settings of routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// A smarthost is not `NAME=URL`.
    SmarthostForm,
    SmarthostName,
    SmarthostTwice(String),
    /// The URL of a smarthost is invalid.
    Smarthost {
        name: String,
        error: RelayUrlError,
    },
    /// Flags are visible to other users of the machine.
    PasswordInUrl(String),
    UserWithoutPassword(String),
    /// The file with the passwords cannot be read, or a line is invalid.
    PasswordFile {
        path: PathBuf,
        why: String,
    },
    PasswordWithoutUser(String),
    /// A variable has the password of a smarthost that does not exist.
    PasswordWithoutSmarthost(String),
    /// A route or the release names a transport that does not exist.
    UnknownTarget(String),
    ReleaseToCapture,
    SourceTwice(IpAddr),
    /// All source addresses are IPv6 addresses, and IPv6 is off.
    NoUsableSource,
    /// `--deliver-only` selects recipients, and all email is captured.
    NothingDelivers,
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SmarthostForm => f.write_str("--smarthost (or RINGMAIL_SMARTHOST) is NAME=URL, such as backup=smtp://HOST:587"),
            Self::SmarthostName => write!(
                f,
                "the name of a --smarthost has 1 to {NAME_CHARS_MAX} lower-case letters, digits and hyphens, and is not \
                 {DIRECT}, {CAPTURE} or {RELAY}"
            ),
            Self::SmarthostTwice(name) => write!(f, "two --smarthost have the name {name}; rename one"),
            Self::Smarthost { name, error } => write!(f, "--smarthost {name} is not the URL of a smarthost: {error}"),
            Self::PasswordInUrl(name) => write!(
                f,
                "--smarthost {name} has a password, which other users can see; use --password-file or set {} instead",
                password_variable(name)
            ),
            Self::UserWithoutPassword(name) => write!(
                f,
                "--smarthost {name} has a user without a password: add a line {name}=PASSWORD to the --password-file, set {}, \
                 or remove the user",
                password_variable(name)
            ),
            Self::PasswordFile { path, why } => write!(
                f,
                "--password-file (or RINGMAIL_PASSWORD_FILE) {}: {why}; write one NAME=PASSWORD a line",
                path.display()
            ),
            Self::PasswordWithoutUser(name) => write!(
                f,
                "{} is set and --smarthost {name} has no user: use {name}=smtp://USER@HOST:PORT",
                password_variable(name)
            ),
            Self::PasswordWithoutSmarthost(variable) => {
                write!(f, "{variable} is set and no --smarthost has this name; add the smarthost, or unset the variable")
            }
            Self::UnknownTarget(name) if name == RELAY => {
                f.write_str("a --route or --release names relay: set --relay smtp://USER@HOST:PORT")
            }
            Self::UnknownTarget(name) => write!(
                f,
                "no smarthost has the name {name}, which a --route or --release names: add --smarthost {name}=URL, or use \
                 {DIRECT}, {CAPTURE} or {RELAY}"
            ),
            Self::ReleaseToCapture => f.write_str("--release cannot be capture: use direct, relay or a smarthost"),
            Self::SourceTwice(address) => write!(f, "--source names {address} twice; remove one of them"),
            Self::NoUsableSource => {
                f.write_str("every --source is an IPv6 address and --ipv6 is off; add an IPv4 address, or use --ipv6 on")
            }
            Self::NothingDelivers => f.write_str(
                "--deliver-only selects recipients, but all email is captured: choose --delivery direct or relay, or add \
                 a --route",
            ),
        }
    }
}

impl From<RouteError> for ConfigError {
    fn from(error: RouteError) -> Self {
        Self::Route(error)
    }
}
