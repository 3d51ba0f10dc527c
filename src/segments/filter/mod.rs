//! Segment filters: conditions on the fields of contacts, of which all or any must be true.
//!
//! Data flow: a request or a row is parsed into conditions. Each condition stores its given text, for rows
//! and responses, and a parsed test, for evaluation.
//!
//! Reading order: this file (filters and conditions), `parse.rs` (the grammar and its errors),
//! `instant.rs` (the dates of `created_at`), `matching.rs` (evaluation on a contact).
//!
//! Invariants:
//!
//! - Every filter has passed the grammar, also one from a row. A later version of the grammar must accept
//!   all filters of an earlier version.
//! - Values and keys are compared as text and never interpreted, so that no value can widen a filter.
//! - Evaluation does not allocate, because a count evaluates a filter a million times.

mod instant;
mod matching;
mod parse;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize, Serializer};

pub use matching::FilterSubject;
pub use parse::{
    CREATED_OPS, ConditionError, FilterError, PROPERTY_OPS, TEXT_FIELDS, TEXT_OPS, UNSUBSCRIBED_OPS, needs_value,
};

use crate::base::clock::TimestampMs;
use crate::base::words::words;

/// Maximum number of conditions of a filter. A count evaluates each of them for every contact.
pub const CONDITIONS_MAX: usize = 50;
/// Maximum length of the value of a condition, in characters.
pub const VALUE_CHARS_MAX: usize = 1_000;

words! {
    /// Combination of the conditions of a filter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Match {
        /// Every condition must be true.
        All = "all",
        /// At least one condition must be true.
        Any = "any",
    } with ALL, parse
}

/// A filter that passed its grammar. Without conditions it matches every contact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    #[serde(rename = "match")]
    matching: Match,
    conditions: Vec<Condition>,
}

impl Filter {
    /// Returns the combination of the conditions.
    pub fn matching(&self) -> Match {
        self.matching
    }

    /// Returns whether the filter has no condition and so matches every contact.
    pub fn matches_all(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns the conditions as given, in the given order.
    pub fn conditions(&self) -> impl ExactSizeIterator<Item = &ConditionText> {
        self.conditions.iter().map(|condition| &condition.text)
    }
}

/// A condition as given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionText {
    /// A field of the contact, or `property:` and a key.
    pub field: String,
    /// The operator.
    pub op: String,
    /// The value that the field is compared with; `None` if the operator needs no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A condition that passed the grammar: its given text and its test.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "ConditionText")]
struct Condition {
    text: ConditionText,
    test: Test,
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

/// The test of a condition.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    Text(TextField, TextTest),
    /// Compares the value of the property of this key as a number.
    Number(Box<str>, NumberTest),
    Unsubscribed(bool),
    Created(CreatedTest),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TextField {
    Email,
    FirstName,
    LastName,
    Property(Box<str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TextTest {
    Equals(Box<str>),
    NotEquals(Box<str>),
    Contains(Box<str>),
    StartsWith(Box<str>),
    EndsWith(Box<str>),
    IsSet,
    IsNotSet,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum NumberTest {
    GreaterThan(f64),
    LessThan(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CreatedTest {
    Before(TimestampMs),
    After(TimestampMs),
}
