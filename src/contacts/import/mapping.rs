//! What columns say, as a person tells it. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest mapping of one option, in bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Characters of a column's name that a sentence shows.
const NAME_CHARS_SHOWN: usize = 60;
/// What a column of our own export is called that holds a property, before its key.
pub(in crate::contacts) const PROPERTY_PREFIX: &str = "property:";

/// What a column says of a contact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnTarget {
    /// Its address.
    Email,
    /// Its first name.
    FirstName,
    /// Its last name.
    LastName,
    /// Whether it opted out of all marketing email.
    Unsubscribed,
    /// The ids of segments it is added to, with spaces between.
    Segment,
    /// The ids of topics it chose to receive, in the same form.
    TopicOptIn,
    /// The ids of topics it opted out of, in the same form.
    TopicOptOut,
    /// Its value of the property with this key.
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

    /// Returns what a column of that name says by itself.
    pub(super) fn of_column(name: &str) -> Option<Self> {
        let letters = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).flat_map(char::to_lowercase);
        match letters.collect::<String>().as_str() {
            "email" | "emailaddress" => Some(Self::Email),
            "firstname" => Some(Self::FirstName),
            "lastname" => Some(Self::LastName),
            "unsubscribed" => Some(Self::Unsubscribed),
            // The columns of our own export: a `segment` or `topic` of somebody else holds names.
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

/// One word about a column: what it says, or that it is passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    /// What the column says; none where it is passed over.
    pub(super) target: Option<ColumnTarget>,
    /// The column's name, or its number after a `#`.
    pub(super) column: String,
}

/// What columns say where their names do not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping(pub(super) Vec<Assignment>);

/// Why a text is no mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapError {
    /// It is longer than a mapping can be.
    TooLong,
    /// A part is not `TARGET=COLUMN`.
    Form(String),
    /// There is no such target.
    Target(String),
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "a mapping has at most {} KiB", TEXT_BYTES_MAX >> 10),
            Self::Form(part) => write!(f, "`{}` is not TARGET=COLUMN, such as email=E-mail", shown(part)),
            Self::Target(word) => write!(
                f,
                "`{}` is none of email, first_name, last_name, unsubscribed, segment, topic_opt_in, topic_opt_out, \
                 property:KEY and ignore",
                shown(word)
            ),
        }
    }
}

impl std::error::Error for MapError {}

impl Mapping {
    /// Reads `TARGET=COLUMN` with commas between. A column is named as in the header, or by its number
    /// after a `#`, for names that hold a comma or stand twice.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn parse(text: &str) -> Result<Self, MapError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(MapError::TooLong);
        }
        text.split(',').map(assignment).collect::<Result<_, _>>().map(Self)
    }

    /// Returns what all of them say together.
    pub fn joined(mappings: impl IntoIterator<Item = Self>) -> Self {
        Self(mappings.into_iter().flat_map(|mapping| mapping.0).collect())
    }
}

fn assignment(part: &str) -> Result<Assignment, MapError> {
    let (word, column) = part.split_once('=').ok_or_else(|| MapError::Form(part.to_owned()))?;
    let (word, column) = (word.trim(), column.trim());
    if column.is_empty() {
        return Err(MapError::Form(part.to_owned()));
    }
    let target = match word {
        "ignore" => None,
        word => Some(ColumnTarget::parse(word).ok_or_else(|| MapError::Target(word.to_owned()))?),
    };
    Ok(Assignment { target, column: column.to_owned() })
}

/// Returns what a file says as it may stand in a sentence: short, and without control characters.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(NAME_CHARS_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(NAME_CHARS_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_mapping_says_what_one_is() {
        for (text, word) in [
            ("", "TARGET=COLUMN"),
            ("email", "`email`"),
            ("email=", "TARGET=COLUMN"),
            ("email=a,,", "TARGET=COLUMN"),
            ("mail=a", "`mail`"),
            ("property:=a", "property:KEY"),
            ("Email=a", "`Email`"),
        ] {
            let error = Mapping::parse(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert_eq!(Mapping::parse(&"x".repeat(TEXT_BYTES_MAX + 1)), Err(MapError::TooLong));
    }
}
