//! Passwords: the rule for new ones, and their hashes (argon2id, RFC 9106).

use std::sync::LazyLock;

use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::base::random;

/// Minimum length of a password, in characters.
pub const PASSWORD_CHARS_MIN: usize = 12;
/// Maximum length of a password, in bytes.
pub const PASSWORD_BYTES_MAX: usize = 256;
/// Minimum number of different characters of a password.
const DIFFERENT_CHARS_MIN: usize = 5;

/// Memory of one hash in KiB, and its passes: the minimum that OWASP recommends for argon2id with one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// Reason to refuse a new password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordRefusal {
    #[error("The password needs at least {PASSWORD_CHARS_MIN} characters. A sentence is fine.")]
    Short,
    #[error("The password can have at most {PASSWORD_BYTES_MAX} bytes.")]
    Long,
    /// It has few different characters, or it is the address of the user.
    #[error("The password is easy to guess. Use several words.")]
    Guessable,
}

/// A password that a user typed. `Debug` prints a placeholder, and there is no `Serialize`.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// Wraps the text of a sign-in form. A text that is too long for a password is cut, so that it matches none.
    pub fn typed(text: &str) -> Self {
        // The longest character has four bytes, so that the rest is longer than any password.
        let end = text.floor_char_boundary(PASSWORD_BYTES_MAX + 4);
        Self(text[..end].to_owned())
    }

    /// Checks a new password of the user with the address `email`.
    ///
    /// # Errors
    /// [`PasswordRefusal`]. Its text is a sentence for the user.
    pub fn new(text: &str, email: &str) -> Result<Self, PasswordRefusal> {
        if text.len() > PASSWORD_BYTES_MAX {
            return Err(PasswordRefusal::Long);
        }
        if text.chars().count() < PASSWORD_CHARS_MIN {
            return Err(PasswordRefusal::Short);
        }
        let mut different: Vec<char> = text.chars().collect();
        different.sort_unstable();
        different.dedup();
        if different.len() < DIFFERENT_CHARS_MIN || text.trim().eq_ignore_ascii_case(email.trim()) {
            return Err(PasswordRefusal::Guessable);
        }
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(hidden)")
    }
}

/// Hash of a password with its parameters, so that stronger parameters do not invalidate earlier hashes.
#[derive(Clone, Serialize, Deserialize)]
pub struct PasswordHash {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    #[serde(with = "serde_bytes")]
    salt: [u8; SALT_BYTES],
    #[serde(with = "serde_bytes")]
    hash: [u8; HASH_BYTES],
}

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash(hidden)")
    }
}

impl PasswordHash {
    /// Hashes a password with a new salt. Takes some ten milliseconds and [`MEMORY_KIB`].
    pub(super) fn of(password: &Password) -> Self {
        let salt: [u8; SALT_BYTES] = random::bytes();
        let hash = compute(password, &salt, (MEMORY_KIB, PASSES, LANES)).expect("the parameters are valid");
        Self { memory_kib: MEMORY_KIB, passes: PASSES, lanes: LANES, salt, hash }
    }

    /// Returns whether the hash is that of a password. Takes as long as [`PasswordHash::of`].
    pub(super) fn matches(&self, password: &Password) -> bool {
        let Self { memory_kib, passes, lanes, salt, hash } = self;
        // Corrupt parameters match no password.
        compute(password, salt, (*memory_kib, *passes, *lanes)).is_some_and(|computed| computed.ct_eq(hash).into())
    }

    /// Returns a hash that no user has. A sign-in of an unknown user compares with it, so that its response takes as
    /// long as that of a known one.
    pub(super) fn of_unknown_user() -> &'static Self {
        static HASH: LazyLock<PasswordHash> =
            LazyLock::new(|| PasswordHash::of(&Password(random::token::<SALT_BYTES>())));
        &HASH
    }
}

fn compute(
    Password(password): &Password,
    salt: &[u8],
    (memory_kib, passes, lanes): (u32, u32, u32),
) -> Option<[u8; HASH_BYTES]> {
    let parameters = Params::new(memory_kib, passes, lanes, Some(HASH_BYTES)).ok()?;
    let mut hash = [0; HASH_BYTES];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
        .hash_password_into(password.as_bytes(), salt, &mut hash)
        .ok()?;
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_password_is_long_enough_and_not_guessable() {
        let email = "ada@example.com";
        let long = "long password ".repeat(19);
        for (text, expected) in [
            ("correct horse", Ok(())),
            ("zwölf Zeichen", Ok(())),
            ("eleven char", Err(PasswordRefusal::Short)),
            ("", Err(PasswordRefusal::Short)),
            ("aaaaaaaaaaaaaaaa", Err(PasswordRefusal::Guessable)),
            ("ADA@example.com ", Err(PasswordRefusal::Guessable)),
            (long.as_str(), Err(PasswordRefusal::Long)),
        ] {
            assert_eq!(Password::new(text, email).map(drop), expected, "{text}");
        }
    }

    #[test]
    fn a_hash_matches_only_its_password_and_has_its_own_salt() {
        let password = Password::typed("correct horse battery");
        let hash = PasswordHash::of(&password);

        assert!(hash.matches(&password));
        assert!(!hash.matches(&Password::typed("correct horse batterY")));
        assert!(!hash.matches(&Password::typed("")));
        assert_ne!(PasswordHash::of(&password).hash, hash.hash);
        assert!(!PasswordHash::of_unknown_user().matches(&password));
    }

    #[test]
    fn a_hash_with_corrupt_parameters_matches_nothing() {
        let password = Password::typed("correct horse battery");
        let hash = PasswordHash { memory_kib: 0, ..PasswordHash::of(&password) };

        assert!(!hash.matches(&password));
    }

    #[test]
    fn a_typed_text_that_is_too_long_is_cut_to_no_valid_password() {
        let longest = "é".repeat(PASSWORD_BYTES_MAX / 2);
        let longer = format!("{longest}éx");

        assert_ne!(Password::typed(&longest).0, Password::typed(&longer).0);
        assert!(Password::typed(&"x".repeat(10_000)).0.len() > PASSWORD_BYTES_MAX);
    }

    /// RFC 9106 has vectors with a secret and associated data only, which a server without a pepper does not use. This
    /// value is that of the reference implementation: `echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1 -l 32`.
    #[test]
    fn the_hash_is_that_of_the_reference_implementation() {
        let hash = compute(&Password::typed("password"), b"somesalt", (1 << 16, 2, 1)).unwrap();

        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7");
    }
}
