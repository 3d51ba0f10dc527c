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
    /// `batch_key` is the same key, if it was parsed and [`rsa_batch`] can sign with it.
    Rsa {
        pair: RsaKeyPair,
        batch_key: Option<Box<rsa_batch::Key>>,
    },
    Ed25519(Ed25519KeyPair),
}

/// Minimum number of RSA signatures that take less time together than one by one.
const BATCH_MIN: usize = 3;

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
            Algorithm::RsaSha256 => {
                RsaKeyPair::generate(KeySize::Rsa2048).map(|pair| KeyPair::Rsa { pair, batch_key: None })
            }
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
            Algorithm::RsaSha256 => RsaKeyPair::from_pkcs8(pkcs8).map(|pair| {
                let batch_key = rsa_batch::Key::from_pkcs8(pkcs8).map(Box::new);
                KeyPair::Rsa { pair, batch_key }
            }),
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
            KeyPair::Rsa { pair, .. } => pair.as_der(),
            KeyPair::Ed25519(pair) => pair.as_der(),
        };
        der.map(|der| der.as_ref().to_vec()).map_err(|_| KeyError::Unavailable)
    }

    pub fn algorithm(&self) -> Algorithm {
        match &self.0 {
            KeyPair::Rsa { .. } => Algorithm::RsaSha256,
            KeyPair::Ed25519(_) => Algorithm::Ed25519Sha256,
        }
    }

    /// Returns the text of the TXT record at `<selector>._domainkey.<domain>`.
    ///
    /// An RSA record is longer than the 255 octets of one TXT string. A zone file needs it split into strings.
    pub fn public_record(&self) -> String {
        let (kind, public) = match &self.0 {
            KeyPair::Rsa { pair, .. } => {
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

    /// Signs SHA-256 digests of canonical header fields, each with a key. Several RSA signatures take less time together.
    pub(super) fn sign_digests(requests: &[(&Self, Digest)]) -> Vec<Result<Vec<u8>, KeyError>> {
        let mut signatures = vec![None; requests.len()];
        let mut in_batches = Vec::with_capacity(requests.len());
        for (index, (key, digest)) in requests.iter().enumerate() {
            if let (KeyPair::Rsa { batch_key: Some(key), .. }, Ok(digest)) = (&key.0, digest.as_ref().try_into()) {
                in_batches.push((index, (&**key, digest)));
            }
        }
        for batch in in_batches.chunks(rsa_batch::BATCH_MAX).filter(|batch| batch.len() >= BATCH_MIN) {
            let digests: Vec<_> = batch.iter().map(|(_, request)| *request).collect();
            for ((index, _), signature) in batch.iter().zip(rsa_batch::sign(&digests)) {
                signatures[*index] = signature.map(|signature| signature.to_vec());
            }
        }
        let or_alone = |(signature, (key, digest)): (Option<Vec<u8>>, &(&Self, Digest))| {
            signature.map_or_else(|| key.sign_digest(digest), Ok)
        };
        signatures.into_iter().zip(requests).map(or_alone).collect()
    }

    /// Signs a SHA-256 digest of the canonical header fields.
    pub(super) fn sign_digest(&self, digest: &Digest) -> Result<Vec<u8>, KeyError> {
        match &self.0 {
            KeyPair::Rsa { pair, .. } => {
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

    fn digest(content: &[u8]) -> Digest {
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, content)
    }

    /// Returns a key as it is opened from the store.
    fn opened(algorithm: Algorithm) -> SigningKey {
        let pkcs8 = SigningKey::generate(algorithm).unwrap().to_pkcs8().unwrap();
        SigningKey::from_pkcs8(algorithm, &pkcs8).unwrap()
    }

    #[test]
    fn signatures_made_together_are_those_made_alone() {
        let algorithms = [Algorithm::RsaSha256, Algorithm::Ed25519Sha256, Algorithm::RsaSha256, Algorithm::RsaSha256];
        let keys = algorithms.map(opened);
        for count in 0..60 {
            let request = |number: usize| (&keys[number % 4], digest(&[count, number as u8]));
            let requests: Vec<_> = (0..usize::from(count)).map(request).collect();

            let together = SigningKey::sign_digests(&requests);

            let alone: Vec<_> = requests.iter().map(|(key, digest)| key.sign_digest(digest)).collect();
            assert_eq!(together, alone, "{count} signatures");
        }
    }

    /// One number of the private key is wrong, as after an error of the processor.
    #[test]
    fn a_wrong_signature_of_a_batch_is_not_used() {
        let pkcs8 = SigningKey::generate(Algorithm::RsaSha256).unwrap().to_pkcs8().unwrap();
        // The coefficient and the second exponent are the last integers, of about 130 bytes each.
        for from_end in [40, 170, 300] {
            let mut changed = pkcs8.clone();
            let index = changed.len() - from_end;
            changed[index] ^= 1;
            let keys = [&pkcs8, &changed, &pkcs8].map(|pkcs8| rsa_batch::Key::from_pkcs8(pkcs8));
            let requests: Vec<_> = keys.iter().flatten().map(|key| (key, [7; 32])).collect();

            let signatures = rsa_batch::sign(&requests);

            let is_signed: Vec<_> = signatures.iter().map(Option::is_some).collect();
            assert_eq!(is_signed, [true, false, true][..requests.len()], "{from_end} bytes before the end");
        }
    }

    #[test]
    fn a_key_for_batches_has_two_primes_of_1024_bits() {
        let accepts = |pkcs8: &[u8]| rsa_batch::Key::from_pkcs8(pkcs8).is_some();
        let longer = RsaKeyPair::generate(KeySize::Rsa3072).unwrap();
        let longer: Pkcs8V1Der<'_> = longer.as_der().unwrap();
        let ed25519 = SigningKey::generate(Algorithm::Ed25519Sha256).unwrap().to_pkcs8().unwrap();
        let rsa = SigningKey::generate(Algorithm::RsaSha256).unwrap().to_pkcs8().unwrap();

        assert_eq!(accepts(&rsa), rsa_batch::is_available());
        for other in [longer.as_ref(), &ed25519, b"", b"\x30\x80", b"\x30\x89"] {
            assert!(!accepts(other), "{other:02x?}");
        }
        for length in 0..rsa.len() {
            assert!(!accepts(&rsa[..length]), "the first {length} bytes");
        }
        for index in 0..rsa.len() {
            // Does not panic for any length of an element.
            let mut changed = rsa.clone();
            changed[index] = 0xff;
            accepts(&changed);
        }
    }
}
