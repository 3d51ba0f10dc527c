//! Errors of adding and changing a domain.

use super::model::NAME_CHARS_MIN;
use crate::base::address::DomainName;
use crate::mime::dkim::KeyError;
use crate::store::{StoreError, from_store_error};

/// Reason why a domain cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum CreateDomainError {
    /// The team already has a domain with this name.
    #[error("the domain {0} has been registered already")]
    Taken(DomainName),
    #[error("a domain has at least {NAME_CHARS_MIN} characters")]
    NameTooShort,
    #[error("{0}")]
    Rule(DomainRule),
    #[error("the region is not one of {}", .0.join(", "))]
    Region(Vec<String>),
    /// The generation of the DKIM keys failed.
    #[error("no key could be made: {0}")]
    Keys(KeyError),
    #[error("{0}")]
    Store(StoreError),
}

/// Reason why a domain cannot be changed.
#[derive(Debug)]
pub enum UpdateDomainError {
    /// The team has no domain with this id.
    NotFound,
    Rule(DomainRule),
    Store(StoreError),
}

/// Rules that apply to every new or changed domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomainRule {
    /// The name of a record would exceed 253 characters.
    #[error("the name leaves no room for the names of its records")]
    NameTooLong,
    #[error("the return path and the tracking host would have the same name")]
    SameLabel,
    #[error("tracking needs a public address that recipients can reach")]
    TrackingUnreachable,
}

from_store_error!(CreateDomainError);

impl From<DomainRule> for CreateDomainError {
    fn from(rule: DomainRule) -> Self {
        Self::Rule(rule)
    }
}

from_store_error!(UpdateDomainError);

impl From<DomainRule> for UpdateDomainError {
    fn from(rule: DomainRule) -> Self {
        Self::Rule(rule)
    }
}
