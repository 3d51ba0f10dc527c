//! The command line: one file for each verb or noun.
//!
//! `serve` and `dev` run the server (`server.rs`), and `dev` prints its events (`event_lines.rs`). The other
//! verbs send requests to a running server, or to the store itself if no server runs (`store_args.rs`,
//! `store_directory.rs`). They print the response (`output.rs`) and their progress (`progress.rs`), or write
//! files that only their owner can read (`private_file.rs`). Each failure becomes an exit code and a sentence
//! (`failure.rs`).
//!
//! - Verbs: `serve.rs`, `dev.rs`, `ready.rs`, `doctor.rs`, `send.rs`, `tail.rs`, `trace.rs`, `import.rs`, `export.rs`,
//!   `audit.rs`, `compact.rs`, `openapi.rs`, `setup_link.rs`.
//! - Nouns with verbs: `broadcast.rs`, `captured.rs`, `domain.rs` with its records in `dns_records.rs`, `email.rs`,
//!   `inbox.rs`, `key.rs`, `log.rs`, `queue/`, `suppression.rs`, `team.rs`, `theme.rs`, `user.rs`, `webhook.rs`.
//! - `logging.rs` sets up the log of the program, `terminal.rs` the colours.
//!
//! Invariants:
//! - Standard output has only data. Messages go to standard error.
//! - `--json` prints one JSON value; `tail` prints one a line.
//! - A verb refuses variables with the prefix `RINGMAIL_` that no setting has.
//! - The exit codes of [`failure::Exit`] are a public contract.
//! - No verb reads input from the terminal, except `import` from standard input and the question of `queue drop`.

mod audit;
mod broadcast;
mod captured;
mod compact;
mod dev;
mod dns_records;
mod doctor;
mod domain;
mod email;
mod event_lines;
mod export;
mod failure;
mod import;
mod inbox;
mod key;
mod log;
mod logging;
mod openapi;
mod output;
mod private_file;
mod progress;
mod queue;
mod ready;
mod send;
mod serve;
mod server;
mod setup_link;
mod store_args;
mod store_directory;
mod suppression;
mod tail;
mod team;
mod terminal;
mod theme;
mod trace;
mod user;
mod webhook;

use std::future::Future;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::admin::broadcasts::BroadcastVerb;
use crate::admin::captured::{CapturedVerb, InboxVerb};
use crate::admin::domains::DomainVerb;
use crate::admin::emails::EmailVerb;
use crate::admin::keys::KeyVerb;
use crate::admin::logs::LogVerb;
use crate::admin::queue::QueueVerb;
use crate::admin::suppressions::SuppressionVerb;
use crate::admin::teams::TeamVerb;
use crate::admin::themes::ThemeVerb;
use crate::admin::users::UserVerb;
use crate::admin::webhooks::WebhookVerb;
use crate::config;
use failure::Failure;
use output::Output;
use store_args::{StoreVerbArgs, TeamVerbArgs};

/// An email API with its delivery, in one program and one file.
#[derive(Parser)]
#[command(name = "ringmail", version, arg_required_else_help = true, after_help = EXIT_CODES)]
struct CommandLine {
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 conflict, 5 server unreachable.";

#[derive(Subcommand)]
enum Verb {
    /// Run the server.
    Serve(serve::ServeArgs),
    /// Run a server for development and tests: it captures emails and creates a key and domains.
    Dev(dev::DevArgs),
    /// Send a test email and wait for its outcome.
    Send(send::SendArgs),
    /// Show the events of a team as they happen.
    Tail(tail::TailArgs),
    /// Check whether a server is ready, or wait until it is.
    Ready(ready::ReadyArgs),
    /// Check the network, the DNS and this machine, and say what to do.
    Doctor(doctor::DoctorArgs),
    /// Print a link to set up the first account of the dashboard, or to open that of a development server.
    SetupLink(setup_link::SetupLinkArgs),
    /// API keys.
    Key(TeamVerbArgs<KeyVerb>),
    /// Teams.
    Team(StoreVerbArgs<TeamVerb>),
    /// Users of the dashboard and their roles.
    User(TeamVerbArgs<UserVerb>),
    /// Sending domains and their DNS records.
    Domain(TeamVerbArgs<DomainVerb>),
    /// Webhook endpoints.
    Webhook(TeamVerbArgs<WebhookVerb>),
    /// Emails and their timelines.
    Email(TeamVerbArgs<EmailVerb>),
    /// Broadcasts, their check, and their progress.
    Broadcast(TeamVerbArgs<BroadcastVerb>),
    /// Messages in the built-in mailbox.
    Captured(StoreVerbArgs<CapturedVerb>),
    /// Captured mail, for tests of programs that send email.
    Inbox(StoreVerbArgs<InboxVerb>),
    /// The emails of all teams that wait for delivery.
    Queue(StoreVerbArgs<QueueVerb>),
    /// Show the timeline of an email with its SMTP attempts and their transcripts.
    Trace(trace::TraceArgs),
    /// Addresses that the team does not send to.
    Suppression(TeamVerbArgs<SuppressionVerb>),
    /// Requests to the API.
    Log(TeamVerbArgs<LogVerb>),
    /// Show the administrative actions of users, API keys and the command line, newest first.
    Audit(audit::AuditArgs),
    /// Import contacts.
    Import(TeamVerbArgs<import::ImportVerb>),
    /// Export contacts.
    Export(TeamVerbArgs<export::ExportVerb>),
    /// Theme of a team's preference page.
    Theme(TeamVerbArgs<ThemeVerb>),
    /// Give unused space of the store back to the file system, while no server runs.
    Compact(compact::CompactArgs),
    /// Print the OpenAPI description of the API.
    Openapi,
}

/// Runs the verb of the command line and returns its exit code.
pub fn main() -> ExitCode {
    let CommandLine { json, verb } = match command_line() {
        Ok(line) => line,
        Err(failure) => return failure.report(),
    };
    let output = if json { Output::Json } else { Output::Text };
    // All TLS connections of the process use this provider.
    if tokio_rustls::rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        unreachable!("no other code installs a TLS provider before this line");
    }
    match run(verb, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Parses the command line. Ends the program for a wrong command line, `--help` and `--version`.
///
/// # Errors
/// If the environment has a variable with the prefix of the settings that no setting has.
fn command_line() -> Result<CommandLine, Failure> {
    let mut command = config::without_empty_variables(CommandLine::command());
    let matches = command.get_matches_mut();
    config::check_variables(&CommandLine::command(), std::env::vars_os())?;
    Ok(CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit()))
}

fn run(verb: Verb, output: Output) -> Result<(), Failure> {
    match verb {
        Verb::Serve(args) => serve::run(args, output),
        Verb::Dev(args) => dev::run(args, output),
        Verb::Send(args) => run_client(send::run(args, output)),
        Verb::Tail(args) => run_client(tail::run(args, output)),
        Verb::Ready(args) => run_client(ready::run(args, output)),
        Verb::Doctor(args) => run_client(doctor::run(args, output)),
        Verb::SetupLink(args) => run_client(setup_link::run(args, output)),
        Verb::Key(verb) => run_client(key::run(verb, output)),
        Verb::Team(verb) => run_client(team::run(verb, output)),
        Verb::User(verb) => run_client(user::run(verb, output)),
        Verb::Domain(verb) => run_client(domain::run(verb, output)),
        Verb::Webhook(verb) => run_client(webhook::run(verb, output)),
        Verb::Email(verb) => run_client(email::run(verb, output)),
        Verb::Broadcast(verb) => run_client(broadcast::run(verb, output)),
        Verb::Captured(verb) => run_client(captured::run(verb, output)),
        Verb::Inbox(verb) => run_client(inbox::run(verb, output)),
        Verb::Queue(verb) => run_client(queue::run(verb, output)),
        Verb::Trace(args) => run_client(trace::run(args, output)),
        Verb::Suppression(verb) => run_client(suppression::run(verb, output)),
        Verb::Log(verb) => run_client(log::run(verb, output)),
        Verb::Audit(args) => run_client(audit::run(args, output)),
        Verb::Import(verb) => run_client(import::run(verb, output)),
        Verb::Export(verb) => run_client(export::run(verb, output)),
        Verb::Theme(verb) => run_client(theme::run(verb, output)),
        Verb::Compact(args) => run_client(compact::run(args, output)),
        Verb::Openapi => openapi::run(),
    }
}

/// Runs a client verb on one thread, beside the threads for blocking work.
fn run_client(verb: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    logging::for_verbs();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("could not start the runtime: {error}")))?;
    let result = runtime.block_on(verb);
    // A blocking read of a silent pipe may never end: the runtime must not wait for it.
    runtime.shutdown_background();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    /// The only variable without the prefix. The name comes from the API specification.
    const UNPREFIXED: &str = "WEBHOOK_DELIVERY_RETENTION_DAYS";

    #[test]
    fn every_setting_has_a_variable_and_a_description() {
        let line = CommandLine::command();
        for verb in ["serve", "dev"] {
            let verb = line.find_subcommand(verb).unwrap();
            for argument in verb.get_arguments().filter(|argument| argument.get_long() != Some("json")) {
                let name = argument.get_id();
                let variable = argument.get_env().map(|variable| variable.to_string_lossy());

                let is_named = |variable: &str| variable.starts_with("RINGMAIL_") || variable == UNPREFIXED;
                assert!(variable.as_deref().is_some_and(is_named), "{name} has no variable");
                assert!(argument.get_help().is_some(), "{name} has no description");
            }
        }
    }
}
