//! The errors of a request.

use std::fmt;
use std::io;

use tokio_rustls::rustls::{CertificateError, Error as RustlsError};

use crate::dns::{BlockedAddress, LookupError};

/// The reason that a request has no response. `Display` returns a lowercase fragment that the customer sees. The
/// fragment contains no text of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The guard permits no address of the host. Contains the reason for the first address. No connection was opened.
    Blocked(BlockedAddress),
    /// The lookup failed or returned no address.
    Dns(LookupError),
    /// No address accepted the connection. Contains the error of the last address.
    Connect(io::ErrorKind),
    /// The TLS handshake failed.
    Tls(TlsFailure),
    /// A phase exceeded its time limit or that of the whole request.
    Timeout(RequestPhase),
    /// The connection was closed before the head of the response was complete.
    Reset,
    /// The response is not valid HTTP/1.1.
    Protocol,
    /// The head of the response, or the interim responses before it, exceeded a byte limit.
    HeadersTooLarge,
    /// A header field of the caller is not valid. Nothing was sent.
    InvalidHeader,
}

/// The phase of a request that exceeded its time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPhase {
    Dns,
    Connect,
    Tls,
    /// From the first byte sent to the end of the head of the response.
    Response,
}

/// The reason that a TLS handshake failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFailure {
    /// The certificate is for other names.
    WrongHost,
    /// No trusted root issued the certificate.
    UnknownIssuer,
    /// The certificate has expired or is not valid yet.
    OutOfDate,
    /// Another defect of the certificate.
    BadCertificate,
    /// A failure that does not concern the server's certificate, such as no common protocol version.
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

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked(reason) => write!(f, "the host has a {reason}, and no request is sent to it"),
            Self::Dns(error) => write!(f, "the host's address could not be looked up: {error}"),
            Self::Connect(kind) => write!(f, "no connection could be made: {kind}"),
            Self::Tls(failure) => write!(f, "no secure connection could be made: {failure}"),
            Self::Timeout(RequestPhase::Dns) => f.write_str("looking up the host's address took too long"),
            Self::Timeout(RequestPhase::Connect) => f.write_str("making the connection took too long"),
            Self::Timeout(RequestPhase::Tls) => f.write_str("making the connection secure took too long"),
            Self::Timeout(RequestPhase::Response) => f.write_str("the response took too long"),
            Self::Reset => f.write_str("the connection was closed before a response had come"),
            Self::Protocol => f.write_str("the response is not valid HTTP/1.1"),
            Self::HeadersTooLarge => f.write_str("the header of the response was too large"),
            Self::InvalidHeader => f.write_str("the request has a header field that cannot be sent"),
        }
    }
}

impl std::error::Error for RequestError {}

impl fmt::Display for TlsFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongHost => "the certificate is not for this host",
            Self::UnknownIssuer => "the certificate is from an issuer that is not trusted",
            Self::OutOfDate => "the certificate has expired or is not valid yet",
            Self::BadCertificate => "the certificate cannot be trusted",
            Self::Handshake => "the TLS handshake failed",
        })
    }
}
