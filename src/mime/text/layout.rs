//! Text to lines: white space collapsed, blocks apart, lists and quotations marked.

use super::entity::{self, CharReference};

/// A derived text longer than this is cut: mail readers cut html parts earlier.
pub(super) const TEXT_BYTES_MAX: usize = 256 * 1024;

/// Deeper nesting is real only in hostile input; it is read, without further marks.
const QUOTE_DEPTH_SHOWN_MAX: usize = 4;
const LIST_DEPTH_MAX: usize = 8;

/// The distance to keep from what was written before. Two wishes for one place become the
/// larger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    Space,
    /// Between the cells of a row.
    Cell,
    Line,
    Blank,
}

/// Writes lines without white space at their ends and without two empty lines in a row.
#[derive(Default)]
pub(super) struct Layout {
    out: String,
    gap: Gap,
    quote_depth: usize,
    preformatted_depth: usize,
    /// For each open list the number of its last item, or none for bullets.
    lists: Vec<Option<u32>>,
    /// Lists that are open beyond the deepest shown.
    unshown_lists: usize,
    /// The marker of an item of which nothing is written yet.
    marker: Option<String>,
    /// A joiner that counts only when a character follows it at once.
    joiner: Option<char>,
}

impl Layout {
    /// Asks for at least this distance before the next text.
    pub(super) fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Ends the line; a second time leaves an empty one.
    pub(super) fn break_line(&mut self) {
        self.gap = if self.gap >= Gap::Line { Gap::Blank } else { Gap::Line };
    }

    /// Writes text as it stands in the markup.
    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find('&') {
            self.decoded_text(&rest[..at]);
            rest = &rest[at..];
            match entity::read(rest) {
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

    /// Writes text in which an ampersand is an ampersand.
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
            // Marks that only a screen needs: soft hyphen, grapheme joiner, zero width space,
            // word joiner, byte order mark; and what is no character of a text.
            '\u{ad}' | '\u{34f}' | '\u{200b}' | '\u{2060}' | '\u{feff}' => {}
            c if c.is_control() => {}
            // Joiners shape the letters and emoji on both sides; beside a space they pad.
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

    /// Writes right behind the last text, inside its line.
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
            self.unshown_lists += 1;
        }
    }

    pub(super) fn end_list(&mut self) {
        if self.unshown_lists > 0 {
            self.unshown_lists -= 1;
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

    /// Writes the gap that is due, and the marks of a line that begins.
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
        for _ in 0..self.quote_depth.min(QUOTE_DEPTH_SHOWN_MAX) {
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
        let kept = self.out.trim_end_matches([' ', '\t', '\n']).len();
        // Preformatted text may hold lines of white space alone: they count as empty ones.
        let ended = self.out[kept..].matches('\n').count();
        self.out.truncate(kept);
        for _ in 0..(ended + lines).min(2) {
            self.out.push('\n');
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.out.truncate(self.out.floor_char_boundary(TEXT_BYTES_MAX));
        let kept = self.out.trim_end().len();
        self.out.truncate(kept);
        let indent = self.out.len() - self.out.trim_start().len();
        self.out.drain(..indent);
        self.out
    }
}
