//! Errors of adding and changing a domain.

use std::fmt;

use super::model::NAME_CHARS_MIN;
use crate::base::address::DomainName;
use crate::mime::dkim::KeyError;
use crate::store::{StoreError, from_store_error};

/// Reason why a domain cannot be added.
#[derive(Debug)]
pub enum CreateDomainError {
    /// The team already has a domain with this name.
    Taken(DomainName),
    /// The name is shorter than [`NAME_CHARS_MIN`].
    NameTooShort,
    Rule(DomainRule),
    /// The region is not offered. Contains the offered regions.
    Region(Vec<String>),
    /// The generation of the DKIM keys failed.
    Keys(KeyError),
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainRule {
    /// The name of a record would exceed 253 characters.
    NameTooLong,
    /// The return path and the tracking host would have the same name.
    SameLabel,
    /// Tracking requires a public address that recipients can reach.
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
