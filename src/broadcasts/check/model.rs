//! The result of a check. Pure.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::base::words::words;

/// Size of the HTML from which Gmail hides the rest of a message, in bytes.
pub const HTML_BYTES_CLIPPED: usize = 102_400;

words! {
    /// Kind of a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum FindingKind {
        /// The subject is empty.
        SubjectEmpty = "subject_empty",
        /// Neither HTML nor text.
        ContentMissing = "content_missing",
        /// The domain of the sender is not a verified domain of the team.
        SenderUnverified = "sender_unverified",
        /// A record of the sender's domain is missing or differs.
        SenderAlignment = "sender_alignment",
        /// No contact would receive the broadcast.
        AudienceEmpty = "audience_empty",
        /// No part has a placeholder of the unsubscribe link.
        UnsubscribeMissing = "unsubscribe_missing",
        /// A merge field has no fallback.
        FallbackMissing = "fallback_missing",
        /// A merge field has the name of no property.
        FieldUnknown = "field_unknown",
        /// Mail clients hide the end of the HTML.
        Size = "size",
        /// An image without alternative text.
        AltMissing = "alt_missing",
        /// A link that mail clients cannot open.
        LinkInvalid = "link_invalid",
        /// A link whose server has no such page, or does not answer.
        LinkDead = "link_dead",
    }
}

impl FindingKind {
    /// Returns whether the broadcast cannot be sent as it is.
    pub const fn severity(self) -> FindingSeverity {
        match self {
            Self::SubjectEmpty | Self::ContentMissing | Self::SenderUnverified => FindingSeverity::Error,
            Self::SenderAlignment
            | Self::AudienceEmpty
            | Self::UnsubscribeMissing
            | Self::FallbackMissing
            | Self::FieldUnknown
            | Self::Size
            | Self::AltMissing
            | Self::LinkInvalid
            | Self::LinkDead => FindingSeverity::Warning,
        }
    }
}

words! {
    /// Effect of a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum FindingSeverity {
        /// The broadcast cannot be sent, or would be empty.
        Error = "error",
        Warning = "warning",
    }
}

words! {
    /// Part of a broadcast that a finding is in.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum FindingPart {
        Subject = "subject",
        PreviewText = "preview_text",
        /// The Markdown of the composer.
        Source = "source",
        Html = "html",
        Text = "text",
    }
}

/// Place of a finding in its part. Editors count UTF-16 code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FindingPlace {
    /// Start, in UTF-16 code units.
    pub at: usize,
    /// Length, in UTF-16 code units.
    pub length: usize,
    /// Line, from 1.
    pub line: usize,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastFinding {
    pub kind: FindingKind,
    /// Sentence for people.
    pub message: String,
    pub part: Option<FindingPart>,
    pub place: Option<FindingPlace>,
    /// Name of the merge field.
    pub name: Option<String>,
    pub url: Option<String>,
    /// Recipients without a value of the field.
    pub contacts: Option<u64>,
}

impl BroadcastFinding {
    /// Returns a finding about the whole broadcast.
    pub fn new(kind: FindingKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), part: None, place: None, name: None, url: None, contacts: None }
    }

    /// Returns the finding in a part.
    #[must_use]
    pub fn within(self, part: FindingPart) -> Self {
        Self { part: Some(part), ..self }
    }

    /// Returns the finding at a place of a part.
    #[must_use]
    pub fn at(self, part: FindingPart, place: FindingPlace) -> Self {
        Self { part: Some(part), place: Some(place), ..self }
    }

    /// Returns the order in a response: errors first, then those about the whole broadcast, then by part and place.
    pub(super) fn order(&self) -> (FindingSeverity, Option<FindingPart>, Option<FindingPlace>, FindingKind) {
        (self.kind.severity(), self.part, self.place, self.kind)
    }
}

/// The contacts of a broadcast. Each contact is counted once, at its first reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AudienceFunnel {
    /// Contacts of the segment, or of the team.
    pub total: u64,
    /// Opted out of all marketing email.
    pub unsubscribed: u64,
    /// Do not receive the topic.
    pub opted_out: u64,
    /// On the suppression list.
    pub suppressed: u64,
    pub will_receive: u64,
    /// Whether all contacts were read. If not, each number is a lower bound.
    #[serde(rename = "complete")]
    pub is_complete: bool,
}

/// Number of links that were requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Different links in the content that can be requested.
    pub found: usize,
    /// Links that were requested in time.
    pub checked: usize,
    pub dead: usize,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastCheck {
    pub audience: AudienceFunnel,
    /// Ordered by severity, part and place.
    pub findings: Vec<BroadcastFinding>,
    /// Size of the HTML, in bytes.
    pub html_bytes: usize,
    /// `None` if the links were not requested.
    pub links: Option<LinkSummary>,
}

/// Distance of the marks of a text, in bytes.
const MARK_BYTES: usize = 256;

/// Finds places in a text. Each place reads a bounded number of bytes, even if ranges are nested.
pub(super) struct TextPlaces<'t> {
    text: &'t str,
    /// Positions of the bytes 0, [`MARK_BYTES`], and so on.
    marks: Vec<TextPosition>,
    #[cfg(test)]
    bytes_read: std::cell::Cell<usize>,
}

/// Position of a byte in a text.
#[derive(Clone, Copy, Debug, Default)]
struct TextPosition {
    /// UTF-16 code units before the byte.
    units: usize,
    /// Line breaks before the byte.
    line_breaks: usize,
}

impl<'t> TextPlaces<'t> {
    /// Reads the text once.
    pub(super) fn new(text: &'t str) -> Self {
        let mut end = TextPosition::default();
        let mut marks = vec![end];
        for bytes in text.as_bytes().chunks(MARK_BYTES) {
            end = end.after(bytes);
            marks.push(end);
        }
        Self {
            text,
            marks,
            #[cfg(test)]
            bytes_read: std::cell::Cell::new(0),
        }
    }

    /// Returns the place of a range of bytes.
    pub(super) fn place(&self, range: &Range<usize>) -> FindingPlace {
        let (start, end) = (self.position(range.start), self.position(range.end));
        FindingPlace { at: start.units, length: end.units.saturating_sub(start.units), line: start.line_breaks + 1 }
    }

    /// Returns the position of a byte, from the mark before it.
    fn position(&self, byte: usize) -> TextPosition {
        let mark = byte / MARK_BYTES;
        let bytes = self.text.as_bytes().get(mark * MARK_BYTES..byte).unwrap_or_default();
        #[cfg(test)]
        self.bytes_read.set(self.bytes_read.get() + bytes.len());
        self.marks.get(mark).copied().unwrap_or_default().after(bytes)
    }
}

impl TextPosition {
    /// Returns the position after some bytes of UTF-8, which need not be whole characters.
    fn after(self, bytes: &[u8]) -> Self {
        let units = |byte: u8| -> usize {
            match byte {
                // A byte that continues a character.
                0x80..=0xBF => 0,
                // A character above U+FFFF.
                0xF0.. => 2,
                _ => 1,
            }
        };
        let line_breaks = bytes.iter().filter(|byte| **byte == b'\n').count();
        Self {
            units: self.units + bytes.iter().copied().map(units).sum::<usize>(),
            line_breaks: self.line_breaks + line_breaks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_code_units_and_lines() {
        let text = "é\n😀 {{{A}}}\n{{{B}}}";
        let places = TextPlaces::new(text);
        for (part, at, line) in [("{{{A}}}", 5, 2), ("{{{B}}}", 13, 3), ("{{{A}}}", 5, 2)] {
            let start = text.find(part).unwrap();

            assert_eq!(places.place(&(start..start + part.len())), FindingPlace { at, length: 7, line });
        }
    }

    #[test]
    fn a_place_is_found_on_both_sides_of_each_mark() {
        let text = "aé😀\n".repeat(MARK_BYTES);
        let places = TextPlaces::new(&text);
        for line in 1..=MARK_BYTES {
            let start = 8 * (line - 1);
            let at = 5 * (line - 1);

            assert_eq!(places.place(&(start + 1..start + 7)), FindingPlace { at: at + 1, length: 3, line });
            let rest = FindingPlace { at, length: 5 * MARK_BYTES - at, line };
            assert_eq!(places.place(&(start..text.len())), rest);
        }
    }

    #[test]
    fn nested_ranges_do_not_read_the_text_again() {
        const DEPTH: usize = 20_000;
        let text = format!("{}{}", "![".repeat(DEPTH), "](x)".repeat(DEPTH));
        let places = TextPlaces::new(&text);
        for level in 0..DEPTH {
            let range = 2 * level..text.len() - 4 * level;

            assert_eq!(places.place(&range), FindingPlace { at: range.start, length: range.len(), line: 1 });
        }

        let bytes_read = places.bytes_read.get();
        assert!(bytes_read < 2 * MARK_BYTES * DEPTH, "{bytes_read}");
    }

    #[test]
    fn errors_come_first_and_then_the_order_of_the_parts() {
        let place = |at| FindingPlace { at, length: 1, line: 1 };
        let mut findings = [
            BroadcastFinding::new(FindingKind::AltMissing, "").at(FindingPart::Html, place(9)),
            BroadcastFinding::new(FindingKind::FallbackMissing, "").at(FindingPart::Html, place(3)),
            BroadcastFinding::new(FindingKind::FieldUnknown, "").at(FindingPart::Subject, place(7)),
            BroadcastFinding::new(FindingKind::Size, ""),
            BroadcastFinding::new(FindingKind::ContentMissing, ""),
        ];

        findings.sort_by_key(BroadcastFinding::order);

        let kinds = findings.map(|finding| finding.kind.as_str());
        assert_eq!(kinds, ["content_missing", "size", "field_unknown", "fallback_missing", "alt_missing"]);
    }
}
