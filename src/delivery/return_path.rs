//! Return paths: envelope senders for bounces that contain the email id, the group and a MAC.
//!
//! Format: `b+<id>.<mac>@<return-path host>`. The id is the email id and the group in base32. The MAC
//! rejects forged bounces. The host is a subdomain of the sender's domain, so that SPF aligns under
//! DMARC (RFC 7489 §3.1.2).

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::base::id::EmailId;
use crate::store::Keyring;

/// Alphabet of RFC 4648 §6 in lower case. Base32, because some software changes the case of local
/// parts.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Bytes of the email id and the group.
const NAME_BYTES: usize = 18;
const MAC_BYTES: usize = 5;
const TAG: &str = "b+";

/// Creates and parses the return paths of this instance.
#[derive(Clone)]
pub(crate) struct ReturnPaths {
    mac: Hmac<Sha256>,
}

impl ReturnPaths {
    /// Returns an instance with a MAC key derived from the keyring.
    pub(crate) fn new(keyring: &Keyring) -> Self {
        let key = keyring.derive(b"return path");
        Self { mac: Hmac::new_from_slice(&key).expect("HMAC takes a key of any length") }
    }

    /// Returns the return path of a recipient group.
    pub(super) fn address(&self, email: EmailId, group: u16, host: &str) -> String {
        let mut name = [0; NAME_BYTES];
        name[..16].copy_from_slice(email.as_bytes());
        name[16..].copy_from_slice(&group.to_be_bytes());
        let tag = self.mac.clone().chain_update(name).finalize().into_bytes();
        format!("{TAG}{}.{}@{host}", base32(&name), base32(&tag[..MAC_BYTES]))
    }

    /// Returns the email and the recipient group of a return path, ignoring case; `None` if the
    /// address is not a return path of this instance.
    pub(crate) fn read(&self, address: &str) -> Option<(EmailId, u16)> {
        let (local, _host) = address.rsplit_once('@')?;
        let (tag, rest) = local.split_at_checked(TAG.len())?;
        if !tag.eq_ignore_ascii_case(TAG) {
            return None;
        }
        let (name, mac) = rest.split_once('.')?;
        let name: [u8; NAME_BYTES] = from_base32(name)?;
        let mac: [u8; MAC_BYTES] = from_base32(mac)?;
        // Compares in constant time.
        self.mac.clone().chain_update(name).verify_truncated_left(&mac).ok()?;
        let (id, group) = name.split_at(16);
        let id = EmailId::from_bytes(id.try_into().ok()?);
        Some((id, u16::from_be_bytes(group.try_into().ok()?)))
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

/// Decodes [`base32`], ignoring case. `None` if the padding bits of the last letter are not zero, so
/// that each value has only one encoding.
fn from_base32<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != (N * 8).div_ceil(5) {
        return None;
    }
    let mut bytes = [0; N];
    let mut next_byte = bytes.iter_mut();
    let (mut buffer, mut bits) = (0_u32, 0);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter.to_ascii_lowercase())?;
        buffer = (buffer << 5 | u32::try_from(value).ok()?) & 0x0fff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            *next_byte.next()? = (buffer >> bits & 0xff) as u8;
        }
    }
    (buffer & ((1 << bits) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::id::Id;

    fn paths() -> ReturnPaths {
        let directory = tempfile::tempdir().unwrap();
        ReturnPaths::new(&Keyring::open(&directory.path().join("master.key")).unwrap())
    }

    #[test]
    fn base32_matches_the_test_vectors_of_the_rfc() {
        // RFC 4648 §10, in lower case and without padding.
        for (bytes, text) in [("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foobar", "mzxw6ytboi")] {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_local_part_is_within_its_limit_and_differs_by_group() {
        let paths = paths();

        let first = paths.address(Id::MIN, 0, "send.example.com");
        let second = paths.address(Id::MIN, 1, "send.example.com");

        // RFC 5321 §4.5.3.1.1: a local part has at most 64 octets.
        assert!(first.split('@').next().unwrap().len() <= 64);
        assert_ne!(first, second);
        assert_eq!(first, paths.address(Id::MIN, 0, "send.example.com"));
    }

    #[test]
    fn only_return_paths_of_this_instance_are_accepted() {
        let (paths, other_paths) = (paths(), paths());
        let address = paths.address(Id::MAX, 7, "send.example.com");

        assert_eq!(paths.read(&address), Some((Id::MAX, 7)));
        assert_eq!(paths.read(&address.to_uppercase()), Some((Id::MAX, 7)));
        assert_eq!(other_paths.read(&address), None);
        for other in [
            "",
            "@",
            "b+@send.example.com",
            "b+.@send.example.com",
            "b\u{e9}@send.example.com",
            "postmaster@send.example.com",
            &address.replace("b+", "c+"),
            &address.replace('.', ""),
            &address.replace('@', "a@"),
            &address.replace('@', ""),
        ] {
            assert_eq!(paths.read(other), None, "{other}");
        }
    }

    #[test]
    fn a_padding_bit_must_be_zero() {
        // 18 bytes are 28 letters and four bits, so the last letter has one padding bit.
        assert_eq!(from_base32(&base32(&[0; 18])), Some([0; 18]));
        assert_eq!(from_base32::<18>(&format!("{}b", "a".repeat(28))), None);
    }

    proptest! {
        #[test]
        fn every_return_path_round_trips(id: [u8; 16], group: u16) {
            let paths = paths();
            let address = paths.address(EmailId::from_bytes(id), group, "send.example.com");

            prop_assert_eq!(paths.read(&address), Some((EmailId::from_bytes(id), group)));
        }

        #[test]
        fn a_changed_letter_invalidates_the_mac(at in 2_usize..39, letter in "[a-z2-7.]") {
            let paths = paths();
            let address = paths.address(Id::MIN, 0, "send.example.com");
            let mut forged = address.clone();
            forged.replace_range(at..=at, &letter);

            prop_assert_eq!(paths.read(&forged).is_some(), forged == address);
        }

        #[test]
        fn no_address_makes_the_parser_panic(address in "(b\\+)?.{0,30}(\\.[a-z2-7]{8})?@.{0,10}") {
            prop_assert_eq!(paths().read(&address), None);
        }
    }
}
