//! The state that all sessions share.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::{ClientConfig, Error as RustlsError, RootCertStore};

use super::policy::{HttpTimeouts, UrlPolicy};
use super::session::HttpSession;
use super::url::CustomerUrl;
use crate::dns::Resolver;

/// HTTP client for customer URLs. Creates the sessions. A clone shares the state.
#[derive(Clone)]
pub struct HttpClient {
    pub(super) inner: Arc<ClientInner>,
}

pub(super) struct ClientInner {
    pub(super) resolver: Resolver,
    pub(super) policy: UrlPolicy,
    pub(super) timeouts: HttpTimeouts,
    pub(super) tls: Arc<ClientConfig>,
}

impl HttpClient {
    /// Returns a client that trusts the root certificates in the binary and those of `policy`.
    ///
    /// # Errors
    ///
    /// Returns an error if a root of the policy is not a certificate.
    pub fn new(resolver: Resolver, policy: UrlPolicy, timeouts: HttpTimeouts) -> Result<Self, RustlsError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for certificate in &policy.extra_roots {
            roots.add(certificate.clone())?;
        }
        // An explicit provider does not depend on a process default, so the order of start-up does not matter.
        let mut tls = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider supports TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // RFC 7301: without `h2`, a server that supports HTTP/2 selects HTTP/1.1.
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { inner: Arc::new(ClientInner { resolver, policy, timeouts, tls: Arc::new(tls) }) })
    }

    /// Returns the policy for parsing the URLs of this client.
    pub fn policy(&self) -> &UrlPolicy {
        &self.inner.policy
    }

    /// Returns a session for one URL. The session connects at its first request.
    pub fn session(&self, url: CustomerUrl) -> HttpSession {
        HttpSession::new(self.clone(), url)
    }
}
