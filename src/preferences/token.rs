//! The token of a link: team, topic and address, or team and address, sealed.
//!
//! Sealing hides the address from whoever reads links in passing, and proves that this instance made
//! the token. There is no expiry: an opt-out must work for as long as the email lies in a mailbox.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::base::address::EmailAddress;
use crate::base::id::{TeamId, TopicId};
use crate::store::Keyring;

/// What the sealed bytes are bound to.
const PLACE: &[u8] = b"unsubscribe token";
/// The first byte of the plain text: a link about one topic. It can never change for links already
/// sent; a link about something else begins with another.
const TOPIC_V1: u8 = 1;
/// A link about everything that the team sends. It can never change either.
const EVERYTHING_V1: u8 = 2;
const ID_BYTES: usize = 16;
/// The longest token that is looked at. An address has at most 254 bytes (RFC 5321 §4.5.3.1.3), so
/// that none is longer: 29 bytes of sealing, 33 before the address, in base64.
const CHARS_MAX: usize = (29_usize + 1 + 2 * ID_BYTES + 254).div_ceil(3) * 4;

/// What a link is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One topic.
    Topic(TopicId),
    /// All marketing email of the team.
    Everything,
}

/// Whose choices about what a link is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsubscribeToken {
    /// The team that sent the email.
    pub team: TeamId,
    /// What may be opted out of.
    pub scope: Scope,
    /// The recipient.
    pub address: EmailAddress,
}

impl UnsubscribeToken {
    /// Returns the token of an email under a topic.
    pub fn of_topic(team: TeamId, topic: TopicId, address: EmailAddress) -> Self {
        Self { team, scope: Scope::Topic(topic), address }
    }

    /// Returns the token of a link to all of a recipient's choices.
    pub fn of_everything(team: TeamId, address: EmailAddress) -> Self {
        Self { team, scope: Scope::Everything, address }
    }

    /// Returns the token's text: URL-safe, some 120 characters, different at every call.
    pub fn seal(&self, keyring: &Keyring) -> String {
        URL_SAFE_NO_PAD.encode(keyring.seal(PLACE, &self.to_bytes()))
    }

    /// Returns the plain bytes, the same at every call.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let address = self.address.to_string();
        let mut plain = Vec::with_capacity(1 + 2 * ID_BYTES + address.len());
        plain.push(match self.scope {
            Scope::Topic(_) => TOPIC_V1,
            Scope::Everything => EVERYTHING_V1,
        });
        plain.extend_from_slice(self.team.as_bytes());
        if let Scope::Topic(topic) = self.scope {
            plain.extend_from_slice(topic.as_bytes());
        }
        plain.extend_from_slice(address.as_bytes());
        plain
    }

    /// Reads what [`UnsubscribeToken::seal`] wrote with the same keys; `None` for every other text.
    ///
    /// Cost: bounded by the longest token, whatever the length of `text`.
    pub fn open(text: &str, keyring: &Keyring) -> Option<Self> {
        if text.len() > CHARS_MAX {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let plain = keyring.open_sealed(PLACE, &sealed).ok()?;
        let (version, rest) = plain.split_first()?;
        let (team, rest) = rest.split_first_chunk::<ID_BYTES>()?;
        let (scope, address) = match *version {
            TOPIC_V1 => {
                let (topic, address) = rest.split_first_chunk::<ID_BYTES>()?;
                (Scope::Topic(TopicId::from_bytes(*topic)), address)
            }
            EVERYTHING_V1 => (Scope::Everything, rest),
            _ => return None,
        };
        let address = EmailAddress::parse(str::from_utf8(address).ok()?).ok()?;
        Some(Self { team: TeamId::from_bytes(*team), scope, address })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::base::id::Id;

    /// For the many cases of a property: making a key file waits for the disk.
    static KEYRING: LazyLock<Keyring> = LazyLock::new(keyring);

    fn keyring() -> Keyring {
        let directory = tempfile::tempdir().unwrap();
        Keyring::open(&directory.path().join("master.key")).unwrap()
    }

    fn token(address: &str) -> UnsubscribeToken {
        UnsubscribeToken::of_topic(Id::MIN, Id::MAX, EmailAddress::parse(address).unwrap())
    }

    #[test]
    fn a_token_fits_a_path_and_hides_the_address() {
        let keyring = keyring();

        let sealed = token("ada@example.com").seal(&keyring);

        assert_eq!(sealed.len(), 103);
        assert!(sealed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        assert_ne!(sealed, token("ada@example.com").seal(&keyring));
        let bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
        assert!(!bytes.windows(3).any(|window| window == b"ada"));
    }

    #[test]
    fn the_longest_address_has_a_token() {
        let keyring = keyring();
        let domain = ["d".repeat(63), "e".repeat(63), "f".repeat(56), "test".into()].join(".");
        let longest = token(&format!("{}@{domain}", "a".repeat(64)));
        assert_eq!(longest.address.to_string().len(), 254);

        let sealed = longest.seal(&keyring);

        assert!(sealed.len() <= CHARS_MAX);
        assert_eq!(UnsubscribeToken::open(&sealed, &keyring), Some(longest));
    }

    #[test]
    fn what_was_sealed_elsewhere_or_for_something_else_is_no_token() {
        let (ours, theirs) = (keyring(), keyring());
        let sealed = |place: &[u8], plain: &[u8]| URL_SAFE_NO_PAD.encode(ours.seal(place, plain));
        let body = [[0; 32].as_slice(), b"ada@example.com"].concat();
        let versioned = |version: u8| [[version].as_slice(), &body].concat();

        assert!(UnsubscribeToken::open(&sealed(PLACE, &versioned(TOPIC_V1)), &ours).is_some());
        let everything = [[EVERYTHING_V1].as_slice(), &[0; 16], b"ada@example.com"].concat();
        assert!(UnsubscribeToken::open(&sealed(PLACE, &everything), &ours).is_some());
        for other in [
            token("ada@example.com").seal(&theirs),
            sealed(b"bodies", &versioned(TOPIC_V1)),
            sealed(PLACE, &versioned(3)),
            sealed(PLACE, &[]),
            sealed(PLACE, &[TOPIC_V1; 33]),
            sealed(PLACE, &[EVERYTHING_V1; 17]),
            // The id of a topic is no start of an address.
            sealed(PLACE, &versioned(EVERYTHING_V1)),
            sealed(PLACE, &[[TOPIC_V1].as_slice(), &[0; 32], b"Ada <ada@example.com>"].concat()),
            sealed(PLACE, &[[TOPIC_V1].as_slice(), &[0; 32], b"\xff@example.com"].concat()),
            format!("{}=", token("ada@example.com").seal(&ours)),
            "A".repeat(10_000_000),
            String::new(),
        ] {
            assert_eq!(UnsubscribeToken::open(&other, &ours), None, "{other:.60}");
        }
    }

    proptest! {
        #[test]
        fn every_token_reads_back(team: [u8; 16], topic: [u8; 16], local in "[a-zA-Z0-9äøλ+_-]{1,30}") {
            let address = EmailAddress::parse(&format!("{local}@example.com")).unwrap();
            let team = Id::from_bytes(team);
            for token in [
                UnsubscribeToken::of_topic(team, Id::from_bytes(topic), address.clone()),
                UnsubscribeToken::of_everything(team, address),
            ] {
                prop_assert_eq!(UnsubscribeToken::open(&token.seal(&KEYRING), &KEYRING), Some(token));
            }
        }

        #[test]
        fn a_changed_letter_breaks_the_token(at in 0_usize..103, letter in "[A-Za-z0-9_-]") {
            let sealed = token("ada@example.com").seal(&KEYRING);
            let mut forged = sealed.clone();
            forged.replace_range(at..=at, &letter);

            prop_assert_eq!(UnsubscribeToken::open(&forged, &KEYRING).is_some(), forged == sealed);
        }

        #[test]
        fn no_text_panics_the_reader(text in ".{0,200}|[A-Za-z0-9_-]{0,200}") {
            prop_assert_eq!(UnsubscribeToken::open(&text, &KEYRING), None);
        }
    }
}
