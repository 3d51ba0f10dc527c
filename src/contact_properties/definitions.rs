//! What a contact may hold under a key, and how what it holds reads. Pure.
//!
//! Values are stored as text. The definition of a key decides what is accepted and how the text
//! reads, and may come or go after the value: a text that is no number under a number's key reads as
//! a string.

use std::collections::HashMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

use super::model::PropertyKind;
use super::number;

/// The longest key of a value, in characters: longer than those of definitions, because nobody need
/// define it.
pub const VALUE_KEY_CHARS_MAX: usize = 200;
/// The longest value, in characters.
const VALUE_CHARS_MAX: usize = 2_000;

/// What a team says of the values under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// What they are.
    pub kind: PropertyKind,
    /// What stands for a contact without a value, as text.
    pub fallback: Option<String>,
}

/// The definitions of a team, by key without regard to case.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// By the key in lower case, with the key as it is spelled.
    by_key: HashMap<String, (String, Definition)>,
}

impl FromIterator<(String, Definition)> for Definitions {
    fn from_iter<I: IntoIterator<Item = (String, Definition)>>(definitions: I) -> Self {
        let lowered = definitions.into_iter().map(|(key, definition)| (key.to_ascii_lowercase(), (key, definition)));
        Self { by_key: lowered.collect() }
    }
}

/// A value as it reads. It serialises as a JSON string or number.
#[derive(Clone, Debug, PartialEq)]
pub enum PropertyValue {
    /// A text.
    String(String),
    /// A number: an integer with all its digits, without a fraction.
    Number(Number),
}

impl PropertyValue {
    /// Returns what the value is.
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

/// Why a contact cannot hold a value under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyError {
    /// The key is blank or longer than 200 characters.
    Key,
    /// The value is an array or an object.
    Nested,
    /// The text is longer than 2,000 characters.
    TooLong,
    /// The key is a number's, and the value does not read as one.
    NotNumeric,
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => write!(f, "the key of a property has 1 to {VALUE_KEY_CHARS_MAX} characters"),
            Self::Nested => f.write_str("it must be a string, a number, true, false or null"),
            Self::TooLong => write!(f, "it may have {VALUE_CHARS_MAX} characters"),
            Self::NotNumeric => f.write_str("the property is a number; give a number or null"),
        }
    }
}

impl Definitions {
    /// Returns what is said of the values under `key`; `None` when nobody defined it.
    pub fn find(&self, key: &str) -> Option<&Definition> {
        self.entry(key).map(|(_, definition)| definition)
    }

    /// Returns `key` as its definition spells it; `None` when nobody defined it.
    pub fn spelling(&self, key: &str) -> Option<&str> {
        self.entry(key).map(|(spelling, _)| spelling.as_str())
    }

    fn entry(&self, key: &str) -> Option<&(String, Definition)> {
        // Defined keys are ASCII: no other letter is the same as one of theirs.
        self.by_key.get(&key.to_ascii_lowercase())
    }

    /// Returns what the values under `key` are; nothing when nobody defined it.
    pub fn kind(&self, key: &str) -> Option<PropertyKind> {
        self.find(key).map(|definition| definition.kind)
    }

    /// Returns what stands for a contact without a value under `key`, as text.
    pub fn fallback(&self, key: &str) -> Option<&str> {
        self.find(key)?.fallback.as_deref()
    }

    /// Reads a stored value: a number where the key is a number's and the text reads as one.
    pub fn read_value(&self, key: &str, text: &str) -> PropertyValue {
        let number = match self.kind(key) {
            Some(PropertyKind::Number) => number::read(text),
            Some(PropertyKind::String) | None => None,
        };
        number.map_or_else(|| PropertyValue::String(text.to_owned()), PropertyValue::Number)
    }

    /// Returns whether the text may be stored under `key`: any text, unless the key is a number's.
    pub fn allows(&self, key: &str, text: &str) -> bool {
        match self.kind(key) {
            Some(PropertyKind::Number) => number::parse(text).is_some(),
            Some(PropertyKind::String) | None => true,
        }
    }

    /// Returns the text to store for a value that a caller gives under `key`; `None` for null, which
    /// removes what is there. As [`to_text`] and [`Definitions::allows`] together.
    ///
    /// # Errors
    /// [`PropertyError`].
    pub fn accept(&self, key: &str, value: &Value) -> Result<Option<String>, PropertyError> {
        match to_text(key, value)? {
            Some(text) if !self.allows(key, &text) => Err(PropertyError::NotNumeric),
            text => Ok(text),
        }
    }
}

/// Returns the text of a value that a caller gives under `key`; `None` for null. This is what can be
/// said of it without knowing how its key is defined.
///
/// # Errors
/// [`PropertyError`], but [`PropertyError::NotNumeric`].
pub fn to_text(key: &str, value: &Value) -> Result<Option<String>, PropertyError> {
    if key.trim().is_empty() || key.chars().count() > VALUE_KEY_CHARS_MAX {
        return Err(PropertyError::Key);
    }
    let text = match value {
        Value::Null => return Ok(None),
        Value::Array(_) | Value::Object(_) => return Err(PropertyError::Nested),
        Value::Bool(truth) => truth.to_string(),
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

    fn definitions() -> Definitions {
        let definition = |kind, fallback: Option<&str>| Definition { kind, fallback: fallback.map(str::to_owned) };
        Definitions::from_iter([
            ("Age".to_owned(), definition(PropertyKind::Number, Some("18"))),
            ("company".to_owned(), definition(PropertyKind::String, None)),
        ])
    }

    #[test]
    fn a_value_becomes_the_text_that_is_stored() {
        let definitions = definitions();
        for (key, value, stored) in [
            ("company", json!("Acme"), Ok(Some("Acme"))),
            ("company", json!(" kept as it is\n"), Ok(Some(" kept as it is\n"))),
            ("company", json!(""), Ok(Some(""))),
            ("company", json!(12.0), Ok(Some("12"))),
            ("company", json!(true), Ok(Some("true"))),
            ("company", json!(null), Ok(None)),
            ("unknown", json!(false), Ok(Some("false"))),
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
            ("age", json!(true), Err(PropertyError::NotNumeric)),
            ("age", json!([37]), Err(PropertyError::Nested)),
            ("company", json!({ "name": "Acme" }), Err(PropertyError::Nested)),
            ("unknown", json!([]), Err(PropertyError::Nested)),
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
    fn a_text_reads_as_its_definition_says_while_it_can() {
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
            // The Kelvin sign is no letter of a defined key, whatever its lower case.
            ("a\u{212a}", "37", text("37")),
        ] {
            assert_eq!(definitions.read_value(key, stored), read, "{key:?} {stored:?}");
        }
        assert_eq!((definitions.fallback("AGE"), definitions.fallback("company")), (Some("18"), None));
        assert_eq!((definitions.spelling("aGE"), definitions.spelling("other")), (Some("Age"), None));
        assert_eq!((definitions.kind("age"), definitions.kind("other")), (Some(PropertyKind::Number), None));
    }

    #[test]
    fn an_integer_prints_all_its_digits_and_no_fraction() {
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
            // 2^53 + 1 is no f64.
            ("9007199254740993", "9007199254740993"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775807", "9223372036854775807"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "1.8446744073709552e+19"),
            ("1e19", "1e+19"),
            ("-1e300", "-1e+300"),
            ("1e-7", "1e-7"),
        ] {
            let value = definitions.read_value("age", stored);
            assert_eq!(serde_json::to_string(&value).unwrap(), printed, "{stored}");
        }
        assert_eq!(serde_json::to_string(&PropertyValue::String("37".into())).unwrap(), "\"37\"");
    }

    proptest! {
        #[test]
        fn a_number_reads_back_as_it_was_given(number: f64) {
            prop_assume!(number.is_finite());
            let definitions = definitions();

            let stored = definitions.accept("age", &json!(number)).unwrap().unwrap();

            let PropertyValue::Number(read) = definitions.read_value("age", &stored) else { panic!("{stored}") };
            prop_assert_eq!(read.as_f64(), Some(number));
        }

        #[test]
        fn an_integer_reads_back_digit_by_digit(signed: i64, unsigned: u64) {
            let definitions = definitions();
            for number in [Number::from(signed), Number::from(unsigned)] {
                let stored = definitions.accept("age", &Value::Number(number.clone())).unwrap().unwrap();

                prop_assert_eq!(definitions.read_value("age", &stored), PropertyValue::Number(number));
            }
        }

        #[test]
        fn what_prints_is_the_number(number in prop_oneof![any::<f64>(), any::<i64>().prop_map(|n| n as f64 * 16.0)]) {
            prop_assume!(number.is_finite());
            let definitions = definitions();
            let stored = definitions.accept("age", &json!(number)).unwrap().unwrap();

            let printed = serde_json::to_string(&definitions.read_value("age", &stored)).unwrap();

            prop_assert_eq!(printed.parse::<f64>().unwrap(), number);
            prop_assert!(!printed.ends_with(".0"), "{}", printed);
        }

        #[test]
        fn whatever_is_accepted_reads_as_something_of_the_same_text(key in "age|company|.{0,10}", value in ".{0,20}") {
            let definitions = definitions();
            if let Ok(Some(stored)) = definitions.accept(&key, &json!(value)) {
                match definitions.read_value(&key, &stored) {
                    PropertyValue::String(text) => prop_assert_eq!(text, value),
                    PropertyValue::Number(number) => prop_assert_eq!(number.as_f64(), number::parse(&value)),
                }
            }
        }
    }
}
