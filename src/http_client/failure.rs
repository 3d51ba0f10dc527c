//! The errors of a request.

use std::io;

use tokio_rustls::rustls::{CertificateError, Error as RustlsError};

use crate::dns::{BlockedAddress, LookupError};

/// The reason that a request has no response. `Display` returns a lowercase fragment that the customer sees. The
/// fragment contains no text of the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The guard permits no address of the host. Contains the reason for the first address. No connection was opened.
    #[error("the host has a {0}, and no request is sent to it")]
    Blocked(BlockedAddress),
    /// The lookup failed or returned no address.
    #[error("the host's address could not be looked up: {0}")]
    Dns(LookupError),
    /// No address accepted the connection. Contains the error of the last address.
    #[error("no connection could be made: {0}")]
    Connect(io::ErrorKind),
    #[error("no secure connection could be made: {0}")]
    Tls(TlsFailure),
    /// A phase exceeded its time limit or that of the whole request.
    #[error("{0}")]
    Timeout(RequestPhase),
    /// The connection was closed before the head of the response was complete.
    #[error("the connection was closed before a response had come")]
    Reset,
    #[error("the response is not valid HTTP/1.1")]
    Protocol,
    /// The head of the response, or the interim responses before it, exceeded a byte limit.
    #[error("the header of the response was too large")]
    HeadersTooLarge,
    /// A header field of the caller is not valid. Nothing was sent.
    #[error("the request has a header field that cannot be sent")]
    InvalidHeader,
}

/// The phase of a request that exceeded its time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestPhase {
    #[error("looking up the host's address took too long")]
    Dns,
    #[error("making the connection took too long")]
    Connect,
    #[error("making the connection secure took too long")]
    Tls,
    /// From the first byte sent to the end of the head of the response.
    #[error("the response took too long")]
    Response,
}

/// The reason that a TLS handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsFailure {
    #[error("the certificate is not for this host")]
    WrongHost,
    #[error("the certificate is from an issuer that is not trusted")]
    UnknownIssuer,
    #[error("the certificate has expired or is not valid yet")]
    OutOfDate,
    /// Another defect of the certificate.
    #[error("the certificate cannot be trusted")]
    BadCertificate,
    /// A failure that does not concern the server's certificate, such as no common protocol version.
    #[error("the TLS handshake failed")]
    Handshake,
}

impl TlsFailure {
    /// Classifies an error of the handshake.
    pub(super) fn of(error: &io::Error) -> Self {
        let Some(RustlsError::InvalidCertificate(error)) = rustls_error(error) else {
            return Self::Handshake;
        };
        match error {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Self::WrongHost,
            CertificateError::UnknownIssuer => Self::UnknownIssuer,
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Self::OutOfDate,
            _ => Self::BadCertificate,
        }
    }
}

/// Returns the error of rustls inside an I/O error.
fn rustls_error(error: &io::Error) -> Option<&RustlsError> {
    error.get_ref()?.downcast_ref()
}

impl RequestError {
    /// Classifies an error of an exchange. `is_spent`: whether the byte budget of the response is spent.
    pub(super) fn of(error: &hyper::Error, is_spent: bool) -> Self {
        if is_spent || error.is_parse_too_large() {
            return Self::HeadersTooLarge;
        }
        // In TLS 1.3 the client completes the handshake first. A rejection by the server appears in the first read.
        let io_error = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
        if io_error.and_then(rustls_error).is_some() {
            return Self::Tls(TlsFailure::Handshake);
        }
        if error.is_parse() { Self::Protocol } else { Self::Reset }
    }
}
