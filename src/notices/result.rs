//! What became of a notice, in words for the log.

use std::fmt;

use crate::base::address::{AddressError, DomainName};
use crate::emails::{KeyConflict, SendError};
use crate::store::StoreError;

/// Why a notice could not be told.
#[derive(Debug)]
pub(super) enum NotifyError {
    /// No team has the sender's domain verified.
    NoDomain(DomainName),
    /// The row does not read.
    Row(StoreError),
    /// An owner's address does not read.
    Owner(AddressError),
    /// An email was refused.
    Send(SendError),
    /// The store failed.
    Store(StoreError),
}

impl NotifyError {
    /// Returns whether the store has been closed: the process ends, and the next start tries again.
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
            Self::Row(error) => write!(f, "its row does not read: {error}"),
            Self::Owner(error) => write!(f, "an owner's address does not read: {error}"),
            Self::Send(SendError::Store(error)) | Self::Store(error) => error.fmt(f),
            Self::Send(SendError::Key(KeyConflict::Running)) => f.write_str("it is being sent"),
            Self::Send(error) => write!(f, "an email was refused: {error:?}"),
        }
    }
}

impl From<StoreError> for NotifyError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What became of a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotifyResult {
    /// The log alone has it: no sender is set.
    NoSender,
    /// So many owners have been written to; as many were passed over.
    Owners { told: usize, suppressed: usize },
}

impl fmt::Display for NotifyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSender => f.write_str("owners are told by email once --system-from names a sender"),
            Self::Owners { told: 0, suppressed: 0 } => {
                f.write_str("no owner was told, because the team has none: add one with `ringmail user create`")
            }
            Self::Owners { told, suppressed: 0 } => write!(f, "owners told by email: {told}"),
            Self::Owners { told, suppressed: passed_over } => {
                write!(f, "owners told by email: {told}; passed over as suppressed: {passed_over}")
            }
        }
    }
}
