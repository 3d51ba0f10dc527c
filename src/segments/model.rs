//! Segments and their fields. Pure.

use super::filter::Filter;
use crate::base::clock::TimestampMs;
use crate::base::id::SegmentId;
use crate::base::one_line::one_line;
use crate::base::patch::Patch;

/// Maximum number of segments of a team. A contact can be in all of them, and a response then lists all.
pub const SEGMENTS_MAX: usize = 1_000;
/// Maximum length of a name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 255;

/// Name of a segment: 1 to 255 characters on one line, without surrounding white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentName(String);

impl SegmentName {
    /// Parses a name; `None` if the text is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        one_line(text, NAME_CHARS_MAX).map(|text| Self(text.to_owned()))
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

/// A segment to create.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSegment {
    pub name: SegmentName,
    /// The filter; `None` if the segment contains only its members.
    pub filter: Option<Filter>,
}

/// Changes to a segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SegmentChanges {
    pub name: Option<SegmentName>,
    pub filter: Patch<Filter>,
}

/// A segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    pub id: SegmentId,
    pub name: String,
    /// The filter; `None` if the segment contains only its members.
    pub filter: Option<Filter>,
    /// Time of creation.
    pub created_ms: TimestampMs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_1_to_255_characters() {
        for (text, parsed) in [
            ("  Käufer 📬 ", Some("Käufer 📬")),
            ("'; DROP TABLE --", Some("'; DROP TABLE --")),
            ("", None),
            (" \u{3000}\n", None),
            ("a\nb", None),
            ("a\u{0}b", None),
        ] {
            assert_eq!(SegmentName::parse(text).as_ref().map(SegmentName::as_str), parsed, "{text:?}");
        }
        assert!(SegmentName::parse(&"ü".repeat(255)).is_some());
        assert!(SegmentName::parse(&"ü".repeat(256)).is_none());
    }
}
