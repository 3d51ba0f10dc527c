//! `ringmail ready`: checks that a server accepts requests. For scripts and container health checks.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::failure::{Exit, Failure};
use super::output::Output;
use super::store_args::StoreArgs;
use crate::admin::response::ServerView;
use crate::admin::{AdminClient, ServerVerb};
use crate::base::blocking;
use crate::base::clock::monotonic;
use crate::base::printable::printable;
use crate::config::{self, Settings, local_url};

/// Timeout of one health check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of a response that is read for the reason.
const BODY_BYTES_MAX: u64 = 64 << 10;
/// Characters of a reason.
const REASON_CHARS_MAX: usize = 300;
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

/// Requests the health of a server. The error is a fragment with the reason why the server is not ready.
async fn check_health(url: String) -> Result<(), String> {
    blocking::run(move || {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(CHECK_TIMEOUT))
            .max_redirects(0)
            .http_status_as_error(false)
            .build();
        let request = ureq::Agent::new_with_config(agent).get(format!("{url}/health"));
        let mut response = request.call().map_err(|error| error.to_string())?;
        if response.status().is_success() {
            return Ok(());
        }
        let body = response.body_mut().with_config().limit(BODY_BYTES_MAX).read_to_string().unwrap_or_default();
        Err(reason(response.status().as_u16(), &body))
    })
    .await
}

/// Returns the status with the failing parts, or with the message of an error.
fn reason(status: u16, body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let problems = body["problems"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let problems = problems.collect::<Vec<_>>().join(", ");
    let text = match body["message"].as_str() {
        _ if !problems.is_empty() => format!("failing: {problems}"),
        Some(message) => message.trim_end_matches('.').to_owned(),
        None => return format!("status {status}"),
    };
    format!("status {status}, {}", printable(&text, REASON_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_the_failing_parts_or_the_message() {
        for (body, expected) in [
            (
                r#"{"ok":false,"status":"failing","problems":["disk","worker x"]}"#,
                "status 503, failing: disk, worker x",
            ),
            (r#"{"statusCode":503,"message":"The server is starting."}"#, "status 503, The server is starting"),
            (r#"{"problems":["a\u001b[2J"]}"#, "status 503, failing: a [2J"),
            ("<html>", "status 503"),
            ("[1]", "status 503"),
        ] {
            assert_eq!(reason(503, body), expected);
        }
    }
}
