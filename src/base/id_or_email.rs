//! What a caller names by its id or by its email address.

use crate::base::address::{AddressError, EmailAddress};
use crate::base::id::Id;

/// A contact or a suppression, by either of its names.
#[derive(Clone, Debug)]
pub enum IdOrEmail<R> {
    /// By its id.
    Id(Id<R>),
    /// By its address.
    Email(EmailAddress),
}

/// Why a text is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdOrEmailError {
    /// It has no `@`, and it is no id.
    NoId,
    /// It has an `@`, and it is no address.
    NoAddress(AddressError),
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
    /// Reads a text as an address when it has an `@`, which no id has, and as an id otherwise.
    ///
    /// # Errors
    /// [`IdOrEmailError`].
    pub fn parse(text: &str) -> Result<Self, IdOrEmailError> {
        if text.contains('@') {
            return EmailAddress::parse(text).map(Self::Email).map_err(IdOrEmailError::NoAddress);
        }
        Id::parse(text).map(Self::Id).ok_or(IdOrEmailError::NoId)
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
    fn a_text_with_an_at_sign_is_an_address_and_any_other_an_id() {
        let id = "0190a6c0-0000-7000-8000-000000000001";
        assert_eq!(parse(id), Ok(IdOrEmail::Id(Id::parse(id).unwrap())));
        for address in ["ada@example.com", "a+b@example.com", "a/b@example.com", "\"a b\"@example.com"] {
            assert_eq!(parse(address), Ok(IdOrEmail::Email(EmailAddress::parse(address).unwrap())), "{address}");
        }
        for neither in ["", "ada", "ada%40example.com", &format!("{id}0"), &id.replace('-', "")] {
            assert_eq!(parse(neither), Err(IdOrEmailError::NoId), "{neither}");
        }
        for (text, error) in [
            ("@example.com", AddressError::LocalPartEmpty),
            ("Ada <ada@example.com>", AddressError::NotBare),
            ("a b@example.com", AddressError::LocalPartCharacter(' ')),
            (&format!("{id}@"), AddressError::DomainEmpty),
        ] {
            assert_eq!(parse(text), Err(IdOrEmailError::NoAddress(error)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_the_parser(text in ".{0,60}") {
            let _ = parse(&text);
        }
    }
}
