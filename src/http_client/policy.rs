//! The URLs that an instance allows, and the time limits of a request.

use std::time::Duration;

use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::dns::Guard;

/// Rules of an instance for customer URLs. The default is for a public server.
#[derive(Clone, Debug, Default)]
pub struct UrlPolicy {
    /// The check of each address before a connection.
    pub guard: Guard,
    /// Whether `http://` URLs are accepted.
    pub plain_http: bool,
    /// Whether `localhost`, names without a dot and names of the hosts file are accepted. For development. Does not
    /// change `guard`.
    pub local_names: bool,
    /// Trusted root certificates in DER, in addition to those in the binary. For an operator's own authority.
    pub extra_roots: Vec<CertificateDer<'static>>,
}

/// Time limits of a request, and of an idle connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// The TCP connection, for all addresses of a host together.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// From the first byte sent to the last byte read.
    pub response: Duration,
    /// The whole request, including the lookup and a second connection.
    pub overall: Duration,
    /// Time after which an idle connection is closed. Many servers close theirs after a minute.
    pub idle: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(5), tls: seconds(5), response: seconds(10), overall: seconds(15), idle: seconds(30) }
    }
}
