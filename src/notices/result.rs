//! The result of a notice, as text for the log.

use std::fmt;

use crate::base::address::{AddressError, DomainName};
use crate::emails::{KeyConflict, SendError};
use crate::store::{StoreError, from_store_error};

/// Reason why the owners could not be notified.
#[derive(Debug)]
pub(super) enum NotifyError {
    /// No team has verified the domain of the sender.
    NoDomain(DomainName),
    /// The row is corrupt.
    Row(StoreError),
    /// The stored address of an owner is invalid.
    Owner(AddressError),
    /// An email was not accepted.
    Send(SendError),
    Store(StoreError),
}

impl NotifyError {
    /// Returns whether the store is closed. The process is stopping, and the notice is retried after the next start.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Store(StoreError::Closed) | Self::Send(SendError::Store(StoreError::Closed)))
    }
}

impl fmt::Display for NotifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDomain(domain) => write!(
                f,
                "no team has verified {domain}, the domain of --system-from; add it with `ringmail domain add \
                 {domain}` and publish its records, or name a sender of another domain"
            ),
            Self::Row(error) => write!(f, "its row is corrupt: {error}"),
            Self::Owner(error) => write!(f, "the address of an owner is invalid: {error}"),
            Self::Send(SendError::Store(error)) | Self::Store(error) => error.fmt(f),
            Self::Send(SendError::Key(KeyConflict::Running)) => f.write_str("another attempt is sending it"),
            Self::Send(error) => write!(f, "an email was not accepted: {error:?}"),
        }
    }
}

from_store_error!(NotifyError);

/// Result of a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotifyResult {
    /// The notice is only in the log, because no sender is set.
    NoSender,
    /// Number of owners who were sent an email, and of owners who are suppressed.
    Owners { notified: usize, suppressed: usize },
}

impl fmt::Display for NotifyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSender => f.write_str("to notify owners by email, set a sender with --system-from"),
            Self::Owners { notified: 0, suppressed: 0 } => {
                f.write_str("the team has no owner to notify; add one with `ringmail user create`")
            }
            Self::Owners { notified, suppressed: 0 } => write!(f, "notified {notified} owners by email"),
            Self::Owners { notified, suppressed } => {
                write!(f, "notified {notified} owners by email, skipped {suppressed} suppressed owners")
            }
        }
    }
}
