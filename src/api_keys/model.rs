//! Keys, permissions and callers.

use sha2::{Digest as _, Sha256};

use crate::audit::{Actor, TeamActor};
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, DomainId, TeamId};
use crate::base::words::words;

/// Prefix of every token.
pub const TOKEN_PREFIX: &str = "rm_";
/// Maximum length of a key name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 80;
const TOKEN_CHARS: usize = TOKEN_PREFIX.len() + 32;

words! {
    /// Permission of a key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Permission {
        /// Every endpoint.
        FullAccess = "full_access",
        /// Writes under `/emails`, except for deletion.
        SendingAccess = "sending_access",
    } with ALL, parse
}

/// A key, without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    pub id: ApiKeyId,
    pub team: TeamId,
    pub name: String,
    pub permission: Permission,
    /// The only domain that the key can send from; `None` for all domains.
    pub domain: Option<DomainId>,
    pub created_ms: TimestampMs,
    /// Time of the last use, rounded down to a minute.
    pub last_used_ms: Option<TimestampMs>,
}

/// Input of a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    pub name: String,
    pub permission: Permission,
    /// The only domain that the key can send from; `None` for all domains.
    pub domain: Option<DomainId>,
}

/// Kind of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKind {
    /// A program with an API key.
    Key,
    /// A user with a session of the dashboard.
    Session,
}

/// The caller of a request. It has no HTTP types, so that use cases do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub kind: CallerKind,
    /// Id of the key. For a session of the dashboard the id of its user, which is that of no key.
    pub key: ApiKeyId,
    pub team: TeamId,
    pub permission: Permission,
    /// The only domain that the key can send from; `None` for all domains.
    pub domain: Option<DomainId>,
}

impl From<Caller> for TeamActor {
    fn from(caller: Caller) -> Self {
        let actor = match caller.kind {
            CallerKind::Key => Actor::ApiKey(caller.key),
            CallerKind::Session => Actor::User(caller.key.cast()),
        };
        actor.in_team(caller.team)
    }
}

/// The secret of a key. `Debug` prints a placeholder, and there is no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKeyToken(String);

impl ApiKeyToken {
    /// Parses a token; `None` if the text does not have the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        let formed = text.len() == TOKEN_CHARS
            && text.starts_with(TOKEN_PREFIX)
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        formed.then(|| Self(text.to_owned()))
    }

    /// Returns the secret, for the response that creates the key.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the SHA-256 of the token, which is stored.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// Returns the last four characters, which are stored for display.
    pub fn last_four(&self) -> &str {
        &self.0[self.0.len() - 4..]
    }
}

impl std::fmt::Debug for ApiKeyToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(rm_…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn debug_of_a_token_hides_it() {
        let token = ApiKeyToken::parse("rm_0123456789abcdefghijklmnopqrstuv").unwrap();

        assert!(!format!("{token:?}").contains(token.reveal()));
    }

    #[test]
    fn other_texts_are_not_tokens() {
        for text in ["", "rm_", "re_0123456789abcdefghijklmnopqrstuv", "rm_0123456789abcdefghijklmnopqrst€", "rm_x"] {
            assert_eq!(ApiKeyToken::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_the_parser(text in ".{0,60}") {
            let _ = ApiKeyToken::parse(&text);
        }
    }
}
