//! Log lines on standard error.

use std::io::stderr;

use tracing_subscriber::EnvFilter;

use super::failure::Failure;
use super::terminal::is_colourful;
use crate::config::{Config, LogFormat};

/// Log levels of dependencies, unless the filter sets others.
const QUIET: &str = "salvo_core=warn,hickory_resolver=warn,hickory_net=warn";

/// Starts logging of a server.
///
/// # Errors
/// Fails if the filter is invalid.
pub(super) fn for_server(config: &Config) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(format!("{QUIET},{}", config.log_filter)).map_err(|error| {
        Failure::usage(format!(
            "--log {} is not a filter ({error}); use a level, such as info, or levels of modules, \
             such as info,ringmail::delivery=debug",
            config.log_filter
        ))
    })?;
    let lines = tracing_subscriber::fmt().with_writer(stderr).with_env_filter(filter);
    // The report of a failed write to standard error is a write to standard error, which would panic.
    let lines = lines.log_internal_errors(false);
    match config.log_format {
        LogFormat::Text => lines.with_ansi(is_colourful(&stderr())).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}

/// Starts logging of a client verb: warnings and errors only.
pub(super) fn for_verbs() {
    tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_env_filter(EnvFilter::new("warn"))
        .with_ansi(is_colourful(&stderr()))
        .without_time()
        .init();
}
