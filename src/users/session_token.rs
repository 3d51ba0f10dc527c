//! Token of a session: the value of its cookie. It names the user and the session, so that one row is enough to check
//! it. It also has a secret, of which the store keeps the hash.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::base::id::{Id, SessionId, UserId};
use crate::base::random;

const ID_BYTES: usize = 16;
const SECRET_BYTES: usize = 24;
const TOKEN_BYTES: usize = 2 * ID_BYTES + SECRET_BYTES;

/// Token of a session. `Debug` prints a placeholder, and there is no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionToken {
    pub(super) user: UserId,
    pub(super) session: SessionId,
    secret: [u8; SECRET_BYTES],
}

impl SessionToken {
    /// Returns the token of a new session.
    pub(super) fn draw(user: UserId, session: SessionId) -> Self {
        Self { user, session, secret: random::bytes() }
    }

    /// Parses the value of a cookie; `None` if it does not have the form of a token.
    pub fn parse(text: &str) -> Option<Self> {
        // A longer text is not decoded.
        if text.len() > TOKEN_BYTES * 2 {
            return None;
        }
        let bytes: [u8; TOKEN_BYTES] = URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?;
        let (ids, secret) = bytes.split_at(2 * ID_BYTES);
        let (user, session) = ids.split_at(ID_BYTES);
        Some(Self {
            user: Id::from_bytes(user.try_into().ok()?),
            session: Id::from_bytes(session.try_into().ok()?),
            secret: secret.try_into().ok()?,
        })
    }

    /// Returns the value of the cookie.
    pub fn reveal(&self) -> String {
        let parts = [self.user.as_bytes().as_slice(), self.session.as_bytes(), &self.secret];
        URL_SAFE_NO_PAD.encode(parts.concat())
    }

    /// Returns the SHA-256 of the secret, which is stored.
    pub(super) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.secret).into()
    }
}

impl std::fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionToken(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_token_parses_from_its_text_and_is_not_printed() {
        let token = SessionToken::draw(Id::MIN, Id::MAX);
        let text = token.reveal();

        assert_eq!(SessionToken::parse(&text), Some(token.clone()));
        assert!(!format!("{token:?}").contains(&text));
        assert_ne!(SessionToken::draw(Id::MIN, Id::MAX).hash(), token.hash());
        for other in ["", &text[1..], &format!("{text}A"), &"A".repeat(10_000)] {
            assert_eq!(SessionToken::parse(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_the_parser(text in ".{0,100}") {
            let _ = SessionToken::parse(&text);
        }
    }
}
