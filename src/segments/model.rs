//! What a segment is. Pure.

use super::filter::Filter;
use crate::base::clock::TimestampMs;
use crate::base::id::SegmentId;
use crate::base::one_line::one_line;
use crate::base::patch::Patch;

/// The most segments of a team: a contact may be in all of them, and each is named where it is.
pub const SEGMENTS_MAX: usize = 1_000;
/// The longest name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 255;

/// A segment's name: one line of 1 to 255 characters, without space around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentName(String);

impl SegmentName {
    /// Reads a name; `None` when the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        one_line(text, NAME_CHARS_MAX).map(|text| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text as rows hold it.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// What a new segment is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSegment {
    /// Its name.
    pub name: SegmentName,
    /// Whom it holds by what is known of them; none for a segment that is filled by hand.
    pub filter: Option<Filter>,
}

/// What an update changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SegmentChanges {
    /// Its name.
    pub name: Option<SegmentName>,
    /// Its filter.
    pub filter: Patch<Filter>,
}

/// A segment as its team sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Its id.
    pub id: SegmentId,
    /// Its name.
    pub name: String,
    /// Whom it holds by what is known of them.
    pub filter: Option<Filter>,
    /// When it was made.
    pub created_ms: TimestampMs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_1_to_255_characters() {
        for (text, kept) in [
            ("  Käufer 📬 ", Some("Käufer 📬")),
            ("'; DROP TABLE --", Some("'; DROP TABLE --")),
            ("", None),
            (" \u{3000}\n", None),
            ("a\nb", None),
            ("a\u{0}b", None),
        ] {
            assert_eq!(SegmentName::parse(text).as_ref().map(SegmentName::as_str), kept, "{text:?}");
        }
        assert!(SegmentName::parse(&"ü".repeat(255)).is_some());
        assert!(SegmentName::parse(&"ü".repeat(256)).is_none());
    }
}
