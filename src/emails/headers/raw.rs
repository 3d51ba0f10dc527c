//! The JSON of `headers`, before the rules are checked.

use std::fmt;

use salvo::oapi::{BasicType, Components, Object, RefOr, Schema, ToSchema};
use serde::{Deserialize, Deserializer, de};

use super::table::names;
use super::{CustomHeaderError, HEADERS_MAX, NAME_BYTES_MAX, RESERVED_PREFIXES, VALUE_BYTES_MAX};
use crate::base::compat::Compat;
use crate::emails::excerpt::excerpt;

/// The `headers` of a request: a JSON object of strings, in the order of the request.
///
/// `null` and an empty array are no headers, because PHP encodes an empty map as an empty array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawHeaders(pub Vec<(String, String)>);

impl<'de> Deserialize<'de> for RawHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawHeadersVisitor)
    }
}

struct RawHeadersVisitor;

impl<'de> de::Visitor<'de> for RawHeadersVisitor {
    type Value = RawHeaders;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of header names and string values")
    }

    fn visit_unit<E: de::Error>(self) -> Result<RawHeaders, E> {
        Ok(RawHeaders::default())
    }

    /// Returns an error without the text, which can be long.
    fn visit_str<E: de::Error>(self, _text: &str) -> Result<RawHeaders, E> {
        Err(E::invalid_type(de::Unexpected::Other("a string"), &self))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut entries: A) -> Result<RawHeaders, A::Error> {
        match entries.next_element::<de::IgnoredAny>()? {
            None => Ok(RawHeaders::default()),
            Some(_) => Err(de::Error::invalid_type(de::Unexpected::Seq, &self)),
        }
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<RawHeaders, A::Error> {
        let mut headers: Vec<(String, String)> = Vec::new();
        while let Some(name) = entries.next_key::<String>()? {
            if headers.len() == HEADERS_MAX {
                return Err(de::Error::custom(CustomHeaderError::TooMany));
            }
            if headers.iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(&name)) {
                return Err(de::Error::custom(CustomHeaderError::Duplicate(excerpt(&name))));
            }
            headers.push((name, entries.next_value()?));
        }
        Ok(RawHeaders(headers))
    }
}

impl ToSchema for RawHeaders {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        Object::new()
            .description("Custom headers: names that start with `X-`, a few standard names, and the unsubscribe pair.")
            .max_properties(HEADERS_MAX)
            .property_names(Object::with_type(BasicType::String).pattern(name_pattern()))
            .additional_properties(
                Object::with_type(BasicType::String).max_length(VALUE_BYTES_MAX).pattern(VALUE_PATTERN),
            )
            .into()
    }
}

/// Pattern of a value: no control character but a tab, and not only spaces and tabs.
const VALUE_PATTERN: &str = concat!(
    r"^[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]*[^ \x00-\x1f\x7f-\x9f\u2028\u2029]",
    r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]*$"
);

/// Returns the pattern of the names that every server accepts, in any letter case.
fn name_pattern() -> String {
    let reserved = RESERVED_PREFIXES.map(any_case).join("|");
    let allowed: Vec<String> = names(Compat::NONE).map(any_case).collect();
    let rest_bytes_max = NAME_BYTES_MAX - "X-".len();
    format!("^(?:(?!{reserved})[Xx]-[!-9;-~]{{1,{rest_bytes_max}}}|{})$", allowed.join("|"))
}

fn any_case(text: &str) -> String {
    let either = |c: char| match c {
        c if c.is_ascii_alphabetic() => format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase()),
        c => c.to_string(),
    };
    text.chars().map(either).collect()
}
