//! Choice of the store and the team of a verb, and requests about them.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::failure::Failure;
use crate::admin::AdminClient;
use crate::admin::request::AdminVerb;
use crate::admin::response::{ResponseBody, Rows};
use crate::config::{Config, DEV_DIRECTORY, Purpose, SERVE_DIRECTORY, Settings, state_directory};
use crate::store::FILE_NAME;

// Arguments have no doc comments: a doc comment of the type would replace the description of the verb.

// Location of the store.
#[derive(Args, Clone, Debug)]
pub(super) struct StoreArgs {
    /// Data directory [default: STATE_DIRECTORY, or else the one of ./ringmail-data and ./ringmail-dev
    /// that contains a store, or whose server runs].
    #[arg(long, env = "RINGMAIL_DATA_DIR", value_name = "DIR", help_heading = "Store", global = true)]
    data_dir: Option<PathBuf>,

    /// Master key of the store, for use without a server [default: master.key in the data directory].
    #[arg(long, env = "RINGMAIL_MASTER_KEY_FILE", value_name = "FILE", help_heading = "Store", global = true)]
    master_key_file: Option<PathBuf>,
}

// Team in a store.
#[derive(Args, Clone, Debug)]
pub(super) struct TeamArgs {
    /// Name of the team; optional if there is only one team.
    #[arg(long, value_name = "NAME", global = true)]
    pub(super) team: Option<String>,

    #[command(flatten)]
    pub(super) store: StoreArgs,
}

// A verb on a store.
#[derive(Args)]
pub(super) struct StoreVerbArgs<V: Subcommand> {
    #[command(subcommand)]
    pub(super) verb: V,

    #[command(flatten)]
    pub(super) store: StoreArgs,
}

// A verb on a team.
#[derive(Args)]
pub(super) struct TeamVerbArgs<V: Subcommand> {
    #[command(subcommand)]
    pub(super) verb: V,

    #[command(flatten)]
    pub(super) team: TeamArgs,
}

impl StoreArgs {
    /// Returns the data directory that the user or the service manager names; `None` if neither does.
    pub(super) fn named(&self) -> Option<PathBuf> {
        self.data_dir.clone().or_else(state_directory)
    }

    /// Returns the data directory.
    ///
    /// # Errors
    /// If both default directories contain a store, and not exactly one of them has a server.
    pub(super) async fn data_dir(&self) -> Result<PathBuf, Failure> {
        if let Some(named) = self.named() {
            return Ok(named);
        }
        let has_store = |directory: &str| Path::new(directory).join(FILE_NAME).is_file();
        match (has_store(SERVE_DIRECTORY), has_store(DEV_DIRECTORY)) {
            (true, true) => {
                let serve_runs = AdminClient::connect(Path::new(SERVE_DIRECTORY), None).await.is_ok();
                let dev_runs = AdminClient::connect(Path::new(DEV_DIRECTORY), None).await.is_ok();
                match (serve_runs, dev_runs) {
                    (true, false) => Ok(SERVE_DIRECTORY.into()),
                    (false, true) => Ok(DEV_DIRECTORY.into()),
                    _ => Err(Failure::usage(format!(
                        "both {SERVE_DIRECTORY} and {DEV_DIRECTORY} contain a store; choose one with --data-dir"
                    ))),
                }
            }
            (false, true) => Ok(DEV_DIRECTORY.into()),
            (_, false) => Ok(SERVE_DIRECTORY.into()),
        }
    }

    async fn open(self, team: Option<String>) -> Result<AdminClient, Failure> {
        let data_dir = self.data_dir().await?;
        // Without a server, the environment contains the settings that the server would have.
        let settings = Settings::from_environment().map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Failure::usage(first.strip_prefix("error: ").unwrap_or(first))
        })?;
        let config: Config = settings.over(data_dir, self.master_key_file).into_config(Purpose::Serve)?;
        Ok(AdminClient::open(config, team).await?)
    }

    /// Executes one verb.
    ///
    /// # Errors
    /// As [`TeamArgs::open`] and [`AdminClient::request`].
    pub(super) async fn request<T: ResponseBody>(self, verb: impl Into<AdminVerb>) -> Result<T, Failure> {
        TeamArgs { team: None, store: self }.request(verb).await
    }
}

impl TeamArgs {
    /// Opens the store, or connects to its server.
    ///
    /// # Errors
    /// As [`AdminClient::open`], and if a setting in the environment is invalid.
    pub(super) async fn open(self) -> Result<AdminClient, Failure> {
        self.store.open(self.team).await
    }

    /// Executes one verb.
    ///
    /// # Errors
    /// As [`TeamArgs::open`] and [`AdminClient::request`].
    pub(super) async fn request<T: ResponseBody>(self, verb: impl Into<AdminVerb>) -> Result<T, Failure> {
        let mut client = self.open().await?;
        let body = client.request(verb).await;
        client.close().await;
        Ok(body?)
    }

    /// Returns all rows of a list. `page` returns the verb for the page after a row, or for the first
    /// page.
    ///
    /// # Errors
    /// As [`TeamArgs::request`].
    pub(super) async fn list<T, V: Into<AdminVerb>>(self, page: impl Fn(Option<&T>) -> V) -> Result<Vec<T>, Failure>
    where
        Rows<T>: ResponseBody,
    {
        let mut client = self.open().await?;
        let mut rows = Vec::new();
        let result = loop {
            match client.request::<Rows<T>>(page(rows.last())).await {
                Ok(page) => {
                    rows.extend(page.data);
                    if !page.has_more {
                        break Ok(rows);
                    }
                }
                Err(error) => break Err(error.into()),
            }
        };
        client.close().await;
        result
    }
}
