//! Recovery codes: each replaces one code of the authenticator app. The store keeps only their hashes.

use sha2::{Digest as _, Sha256};

use super::base32;
use crate::base::id::UserId;
use crate::base::random;

/// Codes of one user.
pub const RECOVERY_CODES: usize = 10;
/// Random bytes of a code, which are 16 characters.
const RANDOM_BYTES: usize = 10;

/// Returns new codes for display, in groups of four characters.
pub(super) fn draw() -> Vec<String> {
    let code = || {
        let text = base32::encode(&random::bytes::<RANDOM_BYTES>()).to_ascii_lowercase();
        format!("{}-{}-{}-{}", &text[..4], &text[4..8], &text[8..12], &text[12..])
    };
    (0..RECOVERY_CODES).map(|_| code()).collect()
}

/// Returns the stored hash of a code. Ignores case, spaces and hyphens. A code has 80 random bits, so that a slow hash
/// is not needed.
pub(super) fn hash(user: UserId, code: &str) -> [u8; 32] {
    let significant = code.chars().filter(char::is_ascii_alphanumeric).map(|character| character.to_ascii_lowercase());
    let significant: String = significant.take(64).collect();
    Sha256::new().chain_update(user.as_bytes()).chain_update(significant.as_bytes()).finalize().into()
}

/// Returns whether a text has the form of a recovery code, so that it is not a code of an app.
pub(super) fn is_code(text: &str) -> bool {
    text.chars().filter(char::is_ascii_alphanumeric).count() == RANDOM_BYTES * 8 / 5
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;

    #[test]
    fn codes_differ_and_have_four_groups() {
        let codes = draw();

        assert_eq!(codes.len(), RECOVERY_CODES);
        for (at, code) in codes.iter().enumerate() {
            assert!(is_code(code) && code.len() == 19 && code.split('-').all(|group| group.len() == 4), "{code}");
            assert!(!codes[..at].contains(code));
        }
        assert!(!is_code("123456"));
    }

    #[test]
    fn a_code_has_one_hash_in_every_spelling_and_another_for_another_user() {
        let code = "abcd-ef23-4567-mnop";

        assert_eq!(hash(Id::MIN, code), hash(Id::MIN, " ABCD EF23 4567 MNOP "));
        assert_ne!(hash(Id::MIN, code), hash(Id::MAX, code));
        assert_ne!(hash(Id::MIN, code), hash(Id::MIN, "abcd-ef23-4567-mnoq"));
    }
}
