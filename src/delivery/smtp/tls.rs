//! TLS policies, and the client configurations that implement them.

use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ProtocolVersion, RootCertStore, SignatureScheme,
};

use super::rules::is_under;
use crate::base::address::DomainName;

/// TLS policy of a connection. The caller chooses it for each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TlsPolicy {
    /// Clear text, even if STARTTLS is offered. For hosts with broken STARTTLS, and for loopback.
    Never,
    /// STARTTLS if it is offered, with TLS 1.2 or later and any certificate (RFC 7435). On
    /// [`SessionError::TlsFailed`](super::SessionError::TlsFailed) the caller decides whether to connect again in
    /// clear text.
    Opportunistic,
    /// STARTTLS, or no session. With [`Verification::WebPki`], the enforce mode of MTA-STS.
    Required { verify: Verification },
    /// TLS from the first byte (RFC 8314 §3.3), as on port 465 of a smarthost.
    Implicit { verify: Verification },
}

/// Names of hosts and recipient domains that get no email in clear text. A name includes its subdomains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequiredTls(pub Vec<DomainName>);

impl RequiredTls {
    /// Returns the TLS policy for a host that receives the email of a domain. Both names are in lower case.
    pub fn policy(&self, domain: &str, host: &str) -> TlsPolicy {
        let is_required = |name: &DomainName| is_under(domain, name.as_str()) || is_under(host, name.as_str());
        if self.0.iter().any(is_required) {
            // Only a policy of the domain, such as MTA-STS, names the right certificate.
            TlsPolicy::Required { verify: Verification::Nothing }
        } else {
            TlsPolicy::Opportunistic
        }
    }
}

/// Verification of the server certificate. A later variant for DANE would contain the TLSA records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verification {
    /// Any certificate is accepted. The connection is encrypted, the server is not authenticated.
    Nothing,
    /// A chain to a public root, valid for [`Endpoint::host`](super::Endpoint::host).
    WebPki,
}

/// Parameters of a completed handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// Name of the cipher suite as rustls prints it, such as `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// Whether the certificate was verified.
    pub verified: bool,
}

impl TlsFacts {
    pub(super) fn of(connection: &ClientConnection, verification: Verification) -> Self {
        Self {
            version: match connection.protocol_version() {
                Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
                Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
                _ => "unknown",
            },
            cipher: connection
                .negotiated_cipher_suite()
                .map(|suite| format!("{:?}", suite.suite()))
                .unwrap_or_default(),
            verified: verification == Verification::WebPki,
        }
    }
}

/// The client configurations, shared by all sessions.
///
/// There are two, so that a session ticket of an unverified handshake never resumes a verified session.
#[derive(Clone, Debug)]
pub struct TlsConfigs {
    unverified: Arc<ClientConfig>,
    verified: Arc<ClientConfig>,
}

impl TlsConfigs {
    /// Returns both configurations with the root certificates in the binary.
    pub fn new() -> Self {
        Self::with_extra_roots([]).expect("no extra root can be malformed")
    }

    /// Returns both configurations with the root certificates in the binary and these in DER.
    ///
    /// # Errors
    ///
    /// The error of rustls if one of them is not a certificate.
    pub fn with_extra_roots(extra: impl IntoIterator<Item = CertificateDer<'static>>) -> Result<Self, Error> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for certificate in extra {
            roots.add(certificate)?;
        }
        // Names the provider instead of using the process default, so that the order of initialization is irrelevant.
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = || {
            ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .expect("the provider supports TLS 1.2 and 1.3")
        };
        let verified = builder().with_root_certificates(roots).with_no_client_auth();
        let unverified = builder()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate { provider: Arc::clone(&provider) }))
            .with_no_client_auth();
        Ok(Self { unverified: Arc::new(unverified), verified: Arc::new(verified) })
    }

    pub(super) fn of(&self, verification: Verification) -> Arc<ClientConfig> {
        Arc::clone(match verification {
            Verification::Nothing => &self.unverified,
            Verification::WebPki => &self.verified,
        })
    }
}

impl Default for TlsConfigs {
    fn default() -> Self {
        Self::new()
    }
}

/// Verifier that accepts every certificate.
///
/// Opportunistic TLS protects only against passive attackers. Many receiving hosts have self-signed, expired or
/// mismatched certificates. A rejection would send the same mail in clear text.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_required_for_a_listed_host_or_recipient_domain_with_its_subdomains() {
        let names = ["google.com", "bank.example"].map(|name| DomainName::parse(name).unwrap());
        let required = RequiredTls(names.to_vec());
        for (domain, host, is_required) in [
            ("shop.example", "aspmx.l.google.com", true),
            ("shop.example", "google.com", true),
            ("shop.example", "notgoogle.com", false),
            ("bank.example", "mx.shop.example", true),
            ("mail.bank.example", "mx.shop.example", true),
            ("other-bank.example", "mx.shop.example", false),
        ] {
            let policy = required.policy(domain, host);
            let expected = TlsPolicy::Required { verify: Verification::Nothing };
            assert_eq!(policy, if is_required { expected } else { TlsPolicy::Opportunistic }, "{domain} {host}");
        }
        assert_eq!(RequiredTls::default().policy("google.com", "google.com"), TlsPolicy::Opportunistic);
    }
}
