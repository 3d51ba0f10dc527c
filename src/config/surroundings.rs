//! What is read from the environment beside the settings: what the machine and the service manager
//! say.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::Command;

use super::hostname;
use super::relay::RelayPassword;

/// The relay's password, which is read from here alone: a flag shows in the list of processes.
const RELAY_PASSWORD_VARIABLE: &str = "RINGMAIL_RELAY_PASSWORD";
/// The data directory that a service manager prepared.
const STATE_DIRECTORY_VARIABLE: &str = "STATE_DIRECTORY";
/// The directory for sockets that a service manager prepared.
const RUNTIME_DIRECTORY_VARIABLE: &str = "RUNTIME_DIRECTORY";

/// What the machine and the service manager say, read once so that the rest can be tested.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    pub(super) state_directory: Option<PathBuf>,
    pub(super) runtime_directory: Option<PathBuf>,
    pub(super) relay_password: Option<RelayPassword>,
    pub(super) machine_name: Option<String>,
}

impl Surroundings {
    pub(super) fn read() -> Self {
        let relay_password =
            std::env::var(RELAY_PASSWORD_VARIABLE).ok().filter(|text| !text.is_empty()).map(RelayPassword::new);
        Self {
            state_directory: managed_directory(STATE_DIRECTORY_VARIABLE),
            runtime_directory: managed_directory(RUNTIME_DIRECTORY_VARIABLE),
            relay_password,
            machine_name: hostname::of_machine(),
        }
    }
}

/// Returns the directory that a service manager names in a variable. systemd separates several by
/// colons; the first is the one to write to.
fn managed_directory(variable: &str) -> Option<PathBuf> {
    let list = std::env::var(variable).ok()?;
    list.split(':').next().filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Returns the data directory that the service manager prepared, if there is one.
pub(crate) fn state_directory() -> Option<PathBuf> {
    managed_directory(STATE_DIRECTORY_VARIABLE)
}

/// Makes a command line take empty variables for unset: in the file of a service manager or a
/// container, `RINGMAIL_RELAY=` is how a setting is left at its default.
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
