//! Errors of lookups and of creating a resolver.

/// Reason why a lookup returned no records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The name does not exist, for any record type (NXDOMAIN).
    #[error("no such name")]
    NoSuchName,
    /// The name exists, but has no record of this type.
    #[error("no such record")]
    NoRecords,
    /// No response, or an unusable one. The name may exist.
    #[error("{0}")]
    Temporary(String),
}

/// Reason why a resolver could not be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DnsError {
    #[error("the system's DNS configuration cannot be read: {0}")]
    SystemConfig(String),
    #[error("no DNS server is configured")]
    NoServers,
    /// The DNS library refused the configuration.
    #[error("the DNS client cannot be set up: {0}")]
    Setup(String),
}
