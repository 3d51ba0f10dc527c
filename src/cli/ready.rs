//! `ringmail ready`: is a server taking requests? For scripts and container health checks.

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::output::Output;
use super::store_args::StoreArgs;
use crate::admin::{AdminClient, Request, Response};
use crate::base::blocking;
use crate::base::clock::monotonic;
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

    /// The address of the API [default: that of the server over the data directory; where none is
    /// named, else RINGMAIL_LISTEN].
    #[arg(long, value_name = "URL", value_parser = config::parse_url)]
    url: Option<String>,

    #[command(flatten)]
    place: StoreArgs,
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
            Some(url) => Ok(url.clone()),
            None => running(&place).await?,
        };
        let looked = match url {
            Ok(url) => match look(url.clone()).await {
                Ok(()) => return output.print(&Ready { ready: true, url }, |ready| format!("ready  {}", ready.url)),
                Err(why) => format!("no server is ready at {url} ({why})"),
            },
            Err(why) => why,
        };
        if started.elapsed() >= wait {
            return Err(Failure::new(Exit::Unreachable, looked));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns where the server over the data directory says it is. Where no directory is named, it
/// is sought where one would listen; a named one is never taken for another's, and the inner error
/// is the sentence that says so.
async fn running(place: &StoreArgs) -> Result<Result<String, String>, Failure> {
    if let Ok(mut door) = AdminClient::connect(&place.data_dir().await?).await
        && let Ok(Response::Server(server)) = door.request(Request::Ping).await
        && let Some(api) = server.api
    {
        return Ok(Ok(api));
    }
    if let Some(directory) = place.named() {
        return Ok(Err(format!("no server answers over {}", directory.display())));
    }
    let settings = Settings::from_environment().map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Ok(local_url(settings.listen())))
}

async fn look(url: String) -> Result<(), String> {
    blocking::run(move || {
        let agent = ureq::Agent::config_builder().timeout_global(Some(LOOK_TIMEOUT)).max_redirects(0).build();
        let agent = ureq::Agent::new_with_config(agent);
        agent.get(format!("{url}/health")).call().map(drop).map_err(|error| error.to_string())
    })
    .await
}
