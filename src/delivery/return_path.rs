//! The return path: where bounces come back, naming the email and proving that we wrote it.
//!
//! `b+<id>.<mac>@<return-path host>`: the id is email and recipient group, the MAC keeps forged
//! bounces out. The host is below the sender's domain, so that SPF aligns under DMARC (RFC 7489
//! §3.1.2).

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::id::EmailId;
use crate::store::Keyring;

/// RFC 4648 §6 in lower case: local parts meet software that folds case.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const MAC_BYTES: usize = 5;

/// Writes return paths.
#[derive(Clone)]
pub(super) struct ReturnPaths {
    mac: Hmac<Sha256>,
}

impl ReturnPaths {
    /// Returns a writer whose MACs are made with the instance's keys.
    pub(super) fn new(keyring: &Keyring) -> Self {
        let key = keyring.derive(b"return path");
        Self { mac: Hmac::new_from_slice(&key).expect("HMAC takes a key of any length") }
    }

    /// Returns the return path of a recipient group.
    pub(super) fn address(&self, email: EmailId, group: u16, host: &str) -> String {
        let mut name = [0; 18];
        name[..16].copy_from_slice(email.as_bytes());
        name[16..].copy_from_slice(&group.to_be_bytes());
        let tag = self.mac.clone().chain_update(name).finalize().into_bytes();
        format!("b+{}.{}@{host}", base32(&name), base32(&tag[..MAC_BYTES]))
    }
}

fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    let (mut buffer, mut bits) = (0_u32, 0);
    for byte in bytes {
        buffer = buffer << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(ALPHABET[(buffer >> bits & 31) as usize]));
        }
    }
    if bits > 0 {
        text.push(char::from(ALPHABET[(buffer << (5 - bits) & 31) as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    #[test]
    fn base32_is_that_of_the_standard() {
        // RFC 4648 §10, in lower case and without padding.
        for (bytes, text) in [("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foobar", "mzxw6ytboi")] {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_local_part_fits_and_differs_by_group() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ReturnPaths::new(&Keyring::open(&directory.path().join("master.key")).unwrap());

        let first = paths.address(Id::MIN, 0, "send.example.com");
        let second = paths.address(Id::MIN, 1, "send.example.com");

        // RFC 5321 §4.5.3.1.1: a local part has at most 64 octets.
        assert!(first.split('@').next().unwrap().len() <= 64);
        assert_ne!(first, second);
        assert_eq!(first, paths.address(Id::MIN, 0, "send.example.com"));
    }
}
