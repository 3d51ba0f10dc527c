//! Log lines, on standard error.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::EnvFilter;

use super::failure::Failure;
use crate::config::{Config, LogFormat};

/// What the parts below say only when something is wrong, unless the filter asks for more.
const QUIET: &str = "salvo_core=warn,hickory_resolver=warn,hickory_net=warn";

/// Starts logging for a server.
///
/// # Errors
/// When the filter is none.
pub(super) fn for_server(config: &Config) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(format!("{QUIET},{}", config.log_filter)).map_err(|error| {
        Failure::usage(format!(
            "--log {} is no filter ({error}); write a level, as in info, or parts with levels, \
             as in info,ringmail::delivery=debug",
            config.log_filter
        ))
    })?;
    let lines = tracing_subscriber::fmt().with_writer(stderr).with_env_filter(filter);
    match config.log_format {
        LogFormat::Text => lines.with_ansi(is_colourful()).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}

/// Starts logging for a verb that asks and ends: what goes wrong, and nothing else.
pub(super) fn for_verbs() {
    tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_env_filter(EnvFilter::new("warn"))
        .with_ansi(is_colourful())
        .without_time()
        .init();
}

/// A terminal gets colours unless NO_COLOR says otherwise.
fn is_colourful() -> bool {
    stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
