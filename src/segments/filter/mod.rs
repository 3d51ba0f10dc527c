//! Segment filters: which contacts a segment holds by what is known of them.
//!
//! A filter is a list of conditions, of which all or any must hold. It is parsed once, on its way
//! in; what is stored and shown is each condition as it was given, and what is run is the test it
//! stands for.
//!
//! Reading order: this file (what a filter is), `parse.rs` (the grammar and its refusals),
//! `instant.rs` (the dates of `created_at`), `matching.rs` (the question put to each contact).
//!
//! Invariants: a filter that exists passed its grammar, from the disk too, so the grammar may grow
//! and never shrink; values and keys are compared and never run, so nothing in them can widen a
//! filter; asking allocates nothing, because a count asks a million times.

mod instant;
mod matching;
mod parse;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize, Serializer};

pub use matching::FilterSubject;
pub use parse::{ConditionError, FilterError};

use crate::base::clock::TimestampMs;

/// Conditions in a filter at most: each is asked of every contact.
pub const CONDITIONS_MAX: usize = 50;
/// Characters of a condition's value at most.
pub const VALUE_CHARS_MAX: usize = 1_000;

/// How the conditions of a filter go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Each must hold.
    All,
    /// One is enough.
    Any,
}

impl Match {
    /// The words, as they are accepted.
    pub const WORDS: [&str; 2] = ["all", "any"];

    /// Reads the word of the wire.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "all" => Some(Self::All),
            "any" => Some(Self::Any),
            _ => None,
        }
    }

    /// Returns the word of the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Any => "any",
        }
    }
}

/// A filter that passed its grammar. Without conditions it matches every contact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    #[serde(rename = "match")]
    matching: Match,
    conditions: Vec<Condition>,
}

impl Filter {
    /// Returns how the conditions go together.
    pub fn matching(&self) -> Match {
        self.matching
    }

    /// Returns whether there is no condition, so that every contact matches.
    pub fn matches_everybody(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns the conditions as they were given, in their order.
    pub fn conditions(&self) -> impl ExactSizeIterator<Item = &ConditionText> {
        self.conditions.iter().map(|condition| &condition.text)
    }
}

/// A condition in the words of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionText {
    /// What is looked at: a field of the contact, or `property:` and a key.
    pub field: String,
    /// How it is looked at.
    pub op: String,
    /// What it is compared with; nothing for an operator that compares with nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A condition that passed the grammar: its words, and the test they stand for.
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

/// What a condition asks.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    Text(TextField, TextTest),
    /// The value of the property under the key, as a number.
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
