//! The undo token: an opt-out, sealed into the page that confirms it.
//!
//! The token is valid for one hour and only with the link that recorded the opt-out. It is for opt-outs by
//! mistake. After an hour, the recipient can opt in to a topic through the choices of the page. Only the
//! team can undo an opt-out of everything: a link in an old email is not consent.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::token::UnsubscribeToken;
use crate::base::clock::TimestampMs;
use crate::base::id::SuppressionId;
use crate::store::Keyring;

/// Time for which an undo token is valid.
const UNDO_VALID_MS: i64 = 60 * 60 * 1000;
/// Prefix of the associated data. The bytes of the link's token follow.
const ASSOCIATED_DATA: &[u8] = b"undo token";
/// Length of the longest token: sealing adds 29 bytes to the plain text, and base64 encodes the sum.
const CHARS_MAX: usize = (29_usize + PLAIN_BYTES_MAX).div_ceil(3) * 4;
/// Version, kind, expiry and suppression id.
const PLAIN_BYTES_MAX: usize = 1 + 1 + 8 + 16;
/// First byte of the plain text.
const VERSION: u8 = 1;
// Second byte of the plain text: the kind of undo. After the expiry, the last two kinds have the id of a
// suppression entry.
const CHOICE: u8 = 1;
const EVERYTHING: u8 = 2;
const NO_CHOICE: u8 = 3;
const TOPIC_ENTRY: u8 = 4;
const EVERYTHING_ENTRY: u8 = 5;

/// Scope of an opt-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptOutScope {
    /// The topic of the link.
    Topic,
    /// All marketing email of the team.
    Everything,
}

/// Reason why a contact received a topic before the opt-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubscribedBy {
    /// The contact had opted in.
    Choice,
    /// The contact had no choice, and the default of the topic was opt-in.
    Default,
}

/// An opt-out that can be undone, by the row that stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    /// The contact's choice for the link's topic, with the reason why it received the topic before.
    Choice(SubscribedBy),
    /// The contact's opt-out of all marketing email.
    Everything,
    /// A suppression entry that the opt-out created or updated.
    Suppression(OptOutScope, SuppressionId),
}

impl Undo {
    /// Returns the scope of the opt-out.
    pub(super) fn scope(self) -> OptOutScope {
        match self {
            Self::Choice(_) => OptOutScope::Topic,
            Self::Everything => OptOutScope::Everything,
            Self::Suppression(scope, _) => scope,
        }
    }

    /// Returns the sealed token in base64, valid for one hour from `now_ms`.
    pub(super) fn seal(self, token: &UnsubscribeToken, keyring: &Keyring, now_ms: TimestampMs) -> String {
        let (kind, entry) = match self {
            Self::Choice(SubscribedBy::Choice) => (CHOICE, None),
            Self::Choice(SubscribedBy::Default) => (NO_CHOICE, None),
            Self::Everything => (EVERYTHING, None),
            Self::Suppression(OptOutScope::Topic, id) => (TOPIC_ENTRY, Some(id)),
            Self::Suppression(OptOutScope::Everything, id) => (EVERYTHING_ENTRY, Some(id)),
        };
        let mut plain = Vec::with_capacity(PLAIN_BYTES_MAX);
        plain.extend_from_slice(&[VERSION, kind]);
        plain.extend_from_slice(&(now_ms.saturating_add(UNDO_VALID_MS)).to_be_bytes());
        if let Some(id) = entry {
            plain.extend_from_slice(id.as_bytes());
        }
        URL_SAFE_NO_PAD.encode(keyring.seal(&associated_data(token), &plain))
    }

    /// Opens a token that [`Undo::seal`] made for the same link within the last hour; `None` for any other
    /// text.
    pub(super) fn open(text: &str, token: &UnsubscribeToken, keyring: &Keyring, now_ms: TimestampMs) -> Option<Self> {
        if text.len() > CHARS_MAX {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let plain = keyring.open_sealed(&associated_data(token), &sealed).ok()?;
        let (&[VERSION, kind], rest) = plain.split_first_chunk::<2>()? else { return None };
        let (expires_ms, entry) = rest.split_first_chunk::<8>()?;
        let entry = || Some(SuppressionId::from_bytes(entry.try_into().ok()?));
        let undo = match (kind, rest.len()) {
            (CHOICE, 8) => Self::Choice(SubscribedBy::Choice),
            (NO_CHOICE, 8) => Self::Choice(SubscribedBy::Default),
            (EVERYTHING, 8) => Self::Everything,
            (TOPIC_ENTRY, _) => Self::Suppression(OptOutScope::Topic, entry()?),
            (EVERYTHING_ENTRY, _) => Self::Suppression(OptOutScope::Everything, entry()?),
            _ => return None,
        };
        (now_ms < TimestampMs::from_be_bytes(*expires_ms)).then_some(undo)
    }
}

fn associated_data(token: &UnsubscribeToken) -> Vec<u8> {
    [ASSOCIATED_DATA, &token.to_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::address::EmailAddress;
    use crate::base::id::{Id, TopicId};

    const NOW_MS: TimestampMs = 1_767_604_353_456;

    fn keyring() -> Keyring {
        let directory = tempfile::tempdir().unwrap();
        Keyring::open(&directory.path().join("master.key")).unwrap()
    }

    fn token(topic: TopicId, address: &str) -> UnsubscribeToken {
        UnsubscribeToken::of_topic(Id::MIN, topic, EmailAddress::parse(address).unwrap())
    }

    #[test]
    fn an_undo_token_opens_with_its_own_link_within_one_hour() {
        let (keyring, other_keys) = (keyring(), self::keyring());
        let link = token(Id::MIN, "ada@example.com");
        for undo in [
            Undo::Choice(SubscribedBy::Choice),
            Undo::Choice(SubscribedBy::Default),
            Undo::Everything,
            Undo::Suppression(OptOutScope::Topic, Id::MAX),
            Undo::Suppression(OptOutScope::Everything, Id::MIN),
        ] {
            let sealed = undo.seal(&link, &keyring, NOW_MS);

            assert!(sealed.len() <= CHARS_MAX);
            let open = |token: &UnsubscribeToken, keyring, now_ms| Undo::open(&sealed, token, keyring, now_ms);
            assert_eq!(open(&link, &keyring, NOW_MS), Some(undo));
            assert_eq!(open(&link, &keyring, NOW_MS + UNDO_VALID_MS - 1), Some(undo));
            assert_eq!(open(&link, &keyring, NOW_MS + UNDO_VALID_MS), None);
            assert_eq!(open(&link, &other_keys, NOW_MS), None);
            assert_eq!(open(&token(Id::MAX, "ada@example.com"), &keyring, NOW_MS), None);
            assert_eq!(open(&token(Id::MIN, "bob@example.com"), &keyring, NOW_MS), None);
        }
    }

    #[test]
    fn an_invalid_undo_token_does_not_open() {
        let keyring = keyring();
        let link = token(Id::MIN, "ada@example.com");
        let sealed = |plain: &[u8]| URL_SAFE_NO_PAD.encode(keyring.seal(&associated_data(&link), plain));
        let body = |kind: u8| [[VERSION, kind].as_slice(), &TimestampMs::MAX.to_be_bytes()].concat();

        assert!(Undo::open(&sealed(&body(1)), &link, &keyring, NOW_MS).is_some());
        for text in [
            String::new(),
            "1".into(),
            "A".repeat(10_000_000),
            link.seal(&keyring),
            sealed(&[]),
            sealed(&[VERSION, 1]),
            sealed(&body(0)),
            sealed(&body(4)),
            sealed(&body(6)),
            sealed(&[2, 1, 0x7f, 0, 0, 0, 0, 0, 0, 0]),
            sealed(&[body(1).as_slice(), &[0; 16]].concat()),
            sealed(&[body(4).as_slice(), &[0; 15]].concat()),
            sealed(&[body(5).as_slice(), &[0; 17]].concat()),
        ] {
            assert_eq!(Undo::open(&text, &link, &keyring, NOW_MS), None, "{text:.40}");
        }
    }
}
