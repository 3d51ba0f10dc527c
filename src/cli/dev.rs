//! `ringmail dev`: a server for development and tests.

use clap::Args;
use serde::Serialize;

use super::failure::Failure;
use super::output::Output;
use super::server::{self, Menu, Ready};
use crate::config::{Config, DeliveryConfig, DevSettings, Purpose, QueueConfig, Settings, local_url};

/// The domain of the example where no domain was asked for.
const EXAMPLE_DOMAIN: &str = "example.com";

/// The email of the call to try, in the order people write it.
#[derive(Serialize)]
struct Example {
    from: String,
    to: String,
    subject: &'static str,
    html: &'static str,
}

#[derive(Args)]
pub(super) struct DevArgs {
    #[command(flatten)]
    dev: DevSettings,

    #[command(flatten)]
    settings: Settings,
}

/// Runs the server until it is told to stop.
///
/// # Errors
/// When a setting is not in order or the server cannot start.
pub(super) fn run(args: DevArgs, output: Output) -> Result<(), Failure> {
    let DevArgs { dev, settings } = args;
    server::run(settings.into_config(Purpose::Dev(dev.into()))?, output, menu)
}

fn menu(config: &Config, ready: Ready) -> Menu {
    let api = local_url(ready.address);
    let (key, domain) = match ready.dev {
        Some(dev) => (Some(dev.token.reveal().to_owned()), dev.domain),
        None => (None, None),
    };
    let key_line = key.clone().unwrap_or_default();
    let domain = domain.unwrap_or_else(|| EXAMPLE_DOMAIN.to_owned());
    let email = Example {
        from: format!("hello@{domain}"),
        to: format!("you@{domain}"),
        subject: "Hello",
        html: "<p>It works.</p>",
    };
    let email = serde_json::to_string(&email).expect("four texts are JSON");
    let try_line = format!(
        "curl {api}/emails -H 'Authorization: Bearer {key_line}' -H 'Content-Type: application/json' -d '{email}'"
    );
    Menu {
        words: words(config).to_owned(),
        dashboard: format!("{api}/dashboard/"),
        api,
        delivery: config.delivery.as_str(),
        delivery_line: None,
        key,
        key_line,
        try_line: Some(try_line),
        file: ready.file,
    }
}

const fn words(config: &Config) -> &'static str {
    match (config.queue, &config.delivery) {
        (QueueConfig::Hold, _) => "For development: emails are accepted and wait in the queue.",
        (QueueConfig::Run, DeliveryConfig::Capture) => {
            "For development: emails are kept in the built-in mailbox, and nothing leaves this machine."
        }
        (QueueConfig::Run, DeliveryConfig::Direct | DeliveryConfig::Relay(_)) => {
            "For development: emails ARE DELIVERED."
        }
    }
}
