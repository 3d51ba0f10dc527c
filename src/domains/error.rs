//! Why a domain cannot be added or changed.

use std::fmt;

use super::model::NAME_CHARS_MIN;
use crate::base::address::DomainName;
use crate::mime::dkim::KeyError;
use crate::store::StoreError;

/// Why a domain cannot be added.
#[derive(Debug)]
pub enum CreateDomainError {
    /// The team has a domain of that name.
    Taken(DomainName),
    /// The name is shorter than a domain can be.
    NameTooShort,
    /// The fields break a rule.
    Rule(DomainRule),
    /// The region is not offered; these are.
    Region(Vec<String>),
    /// No key could be made.
    Keys(KeyError),
    /// The store failed.
    Store(StoreError),
}

/// Why a domain cannot be changed.
#[derive(Debug)]
pub enum UpdateDomainError {
    /// The team has no domain of that id.
    NotFound,
    /// The fields break a rule.
    Rule(DomainRule),
    /// The store failed.
    Store(StoreError),
}

/// The rules that a domain keeps through every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainRule {
    /// A record's name would be longer than a name can be.
    NameTooLong,
    /// The return path and the tracking host would be one name.
    SameLabel,
    /// Tracking cannot work while recipients cannot reach the public address.
    TrackingUnreachable,
}

impl fmt::Display for DomainRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NameTooLong => "the name leaves no room for the names of its records",
            Self::SameLabel => "the return path and the tracking host would have the same name",
            Self::TrackingUnreachable => "tracking needs a public address that recipients can reach",
        })
    }
}

impl fmt::Display for CreateDomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(name) => write!(f, "the domain {name} has been registered already"),
            Self::NameTooShort => write!(f, "a domain has at least {NAME_CHARS_MIN} characters"),
            Self::Rule(rule) => rule.fmt(f),
            Self::Region(offered) => write!(f, "the region is not one of {}", offered.join(", ")),
            Self::Keys(error) => write!(f, "no key could be made: {error}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl From<StoreError> for CreateDomainError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DomainRule> for CreateDomainError {
    fn from(rule: DomainRule) -> Self {
        Self::Rule(rule)
    }
}

impl From<StoreError> for UpdateDomainError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DomainRule> for UpdateDomainError {
    fn from(rule: DomainRule) -> Self {
        Self::Rule(rule)
    }
}
