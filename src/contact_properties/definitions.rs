//! The accepted values of contacts, and the conversion of stored values. Pure.
//!
//! Values are stored as text. The definition of a key decides which values are accepted and which type a
//! stored text has. Without a definition, the type is that of the last JSON value. A definition can be created or
//! deleted after the value was stored. Under the key of a number, a stored text that is not a number reads as a
//! string.

use std::collections::HashMap;

use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

use super::model::PropertyKind;
use super::number;

/// Maximum length of the key of a value, in characters. It exceeds that of a definition, because a value needs
/// no definition.
pub const VALUE_KEY_CHARS_MAX: usize = 200;
/// Maximum length of a value, in characters.
pub const VALUE_CHARS_MAX: usize = 2_000;

/// The type and the fallback of the values under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyDefinition {
    /// Type of the values.
    pub kind: PropertyKind,
    /// Value of a contact without one, as text.
    pub fallback: Option<String>,
}

/// The definitions of a team, by key in any letter case.
#[derive(Clone, Debug, Default)]
pub struct PropertyDefinitions {
    /// By key in lower case: the key in its given letter case, and the definition.
    by_key: HashMap<String, (String, PropertyDefinition)>,
}

impl FromIterator<(String, PropertyDefinition)> for PropertyDefinitions {
    fn from_iter<I: IntoIterator<Item = (String, PropertyDefinition)>>(definitions: I) -> Self {
        let lowered = definitions.into_iter().map(|(key, definition)| (key.to_ascii_lowercase(), (key, definition)));
        Self { by_key: lowered.collect() }
    }
}

/// A value with its type. It serialises as a JSON string or number.
#[derive(Clone, Debug, PartialEq)]
pub enum PropertyValue {
    /// A text.
    String(String),
    /// A number. An integer has all its digits and no fraction.
    Number(Number),
}

impl PropertyValue {
    /// Returns the type of the value.
    pub fn kind(&self) -> PropertyKind {
        match self {
            Self::String(_) => PropertyKind::String,
            Self::Number(_) => PropertyKind::Number,
        }
    }
}

impl Serialize for PropertyValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(text) => serializer.serialize_str(text),
            Self::Number(number) => number.serialize(serializer),
        }
    }
}

/// Error of a value that a contact cannot have under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PropertyError {
    #[error("the key of a property has 1 to {VALUE_KEY_CHARS_MAX} characters")]
    Key,
    /// The value is a boolean, an array or an object.
    #[error("it must be a string, a number or null")]
    Type,
    #[error("it may have {VALUE_CHARS_MAX} characters")]
    TooLong,
    #[error("the property is a number; give a number or null")]
    NotNumeric,
}

impl PropertyDefinitions {
    /// Returns the definition of `key` in any letter case; `None` if the team has none.
    pub fn find(&self, key: &str) -> Option<&PropertyDefinition> {
        self.entry(key).map(|(_, definition)| definition)
    }

    /// Returns `key` in the letter case of its definition; `None` if the team has none.
    pub fn spelling(&self, key: &str) -> Option<&str> {
        self.entry(key).map(|(spelling, _)| spelling.as_str())
    }

    fn entry(&self, key: &str) -> Option<&(String, PropertyDefinition)> {
        // Defined keys are ASCII, so ASCII lower case is enough to compare them.
        self.by_key.get(&key.to_ascii_lowercase())
    }

    /// Returns the type of the values under `key`; `None` if the team has no definition.
    pub fn kind(&self, key: &str) -> Option<PropertyKind> {
        self.find(key).map(|definition| definition.kind)
    }

    /// Returns the value of a contact without one under `key`, as text.
    pub fn fallback(&self, key: &str) -> Option<&str> {
        self.find(key)?.fallback.as_deref()
    }

    /// Converts a stored text: to a number if the type of the key is number and the text is one. Without a definition,
    /// `is_number` decides.
    pub fn read_value(&self, key: &str, text: &str, is_number: bool) -> PropertyValue {
        let number = match self.kind(key) {
            Some(PropertyKind::Number) => number::read(text),
            None if is_number => number::read(text),
            Some(PropertyKind::String) | None => None,
        };
        number.map_or_else(|| PropertyValue::String(text.to_owned()), PropertyValue::Number)
    }

    /// Returns whether the text can be stored under `key`. Only the type number rejects a text.
    pub fn allows(&self, key: &str, text: &str) -> bool {
        match self.kind(key) {
            Some(PropertyKind::Number) => number::parse(text).is_some(),
            Some(PropertyKind::String) | None => true,
        }
    }

    /// Returns the text to store for a value that a request has under `key`; `None` for null, which
    /// removes the value. Combines [`to_text`] and [`PropertyDefinitions::allows`].
    pub fn accept(&self, key: &str, value: &Value) -> Result<Option<String>, PropertyError> {
        match to_text(key, value)? {
            Some(text) if !self.allows(key, &text) => Err(PropertyError::NotNumeric),
            text => Ok(text),
        }
    }
}

/// Returns the text of a value that a request has under `key`; `None` for null. Makes the checks that
/// need no definition.
///
/// # Errors
/// [`PropertyError`], except [`PropertyError::NotNumeric`].
pub fn to_text(key: &str, value: &Value) -> Result<Option<String>, PropertyError> {
    if key.trim().is_empty() || key.chars().count() > VALUE_KEY_CHARS_MAX {
        return Err(PropertyError::Key);
    }
    let text = match value {
        Value::Null => return Ok(None),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(PropertyError::Type),
        Value::Number(number) => number::to_text(number),
        Value::String(text) => text.clone(),
    };
    if text.chars().count() > VALUE_CHARS_MAX { Err(PropertyError::TooLong) } else { Ok(Some(text)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn definitions() -> PropertyDefinitions {
        let definition =
            |kind, fallback: Option<&str>| PropertyDefinition { kind, fallback: fallback.map(str::to_owned) };
        PropertyDefinitions::from_iter([
            ("Age".to_owned(), definition(PropertyKind::Number, Some("18"))),
            ("company".to_owned(), definition(PropertyKind::String, None)),
        ])
    }

    #[test]
    fn a_value_is_stored_as_text() {
        let definitions = definitions();
        for (key, value, stored) in [
            ("company", json!("Acme"), Ok(Some("Acme"))),
            ("company", json!(" kept as it is\n"), Ok(Some(" kept as it is\n"))),
            ("company", json!(""), Ok(Some(""))),
            ("company", json!(12.0), Ok(Some("12"))),
            ("company", json!(true), Err(PropertyError::Type)),
            ("company", json!(null), Ok(None)),
            ("unknown", json!(false), Err(PropertyError::Type)),
            ("unknown", json!(0.1), Ok(Some("0.1"))),
            ("unknown key \u{1f600}", json!("x"), Ok(Some("x"))),
            ("age", json!(37), Ok(Some("37"))),
            ("AGE", json!(" 37.5 "), Ok(Some(" 37.5 "))),
            ("Age", json!(null), Ok(None)),
            ("age", json!("007"), Ok(Some("007"))),
            ("age", json!("thirty"), Err(PropertyError::NotNumeric)),
            ("age", json!(""), Err(PropertyError::NotNumeric)),
            ("age", json!("  "), Err(PropertyError::NotNumeric)),
            ("age", json!("Infinity"), Err(PropertyError::NotNumeric)),
            ("age", json!(true), Err(PropertyError::Type)),
            ("age", json!([37]), Err(PropertyError::Type)),
            ("company", json!({ "name": "Acme" }), Err(PropertyError::Type)),
            ("unknown", json!([]), Err(PropertyError::Type)),
            ("", json!("x"), Err(PropertyError::Key)),
            (" \n", json!(null), Err(PropertyError::Key)),
        ] {
            let accepted = definitions.accept(key, &value);
            assert_eq!(accepted.as_ref().map(Option::as_deref), stored.as_ref().copied(), "{key:?} {value}");
        }
    }

    #[test]
    fn keys_have_200_characters_and_values_2000_at_most() {
        let definitions = definitions();

        assert!(definitions.accept(&"ü".repeat(200), &json!("x")).is_ok());
        assert_eq!(definitions.accept(&"ü".repeat(201), &json!("x")), Err(PropertyError::Key));
        assert!(definitions.accept("company", &json!("ü".repeat(2_000))).is_ok());
        assert_eq!(definitions.accept("company", &json!("ü".repeat(2_001))), Err(PropertyError::TooLong));
        assert_eq!(definitions.accept("age", &json!("1".repeat(2_001))), Err(PropertyError::TooLong));
    }

    #[test]
    fn a_stored_text_has_the_type_of_its_definition_if_possible() {
        let definitions = definitions();
        let text = |text: &str| PropertyValue::String(text.to_owned());
        for (key, stored, read) in [
            ("age", "37", PropertyValue::Number(37.into())),
            ("aGE", " 1e3 ", PropertyValue::Number(1_000.into())),
            ("age", "unknown", text("unknown")),
            ("age", "", text("")),
            ("age", "NaN", text("NaN")),
            ("company", "37", text("37")),
            ("other", "37", text("37")),
            // The lower case of the Kelvin sign is `k`, but no defined key contains the sign.
            ("a\u{212a}", "37", text("37")),
        ] {
            assert_eq!(definitions.read_value(key, stored, false), read, "{key:?} {stored:?}");
        }
        assert_eq!((definitions.fallback("AGE"), definitions.fallback("company")), (Some("18"), None));
        assert_eq!((definitions.spelling("aGE"), definitions.spelling("other")), (Some("Age"), None));
        assert_eq!((definitions.kind("age"), definitions.kind("other")), (Some(PropertyKind::Number), None));
    }

    #[test]
    fn an_integer_is_written_with_all_digits_and_no_fraction() {
        let definitions = definitions();
        for (stored, printed) in [
            ("37", "37"),
            ("37.0", "37"),
            ("0", "0"),
            ("-0", "0"),
            ("+7", "7"),
            (" 007 ", "7"),
            ("-5", "-5"),
            ("37.5", "37.5"),
            ("1e15", "1000000000000000"),
            ("1e16", "10000000000000000"),
            // 2^53 + 1 cannot be represented as f64.
            ("9007199254740993", "9007199254740993"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775807", "9223372036854775807"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "1.8446744073709552e+19"),
            ("1e19", "1e+19"),
            ("-1e300", "-1e+300"),
            ("1e-7", "1e-7"),
        ] {
            let value = definitions.read_value("age", stored, false);
            assert_eq!(serde_json::to_string(&value).unwrap(), printed, "{stored}");
        }
        assert_eq!(serde_json::to_string(&PropertyValue::String("37".into())).unwrap(), "\"37\"");
    }

    proptest! {
        #[test]
        fn a_number_is_read_back_unchanged(number: f64) {
            prop_assume!(number.is_finite());
            let definitions = definitions();

            let stored = definitions.accept("age", &json!(number)).unwrap().unwrap();

            let PropertyValue::Number(read) = definitions.read_value("age", &stored, false) else { panic!("{stored}") };
            prop_assert_eq!(read.as_f64(), Some(number));
        }

        #[test]
        fn an_integer_is_read_back_with_all_digits(signed: i64, unsigned: u64) {
            let definitions = definitions();
            for number in [Number::from(signed), Number::from(unsigned)] {
                let stored = definitions.accept("age", &Value::Number(number.clone())).unwrap().unwrap();

                prop_assert_eq!(definitions.read_value("age", &stored, false), PropertyValue::Number(number));
            }
        }

        #[test]
        fn the_written_number_equals_the_given_number(number in prop_oneof![any::<f64>(), any::<i64>().prop_map(|n| n as f64 * 16.0)]) {
            prop_assume!(number.is_finite());
            let definitions = definitions();
            let stored = definitions.accept("age", &json!(number)).unwrap().unwrap();

            let printed = serde_json::to_string(&definitions.read_value("age", &stored, false)).unwrap();

            prop_assert_eq!(printed.parse::<f64>().unwrap(), number);
            prop_assert!(!printed.ends_with(".0"), "{}", printed);
        }

        #[test]
        fn an_accepted_value_is_read_back_as_the_same_text_or_number(key in "age|company|.{0,10}", value in ".{0,20}") {
            let definitions = definitions();
            if let Ok(Some(stored)) = definitions.accept(&key, &json!(value)) {
                match definitions.read_value(&key, &stored, false) {
                    PropertyValue::String(text) => prop_assert_eq!(text, value),
                    PropertyValue::Number(number) => prop_assert_eq!(number.as_f64(), number::parse(&value)),
                }
            }
        }
    }
}
