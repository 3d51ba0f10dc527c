//! How a verb fails: one sentence on standard error, and an exit code.

use std::process::ExitCode;

use crate::admin::response::AdminError;
use crate::admin::{AdminClientError, AdminErrorKind};
use crate::config::ConfigError;

/// What went wrong, as scripts see it. The numbers are a public contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    /// It could not be done.
    Failed = 1,
    /// The command line or a setting is not in order.
    Usage = 2,
    /// What it names is not there.
    NotFound = 3,
    /// It conflicts with what is there.
    Conflict = 4,
    /// The server cannot be reached.
    Unreachable = 5,
}

/// A failed verb.
#[derive(Debug)]
pub(super) struct Failure {
    exit: Exit,
    sentence: String,
}

impl Failure {
    pub(super) fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { exit, sentence: sentence.into() }
    }

    pub(super) fn failed(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Failed, sentence)
    }

    pub(super) fn usage(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Usage, sentence)
    }

    /// Says what went wrong and returns the exit code.
    pub(super) fn report(self) -> ExitCode {
        eprintln!("ringmail: {}", self.sentence);
        ExitCode::from(self.exit as u8)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<AdminError> for Failure {
    fn from(refusal: AdminError) -> Self {
        let AdminError { reason, message } = refusal;
        let exit = match reason {
            AdminErrorKind::Invalid => Exit::Usage,
            AdminErrorKind::NotFound => Exit::NotFound,
            AdminErrorKind::Conflict => Exit::Conflict,
            AdminErrorKind::Failed => Exit::Failed,
        };
        Self::new(exit, message)
    }
}

impl From<AdminClientError> for Failure {
    fn from(error: AdminClientError) -> Self {
        let exit = match error {
            AdminClientError::NoStore(_) => Exit::NotFound,
            AdminClientError::Open(_) | AdminClientError::Unreadable { .. } => Exit::Failed,
            AdminClientError::Unreachable { .. } => Exit::Unreachable,
        };
        Self::new(exit, error.to_string())
    }
}
