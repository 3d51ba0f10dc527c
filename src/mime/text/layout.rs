//! Layout of text in lines: collapses white space, separates blocks, and marks lists and quotations.

use super::entity::{self, CharReference};

/// Maximum size of a derived text. Mail clients truncate HTML parts at a smaller size.
pub(super) const TEXT_BYTES_MAX: usize = 256 * 1024;

/// Deepest nesting of quotations with a marker. Only hostile input nests deeper.
const QUOTE_DEPTH_MARKED_MAX: usize = 4;
/// Deepest nesting of lists with an indent.
const LIST_DEPTH_MAX: usize = 8;

/// Separation between two pieces of text. Of two requests between the same pieces, the larger applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    Space,
    /// Separation between the cells of a row.
    Cell,
    Line,
    Blank,
}

/// Writer of lines without trailing white space and without two consecutive empty lines.
#[derive(Default)]
pub(super) struct TextLayout {
    out: String,
    gap: Gap,
    quote_depth: usize,
    preformatted_depth: usize,
    /// Number of the last item of each open list; `None` for bullets.
    lists: Vec<Option<u32>>,
    /// Number of open lists deeper than [`LIST_DEPTH_MAX`].
    unindented_lists: usize,
    /// Marker of an item without text so far.
    marker: Option<String>,
    /// A joiner that is written only if a character follows immediately.
    joiner: Option<char>,
}

impl TextLayout {
    /// Requests at least this separation before the next text.
    pub(super) fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Ends the line. A second call adds an empty line.
    pub(super) fn break_line(&mut self) {
        self.gap = if self.gap >= Gap::Line { Gap::Blank } else { Gap::Line };
    }

    /// Writes text of the markup and decodes its character references.
    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find('&') {
            self.decoded_text(&rest[..at]);
            rest = &rest[at..];
            match entity::parse(rest) {
                CharReference::Char(c, bytes) => {
                    self.decoded_text(c.encode_utf8(&mut [0; 4]));
                    rest = &rest[bytes..];
                }
                CharReference::Literal => {
                    self.decoded_text("&");
                    rest = &rest[1..];
                }
            }
        }
        self.decoded_text(rest);
    }

    /// Writes text without character references.
    pub(super) fn decoded_text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let run = rest.bytes().position(|byte| !byte.is_ascii_graphic()).unwrap_or(rest.len());
            if run > 0 {
                self.begin();
                self.out.push_str(&rest[..run]);
                rest = &rest[run..];
                continue;
            }
            self.char(c);
            rest = &rest[c.len_utf8()..];
        }
    }

    fn char(&mut self, c: char) {
        let preformatted = self.preformatted_depth > 0;
        match c {
            '\n' if preformatted => self.break_line(),
            ' ' | '\t' if preformatted => {
                self.begin();
                self.out.push(c);
            }
            '\u{a0}' => self.gap(Gap::Space),
            c if c.is_ascii_whitespace() => self.gap(Gap::Space),
            // Invisible formatting characters: soft hyphen, grapheme joiner, zero width space, word joiner, byte order
            // mark. Control characters are dropped as well.
            '\u{ad}' | '\u{34f}' | '\u{200b}' | '\u{2060}' | '\u{feff}' => {}
            c if c.is_control() => {}
            // A joiner affects the letters or emoji on both sides. Next to a space it is only padding.
            '\u{200c}' | '\u{200d}' => {
                if !self.out.is_empty() && self.gap == Gap::None {
                    self.joiner = Some(c);
                }
            }
            c => {
                self.begin();
                self.out.push(c);
            }
        }
    }

    /// Appends to the last text, on the same line.
    pub(super) fn append(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn written_bytes(&self) -> usize {
        self.out.len()
    }

    pub(super) fn written_since(&self, start: usize) -> &str {
        self.out.get(start..).unwrap_or_default()
    }

    pub(super) fn is_full(&self) -> bool {
        self.out.len() >= TEXT_BYTES_MAX
    }

    pub(super) fn begin_list(&mut self, ordered: bool) {
        self.gap(if self.lists.is_empty() { Gap::Blank } else { Gap::Line });
        if self.lists.len() < LIST_DEPTH_MAX {
            self.lists.push(ordered.then_some(0));
        } else {
            self.unindented_lists += 1;
        }
    }

    pub(super) fn end_list(&mut self) {
        if self.unindented_lists > 0 {
            self.unindented_lists -= 1;
        } else {
            self.lists.pop();
        }
        self.marker = None;
        self.gap(if self.lists.is_empty() { Gap::Blank } else { Gap::Line });
    }

    pub(super) fn begin_item(&mut self) {
        self.gap(Gap::Line);
        self.marker = Some(match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        });
    }

    pub(super) fn begin_quote(&mut self) {
        self.gap(Gap::Blank);
        self.quote_depth += 1;
    }

    pub(super) fn end_quote(&mut self) {
        self.gap(Gap::Blank);
        self.quote_depth = self.quote_depth.saturating_sub(1);
    }

    pub(super) fn begin_preformatted(&mut self) {
        self.gap(Gap::Blank);
        self.preformatted_depth += 1;
    }

    pub(super) fn end_preformatted(&mut self) {
        self.gap(Gap::Blank);
        self.preformatted_depth = self.preformatted_depth.saturating_sub(1);
    }

    /// Writes the requested gap and, at the start of a line, its markers and indents.
    fn begin(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let joiner = self.joiner.take();
        if !self.out.is_empty() {
            match gap {
                Gap::None => return self.out.extend(joiner),
                Gap::Space => return self.out.push(' '),
                Gap::Cell => return self.out.push_str("  "),
                Gap::Line => self.end_lines(1),
                Gap::Blank => self.end_lines(2),
            }
        }
        for _ in 0..self.quote_depth.min(QUOTE_DEPTH_MARKED_MAX) {
            self.out.push_str("> ");
        }
        let marker = self.marker.take();
        let indents = self.lists.len() - usize::from(marker.is_some() && !self.lists.is_empty());
        for _ in 0..indents {
            self.out.push_str("  ");
        }
        self.out.push_str(marker.as_deref().unwrap_or_default());
    }

    fn end_lines(&mut self, lines: usize) {
        let end = self.out.trim_end_matches([' ', '\t', '\n']).len();
        // Lines of only white space in preformatted text count as empty lines.
        let ended = self.out[end..].matches('\n').count();
        self.out.truncate(end);
        for _ in 0..(ended + lines).min(2) {
            self.out.push('\n');
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.out.truncate(self.out.floor_char_boundary(TEXT_BYTES_MAX));
        let end = self.out.trim_end().len();
        self.out.truncate(end);
        let indent = self.out.len() - self.out.trim_start().len();
        self.out.drain(..indent);
        self.out
    }
}
