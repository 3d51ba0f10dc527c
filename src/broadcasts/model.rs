//! Drafts and their fields. Pure.

use crate::base::address::Mailbox;
use crate::base::id::{SegmentId, TopicId};
use crate::base::one_line::one_line;
use crate::base::patch::Patch;
use crate::broadcast_rows::BroadcastContent;

/// Maximum length of a name, in characters.
pub(super) const NAME_CHARS_MAX: usize = 255;
/// Maximum length of a preview text, in characters.
pub(super) const PREVIEW_CHARS_MAX: usize = 500;
/// Maximum size of the content of a broadcast, in bytes: HTML, text and Markdown source together.
pub const CONTENT_BYTES_MAX: usize = 2 << 20;
/// End of the name of a copy.
const COPY: &str = " (copy)";

/// Name of a broadcast: 1 to 255 characters on one line, without surrounding white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastName(String);

impl BroadcastName {
    /// Parses a name; `None` if the text is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        one_line(text, NAME_CHARS_MAX).map(|text| Self(text.to_owned()))
    }

    /// Returns the name of a copy of a broadcast that is shown as `name`. A long name is shortened.
    pub(super) fn of_copy(name: &str) -> Self {
        let kept = NAME_CHARS_MAX - COPY.chars().count();
        Self(name.chars().take(kept).chain(COPY.chars()).collect())
    }

    /// Converts into the text that rows store.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Text that mail clients show beside the subject: 1 to 500 characters on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewText(String);

impl PreviewText {
    /// Parses a preview text; `None` if the text is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        one_line(text, PREVIEW_CHARS_MAX).map(|text| Self(text.to_owned()))
    }

    /// Converts into the text that rows store.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// A draft to create.
#[derive(Clone, Debug)]
pub struct NewBroadcast {
    /// Name; `None` to show the subject.
    pub name: Option<BroadcastName>,
    pub from: Mailbox,
    /// Valid subject, with merge fields.
    pub subject: String,
    pub reply_to: Vec<Mailbox>,
    pub preview_text: Option<PreviewText>,
    /// Segment of the recipients; `None` for all contacts.
    pub segment: Option<SegmentId>,
    /// Topic that the recipients must receive; `None` for every subscribed contact.
    pub topic: Option<TopicId>,
    /// At most [`CONTENT_BYTES_MAX`] bytes.
    pub content: BroadcastContent,
}

/// Changes to a draft.
#[derive(Clone, Debug, Default)]
pub struct BroadcastChanges {
    pub name: Patch<BroadcastName>,
    pub from: Option<Mailbox>,
    pub subject: Option<String>,
    /// The new list, which can be empty.
    pub reply_to: Option<Vec<Mailbox>>,
    pub preview_text: Patch<PreviewText>,
    pub segment: Patch<SegmentId>,
    pub topic: Patch<TopicId>,
    pub html: Patch<String>,
    pub text: Patch<String>,
    pub source: Patch<String>,
    /// Revision that the changes are based on; `None` to apply them to any revision.
    pub revision: Option<u32>,
}

impl BroadcastChanges {
    /// Returns whether a part of the content is set or removed.
    pub(super) fn has_content(&self) -> bool {
        [&self.html, &self.text, &self.source].into_iter().any(|part| *part != Patch::Keep)
    }

    /// Applies the changes to the content. HTML or text that is set without Markdown ends the Markdown.
    pub(super) fn apply_to_content(&self, content: &mut BroadcastContent) {
        if self.html != Patch::Keep || self.text != Patch::Keep {
            content.source = None;
        }
        self.html.apply(&mut content.html);
        self.text.apply(&mut content.text);
        self.source.apply(&mut content.source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_preview_text_are_one_line_within_their_limits() {
        for (text, is_valid) in [("June", true), (" June ", true), ("", false), ("  ", false), ("a\nb", false)] {
            assert_eq!(BroadcastName::parse(text).is_some(), is_valid, "{text:?}");
            assert_eq!(PreviewText::parse(text).is_some(), is_valid, "{text:?}");
        }
        assert!(BroadcastName::parse(&"ü".repeat(255)).is_some() && BroadcastName::parse(&"ü".repeat(256)).is_none());
        assert!(PreviewText::parse(&"ü".repeat(500)).is_some() && PreviewText::parse(&"ü".repeat(501)).is_none());
    }

    #[test]
    fn the_name_of_a_copy_is_a_valid_name() {
        assert_eq!(BroadcastName::of_copy("June").into_string(), "June (copy)");
        let long = BroadcastName::of_copy(&"ü".repeat(998)).into_string();
        assert_eq!(long.chars().count(), NAME_CHARS_MAX);
        assert!(long.ends_with("ü (copy)"), "{long}");
    }
}
