//! Keys, permissions and callers.

use sha2::{Digest as _, Sha256};

use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, DomainId, TeamId};

/// What every token begins with.
pub const TOKEN_PREFIX: &str = "rm_";
/// The longest name of a key, in characters.
pub(super) const NAME_CHARS_MAX: usize = 80;
const TOKEN_CHARS: usize = TOKEN_PREFIX.len() + 32;

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Every endpoint.
    FullAccess,
    /// Sending: the paths under `/emails` but the reads and the deletion.
    SendingAccess,
}

impl Permission {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FullAccess => "full_access",
            Self::SendingAccess => "sending_access",
        }
    }

    /// Reads the word the API uses.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "full_access" => Some(Self::FullAccess),
            "sending_access" => Some(Self::SendingAccess),
            _ => None,
        }
    }
}

/// A key, without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id.
    pub id: ApiKeyId,
    /// The team it acts for.
    pub team: TeamId,
    /// Its name.
    pub name: String,
    /// What it may do.
    pub permission: Permission,
    /// The one domain it may send from.
    pub domain: Option<DomainId>,
    /// When it was made.
    pub created_ms: TimestampMs,
    /// When it was last used, to the minute.
    pub last_used_ms: Option<TimestampMs>,
}

/// What a new key is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// What it may do.
    pub permission: Permission,
    /// The one domain it may send from.
    pub domain: Option<DomainId>,
}

/// Who makes a request: plain data, so that use cases stay free of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The key.
    pub key: ApiKeyId,
    /// The team it acts for.
    pub team: TeamId,
    /// What it may do.
    pub permission: Permission,
    /// The one domain it may send from.
    pub domain: Option<DomainId>,
}

/// The secret itself. `Debug` prints a placeholder, and nothing serialises it by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Reads a token; `None` when it has not the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        let formed = text.len() == TOKEN_CHARS
            && text.starts_with(TOKEN_PREFIX)
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        formed.then(|| Self(text.to_owned()))
    }

    /// Returns the secret, for the one answer that shows it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns what the store keeps to recognise the token.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// Returns the last four characters, which the store keeps for people.
    pub fn last_four(&self) -> &str {
        &self.0[self.0.len() - 4..]
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(rm_…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_token_hides_itself() {
        let token = Token::parse("rm_0123456789abcdefghijklmnopqrstuv").unwrap();

        assert!(!format!("{token:?}").contains(token.reveal()));
    }

    #[test]
    fn anything_else_is_no_token() {
        for text in ["", "rm_", "re_0123456789abcdefghijklmnopqrstuv", "rm_0123456789abcdefghijklmnopqrst€", "rm_x"] {
            assert_eq!(Token::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_the_parser(text in ".{0,60}") {
            let _ = Token::parse(&text);
        }
    }
}
