//! Why a request brought no answer.

use std::fmt;
use std::io;

use tokio_rustls::rustls::{CertificateError, Error as RustlsError};

use crate::dns::{BlockedAddress, LookupError};

/// Why a request brought no answer. `Display` gives a fragment that is shown to the customer: none of it was written by
/// the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The name leads to addresses of this kind and to none that may be dialled. Nothing was sent to anybody.
    Refused(BlockedAddress),
    /// The name led to no address.
    Dns(LookupError),
    /// No address took the connection; the reason of the last one.
    Connect(io::ErrorKind),
    /// There is a connection and no secure one.
    Tls(TlsFailure),
    /// Somebody took too long.
    Timeout(RequestPhase),
    /// The connection was closed before the whole head of an answer had come.
    Reset,
    /// What came is no HTTP/1.1 answer.
    Protocol,
    /// The head of the answer, with the interim answers before it, is larger than a head may be.
    HeadersTooLarge,
    /// The caller's own header fields cannot be sent.
    InvalidHeader,
}

/// What was going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPhase {
    Dns,
    Connect,
    Tls,
    /// From the first byte sent to the head of the answer.
    Answer,
}

/// Why there was no secure connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFailure {
    /// The certificate is for other names.
    WrongHost,
    /// No root that is trusted here issued the certificate.
    UnknownIssuer,
    /// Expired, or not yet valid.
    OutOfDate,
    /// Anything else about the certificate.
    BadCertificate,
    /// The two sides did not come to terms.
    Handshake,
}

impl TlsFailure {
    /// Reads what went wrong from an error of the handshake.
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

/// Returns the TLS library's own error from inside an I/O error.
fn rustls_error(error: &io::Error) -> Option<&RustlsError> {
    error.get_ref()?.downcast_ref()
}

impl RequestError {
    /// Reads why an exchange broke. `is_spent` tells that the budget for its bytes ended first.
    pub(super) fn of(error: &hyper::Error, is_spent: bool) -> Self {
        if is_spent || error.is_parse_too_large() {
            return Self::HeadersTooLarge;
        }
        // In TLS 1.3 the client's handshake ends first: a server that refuses it shows in the first read.
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
            Self::Refused(refusal) => write!(f, "the host has a {refusal}, which is never dialled"),
            Self::Dns(error) => write!(f, "the host's address could not be looked up: {error}"),
            Self::Connect(kind) => write!(f, "no connection could be made: {kind}"),
            Self::Tls(failure) => write!(f, "no secure connection could be made: {failure}"),
            Self::Timeout(RequestPhase::Dns) => f.write_str("looking up the host's address took too long"),
            Self::Timeout(RequestPhase::Connect) => f.write_str("making the connection took too long"),
            Self::Timeout(RequestPhase::Tls) => f.write_str("making the connection secure took too long"),
            Self::Timeout(RequestPhase::Answer) => f.write_str("the answer took too long"),
            Self::Reset => f.write_str("the connection was closed before an answer had come"),
            Self::Protocol => f.write_str("what came back was no HTTP/1.1 answer"),
            Self::HeadersTooLarge => f.write_str("the header of the answer was too large"),
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
