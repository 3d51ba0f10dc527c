//! The text form of mailboxes in rows.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{EmailAddress, Mailbox};

/// Replacement of an erased address.
pub const ERASED: &str = "[erased]";

/// Mailbox of a row, split at its first use: lists need only the text.
#[derive(Clone, Debug)]
pub struct StoredMailbox {
    text: Box<str>,
    /// `Some(None)` if the text is not a mailbox, such as [`ERASED`]. Such a text does not make its row corrupt.
    parsed: OnceLock<Option<Mailbox>>,
}

impl StoredMailbox {
    /// Returns the replacement of an erased mailbox.
    pub fn erased() -> Self {
        ERASED.into()
    }

    /// Returns whether the mailbox has been erased.
    pub fn is_erased(&self) -> bool {
        &*self.text == ERASED
    }

    /// Returns the mailbox; `None` if the text is not one.
    pub fn mailbox(&self) -> Option<&Mailbox> {
        self.parsed.get_or_init(|| Mailbox::from_stored(&self.text)).as_ref()
    }

    /// Returns the address; `None` if the text is not a mailbox.
    pub fn address(&self) -> Option<&EmailAddress> {
        self.mailbox().map(Mailbox::address)
    }

    /// Returns the domain of the address, without parsing the text: a mailbox ends with its domain, or with its domain
    /// and a bracket. `None` if the text has no `@`.
    pub fn domain(&self) -> Option<&str> {
        let text = self.text.strip_suffix('>').unwrap_or(&self.text);
        text.rsplit_once('@').map(|(_, domain)| domain)
    }

    /// Returns the address without the display name, or the whole text if it is not a mailbox.
    pub fn bare(&self) -> String {
        self.address().map_or_else(|| self.text.to_string(), ToString::to_string)
    }
}

impl PartialEq for StoredMailbox {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for StoredMailbox {}

impl From<Mailbox> for StoredMailbox {
    fn from(mailbox: Mailbox) -> Self {
        Self { text: mailbox.to_string().into(), parsed: Some(mailbox).into() }
    }
}

impl From<&str> for StoredMailbox {
    fn from(text: &str) -> Self {
        Self { text: text.into(), parsed: OnceLock::new() }
    }
}

impl fmt::Display for StoredMailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for StoredMailbox {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
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
            assert_eq!(mailbox.domain(), mailbox.address().map(|address| address.domain().as_str()));
            assert_eq!(rmp_serde::to_vec_named(&mailbox).unwrap(), stored);
        }
    }
}
