//! The setting of the log format.

use clap::ValueEnum;

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text lines.
    Text,
    /// One JSON object per line.
    Json,
}
