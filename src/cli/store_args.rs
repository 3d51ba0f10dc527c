//! Which store a verb means, and asking about it.

use std::path::{Path, PathBuf};

use clap::Args;

use super::failure::Failure;
use crate::admin::response::Rows;
use crate::admin::{AdminClient, Request, Response};
use crate::config::{Config, DEV_DIRECTORY, Purpose, SERVE_DIRECTORY, Settings, state_directory};
use crate::store::FILE_NAME;

/// Where the store is.
#[derive(Args, Clone, Debug)]
pub(super) struct StoreArgs {
    /// The data directory [default: STATE_DIRECTORY, else the one of ./ringmail-data and
    /// ./ringmail-dev that holds a store, or whose server runs].
    #[arg(long, env = "RINGMAIL_DATA_DIR", value_name = "DIR", help_heading = "Store")]
    data_dir: Option<PathBuf>,

    /// The master key of the store, where no server runs [default: master.key in the data directory].
    #[arg(long, env = "RINGMAIL_MASTER_KEY_FILE", value_name = "FILE", help_heading = "Store")]
    master_key_file: Option<PathBuf>,
}

/// Which team of which store.
#[derive(Args, Clone, Debug)]
pub(super) struct TeamArgs {
    /// The team's name; may be left out where there is one team.
    #[arg(long, value_name = "NAME")]
    pub(super) team: Option<String>,

    #[command(flatten)]
    pub(super) place: StoreArgs,
}

impl StoreArgs {
    /// Returns the data directory that the caller or the service manager names, if one does.
    pub(super) fn named(&self) -> Option<PathBuf> {
        self.data_dir.clone().or_else(state_directory)
    }

    /// Returns the data directory that is meant.
    ///
    /// # Errors
    /// When both defaults hold a store and not exactly one of them has a server.
    pub(super) async fn data_dir(&self) -> Result<PathBuf, Failure> {
        if let Some(given) = self.named() {
            return Ok(given);
        }
        let holds_store = |directory: &str| Path::new(directory).join(FILE_NAME).is_file();
        match (holds_store(SERVE_DIRECTORY), holds_store(DEV_DIRECTORY)) {
            (true, true) => {
                let served = AdminClient::connect(Path::new(SERVE_DIRECTORY)).await.is_ok();
                let developed = AdminClient::connect(Path::new(DEV_DIRECTORY)).await.is_ok();
                match (served, developed) {
                    (true, false) => Ok(SERVE_DIRECTORY.into()),
                    (false, true) => Ok(DEV_DIRECTORY.into()),
                    _ => Err(Failure::usage(format!(
                        "both {SERVE_DIRECTORY} and {DEV_DIRECTORY} hold a store; choose one with --data-dir"
                    ))),
                }
            }
            (false, true) => Ok(DEV_DIRECTORY.into()),
            (_, false) => Ok(SERVE_DIRECTORY.into()),
        }
    }

    /// Finds the way to the store.
    ///
    /// # Errors
    /// As [`AdminClient::open`], and when a setting in the environment is not in order.
    pub(super) async fn open(self) -> Result<AdminClient, Failure> {
        let data_dir = self.data_dir().await?;
        // Where no server runs, what it would be set to comes from the same variables.
        let settings = Settings::from_environment().map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Failure::usage(first.strip_prefix("error: ").unwrap_or(first))
        })?;
        let config: Config = settings.over(data_dir, self.master_key_file).into_config(Purpose::Serve)?;
        Ok(AdminClient::open(config).await?)
    }

    /// Asks one thing.
    ///
    /// # Errors
    /// As [`StoreArgs::open`] and [`request`].
    pub(super) async fn ask(self, request: Request) -> Result<Response, Failure> {
        let mut door = self.open().await?;
        let response = ask(&mut door, request).await;
        door.close().await;
        response
    }

    /// Asks for every row of a list; see [`all_rows`].
    ///
    /// # Errors
    /// As [`StoreArgs::request`].
    pub(super) async fn ask_all<T>(
        self,
        request: impl Fn(Option<&T>) -> Request,
        page_of: impl Fn(Response) -> Result<Rows<T>, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let mut door = self.open().await?;
        let rows = all_rows(&mut door, request, page_of).await;
        door.close().await;
        rows
    }
}

/// Asks for a list page by page: `request` asks for what follows the last row that has come, and
/// `page_of` takes the page out of its response.
async fn all_rows<T>(
    door: &mut AdminClient,
    request: impl Fn(Option<&T>) -> Request,
    page_of: impl Fn(Response) -> Result<Rows<T>, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut rows = Vec::new();
    loop {
        let page = page_of(ask(door, request(rows.last())).await?)?;
        rows.extend(page.data);
        if !page.has_more {
            return Ok(rows);
        }
    }
}

/// Asks one thing and turns a refusal into a failure.
///
/// # Errors
/// The refusal, or that the server went away.
pub(super) async fn ask(door: &mut AdminClient, request: Request) -> Result<Response, Failure> {
    match door.request(request).await? {
        Response::Refused(refusal) => Err(refusal.into()),
        response => Ok(response),
    }
}

/// Returns the failure of a response to another question.
pub(super) fn unexpected(response: &Response) -> Failure {
    Failure::failed(format!("the server answered something else ({response:?}); is it of another version?"))
}
