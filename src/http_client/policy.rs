//! What an instance allows, and how long it waits.

use std::time::Duration;

use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::dns::Guard;

/// What an instance allows of customers' URLs. The default is what a public server needs.
#[derive(Clone, Debug, Default)]
pub struct UrlPolicy {
    /// Which addresses may be dialled.
    pub guard: Guard,
    /// Development: `http://` URLs, `localhost`, names without a dot and the hosts file count. The guard is told
    /// separately what it may dial.
    pub plain_http: bool,
    /// Certificates in DER that are trusted beside the roots inside the binary: an operator's own authority.
    pub extra_roots: Vec<CertificateDer<'static>>,
}

/// How long each part of a request may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// TCP, over all addresses of a host together.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// From the first byte sent to the last byte read.
    pub answer: Duration,
    /// Everything, the name lookup and a second connection included.
    pub overall: Duration,
    /// How long an unused connection may wait for the next request. Many servers close theirs after a minute.
    pub idle: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(5), tls: seconds(5), answer: seconds(10), overall: seconds(15), idle: seconds(30) }
    }
}
