//! Random secrets of links and sessions. The store keeps only their hashes.

use sha2::{Digest as _, Sha256};

use crate::base::random;

/// Random bytes of a secret.
const RANDOM_BYTES: usize = 32;
/// Length of a secret: the base64 of its bytes without padding.
const SECRET_CHARS: usize = 43;

/// Secret of a one-time link. `Debug` prints a placeholder, and there is no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkSecret(String);

impl LinkSecret {
    /// Returns a new secret.
    pub(super) fn draw() -> Self {
        Self(random::token::<RANDOM_BYTES>())
    }

    /// Parses a secret; `None` if the text does not have the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (text.len() == SECRET_CHARS && text.bytes().all(is_allowed)).then(|| Self(text.to_owned()))
    }

    /// Returns the secret, for the link.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the SHA-256 of the secret, which is stored. The secret has 256 random bits, so that its hash needs no
    /// salt.
    pub(super) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

impl std::fmt::Debug for LinkSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LinkSecret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_secret_parses_and_is_not_printed() {
        let secret = LinkSecret::draw();

        assert_eq!(LinkSecret::parse(secret.reveal()), Some(secret.clone()));
        assert!(!format!("{secret:?}").contains(secret.reveal()));
        assert_ne!(LinkSecret::draw(), secret);
    }

    #[test]
    fn other_texts_are_not_secrets() {
        for text in ["", "short", &"a".repeat(42), &"a".repeat(44), &"é".repeat(22), &format!("{}.", "a".repeat(42))] {
            assert_eq!(LinkSecret::parse(text), None, "{text}");
        }
    }
}
