//! Signing keys and their DNS records.

use std::fmt;

use aws_lc_rs::digest::Digest;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 6376 §3.3.1, with a key of 2048 bits or more (RFC 8301 §3.2).
    RsaSha256,
    /// RFC 8463.
    Ed25519Sha256,
}

impl Algorithm {
    /// Returns the value of the `a=` tag.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::RsaSha256 => "rsa-sha256",
            Self::Ed25519Sha256 => "ed25519-sha256",
        }
    }
}

/// Error of an operation on a signing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The bytes are not a PKCS#8 private key of the algorithm, or the key is too weak.
    #[error("private key is not usable with its algorithm")]
    Rejected,
    #[error("cryptographic operation failed")]
    Unavailable,
}

/// A private key that signs messages.
///
/// Only [`SigningKey::to_pkcs8`] exports it, for sealed storage. `Debug` does not print it.
pub struct SigningKey(KeyPair);

enum KeyPair {
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, [secret])", self.algorithm().tag())
    }
}

impl SigningKey {
    /// Generates an RSA key of 2048 bits, or an Ed25519 key.
    ///
    /// An RSA key needs 50 ms to one second of CPU time: call this function on a blocking thread.
    ///
    /// # Errors
    /// Returns [`KeyError::Unavailable`].
    pub fn generate(algorithm: Algorithm) -> Result<Self, KeyError> {
        let pair = match algorithm {
            Algorithm::RsaSha256 => RsaKeyPair::generate(KeySize::Rsa2048).map(KeyPair::Rsa),
            Algorithm::Ed25519Sha256 => Ed25519KeyPair::generate().map(KeyPair::Ed25519),
        };
        pair.map(Self).map_err(|_| KeyError::Unavailable)
    }

    /// Parses an unencrypted PKCS#8 private key. The library validates the key, which for RSA takes about as long as a
    /// signature.
    ///
    /// # Errors
    /// Returns [`KeyError::Rejected`], also for an RSA key of fewer than 2048 bits.
    pub fn from_pkcs8(algorithm: Algorithm, pkcs8: &[u8]) -> Result<Self, KeyError> {
        let pair = match algorithm {
            Algorithm::RsaSha256 => RsaKeyPair::from_pkcs8(pkcs8).map(KeyPair::Rsa),
            Algorithm::Ed25519Sha256 => Ed25519KeyPair::from_pkcs8(pkcs8).map(KeyPair::Ed25519),
        };
        pair.map(Self).map_err(|_| KeyError::Rejected)
    }

    /// Returns the private key as unencrypted PKCS#8 version 1. The caller must seal it.
    ///
    /// # Errors
    /// Returns [`KeyError::Unavailable`].
    pub fn to_pkcs8(&self) -> Result<Vec<u8>, KeyError> {
        let der: Result<Pkcs8V1Der<'_>, _> = match &self.0 {
            KeyPair::Rsa(pair) => pair.as_der(),
            KeyPair::Ed25519(pair) => pair.as_der(),
        };
        der.map(|der| der.as_ref().to_vec()).map_err(|_| KeyError::Unavailable)
    }

    pub fn algorithm(&self) -> Algorithm {
        match &self.0 {
            KeyPair::Rsa(_) => Algorithm::RsaSha256,
            KeyPair::Ed25519(_) => Algorithm::Ed25519Sha256,
        }
    }

    /// Returns the text of the TXT record at `<selector>._domainkey.<domain>`.
    ///
    /// An RSA record is longer than the 255 octets of one TXT string. A zone file needs it split into strings.
    pub fn public_record(&self) -> String {
        let (kind, public) = match &self.0 {
            KeyPair::Rsa(pair) => {
                // RFC 6376 appendix C publishes the SubjectPublicKeyInfo.
                let der: PublicKeyX509Der<'_> =
                    pair.public_key().as_der().expect("every RSA key pair has a public key");
                ("rsa", STANDARD.encode(der.as_ref()))
            }
            // RFC 8463 §4.2: the 32 octets of the key, without a SubjectPublicKeyInfo.
            KeyPair::Ed25519(pair) => ("ed25519", STANDARD.encode(pair.public_key().as_ref())),
        };
        format!("v=DKIM1; k={kind}; p={public}")
    }

    /// Signs a SHA-256 digest of the canonical header fields.
    pub(super) fn sign_digest(&self, digest: &Digest) -> Result<Vec<u8>, KeyError> {
        match &self.0 {
            KeyPair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign_digest(&RSA_PKCS1_SHA256, digest, &mut signature).map_err(|_| KeyError::Unavailable)?;
                Ok(signature)
            }
            // RFC 8463 §3: PureEdDSA signs the digest, not the header fields.
            KeyPair::Ed25519(pair) => pair
                .try_sign(digest.as_ref())
                .map(|signature| signature.as_ref().to_vec())
                .map_err(|_| KeyError::Unavailable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_parses_from_its_pkcs8_form_and_debug_does_not_print_it() {
        for (algorithm, begins, record_bytes) in [
            (Algorithm::RsaSha256, "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A", 410),
            (Algorithm::Ed25519Sha256, "v=DKIM1; k=ed25519; p=", 66),
        ] {
            let key = SigningKey::generate(algorithm).unwrap();
            let pkcs8 = key.to_pkcs8().unwrap();
            let again = SigningKey::from_pkcs8(algorithm, &pkcs8).unwrap();

            let record = key.public_record();
            assert_eq!(again.public_record(), record);
            assert_eq!(again.algorithm(), algorithm);
            assert!(record.starts_with(begins), "{record}");
            assert_eq!(record.len(), record_bytes);
            assert_eq!(format!("{key:?}"), format!("SigningKey({}, [secret])", algorithm.tag()));
        }
    }

    #[test]
    fn a_key_of_another_algorithm_is_rejected() {
        let ed25519 = SigningKey::generate(Algorithm::Ed25519Sha256).unwrap().to_pkcs8().unwrap();
        for (algorithm, pkcs8) in [
            (Algorithm::RsaSha256, ed25519.as_slice()),
            (Algorithm::Ed25519Sha256, &ed25519[..40]),
            (Algorithm::Ed25519Sha256, b""),
        ] {
            assert_eq!(SigningKey::from_pkcs8(algorithm, pkcs8).err(), Some(KeyError::Rejected));
        }
    }
}
