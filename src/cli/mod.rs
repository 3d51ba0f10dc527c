//! The command line: one file per verb.
//!
//! `serve` and `dev` run the server (`server.rs`). The other verbs ask a running server, or the
//! store itself where none runs (`store_args.rs`), and print what they learn (`output.rs`) and how far they
//! have come (`progress.rs`), or write it to a file that is its owner's alone (`private_file.rs`). What
//! can go wrong ends in `failure.rs`.
//!
//! Invariants: standard output holds data alone, words go to standard error; `--json` prints one
//! JSON value; the exit codes of [`failure::Exit`] are a public contract; no verb ever asks
//! anything of the terminal.

mod dev;
mod domain;
mod export;
mod failure;
mod import;
mod key;
mod logging;
mod openapi;
mod output;
mod private_file;
mod progress;
mod ready;
mod send;
mod serve;
mod server;
mod store_args;
mod tail;
mod team;
mod theme;
mod user;
mod webhook;

use std::future::Future;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config;
use failure::Failure;
use output::Output;

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
    /// Run a server for development and tests: emails are captured, a key and domains are ready.
    Dev(dev::DevArgs),
    /// Send a test email and follow it.
    Send(send::SendArgs),
    /// Show a team's events as they happen.
    Tail(tail::TailArgs),
    /// Tell whether a server is ready, or wait until it is.
    Ready(ready::ReadyArgs),
    /// API keys.
    #[command(subcommand)]
    Key(key::KeyVerb),
    /// Teams.
    #[command(subcommand)]
    Team(team::TeamVerb),
    /// Users of the dashboard and their roles.
    #[command(subcommand)]
    User(user::UserVerb),
    /// Sending domains and their DNS records.
    #[command(subcommand)]
    Domain(domain::DomainVerb),
    /// Endpoints that events are posted to.
    #[command(subcommand)]
    Webhook(webhook::WebhookVerb),
    /// Import contacts.
    #[command(subcommand)]
    Import(import::ImportVerb),
    /// Export contacts.
    #[command(subcommand)]
    Export(export::ExportVerb),
    /// How a team's preference page looks.
    #[command(subcommand)]
    Theme(theme::ThemeVerb),
    /// Print the OpenAPI description of the API.
    Openapi,
}

/// Runs the verb that the command line names and returns its exit code.
pub fn main() -> ExitCode {
    let CommandLine { json, verb } = command_line();
    let output = if json { Output::Json } else { Output::Text };
    // Every TLS connection of the process uses the one provider.
    if tokio_rustls::rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        unreachable!("nothing has installed a TLS provider before the first line of the program");
    }
    match run(verb, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Reads the command line. What is not in order ends the program, as do `--help` and `--version`.
fn command_line() -> CommandLine {
    let mut command = config::without_empty_variables(CommandLine::command());
    let matches = command.get_matches_mut();
    CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

fn run(verb: Verb, output: Output) -> Result<(), Failure> {
    match verb {
        Verb::Serve(args) => serve::run(args, output),
        Verb::Dev(args) => dev::run(args, output),
        Verb::Send(args) => wait_for(send::run(args, output)),
        Verb::Tail(args) => wait_for(tail::run(args, output)),
        Verb::Ready(args) => wait_for(ready::run(args, output)),
        Verb::Key(verb) => wait_for(key::run(verb, output)),
        Verb::Team(verb) => wait_for(team::run(verb, output)),
        Verb::User(verb) => wait_for(user::run(verb, output)),
        Verb::Domain(verb) => wait_for(domain::run(verb, output)),
        Verb::Webhook(verb) => wait_for(webhook::run(verb, output)),
        Verb::Import(verb) => wait_for(import::run(verb, output)),
        Verb::Export(verb) => wait_for(export::run(verb, output)),
        Verb::Theme(verb) => wait_for(theme::run(verb, output)),
        Verb::Openapi => openapi::run(),
    }
}

/// Runs a verb that asks and ends. One thread does, beside those of blocking work.
fn wait_for(verb: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    logging::for_verbs();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("the runtime could not be started: {error}")))?;
    let ended = runtime.block_on(verb);
    // A pipe that is still being read may stay silent for ever.
    runtime.shutdown_background();
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    const NAMED_BY_THE_SPEC: &str = "WEBHOOK_DELIVERY_RETENTION_DAYS";

    #[test]
    fn every_setting_has_a_variable_and_a_description() {
        let line = CommandLine::command();
        for verb in ["serve", "dev"] {
            let verb = line.find_subcommand(verb).unwrap();
            for argument in verb.get_arguments().filter(|argument| argument.get_long() != Some("json")) {
                let name = argument.get_id();
                let variable = argument.get_env().map(|variable| variable.to_string_lossy());

                // One variable is the specification's own.
                let is_named = |variable: &str| variable.starts_with("RINGMAIL_") || variable == NAMED_BY_THE_SPEC;
                assert!(variable.as_deref().is_some_and(is_named), "{name} has no variable");
                assert!(argument.get_help().is_some(), "{name} has no description");
            }
        }
    }
}
