//! Conversion of the three types from and to text: `str::parse`, JSON and stored rows use the same form.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{AddressError, DomainName, EmailAddress, Mailbox};

macro_rules! text_form {
    ($($type:ty),*) => { $(
        impl FromStr for $type {
            type Err = AddressError;

            fn from_str(text: &str) -> Result<Self, AddressError> {
                Self::parse(text)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextVisitor(PhantomData))
            }
        }
    )* };
}

text_form!(DomainName, EmailAddress, Mailbox);

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromStr<Err = AddressError>> de::Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}
