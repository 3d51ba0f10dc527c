//! What `serve` and `dev` share: start, menu, stop.

use std::net::SocketAddr;

use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::logging;
use super::output::{Output, print_json, print_line};
use crate::admin::{self, DevReady};
use crate::app::{App, StartError};
use crate::base::clock::Clock;
use crate::config::{Config, DeliveryConfig, HostnameOrigin, Purpose};

/// What a server has ready when it begins to take requests.
pub(super) struct Ready {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// Its data file, as people copy it.
    pub(super) file: String,
    /// What a development instance has ready.
    pub(super) dev: Option<DevReady>,
}

/// What a server says once it takes requests.
#[derive(Serialize)]
pub(super) struct Menu {
    /// What this server does with emails, in a sentence.
    #[serde(skip)]
    pub(super) words: String,
    /// The dashboard's address.
    pub(super) dashboard: String,
    /// The API's address.
    pub(super) api: String,
    /// The delivery mode.
    pub(super) delivery: &'static str,
    /// The delivery mode and what it means.
    #[serde(skip)]
    pub(super) delivery_line: Option<String>,
    /// A ready API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// The key, or how to make one.
    #[serde(skip)]
    pub(super) key_line: String,
    /// A call to try.
    #[serde(skip)]
    pub(super) try_line: Option<String>,
    /// The data file.
    pub(super) file: String,
}

impl Menu {
    fn text(&self) -> String {
        let lines = [
            ("Dashboard", Some(self.dashboard.as_str())),
            ("API", Some(&self.api)),
            ("Delivery", self.delivery_line.as_deref()),
            ("Key", Some(&self.key_line)),
            ("Try", self.try_line.as_deref()),
            ("File", Some(&self.file)),
        ];
        let lines = lines.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name:<9}  {value}")));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn print(&self, output: Output) -> Result<(), Failure> {
        match output {
            Output::Text => {
                eprintln!("Ringmail {}. {}", env!("CARGO_PKG_VERSION"), self.words);
                print_line(&self.text())
            }
            Output::Json => print_json(self),
        }
    }
}

/// Runs a server until it is told to stop: by SIGINT or SIGTERM.
///
/// # Errors
/// When it cannot start, or a part of it keeps failing.
pub(super) fn run(config: Config, output: Output, menu: fn(&Config, Ready) -> Menu) -> Result<(), Failure> {
    logging::for_server(&config)?;
    if config.hostname.origin == HostnameOrigin::Fallback && config.delivery != DeliveryConfig::Capture {
        tracing::warn!(
            "this machine has no fully qualified host name: mail says {}, which other servers may refuse; \
             set one with --hostname",
            config.hostname.name
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("the runtime could not be started: {error}")))?;
    runtime.block_on(async move {
        let stop = CancellationToken::new();
        let mut signals = JoinSet::new();
        signals.spawn(obey(Signals::listen()?, stop.clone()));
        let app = App::start(config.clone(), Clock::System).await?;
        // The address is bound and nothing is answered yet: whoever is ahead waits for the key.
        let dev = match &config.purpose {
            Purpose::Serve => None,
            Purpose::Dev(setup) => {
                Some(admin::prepare(app.services(), setup).await.map_err(|error| Failure::failed(error.to_string()))?)
            }
        };
        let file = app.services().context.store.path().display().to_string();
        menu(&config, Ready { address: app.address(), file, dev }).print(output)?;
        app.serve(stop).await.map_err(|error| Failure::failed(error.to_string()))
    })
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let failure = |error| Failure::failed(format!("signals cannot be listened for: {error}"));
        let interrupt = signal(SignalKind::interrupt()).map_err(failure)?;
        let terminate = signal(SignalKind::terminate()).map_err(failure)?;
        Ok(Self { interrupt, terminate })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Stops the server at the first signal, and ends the process at the second: what was
/// acknowledged is on disk.
async fn obey(mut signals: Signals, stop: CancellationToken) {
    signals.next().await;
    stop.cancel();
    signals.next().await;
    std::process::exit(super::failure::Exit::Failed as i32);
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::failed(error.to_string())
    }
}
