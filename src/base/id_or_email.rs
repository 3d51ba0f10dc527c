//! A parameter of the API that is an id or an email address.

use crate::base::address::{AddressError, EmailAddress};
use crate::base::id::Id;

/// Reference to a contact or a suppression by its id or its email address.
#[derive(Clone, Debug)]
pub enum IdOrEmail<R> {
    Id(Id<R>),
    Email(EmailAddress),
}

/// Reason why a text is neither an id nor an email address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdOrEmailError {
    /// The text has no `@` and is not an id.
    InvalidId,
    /// The text has an `@` and is not an email address.
    InvalidAddress(AddressError),
}

impl<R> PartialEq for IdOrEmail<R> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Id(one), Self::Id(other)) => one == other,
            (Self::Email(one), Self::Email(other)) => one == other,
            (Self::Id(_), Self::Email(_)) | (Self::Email(_), Self::Id(_)) => false,
        }
    }
}
impl<R> Eq for IdOrEmail<R> {}

impl<R> IdOrEmail<R> {
    /// Parses a text with an `@` as an email address, and any other text as an id. No id contains an `@`.
    ///
    /// # Errors
    /// Returns [`IdOrEmailError::InvalidAddress`] or [`IdOrEmailError::InvalidId`].
    pub fn parse(text: &str) -> Result<Self, IdOrEmailError> {
        if text.contains('@') {
            return EmailAddress::parse(text).map(Self::Email).map_err(IdOrEmailError::InvalidAddress);
        }
        Id::parse(text).map(Self::Id).ok_or(IdOrEmailError::InvalidId)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::id::resource::Contact;

    fn parse(text: &str) -> Result<IdOrEmail<Contact>, IdOrEmailError> {
        IdOrEmail::parse(text)
    }

    #[test]
    fn a_text_with_an_at_sign_is_parsed_as_an_address_and_any_other_as_an_id() {
        let id = "0190a6c0-0000-7000-8000-000000000001";
        assert_eq!(parse(id), Ok(IdOrEmail::Id(Id::parse(id).unwrap())));
        for address in ["ada@example.com", "a+b@example.com", "a/b@example.com", "\"a b\"@example.com"] {
            assert_eq!(parse(address), Ok(IdOrEmail::Email(EmailAddress::parse(address).unwrap())), "{address}");
        }
        for neither in ["", "ada", "ada%40example.com", &format!("{id}0"), &id.replace('-', "")] {
            assert_eq!(parse(neither), Err(IdOrEmailError::InvalidId), "{neither}");
        }
        for (text, error) in [
            ("@example.com", AddressError::LocalPartEmpty),
            ("Ada <ada@example.com>", AddressError::NotBare),
            ("a b@example.com", AddressError::LocalPartCharacter(' ')),
            (&format!("{id}@"), AddressError::DomainEmpty),
        ] {
            assert_eq!(parse(text), Err(IdOrEmailError::InvalidAddress(error)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,60}") {
            let _ = parse(&text);
        }
    }
}
