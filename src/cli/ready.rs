//! `ringmail ready`: is a server taking requests? For scripts and container health checks.

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::output::Output;
use super::place::PlaceArgs;
use crate::admin::{Door, Request, Response};
use crate::blocking;
use crate::clock::monotonic;
use crate::config::{self, Settings, local_url};

/// How long one look may take.
const LOOK_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(super) struct ReadyArgs {
    /// How long it is waited for; 0s looks once.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = config::wait)]
    wait: Duration,

    /// The address of the API [default: that of the server over the data directory, else
    /// RINGMAIL_LISTEN].
    #[arg(long, value_name = "URL", value_parser = config::parse_url)]
    url: Option<String>,

    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Serialize)]
struct Ready {
    ready: bool,
    url: String,
}

/// Runs the verb.
///
/// # Errors
/// [`Exit::Unreachable`] when no server is ready in time.
pub(super) async fn run(args: ReadyArgs, output: Output) -> Result<(), Failure> {
    let ReadyArgs { wait, url, place } = args;
    let started = monotonic();
    loop {
        let url = match &url {
            Some(url) => url.clone(),
            None => running(&place).await?,
        };
        match look(url.clone()).await {
            Ok(()) => return output.print(&Ready { ready: true, url }, |ready| format!("ready  {}", ready.url)),
            Err(why) if started.elapsed() >= wait => {
                return Err(Failure::new(Exit::Unreachable, format!("no server is ready at {url} ({why})")));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Returns where the server over the data directory says it is, or where one would be.
async fn running(place: &PlaceArgs) -> Result<String, Failure> {
    if let Ok(mut door) = Door::connect(&place.data_dir().await?).await
        && let Ok(Response::Server(server)) = door.ask(Request::Ping).await
        && let Some(api) = server.api
    {
        return Ok(api);
    }
    let settings = Settings::from_environment().map_err(|error| Failure::usage(error.to_string()))?;
    Ok(local_url(settings.listen()))
}

async fn look(url: String) -> Result<(), String> {
    blocking::run(move || {
        let agent = ureq::Agent::config_builder().timeout_global(Some(LOOK_TIMEOUT)).max_redirects(0).build();
        let agent = ureq::Agent::new_with_config(agent);
        agent.get(format!("{url}/health")).call().map(drop).map_err(|error| error.to_string())
    })
    .await
}
