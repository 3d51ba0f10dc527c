//! Failure of a verb: one sentence on standard error, and an exit code.

use std::process::ExitCode;

use crate::admin::{AdminClientError, AdminErrorKind};
use crate::config::{ConfigError, UnknownVariable};

/// Exit code. The numbers are a public contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    /// The verb failed.
    Failed = 1,
    /// The command line or a setting is invalid.
    Usage = 2,
    /// A named thing does not exist.
    NotFound = 3,
    /// The verb conflicts with existing data.
    Conflict = 4,
    /// No server is reachable.
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

    /// Prints the sentence and returns the exit code.
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

impl From<UnknownVariable> for Failure {
    fn from(error: UnknownVariable) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<AdminClientError> for Failure {
    fn from(error: AdminClientError) -> Self {
        let exit = match &error {
            AdminClientError::NoStore(_) => Exit::NotFound,
            AdminClientError::Open(_) | AdminClientError::Unreadable { .. } | AdminClientError::Unexpected(_) => {
                Exit::Failed
            }
            AdminClientError::Unreachable { .. } => Exit::Unreachable,
            AdminClientError::Refused(error) => match error.reason {
                AdminErrorKind::Invalid => Exit::Usage,
                AdminErrorKind::NotFound => Exit::NotFound,
                AdminErrorKind::Conflict => Exit::Conflict,
                AdminErrorKind::Failed => Exit::Failed,
            },
        };
        Self::new(exit, error.to_string())
    }
}
