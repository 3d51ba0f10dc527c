//! Start, menu and shutdown of `serve` and `dev`.

use std::io::{IsTerminal as _, stdout};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::output::{Output, fields, print_json, print_line, put_message};
use super::{dev, event_lines, logging, serve, terminal};
use crate::admin;
use crate::app::{App, StartError};
use crate::audit::Actor;
use crate::base::blocking;
use crate::base::clock::Clock;
use crate::config::{Config, HostnameOrigin, InstanceVerb, local_url};
use crate::live::{EventStream, TypeFilter};

/// Output of a server when it accepts requests.
#[derive(Serialize)]
struct Menu {
    /// URL of the dashboard, on a development server with a one-time link.
    dashboard: String,
    api: String,
    /// One-time link to set up the first account, on a terminal only.
    #[serde(skip)]
    setup: Option<String>,
    delivery: &'static str,
    /// API key of a development instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Path of the data file.
    file: String,
    /// URL of the listener of the metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<String>,
}

impl Menu {
    fn print(&self, config: &Config, domain: Option<&str>, output: Output) -> Result<(), Failure> {
        if output == Output::Json {
            return print_json(self);
        }
        let (summary, facts) = match &self.key {
            Some(key) => {
                let example = dev::example_call(&self.api, key, domain);
                (dev::summary(config), [("Key", key.clone()), ("Try", example)])
            }
            None => {
                let delivery = serve::delivery_line(config);
                ("Stop it with Ctrl-C.", [("Delivery", delivery), ("Key", "ringmail key create NAME".to_owned())])
            }
        };
        put_message(&format!("Ringmail {}. {summary}\n", env!("CARGO_PKG_VERSION")));
        let [first, second] = facts;
        let mut lines = vec![
            ("Dashboard", terminal::emphasized(&self.dashboard)),
            ("API", self.api.clone()),
            first,
            second,
            ("File", self.file.clone()),
        ];
        lines.extend(self.metrics.iter().map(|url| ("Metrics", url.clone())));
        lines.extend(self.setup.iter().map(|url| ("Set up", terminal::emphasized(url))));
        print_line(&fields(&lines))?;
        if self.setup.is_some() {
            put_message(
                "\nCreate the first account of the dashboard with the link after `Set up`. It works once, for 30 minutes.",
            );
        }
        if self.key.is_some() {
            put_message("\nThe events of the first team follow as they occur. Stop the server with Ctrl-C.");
        }
        Ok(())
    }
}

/// Runs a server until SIGINT or SIGTERM.
///
/// # Errors
/// Fails if the server cannot start, if a worker keeps failing, or if the store fails.
pub(super) fn run(config: Config, output: Output) -> Result<(), Failure> {
    config.check_delivery()?;
    logging::for_server(&config)?;
    raise_file_limit();
    if config.hostname.origin == HostnameOrigin::Fallback && config.delivers() {
        tracing::warn!(
            "this machine has no fully qualified host name; SMTP uses {}, which other servers may refuse; \
             set one with --hostname",
            config.hostname.name
        );
    }
    if config.routes.needs_reports() && config.ingest_secret.is_none() {
        tracing::warn!(
            "emails stay `sent`, because no smarthost can report their outcome; set RINGMAIL_INGEST_SECRET, or add \
             ?final=true to the URL of a smarthost if the smarthost serves the recipients itself"
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("could not start the runtime: {error}")))?;
    let ended = runtime.block_on(run_app(config, output));
    // A write of an event to a silent pipe may never end: the runtime must not wait for it.
    runtime.shutdown_background();
    ended
}

async fn run_app(config: Config, output: Output) -> Result<(), Failure> {
    let is_console = output == Output::Text && matches!(config.purpose, InstanceVerb::Dev(_));
    let messages = if is_console { Messages::Console } else { Messages::Log };
    let stop = CancellationToken::new();
    // Dropped at the end, which ends the tasks.
    let mut tasks = JoinSet::new();
    tasks.spawn(stop_on_signal(Signals::listen()?, stop.clone(), messages));
    let app = App::start(config.clone(), Clock::System).await?;
    // The address is bound, but requests are answered only after `serve`, when the API key exists.
    let dev = match &config.purpose {
        InstanceVerb::Serve => None,
        InstanceVerb::Dev(setup) => {
            Some(admin::prepare(app.services(), setup).await.map_err(|error| Failure::failed(error.message))?)
        }
    };
    let api = local_url(app.address());
    // A secret must not get into the log of a service manager, so that only a terminal shows the link of `serve`.
    let shows_link = dev.is_some() || (output == Output::Text && stdout().is_terminal());
    let link = if shows_link { dashboard_link(&app).await? } else { None };
    let file = app.services().context.store.path().display().to_string();
    let menu = Menu {
        dashboard: link.clone().filter(|_| dev.is_some()).unwrap_or_else(|| format!("{api}/dashboard/")),
        setup: link.filter(|_| dev.is_none()),
        api,
        delivery: config.delivery.as_str(),
        key: dev.as_ref().map(|dev| dev.token.reveal().to_owned()),
        file: file.clone(),
        metrics: app.metrics_address().map(|address| format!("{}/metrics", local_url(address))),
    };
    // The subscription precedes the menu, whose reader can send the first email.
    let events = dev
        .as_ref()
        .filter(|_| is_console)
        .map(|dev| EventStream::new(&app.services().context.event_bus, dev.team, TypeFilter::everything()));
    menu.print(&config, dev.as_ref().and_then(|dev| dev.domain.as_deref()), output)?;
    if let Some(events) = events {
        tasks.spawn(event_lines::print(events));
    }
    app.serve(stop).await.map_err(|error| Failure::failed(error.to_string()))?;
    messages.print(&format!("stopped; everything is on disk in {file}"));
    Ok(())
}

/// Returns a link to set up the first account, or on a development server to open the dashboard; `None` if an account
/// exists.
async fn dashboard_link(app: &App) -> Result<Option<String>, Failure> {
    let link = admin::dashboard_link(app.services(), Actor::Server)
        .await
        .map_err(|error| Failure::failed(error.to_string()))?;
    Ok(link.map(|link| link.url))
}

/// Receiver of messages about the shutdown.
#[derive(Clone, Copy)]
enum Messages {
    /// Standard error, for a person.
    Console,
    Log,
}

impl Messages {
    fn print(self, text: &str) {
        match self {
            Self::Console => put_message(&format!("ringmail: {text}")),
            Self::Log => tracing::info!("{text}"),
        }
    }
}

/// Raises the limit of open files to the maximum that the system allows this process. Each connection needs a file, and
/// the default of many systems is 1,024.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, limit = limit.current, "could not raise the limit of open files: {error}");
    }
}

/// SIGINT and SIGTERM.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, Failure> {
        let failure = |error| Failure::failed(format!("cannot listen for signals: {error}"));
        let interrupt = signal(SignalKind::interrupt()).map_err(failure)?;
        let terminate = signal(SignalKind::terminate()).map_err(failure)?;
        Ok(Self { interrupt, terminate })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Stops the server at the first signal, and ends the process at the second without a message. Acknowledged data
/// is on disk at any time.
async fn stop_on_signal(mut signals: Signals, stop: CancellationToken, messages: Messages) {
    signals.next().await;
    // A write to a full pipe may never end.
    stop.cancel();
    let message = "stopping; requests and deliveries in progress finish first, and a second signal ends them";
    tokio::select! {
        () = blocking::run(move || messages.print(message)) => signals.next().await,
        () = signals.next() => {}
    }
    std::process::exit(super::failure::Exit::Failed as i32);
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::failed(error.to_string())
    }
}
