//! `ringmail serve`: the server.

use clap::Args;

use super::failure::Failure;
use super::output::Output;
use super::server::{self, Menu, Ready};
use crate::config::{Config, DeliveryConfig, Purpose, QueueConfig, Settings, local_url};

#[derive(Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    settings: Settings,
}

/// Runs the server until it is told to stop.
///
/// # Errors
/// When a setting is not in order or the server cannot start.
pub(super) fn run(args: ServeArgs, output: Output) -> Result<(), Failure> {
    server::run(args.settings.into_config(Purpose::Serve)?, output, menu)
}

fn menu(config: &Config, ready: Ready) -> Menu {
    let api = local_url(ready.address);
    Menu {
        words: "Stop it with Ctrl-C.".to_owned(),
        dashboard: format!("{api}/dashboard/"),
        api,
        delivery: config.delivery.as_str(),
        delivery_line: Some(delivery_line(config)),
        key: None,
        key_line: "ringmail key create NAME".to_owned(),
        try_line: None,
        file: ready.file,
    }
}

fn delivery_line(config: &Config) -> String {
    let mode = config.delivery.as_str();
    if config.queue == QueueConfig::Hold {
        return format!("{mode}, held: emails are accepted and wait until a start without --hold");
    }
    match &config.delivery {
        DeliveryConfig::Capture => format!(
            "{mode}: emails are kept in the built-in mailbox and not delivered (see --delivery direct and relay)"
        ),
        DeliveryConfig::Direct => format!("{mode}: to the recipients' servers, as {}", config.hostname.name),
        DeliveryConfig::Relay(relay) => format!("{mode}: through {relay}"),
    }
}
