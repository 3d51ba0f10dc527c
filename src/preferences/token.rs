//! The token of a link, sealed: the team, the topic if there is one, the email if the link is in one, and the address.
//!
//! Sealing hides the address from people who see the link, and proves that this instance made the token.
//! A token does not expire: the opt-out must work as long as the recipient keeps the email.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::base::address::EmailAddress;
use crate::base::id::{EmailId, TeamId, TopicId};
use crate::store::Keyring;

/// Associated data of the sealed token.
const ASSOCIATED_DATA: &[u8] = b"unsubscribe token";
/// First byte of the plain text of a token for one topic. It must never change, because sent links contain
/// it. A token with another layout has another first byte.
const TOPIC_V1: u8 = 1;
/// First byte of a token for all marketing email of the team. It must never change.
const EVERYTHING_V1: u8 = 2;
/// First byte of a token for one topic, in an email. It must never change.
const TOPIC_OF_EMAIL: u8 = 3;
/// First byte of a token for all marketing email of the team, in an email. It must never change.
const EVERYTHING_OF_EMAIL: u8 = 4;
const ID_BYTES: usize = 16;
/// Length of the longest token in base64. It has 29 bytes of sealing, 49 bytes before the address, and an address of at
/// most 254 bytes (RFC 5321 §4.5.3.1.3).
const CHARS_MAX: usize = (29_usize + 1 + 3 * ID_BYTES + 254).div_ceil(3) * 4;

/// Scope of a link: the emails that it opts out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkScope {
    Topic(TopicId),
    /// All marketing email of the team.
    Everything,
}

/// Content of a link: a recipient and the emails they can opt out of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsubscribeToken {
    /// The team that sent the email.
    pub team: TeamId,
    pub scope: LinkScope,
    /// The email that the link is in; `None` for a link on request, and for links of older releases.
    pub email: Option<EmailId>,
    /// Address of the recipient.
    pub address: EmailAddress,
}

impl UnsubscribeToken {
    /// Returns the token of an email under a topic.
    pub fn of_topic(team: TeamId, topic: TopicId, address: EmailAddress) -> Self {
        Self { team, scope: LinkScope::Topic(topic), email: None, address }
    }

    /// Returns the token of a link to all of a recipient's choices.
    pub fn of_everything(team: TeamId, address: EmailAddress) -> Self {
        Self { team, scope: LinkScope::Everything, email: None, address }
    }

    /// Returns the token for a link in an email.
    pub fn in_email(self, email: EmailId) -> Self {
        Self { email: Some(email), ..self }
    }

    /// Returns the sealed token in URL-safe base64, about 140 characters. The text differs at every call.
    pub fn seal(&self, keyring: &Keyring) -> String {
        URL_SAFE_NO_PAD.encode(keyring.seal(ASSOCIATED_DATA, &self.to_bytes()))
    }

    /// Returns the plain bytes, the same at every call.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let address = self.address.to_string();
        let mut plain = Vec::with_capacity(1 + 3 * ID_BYTES + address.len());
        plain.push(match (self.scope, self.email) {
            (LinkScope::Topic(_), None) => TOPIC_V1,
            (LinkScope::Everything, None) => EVERYTHING_V1,
            (LinkScope::Topic(_), Some(_)) => TOPIC_OF_EMAIL,
            (LinkScope::Everything, Some(_)) => EVERYTHING_OF_EMAIL,
        });
        plain.extend_from_slice(self.team.as_bytes());
        if let LinkScope::Topic(topic) = self.scope {
            plain.extend_from_slice(topic.as_bytes());
        }
        if let Some(email) = self.email {
            plain.extend_from_slice(email.as_bytes());
        }
        plain.extend_from_slice(address.as_bytes());
        plain
    }

    /// Opens a token that [`UnsubscribeToken::seal`] made with the same keys; `None` for any other text.
    ///
    /// The cost is bounded by the longest token and does not depend on the length of `text`.
    pub fn open(text: &str, keyring: &Keyring) -> Option<Self> {
        if text.len() > CHARS_MAX {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let plain = keyring.open_sealed(ASSOCIATED_DATA, &sealed).ok()?;
        let (version, rest) = plain.split_first()?;
        let (team, rest) = rest.split_first_chunk::<ID_BYTES>()?;
        let (scope, rest) = match *version {
            TOPIC_V1 | TOPIC_OF_EMAIL => {
                let (topic, rest) = rest.split_first_chunk::<ID_BYTES>()?;
                (LinkScope::Topic(TopicId::from_bytes(*topic)), rest)
            }
            EVERYTHING_V1 | EVERYTHING_OF_EMAIL => (LinkScope::Everything, rest),
            _ => return None,
        };
        let (email, address) = match *version {
            TOPIC_OF_EMAIL | EVERYTHING_OF_EMAIL => {
                let (email, address) = rest.split_first_chunk::<ID_BYTES>()?;
                (Some(EmailId::from_bytes(*email)), address)
            }
            _ => (None, rest),
        };
        let address = EmailAddress::parse(str::from_utf8(address).ok()?).ok()?;
        Some(Self { team: TeamId::from_bytes(*team), scope, email, address })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::base::id::Id;

    /// Shared by the cases of the property tests, because creating a key file waits for the disk.
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
        let longest = token(&format!("{}@{domain}", "a".repeat(64))).in_email(Id::MAX);
        assert_eq!(longest.address.to_string().len(), 254);

        let sealed = longest.seal(&keyring);

        assert!(sealed.len() <= CHARS_MAX);
        assert_eq!(UnsubscribeToken::open(&sealed, &keyring), Some(longest));
    }

    #[test]
    fn a_token_of_other_keys_or_with_another_content_does_not_open() {
        let (keyring, other_keys) = (keyring(), self::keyring());
        let sealed = |data: &[u8], plain: &[u8]| URL_SAFE_NO_PAD.encode(keyring.seal(data, plain));
        let body = [[0; 32].as_slice(), b"ada@example.com"].concat();
        let versioned = |version: u8| [[version].as_slice(), &body].concat();

        assert!(UnsubscribeToken::open(&sealed(ASSOCIATED_DATA, &versioned(TOPIC_V1)), &keyring).is_some());
        let everything = [[EVERYTHING_V1].as_slice(), &[0; 16], b"ada@example.com"].concat();
        assert!(UnsubscribeToken::open(&sealed(ASSOCIATED_DATA, &everything), &keyring).is_some());
        for other in [
            token("ada@example.com").seal(&other_keys),
            sealed(b"bodies", &versioned(TOPIC_V1)),
            sealed(ASSOCIATED_DATA, &versioned(5)),
            // The address is shorter than the id of an email.
            sealed(ASSOCIATED_DATA, &versioned(TOPIC_OF_EMAIL)),
            sealed(ASSOCIATED_DATA, &[]),
            sealed(ASSOCIATED_DATA, &[TOPIC_V1; 33]),
            sealed(ASSOCIATED_DATA, &[EVERYTHING_V1; 17]),
            // The id of a topic is not part of a valid address.
            sealed(ASSOCIATED_DATA, &versioned(EVERYTHING_V1)),
            sealed(ASSOCIATED_DATA, &[[TOPIC_V1].as_slice(), &[0; 32], b"Ada <ada@example.com>"].concat()),
            sealed(ASSOCIATED_DATA, &[[TOPIC_V1].as_slice(), &[0; 32], b"\xff@example.com"].concat()),
            format!("{}=", token("ada@example.com").seal(&keyring)),
            "A".repeat(10_000_000),
            String::new(),
        ] {
            assert_eq!(UnsubscribeToken::open(&other, &keyring), None, "{other:.60}");
        }
    }

    proptest! {
        #[test]
        fn every_sealed_token_opens(team: [u8; 16], topic: [u8; 16], local in "[a-zA-Z0-9äøλ+_-]{1,30}") {
            let address = EmailAddress::parse(&format!("{local}@example.com")).unwrap();
            let team = Id::from_bytes(team);
            for token in [
                UnsubscribeToken::of_topic(team, Id::from_bytes(topic), address.clone()),
                UnsubscribeToken::of_everything(team, address.clone()),
                UnsubscribeToken::of_topic(team, Id::from_bytes(topic), address.clone()).in_email(team.cast()),
                UnsubscribeToken::of_everything(team, address).in_email(team.cast()),
            ] {
                prop_assert_eq!(UnsubscribeToken::open(&token.seal(&KEYRING), &KEYRING), Some(token));
            }
        }

        #[test]
        fn a_token_with_a_changed_letter_does_not_open(at in 0_usize..103, letter in "[A-Za-z0-9_-]") {
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
