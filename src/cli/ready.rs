//! `ringmail ready`: checks that a server accepts requests. For scripts and container health checks.

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::failure::{Exit, Failure};
use super::output::Output;
use super::store_args::StoreArgs;
use crate::admin::response::ServerView;
use crate::admin::{AdminClient, ServerVerb};
use crate::base::blocking;
use crate::base::clock::monotonic;
use crate::config::{self, Settings, local_url};

/// Timeout of one health check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause between two health checks.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(super) struct ReadyArgs {
    /// Maximum wait; 0s checks once.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = config::wait)]
    wait: Duration,

    /// URL of the API [default: the URL of the server of the data directory; without a named directory
    /// and without a server, RINGMAIL_LISTEN].
    #[arg(long, value_name = "URL", value_parser = config::parse_url)]
    url: Option<String>,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Serialize)]
struct Ready {
    ready: bool,
    url: String,
}

/// Runs the verb.
///
/// # Errors
/// [`Exit::Unreachable`] if no server is ready within the wait.
pub(super) async fn run(args: ReadyArgs, output: Output) -> Result<(), Failure> {
    let ReadyArgs { wait, url, store } = args;
    let started = monotonic();
    loop {
        let url = match &url {
            Some(url) => Ok(url.clone()),
            None => find_server(&store).await?,
        };
        let failure = match url {
            Ok(url) => match check_health(url.clone()).await {
                Ok(()) => return output.print(&Ready { ready: true, url }, |ready| format!("ready  {}", ready.url)),
                Err(why) => format!("no server is ready at {url} ({why})"),
            },
            Err(why) => why,
        };
        if started.elapsed() >= wait {
            return Err(Failure::new(Exit::Unreachable, failure));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns the URL of the server of the data directory. Without a named directory and without a server,
/// returns the default URL. The inner error is a sentence: the named directory has no server.
async fn find_server(store: &StoreArgs) -> Result<Result<String, String>, Failure> {
    if let Ok(mut client) = AdminClient::connect(&store.data_dir().await?, None).await
        && let Ok(ServerView { api: Some(api), .. }) = client.request(ServerVerb::Ping).await
    {
        return Ok(Ok(api));
    }
    if let Some(directory) = store.named() {
        return Ok(Err(format!("no server answers for {}", directory.display())));
    }
    let settings = Settings::from_environment().map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Ok(local_url(settings.listen())))
}

async fn check_health(url: String) -> Result<(), String> {
    blocking::run(move || {
        let agent = ureq::Agent::config_builder().timeout_global(Some(CHECK_TIMEOUT)).max_redirects(0).build();
        let agent = ureq::Agent::new_with_config(agent);
        agent.get(format!("{url}/health")).call().map(drop).map_err(|error| error.to_string())
    })
    .await
}
