//! `ringmail serve`: runs the server.

use clap::Args;

use super::failure::Failure;
use super::output::Output;
use super::server;
use crate::config::{Config, DeliveryConfig, InstanceVerb, QueueConfig, Settings};

#[derive(Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    settings: Settings,
}

/// Runs the server until SIGINT or SIGTERM.
///
/// # Errors
/// Fails if a setting is invalid or the server cannot start.
pub(super) fn run(args: ServeArgs, output: Output) -> Result<(), Failure> {
    server::run(args.settings.into_config(InstanceVerb::Serve)?, output)
}

/// Returns the delivery mode with an explanation.
pub(super) fn delivery_line(config: &Config) -> String {
    let mode = config.delivery.as_str();
    if config.queue == QueueConfig::Hold {
        return format!("{mode}, on hold: emails are accepted and stay queued until a start without --hold");
    }
    let line = match &config.delivery {
        DeliveryConfig::Capture => format!(
            "{mode}: emails are stored in the built-in mailbox and not delivered (see --delivery direct and relay)"
        ),
        DeliveryConfig::Direct => format!("{mode}: to the MX hosts of the recipients, as {}", config.hostname.name),
        DeliveryConfig::Relay(relay) => format!("{mode}: through {relay}"),
    };
    let routes = match config.routes.rules.len() {
        0 => String::new(),
        routes => format!("; {routes} --route for other recipients"),
    };
    let only = if config.routes.deliver_only.is_empty() { "" } else { "; only to the recipients of --deliver-only" };
    format!("{line}{routes}{only}")
}
