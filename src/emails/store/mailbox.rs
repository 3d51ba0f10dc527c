//! The text form of mailboxes in rows.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::base::address::{EmailAddress, Mailbox};
use crate::events::ERASED;

/// A mailbox of a row, stored as text and parsed when the row is decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredMailbox {
    /// A mailbox.
    Parsed(Mailbox),
    /// A text that is not a mailbox, such as [`ERASED`]. Such a text does not make its row corrupt.
    Text(String),
}

impl StoredMailbox {
    /// Returns the replacement of an erased mailbox.
    pub fn erased() -> Self {
        Self::Text(ERASED.to_owned())
    }

    /// Returns whether the mailbox has been erased.
    pub fn is_erased(&self) -> bool {
        matches!(self, Self::Text(text) if text == ERASED)
    }

    /// Returns the mailbox; `None` if the text is not one.
    pub fn mailbox(&self) -> Option<&Mailbox> {
        match self {
            Self::Parsed(mailbox) => Some(mailbox),
            Self::Text(_) => None,
        }
    }

    /// Returns the address; `None` if the text is not a mailbox.
    pub fn address(&self) -> Option<&EmailAddress> {
        self.mailbox().map(Mailbox::address)
    }

    /// Returns the address without the display name, or the whole text if it is not a mailbox.
    pub fn bare(&self) -> String {
        match self {
            Self::Parsed(mailbox) => mailbox.address().to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl From<Mailbox> for StoredMailbox {
    fn from(mailbox: Mailbox) -> Self {
        Self::Parsed(mailbox)
    }
}

impl From<&str> for StoredMailbox {
    fn from(text: &str) -> Self {
        Mailbox::parse(text).map_or_else(|_| Self::Text(text.to_owned()), Self::Parsed)
    }
}

impl fmt::Display for StoredMailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parsed(mailbox) => mailbox.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for StoredMailbox {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StoredMailbox {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl de::Visitor<'_> for TextVisitor {
            type Value = StoredMailbox;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<StoredMailbox, E> {
                Ok(text.into())
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_and_an_erased_one_are_stored_as_their_text() {
        for (text, bare) in [
            ("ada@example.com", "ada@example.com"),
            ("Ada Lovelace <Ada@example.com>", "Ada@example.com"),
            ("\"Lovelace, Ada\" <\"a<b\"@example.com>", "\"a<b\"@example.com"),
            (ERASED, ERASED),
            ("nobody", "nobody"),
        ] {
            let stored = rmp_serde::to_vec_named(text).unwrap();
            let mailbox: StoredMailbox = rmp_serde::from_slice(&stored).unwrap();

            assert_eq!((mailbox.to_string().as_str(), mailbox.bare().as_str()), (text, bare));
            assert_eq!(mailbox.is_erased(), text == ERASED);
            assert_eq!(mailbox.address().is_some(), text.contains('@'));
            assert_eq!(rmp_serde::to_vec_named(&mailbox).unwrap(), stored);
        }
    }
}
