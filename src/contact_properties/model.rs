//! Contact properties and their fields. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::number;
use crate::base::clock::TimestampMs;
use crate::base::id::ContactPropertyId;
use crate::base::words::words;

/// Maximum number of properties of a team. A write of a contact reads all of them.
pub const PROPERTIES_MAX: usize = 500;
/// Maximum length of a key, in characters.
pub(super) const KEY_CHARS_MAX: usize = 50;
/// Maximum length of a fallback, in characters.
pub(super) const FALLBACK_CHARS_MAX: usize = 1_000;

words! {
    /// Type of the values of a property.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PropertyKind {
        /// Text.
        String = "string",
        /// Finite numbers.
        Number = "number",
    } with ALL, parse
}

/// Key of a property: 1 to 50 ASCII letters, digits and underscores, in the given letter case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyKey(String);

impl PropertyKey {
    /// Parses a key; `None` if the text is not valid. Ignores surrounding white space.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_valid = (1..=KEY_CHARS_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_valid.then(|| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts into the text that rows store.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// A fallback in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenFallback {
    Text(String),
    Number(Number),
}

/// A fallback of the type of its property, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyFallback(String);

/// Error of a fallback that does not fit its property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FallbackError {
    #[error("it may have {FALLBACK_CHARS_MAX} characters")]
    TooLong,
    #[error("the property is a number; give a number or null")]
    NotNumeric,
    #[error("the property is a string; give a string or null")]
    NotText,
}

impl GivenFallback {
    /// Converts to a fallback of a property of that type. A text can be a number, because responses
    /// contain the fallbacks of numbers as text.
    pub fn of_kind(&self, kind: PropertyKind) -> Result<PropertyFallback, FallbackError> {
        match (kind, self) {
            (_, Self::Text(text)) if text.chars().count() > FALLBACK_CHARS_MAX => Err(FallbackError::TooLong),
            (PropertyKind::String, Self::Text(text)) => Ok(PropertyFallback(text.clone())),
            (PropertyKind::String, Self::Number(_)) => Err(FallbackError::NotText),
            (PropertyKind::Number, Self::Number(given)) => Ok(PropertyFallback(number::to_text(given))),
            (PropertyKind::Number, Self::Text(text)) => match number::parse(text) {
                Some(_) => Ok(PropertyFallback(text.trim().to_owned())),
                None => Err(FallbackError::NotNumeric),
            },
        }
    }
}

impl PropertyFallback {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts into the text that rows store.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// A property to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewProperty {
    pub key: PropertyKey,
    /// Type of the values.
    pub kind: PropertyKind,
    /// Value of a contact without one, of that type.
    pub fallback: Option<PropertyFallback>,
}

/// A contact property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactProperty {
    pub id: ContactPropertyId,
    /// Key in the given letter case.
    pub key: String,
    /// Type of the values.
    pub kind: PropertyKind,
    /// Value of a contact without one, as text.
    pub fallback: Option<String>,
    /// Time of creation.
    pub created_ms: TimestampMs,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn given(value: &serde_json::Value) -> GivenFallback {
        match value {
            serde_json::Value::Number(number) => GivenFallback::Number(number.clone()),
            other => GivenFallback::Text(other.as_str().unwrap().to_owned()),
        }
    }

    #[test]
    fn a_key_is_1_to_50_letters_digits_and_underscores() {
        for (text, parsed) in [
            ("company", Some("company")),
            (" Company_2 ", Some("Company_2")),
            ("_", Some("_")),
            ("EMAIL", Some("EMAIL")),
            ("", None),
            ("  ", None),
            ("a b", None),
            ("a-b", None),
            ("a.b", None),
            ("a|b", None),
            ("}}}", None),
            ("straße", None),
            ("\u{212a}", None),
            ("a\n", Some("a")),
            ("a\nb", None),
        ] {
            assert_eq!(PropertyKey::parse(text).as_ref().map(PropertyKey::as_str), parsed, "{text:?}");
        }
        assert!(PropertyKey::parse(&"k".repeat(50)).is_some());
        assert!(PropertyKey::parse(&"k".repeat(51)).is_none());
    }

    #[test]
    fn a_fallback_has_the_type_of_its_property() {
        use PropertyKind::{Number, String};

        for (kind, value, expected) in [
            (String, json!("there"), Ok("there")),
            (String, json!(" kept as it is "), Ok(" kept as it is ")),
            (String, json!(""), Ok("")),
            (String, json!(0), Err(FallbackError::NotText)),
            (Number, json!(0), Ok("0")),
            (Number, json!(-1.5), Ok("-1.5")),
            (Number, json!(2.0), Ok("2")),
            (Number, json!(" 1e3 "), Ok("1e3")),
            (Number, json!(""), Err(FallbackError::NotNumeric)),
            (Number, json!("1e999"), Err(FallbackError::NotNumeric)),
            (Number, json!("twelve"), Err(FallbackError::NotNumeric)),
        ] {
            let read = given(&value).of_kind(kind);
            assert_eq!(read.as_ref().map(PropertyFallback::as_str), expected.as_ref().copied(), "{kind:?} {value}");
        }
        for kind in [String, Number] {
            let long = GivenFallback::Text("1".repeat(1_001));
            assert_eq!(long.of_kind(kind), Err(FallbackError::TooLong));
        }
        assert!(GivenFallback::Text("ü".repeat(1_000)).of_kind(String).is_ok());
    }

    proptest! {
        #[test]
        fn a_parsed_key_parses_to_itself(text in "[ A-Za-z0-9_]{0,55}|.{0,60}") {
            if let Some(key) = PropertyKey::parse(&text) {
                prop_assert_eq!(PropertyKey::parse(key.as_str()), Some(key));
            }
        }

        #[test]
        fn the_fallback_of_a_response_is_accepted_in_a_request(number: f64) {
            prop_assume!(number.is_finite());
            let number = Number::from_f64(number).unwrap();
            let shown = GivenFallback::Number(number).of_kind(PropertyKind::Number).unwrap();

            let again = GivenFallback::Text(shown.as_str().to_owned()).of_kind(PropertyKind::Number);

            prop_assert_eq!(again, Ok(shown));
        }
    }
}
