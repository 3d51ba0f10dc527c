//! The mapping of columns to contact fields that a user gives. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum length of a mapping in bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Maximum number of characters of an input in an error message.
const EXCERPT_CHARS: usize = 60;
/// Prefix of a property key in a target, and in the column names of an export.
pub(in crate::contacts) const PROPERTY_PREFIX: &str = "property:";

/// Contact field that a column sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnTarget {
    Email,
    FirstName,
    LastName,
    /// Opt-out of all marketing email.
    Unsubscribed,
    /// Ids of segments that the contact becomes a member of, separated by spaces.
    Segment,
    /// Ids of topics that the contact opted in to, separated by spaces.
    TopicOptIn,
    /// Ids of topics that the contact opted out of, separated by spaces.
    TopicOptOut,
    /// Value of the property with this key.
    Property(String),
}

impl ColumnTarget {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "email" => Some(Self::Email),
            "first_name" => Some(Self::FirstName),
            "last_name" => Some(Self::LastName),
            "unsubscribed" => Some(Self::Unsubscribed),
            "segment" => Some(Self::Segment),
            "topic_opt_in" => Some(Self::TopicOptIn),
            "topic_opt_out" => Some(Self::TopicOptOut),
            other => match other.strip_prefix(PROPERTY_PREFIX) {
                Some(key) if !key.is_empty() => Some(Self::Property(key.to_owned())),
                _ => None,
            },
        }
    }

    /// Returns the field of an unmapped column with this name; `None` if the column is skipped.
    pub(super) fn of_column(name: &str) -> Option<Self> {
        let letters = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).flat_map(char::to_lowercase);
        match letters.collect::<String>().as_str() {
            "email" | "emailaddress" => Some(Self::Email),
            "firstname" => Some(Self::FirstName),
            "lastname" => Some(Self::LastName),
            "unsubscribed" => Some(Self::Unsubscribed),
            // Only columns of an export. A `segment` or `topic` column of another tool contains names.
            "segmentids" => Some(Self::Segment),
            "topicoptinids" => Some(Self::TopicOptIn),
            "topicoptoutids" => Some(Self::TopicOptOut),
            _ => match name.strip_prefix(PROPERTY_PREFIX) {
                Some(key) if !key.is_empty() => Some(Self::Property(key.to_owned())),
                _ => None,
            },
        }
    }
}

impl fmt::Display for ColumnTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Email => f.write_str("email"),
            Self::FirstName => f.write_str("first_name"),
            Self::LastName => f.write_str("last_name"),
            Self::Unsubscribed => f.write_str("unsubscribed"),
            Self::Segment => f.write_str("segment"),
            Self::TopicOptIn => f.write_str("topic_opt_in"),
            Self::TopicOptOut => f.write_str("topic_opt_out"),
            Self::Property(key) => write!(f, "{PROPERTY_PREFIX}{key}"),
        }
    }
}

/// Target of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnAssignment {
    /// Field that the column sets; `None` if the column is skipped.
    pub(super) target: Option<ColumnTarget>,
    /// Name of the column, or its number after a `#`.
    pub(super) column: String,
}

/// Targets of columns. They take precedence over the targets that follow from the column names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMapping(pub(super) Vec<ColumnAssignment>);

/// Reason why a text is not a mapping.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    #[error("a mapping has at most {} KiB", TEXT_BYTES_MAX >> 10)]
    TooLong,
    #[error("`{}` is not TARGET=COLUMN, such as email=E-mail", excerpt(.0))]
    Form(String),
    #[error(
        "`{}` is not a target; use email, first_name, last_name, unsubscribed, segment, topic_opt_in, \
         topic_opt_out, property:KEY or ignore",
        excerpt(.0)
    )]
    Target(String),
}

impl ColumnMapping {
    /// Parses a comma-separated list of `TARGET=COLUMN`. `COLUMN` is the name of a column, or its number
    /// after a `#`. The number is for names that contain a comma or occur twice.
    pub fn parse(text: &str) -> Result<Self, MapError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(MapError::TooLong);
        }
        text.split(',').map(parse_assignment).collect::<Result<_, _>>().map(Self)
    }

    /// Returns a mapping with the assignments of all `mappings`.
    pub fn joined(mappings: impl IntoIterator<Item = Self>) -> Self {
        Self(mappings.into_iter().flat_map(|mapping| mapping.0).collect())
    }
}

fn parse_assignment(part: &str) -> Result<ColumnAssignment, MapError> {
    let (word, column) = part.split_once('=').ok_or_else(|| MapError::Form(part.to_owned()))?;
    let (word, column) = (word.trim(), column.trim());
    if column.is_empty() {
        return Err(MapError::Form(part.to_owned()));
    }
    let target = match word {
        "ignore" => None,
        word => Some(ColumnTarget::parse(word).ok_or_else(|| MapError::Target(word.to_owned()))?),
    };
    Ok(ColumnAssignment { target, column: column.to_owned() })
}

/// Returns the start of a text for an error message, with spaces instead of control characters.
pub(super) fn excerpt(text: &str) -> String {
    let mut excerpt: String = text.chars().take(EXCERPT_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(EXCERPT_CHARS).is_some() {
        excerpt.push('…');
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_mapping_is_rejected_with_the_accepted_form() {
        for (text, word) in [
            ("", "TARGET=COLUMN"),
            ("email", "`email`"),
            ("email=", "TARGET=COLUMN"),
            ("email=a,,", "TARGET=COLUMN"),
            ("mail=a", "`mail`"),
            ("property:=a", "property:KEY"),
            ("Email=a", "`Email`"),
        ] {
            let error = ColumnMapping::parse(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert_eq!(ColumnMapping::parse(&"x".repeat(TEXT_BYTES_MAX + 1)), Err(MapError::TooLong));
    }
}
