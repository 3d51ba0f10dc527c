//! What a visit changed, sealed into its page, so that the same visit can take it back.
//!
//! The token is of use with the link it was made for alone, and for an hour: it undoes a slip of the
//! hand. A change of mind about a topic goes through the choices of the page; about everything, through
//! the team: a link in an old email is no consent.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::token::UnsubscribeToken;
use crate::base::clock::TimestampMs;
use crate::base::id::SuppressionId;
use crate::store::Keyring;

/// How long a visit lasts.
const VISIT_MS: i64 = 60 * 60 * 1000;
/// What the sealed bytes are bound to, with the bytes of the link's token.
const PLACE: &[u8] = b"undo token";
/// Sealing adds 29 bytes to the 26 of the longest token, in base64.
const CHARS_MAX: usize = (29_usize + PLAIN_BYTES_MAX).div_ceil(3) * 4;
const PLAIN_BYTES_MAX: usize = 1 + 1 + 8 + 16;
/// The first byte of the plain text.
const VERSION: u8 = 1;
/// The second: what is taken back. The last two are followed by the id of an entry.
const CHOICE: u8 = 1;
const EVERYTHING: u8 = 2;
const NO_CHOICE: u8 = 3;
const TOPIC_ENTRY: u8 = 4;
const EVERYTHING_ENTRY: u8 = 5;

/// What was opted out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The topic of the link.
    Topic,
    /// All marketing email of the team.
    Everything,
}

/// Why a contact received a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// It had chosen it.
    ByChoice,
    /// It had not chosen, and the topic's default said so.
    ByDefault,
}

/// An opt-out that can be taken back, by where it was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    /// With the contact, as its choice about the link's topic, which it received before.
    Choice(Received),
    /// With the contact, which is out of everything.
    Everything,
    /// In an entry of the suppression list, which the visit added or found.
    Suppression(Subject, SuppressionId),
}

impl Undo {
    /// Returns what was opted out of.
    pub(super) fn subject(self) -> Subject {
        match self {
            Self::Choice(_) => Subject::Topic,
            Self::Everything => Subject::Everything,
            Self::Suppression(subject, _) => subject,
        }
    }

    /// Returns the token's text, for a visit that goes on from `now_ms`.
    pub(super) fn seal(self, token: &UnsubscribeToken, keyring: &Keyring, now_ms: TimestampMs) -> String {
        let (kind, entry) = match self {
            Self::Choice(Received::ByChoice) => (CHOICE, None),
            Self::Choice(Received::ByDefault) => (NO_CHOICE, None),
            Self::Everything => (EVERYTHING, None),
            Self::Suppression(Subject::Topic, id) => (TOPIC_ENTRY, Some(id)),
            Self::Suppression(Subject::Everything, id) => (EVERYTHING_ENTRY, Some(id)),
        };
        let mut plain = Vec::with_capacity(PLAIN_BYTES_MAX);
        plain.extend_from_slice(&[VERSION, kind]);
        plain.extend_from_slice(&(now_ms.saturating_add(VISIT_MS)).to_be_bytes());
        if let Some(id) = entry {
            plain.extend_from_slice(id.as_bytes());
        }
        URL_SAFE_NO_PAD.encode(keyring.seal(&place(token), &plain))
    }

    /// Reads what [`Undo::seal`] wrote for the same link within the last hour; `None` for every other
    /// text.
    pub(super) fn open(text: &str, token: &UnsubscribeToken, keyring: &Keyring, now_ms: TimestampMs) -> Option<Self> {
        if text.len() > CHARS_MAX {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let plain = keyring.open_sealed(&place(token), &sealed).ok()?;
        let (&[VERSION, kind], rest) = plain.split_first_chunk::<2>()? else { return None };
        let (ends_ms, entry) = rest.split_first_chunk::<8>()?;
        let entry = || Some(SuppressionId::from_bytes(entry.try_into().ok()?));
        let undo = match (kind, rest.len()) {
            (CHOICE, 8) => Self::Choice(Received::ByChoice),
            (NO_CHOICE, 8) => Self::Choice(Received::ByDefault),
            (EVERYTHING, 8) => Self::Everything,
            (TOPIC_ENTRY, _) => Self::Suppression(Subject::Topic, entry()?),
            (EVERYTHING_ENTRY, _) => Self::Suppression(Subject::Everything, entry()?),
            _ => return None,
        };
        (now_ms < TimestampMs::from_be_bytes(*ends_ms)).then_some(undo)
    }
}

fn place(token: &UnsubscribeToken) -> Vec<u8> {
    [PLACE, &token.to_bytes()].concat()
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
    fn an_undo_reads_back_with_its_own_link_within_the_hour() {
        let (keyring, other_keys) = (keyring(), self::keyring());
        let link = token(Id::MIN, "ada@example.com");
        for undo in [
            Undo::Choice(Received::ByChoice),
            Undo::Choice(Received::ByDefault),
            Undo::Everything,
            Undo::Suppression(Subject::Topic, Id::MAX),
            Undo::Suppression(Subject::Everything, Id::MIN),
        ] {
            let sealed = undo.seal(&link, &keyring, NOW_MS);

            assert!(sealed.len() <= CHARS_MAX);
            let open = |token: &UnsubscribeToken, keyring, now_ms| Undo::open(&sealed, token, keyring, now_ms);
            assert_eq!(open(&link, &keyring, NOW_MS), Some(undo));
            assert_eq!(open(&link, &keyring, NOW_MS + VISIT_MS - 1), Some(undo));
            assert_eq!(open(&link, &keyring, NOW_MS + VISIT_MS), None);
            assert_eq!(open(&link, &other_keys, NOW_MS), None);
            assert_eq!(open(&token(Id::MAX, "ada@example.com"), &keyring, NOW_MS), None);
            assert_eq!(open(&token(Id::MIN, "bob@example.com"), &keyring, NOW_MS), None);
        }
    }

    #[test]
    fn what_was_not_sealed_as_an_undo_is_none() {
        let keyring = keyring();
        let link = token(Id::MIN, "ada@example.com");
        let sealed = |plain: &[u8]| URL_SAFE_NO_PAD.encode(keyring.seal(&place(&link), plain));
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
