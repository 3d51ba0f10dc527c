//! `ringmail dev`: runs a server for development and tests.

use clap::Args;
use serde::Serialize;

use super::failure::Failure;
use super::output::Output;
use super::server;
use crate::config::{Config, DevSettings, InstanceVerb, QueueConfig, Settings};

/// Domain of the example if the instance has no verified domain.
const EXAMPLE_DOMAIN: &str = "example.com";

#[derive(Args)]
pub(super) struct DevArgs {
    #[command(flatten)]
    dev: DevSettings,

    #[command(flatten)]
    settings: Settings,
}

/// Runs the server until SIGINT or SIGTERM.
///
/// # Errors
/// Fails if a setting is invalid or the server cannot start.
pub(super) fn run(args: DevArgs, output: Output) -> Result<(), Failure> {
    let DevArgs { dev, settings } = args;
    server::run(settings.into_config(InstanceVerb::Dev(dev.into()))?, output)
}

/// Returns one sentence about the treatment of emails.
pub(super) fn summary(config: &Config) -> &'static str {
    match (config.queue, config.delivers()) {
        (QueueConfig::Hold, _) => "For development: emails are accepted and stay in the queue.",
        (QueueConfig::Run, false) => {
            "For development: emails are stored in the built-in mailbox, and no email leaves this machine."
        }
        (QueueConfig::Run, true) if config.routes.deliver_only.is_empty() => "For development: emails ARE DELIVERED.",
        (QueueConfig::Run, true) => "For development: emails ARE DELIVERED to the recipients of --deliver-only.",
    }
}

/// Returns a shell command that sends an email.
pub(super) fn example_call(api: &str, key: &str, domain: Option<&str>) -> String {
    // A struct keeps the usual order of the fields.
    #[derive(Serialize)]
    struct Email {
        from: String,
        to: String,
        subject: &'static str,
        html: &'static str,
    }
    let domain = domain.unwrap_or(EXAMPLE_DOMAIN);
    let (from, to) = (format!("hello@{domain}"), format!("you@{domain}"));
    let email = Email { from, to, subject: "Hello", html: "<p>It works.</p>" };
    let email = serde_json::to_string(&email).expect("four texts are JSON");
    format!("curl {api}/emails -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{email}'")
}
