//! Choice of the store and the team of a verb, and requests about them.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::store_directory::{self, DataDirectory};
use crate::admin::AdminClient;
use crate::admin::request::AdminVerb;
use crate::admin::response::{ResponseBody, Rows};
use crate::config::{Config, InstanceVerb, Settings, state_directory};

// Arguments have no doc comments: a doc comment of the type would replace the description of the verb.

// Location of the store.
#[derive(Args, Clone, Debug)]
pub(super) struct StoreArgs {
    /// Data directory [default: STATE_DIRECTORY, or else the one of ./ringmail-data, ./ringmail-dev and
    /// /var/lib/ringmail that contains a store, or whose server runs].
    #[arg(long, env = "RINGMAIL_DATA_DIR", value_name = "DIR", help_heading = "Store", global = true)]
    data_dir: Option<PathBuf>,

    /// Master key of the store, for use without a server [default: master.key in the data directory].
    #[arg(long, env = "RINGMAIL_MASTER_KEY_FILE", value_name = "FILE", help_heading = "Store", global = true)]
    master_key_file: Option<PathBuf>,
}

// Team in a store.
#[derive(Args, Clone, Debug)]
pub(super) struct TeamArgs {
    /// Name of the team [default: the first team].
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
    /// As [`store_directory::find`], if neither the user nor the service manager names a directory.
    pub(super) async fn data_dir(&self) -> Result<PathBuf, Failure> {
        Ok(self.choose().await?.path)
    }

    async fn choose(&self) -> Result<DataDirectory, Failure> {
        match self.named() {
            Some(path) => Ok(DataDirectory { path, is_one_of_several: false }),
            None => store_directory::find().await,
        }
    }

    /// Returns the settings of the environment for the data directory.
    ///
    /// # Errors
    /// As [`StoreArgs::data_dir`], and if a setting in the environment is invalid.
    pub(super) async fn config(self) -> Result<Config, Failure> {
        let DataDirectory { path: data_dir, is_one_of_several } = self.choose().await?;
        if is_one_of_several {
            eprintln!("Using the store in {}: of several stores, only its server runs.", data_dir.display());
        }
        // Without a server, the environment contains the settings that the server would have.
        let settings = Settings::from_environment().map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Failure::usage(first.strip_prefix("error: ").unwrap_or(first))
        })?;
        Ok(settings.over(data_dir, self.master_key_file).into_config(InstanceVerb::Serve)?)
    }
}

/// The verbs of the instance need no team.
impl From<StoreArgs> for TeamArgs {
    fn from(store: StoreArgs) -> Self {
        Self { team: None, store }
    }
}

impl TeamArgs {
    /// Opens the store, or connects to its server.
    ///
    /// # Errors
    /// As [`AdminClient::open`], and if a setting in the environment is invalid.
    pub(super) async fn open(self) -> Result<AdminClient, Failure> {
        Ok(AdminClient::open(self.store.config().await?, self.team).await?)
    }

    /// Opens the store, or connects to its server, for the time of some requests.
    ///
    /// # Errors
    /// As [`TeamArgs::open`], and those of the requests.
    pub(super) async fn with_client<T>(
        self,
        requests: impl AsyncFnOnce(&mut AdminClient) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut client = self.open().await?;
        let result = requests(&mut client).await;
        client.close().await;
        result
    }

    /// Executes one verb.
    ///
    /// # Errors
    /// As [`TeamArgs::open`] and [`AdminClient::request`].
    pub(super) async fn request<T: ResponseBody>(self, verb: impl Into<AdminVerb>) -> Result<T, Failure> {
        Ok(self.request_and_state(verb).await?.0)
    }

    /// Executes one verb. Also returns whether a server executes it. If not, queued work waits for the next server.
    ///
    /// # Errors
    /// As [`TeamArgs::request`].
    pub(super) async fn request_and_state<T: ResponseBody>(
        self,
        verb: impl Into<AdminVerb>,
    ) -> Result<(T, bool), Failure> {
        self.with_client(async |client| Ok((client.request(verb).await?, client.is_running()))).await
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
        Ok(self.list_up_to(usize::MAX, page).await?.data)
    }

    /// Returns up to `rows_max` rows of a list, as [`TeamArgs::list`] does.
    ///
    /// # Errors
    /// As [`TeamArgs::request`].
    pub(super) async fn list_up_to<T, V: Into<AdminVerb>>(
        self,
        rows_max: usize,
        page: impl Fn(Option<&T>) -> V,
    ) -> Result<Rows<T>, Failure>
    where
        Rows<T>: ResponseBody,
    {
        self.with_client(async |client| {
            let mut rows = Vec::new();
            loop {
                let next: Rows<T> = client.request(page(rows.last())).await?;
                rows.extend(next.data);
                if rows.len() >= rows_max || !next.has_more {
                    let has_more = next.has_more || rows.len() > rows_max;
                    rows.truncate(rows_max);
                    return Ok(Rows { data: rows, has_more });
                }
            }
        })
        .await
    }
}

/// Returns the name of the server that executes queued work.
pub(super) const fn server_name(is_running: bool) -> &'static str {
    if is_running { "server" } else { "next server" }
}
