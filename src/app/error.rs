//! Errors that prevent the start of an instance or stop it.

use std::net::{IpAddr, SocketAddr};

use crate::dns::DnsError;
use crate::store::{OpenError, StoreError};
use crate::workers::WorkerError;

/// Error that prevents the start of an instance.
#[derive(Debug)]
pub enum StartError {
    /// The store cannot be opened.
    Store(OpenError),
    /// A listen address cannot be bound.
    Listen {
        address: SocketAddr,
        /// Flag that sets the address.
        flag: &'static str,
        error: std::io::Error,
    },
    /// A source address cannot be used.
    Source { address: IpAddr, error: std::io::Error },
    /// The DNS resolver cannot be set up.
    Resolver(DnsError),
    /// The UNIX socket of the command line cannot be created.
    AdminSocket(std::io::Error),
    /// The trusted certificates of webhooks are invalid.
    Tls(tokio_rustls::rustls::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Listen { address, flag, error } if error.kind() == std::io::ErrorKind::AddrInUse => {
                write!(f, "{address} is in use by another program; choose another address with {flag}")
            }
            Self::Listen { address, flag, error } if error.kind() == std::io::ErrorKind::PermissionDenied => {
                write!(
                    f,
                    "this user may not listen on {address}; choose a port from 1024 with {flag}, run `setcap \
                     cap_net_bind_service=+ep` on the binary, or lower `net.ipv4.ip_unprivileged_port_start` with sysctl"
                )
            }
            Self::Listen { address, flag, error } => {
                write!(f, "cannot listen on {address} ({error}); choose another address with {flag}")
            }
            Self::Source { address, error } => {
                write!(f, "cannot send from {address} ({error}); --source must be an address of this machine")
            }
            Self::Resolver(error) => {
                write!(f, "cannot set up DNS lookups ({error}); name a DNS server with --resolver")
            }
            Self::Tls(error) => {
                write!(f, "cannot use the trusted certificates of webhooks ({error}); check --webhook-ca-file")
            }
            Self::AdminSocket(error) => {
                write!(f, "cannot create the socket of the command line ({error}); choose another --data-dir")
            }
        }
    }
}

impl std::error::Error for StartError {}

impl From<OpenError> for StartError {
    fn from(error: OpenError) -> Self {
        Self::Store(error)
    }
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.into())
    }
}

/// Error that stops a running instance.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A worker keeps failing.
    #[error("{0}")]
    Worker(WorkerError),
    /// The store failed. It accepts no command until it is opened again.
    #[error("the store failed ({0}); check the disk of the data directory, then start again")]
    Store(StoreError),
}
