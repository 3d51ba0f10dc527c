//! Settings from the environment only, for verbs without flags of a server.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _};

use super::Settings;
use super::surroundings::without_empty_variables;

/// Parser of settings from the environment only.
#[derive(clap::Parser)]
struct Environment {
    #[command(flatten)]
    settings: Settings,
}

impl Settings {
    /// Returns the settings of the environment, as of a server without flags.
    ///
    /// # Errors
    /// The error of the first invalid variable.
    pub fn from_environment() -> Result<Self, clap::Error> {
        let mut command = without_empty_variables(Environment::command());
        let matches = command.try_get_matches_from_mut(["ringmail"])?;
        Environment::from_arg_matches(&matches).map(|environment| environment.settings)
    }

    /// Returns the settings with another data directory, and with another master key if it is given.
    #[must_use]
    pub fn over(mut self, data_dir: PathBuf, master_key_file: Option<PathBuf>) -> Self {
        self.data_dir = Some(data_dir);
        self.master_key_file = master_key_file.or(self.master_key_file);
        self
    }

    /// Returns the listen address.
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }
}
