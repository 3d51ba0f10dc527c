//! Errors of lookups and of creating a resolver.

use std::fmt;

/// Reason why a lookup returned no records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// The name does not exist, for any record type (NXDOMAIN).
    NoSuchName,
    /// The name exists, but has no record of this type.
    NoRecords,
    /// No response, or an unusable one. The name may exist.
    Temporary(String),
}

/// Reason why a resolver could not be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsError {
    /// The DNS configuration of the system cannot be read.
    SystemConfig(String),
    /// The list of servers is empty.
    NoServers,
    /// The DNS library refused the configuration.
    Setup(String),
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchName => f.write_str("no such name"),
            Self::NoRecords => f.write_str("no such record"),
            Self::Temporary(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for LookupError {}

impl fmt::Display for DnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SystemConfig(reason) => {
                write!(f, "the system's DNS configuration cannot be read: {reason}")
            }
            Self::NoServers => f.write_str("no DNS server is configured"),
            Self::Setup(reason) => write!(f, "the DNS client cannot be set up: {reason}"),
        }
    }
}

impl std::error::Error for DnsError {}
