//! How a verb fails: one sentence on standard error, and an exit code.

use std::process::ExitCode;

use crate::admin::response::Refusal;
use crate::admin::{DoorError, Reason};
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

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let Refusal { reason, message } = refusal;
        let exit = match reason {
            Reason::Invalid => Exit::Usage,
            Reason::NotFound => Exit::NotFound,
            Reason::Conflict => Exit::Conflict,
            Reason::Failed => Exit::Failed,
        };
        Self::new(exit, message)
    }
}

impl From<DoorError> for Failure {
    fn from(error: DoorError) -> Self {
        let exit = match error {
            DoorError::NoStore(_) => Exit::NotFound,
            DoorError::Open(_) | DoorError::Unreadable { .. } => Exit::Failed,
            DoorError::Unreachable { .. } => Exit::Unreachable,
        };
        Self::new(exit, error.to_string())
    }
}
