//! Values from the environment that are not settings: directories of the service manager, the host name of the machine,
//! and the passwords of smarthosts.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;

use clap::Command;

use super::hostname;
use super::relay::RelayPassword;
use super::routes::PASSWORD_PREFIX;

/// Default data directory of `ringmail serve`.
pub const SERVE_DIRECTORY: &str = "./ringmail-data";
/// Default data directory of `ringmail dev`.
pub const DEV_DIRECTORY: &str = "./ringmail-dev";
/// Data directory of the systemd unit and the Debian package.
pub(crate) const SERVICE_DIRECTORY: &str = "/var/lib/ringmail";

/// Password of the relay. It has no flag, because other users can see the flags of a process.
pub(super) const RELAY_PASSWORD_VARIABLE: &str = "RINGMAIL_RELAY_PASSWORD";
/// Data directory that systemd created.
const STATE_DIRECTORY_VARIABLE: &str = "STATE_DIRECTORY";
/// Directory for sockets that systemd created.
const RUNTIME_DIRECTORY_VARIABLE: &str = "RUNTIME_DIRECTORY";
/// Directory with the credentials that systemd passes.
const CREDENTIALS_DIRECTORY_VARIABLE: &str = "CREDENTIALS_DIRECTORY";

/// Values from the environment. Read once, so that tests can replace them.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    pub(super) state_directory: Option<PathBuf>,
    pub(super) runtime_directory: Option<PathBuf>,
    pub(super) credentials_directory: Option<PathBuf>,
    pub(super) relay_password: Option<RelayPassword>,
    /// Passwords of named smarthosts, by variable.
    pub(super) smarthost_passwords: BTreeMap<String, RelayPassword>,
    pub(super) machine_name: Option<String>,
}

impl Surroundings {
    pub(super) fn read() -> Self {
        let relay_password =
            std::env::var(RELAY_PASSWORD_VARIABLE).ok().filter(|text| !text.is_empty()).map(RelayPassword::new);
        Self {
            state_directory: managed_directory(STATE_DIRECTORY_VARIABLE),
            runtime_directory: managed_directory(RUNTIME_DIRECTORY_VARIABLE),
            credentials_directory: managed_directory(CREDENTIALS_DIRECTORY_VARIABLE),
            relay_password,
            smarthost_passwords: std::env::vars_os()
                .filter_map(|(name, password)| Some((name.into_string().ok()?, password.into_string().ok()?)))
                .filter(|(name, password)| name.starts_with(PASSWORD_PREFIX) && !password.is_empty())
                .map(|(name, password)| (name, RelayPassword::new(password)))
                .collect(),
            machine_name: hostname::of_machine(),
        }
    }
}

/// Returns the directory in a variable of the service manager. systemd separates several directories
/// with colons; this is the first.
fn managed_directory(variable: &str) -> Option<PathBuf> {
    let list = std::env::var(variable).ok()?;
    list.split(':').next().filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Returns the data directory that the service manager created; `None` if it created none.
pub(crate) fn state_directory() -> Option<PathBuf> {
    managed_directory(STATE_DIRECTORY_VARIABLE)
}

/// Makes clap ignore empty variables. In an environment file of systemd or a container,
/// `RINGMAIL_RELAY=` selects the default.
pub(crate) fn without_empty_variables(command: Command) -> Command {
    let is_empty = |variable: &OsStr| std::env::var_os(variable).is_some_and(|value| value.is_empty());
    command
        .mut_args(
            |argument| {
                if argument.get_env().is_some_and(is_empty) { argument.env(None::<&'static str>) } else { argument }
            },
        )
        .mut_subcommands(without_empty_variables)
}
