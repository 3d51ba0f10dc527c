//! `ringmail serve`: the server.

use clap::Args;

use super::failure::Failure;
use super::output::Output;
use super::server::{self, Menu, Ready};
use crate::config::{Config, Delivery, Purpose, Queue, Settings, local_url};

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
        words: delivery_words(config),
        dashboard: format!("{api}/dashboard/"),
        api,
        delivery: config.delivery.as_str(),
        key: None,
        key_line: "ringmail key create NAME".to_owned(),
        try_line: None,
        file: ready.file,
    }
}

fn delivery_words(config: &Config) -> String {
    if config.queue == Queue::Hold {
        return "Emails are accepted and wait: nothing is delivered until a start without --hold.".to_owned();
    }
    match &config.delivery {
        Delivery::Capture => "Capture mode: emails are kept in the built-in mailbox and not delivered. \
                              Choose --delivery direct or --delivery relay to deliver them."
            .to_owned(),
        Delivery::Direct => {
            format!("Emails are delivered to the recipients' servers, as {}.", config.hostname.name)
        }
        Delivery::Relay(relay) => format!("Emails are delivered through {relay}."),
    }
}
