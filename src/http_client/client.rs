//! What all sessions share.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::{ClientConfig, Error as RustlsError, RootCertStore};

use super::policy::{HttpTimeouts, UrlPolicy};
use super::session::HttpSession;
use super::url::CustomerUrl;
use crate::dns::Resolver;

/// Makes sessions. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    pub(super) inner: Arc<ClientInner>,
}

pub(super) struct ClientInner {
    pub(super) resolver: Resolver,
    pub(super) policy: UrlPolicy,
    pub(super) timings: HttpTimeouts,
    pub(super) tls: Arc<ClientConfig>,
}

impl Client {
    /// Makes a client that trusts the roots inside the binary and those of `policy`.
    ///
    /// # Errors
    ///
    /// When one of the policy's roots is not a certificate.
    pub fn new(resolver: Resolver, policy: UrlPolicy, timings: HttpTimeouts) -> Result<Self, RustlsError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for certificate in &policy.extra_roots {
            roots.add(certificate.clone())?;
        }
        // The provider is named, not taken from the process, so that no order of start-up matters.
        let mut tls = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider supports TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // RFC 7301: a server that would rather speak HTTP/2 learns that we do not.
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { inner: Arc::new(ClientInner { resolver, policy, timings, tls: Arc::new(tls) }) })
    }

    /// Returns the policy under which the URLs of this client are parsed.
    pub fn policy(&self) -> &UrlPolicy {
        &self.inner.policy
    }

    /// Returns a session for one URL. Nothing is dialled before its first request.
    pub fn session(&self, url: CustomerUrl) -> HttpSession {
        HttpSession::new(self.clone(), url)
    }
}
