//! Replacement of addresses in texts for people: plain, with HTML character references, and percent-encoded.
//!
//! The text is decoded with the position of each character, and the addresses are found in the decoded text. The same
//! positions of the original text are replaced. All other bytes stay. A long text is decoded window by window, because
//! the positions need several times the memory of the text.

use std::ops::Range;

use super::AddressSet;
use super::email::LOCAL_BYTES_MAX;
use super::set::DOMAIN_CHARS_MAX;
use crate::base::{char_reference, percent};

/// Named character references of the ASCII characters of addresses, without `&` and with `;` (HTML §13.5).
const NAMED: [(&str, char); 24] = [
    ("commat;", '@'),
    ("period;", '.'),
    ("plus;", '+'),
    ("lowbar;", '_'),
    ("UnderBar;", '_'),
    ("excl;", '!'),
    ("num;", '#'),
    ("dollar;", '$'),
    ("percnt;", '%'),
    ("amp;", '&'),
    ("apos;", '\''),
    ("quot;", '"'),
    ("ast;", '*'),
    ("midast;", '*'),
    ("sol;", '/'),
    ("equals;", '='),
    ("quest;", '?'),
    ("Hat;", '^'),
    ("grave;", '`'),
    ("lcub;", '{'),
    ("lbrace;", '{'),
    ("verbar;", '|'),
    ("rcub;", '}'),
    ("rbrace;", '}'),
];

/// Decoded bytes in memory, as a target: a window of the text.
const WINDOW_BYTES: usize = 256 << 10;
/// Decoded bytes around an address that decide whether it is one: those of its characters, and a few before it.
const CONTEXT_BYTES: usize = 4 << 10;
const _: () = assert!(CONTEXT_BYTES > 6 * (LOCAL_BYTES_MAX + DOMAIN_CHARS_MAX + 16));

/// Escapes that a pass decodes. A text that looks like an escape can be literal, so that each combination is a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decoding {
    references: bool,
    percent: bool,
}

const PASSES: [Decoding; 4] = [
    Decoding { references: true, percent: true },
    Decoding { references: true, percent: false },
    Decoding { references: false, percent: true },
    Decoding { references: false, percent: false },
];

impl AddressSet {
    /// Returns the text with each occurrence of an address replaced; `None` without an occurrence. Finds the addresses in
    /// any letter case, plain, with HTML character references, and percent-encoded.
    pub fn replaced_in(&self, text: &str, replacement: &str) -> Option<String> {
        let mut replaced: Option<String> = None;
        for decoding in PASSES {
            let current = replaced.as_deref().unwrap_or(text);
            let is_needed =
                (!decoding.references || current.contains('&')) && (!decoding.percent || current.contains('%'));
            if is_needed && let Some(next) = self.replaced_by_pass(current, replacement, decoding, WINDOW_BYTES) {
                replaced = Some(next);
            }
        }
        replaced
    }

    /// `window_bytes` must be higher than twice [`CONTEXT_BYTES`].
    fn replaced_by_pass(
        &self,
        text: &str,
        replacement: &str,
        decoding: Decoding,
        window_bytes: usize,
    ) -> Option<String> {
        let mut window = DecodedWindow::new(text, decoding);
        let mut replaced: Option<String> = None;
        let mut done = 0;
        // Start in the window of the bytes that have not been searched.
        let mut unsearched = 0;
        loop {
            window.fill(window_bytes);
            // An address can continue after the window. The next window contains all of it.
            let end = if window.is_last() { window.lower.len() } else { window.lower.len() - CONTEXT_BYTES };
            let mut spans = self.spans(&window.lower);
            spans.sort_unstable_by_key(|span| span.start);
            for span in spans.into_iter().filter(|span| (unsearched..end).contains(&span.start)) {
                let source = window.source(&span);
                // Two at signs can belong to one address with a quoted local part.
                if source.start < done {
                    continue;
                }
                let replaced = replaced.get_or_insert_with(|| String::with_capacity(text.len()));
                replaced.push_str(&text[done..source.start]);
                replaced.push_str(replacement);
                done = source.end;
            }
            if window.is_last() {
                return replaced.map(|replaced| replaced + &text[done..]);
            }
            unsearched = end - window.discard(end - CONTEXT_BYTES);
        }
    }
}

/// A part of a text, decoded and in lower case, with the position of each byte in the original text.
struct DecodedWindow<'t> {
    text: &'t str,
    decoding: Decoding,
    /// Position in the original text after the window.
    at: usize,
    lower: String,
    /// Start of the character of each byte of `lower` in the original text.
    starts: Vec<usize>,
}

impl<'t> DecodedWindow<'t> {
    fn new(text: &'t str, decoding: Decoding) -> Self {
        Self { text, decoding, at: 0, lower: String::new(), starts: Vec::new() }
    }

    /// Decodes until the window has at least `bytes` bytes, or to the end of the text.
    fn fill(&mut self, bytes: usize) {
        while self.lower.len() < bytes
            && let Some(character) = self.text[self.at..].chars().next()
        {
            let (found, found_bytes) = self.escape(character).unwrap_or((character, character.len_utf8()));
            for lower in found.to_lowercase() {
                self.lower.push(lower);
                self.starts.resize(self.lower.len(), self.at);
            }
            self.at += found_bytes;
        }
    }

    /// Decodes the escape at the position, which starts with `character`. Returns its character and number of bytes.
    fn escape(&self, character: char) -> Option<(char, usize)> {
        let rest = &self.text[self.at..];
        match character {
            '&' if self.decoding.references => reference(&rest[1..]).map(|(found, bytes)| (found, bytes + 1)),
            '%' if self.decoding.percent => percent_encoded(rest),
            _ => None,
        }
    }

    /// Returns whether the window contains the end of the text.
    fn is_last(&self) -> bool {
        self.at == self.text.len()
    }

    /// Returns the range of the original text for a range of the window.
    fn source(&self, decoded: &Range<usize>) -> Range<usize> {
        let position = |byte: usize| self.starts.get(byte).copied().unwrap_or(self.at);
        position(decoded.start)..position(decoded.end)
    }

    /// Removes at most `bytes` bytes from the start of the window, and returns their number.
    fn discard(&mut self, bytes: usize) -> usize {
        let bytes = self.lower.floor_char_boundary(bytes);
        self.lower.drain(..bytes);
        self.starts.drain(..bytes);
        bytes
    }
}

/// Decodes a character reference after its `&`. Returns the character and the number of bytes after the `&`.
fn reference(text: &str) -> Option<(char, usize)> {
    char_reference::decode_numeric(text).or_else(|| {
        NAMED.iter().find(|(name, _)| text.starts_with(name)).map(|(name, character)| (*character, name.len()))
    })
}

/// Decodes the percent-encoded UTF-8 character at the start of a text, with its number of bytes.
fn percent_encoded(text: &str) -> Option<(char, usize)> {
    let mut bytes = Vec::with_capacity(4);
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = percent::escape(rest) {
        bytes.push(byte);
        rest = after;
        if let Ok(decoded) = str::from_utf8(&bytes) {
            return decoded.chars().next().map(|character| (character, 3 * bytes.len()));
        }
        if bytes.len() == 4 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::address::EmailAddress;

    fn set() -> AddressSet {
        let parse = |text| EmailAddress::parse(text).unwrap();
        AddressSet::new(&[
            parse("ada@example.com"),
            parse("d@b\u{fc}cher.example"),
            parse("a+b@example.com"),
            parse("\u{17e}a@example.com"),
        ])
    }

    #[test]
    fn every_form_of_an_address_is_replaced_and_the_rest_stays() {
        for (text, expected) in [
            ("Dear ADA@Example.com,", "Dear [x],"),
            ("ada@example.com eve@example.com ada@example.com", "[x] eve@example.com [x]"),
            ("<a href=\"mailto:ada@example.com?subject=x\">Ada</a>", "<a href=\"mailto:[x]?subject=x\">Ada</a>"),
            ("ada&#64;example.com &amp; ada&#x40;example&period;com", "[x] &amp; [x]"),
            ("&#97;&#100;&#97;&commat;example&#46;com", "[x]"),
            ("&#97&#100&#97&#64example.com", "[x]"),
            ("ada&#00000000000000000064;example.com", "[x]"),
            ("&#158;a@example.com &#0;ada@example.com", "[x] &#0;[x]"),
            ("a&plus;b@example.com", "[x]"),
            ("https://shop.example/?to=ada%40example.com&amp;x=1", "https://shop.example/?to=[x]&amp;x=1"),
            ("d@b%C3%BCcher.example and d@b&#252;cher.example", "[x] and [x]"),
            ("d@XN--BCHER-KVA.example", "[x]"),
            ("\u{130} ada@example.com \u{df}", "\u{130} [x] \u{df}"),
        ] {
            assert_eq!(set().replaced_in(text, "[x]").as_deref(), Some(expected), "{text}");
        }
        for text in ["", "&", "&#;", "&#x;", "%", "%4", "@", "nada@example.com", "ada@example.org", "&#1114112;@"] {
            assert_eq!(set().replaced_in(text, "[x]"), None, "{text}");
        }
    }

    #[test]
    fn an_address_across_two_windows_is_replaced() {
        let decoding = Decoding { references: true, percent: true };
        // One escape is longer than a window.
        let zeros = "0".repeat(4 * CONTEXT_BYTES);
        let addresses =
            format!("ada@example.com, %61da&#x{zeros}40;example.com nada@example.com \u{130}; d@b%C3%BCcher.example");
        let filler = "\u{e9}&amp;%20x.".repeat(CONTEXT_BYTES / 4);
        for shift in 0..100 {
            let before = "-".repeat(shift) + &filler;
            let text = format!("{before} {addresses} {filler}");

            let replaced = set().replaced_by_pass(&text, "[x]", decoding, 2 * CONTEXT_BYTES + 99);

            let expected = format!("{before} [x], [x] nada@example.com \u{130}; [x] {filler}");
            assert!(replaced.as_deref() == Some(&expected), "{shift}");
        }
    }

    #[test]
    fn a_window_of_a_long_text_is_bounded() {
        let text = "\u{130}&#64;".repeat(100_000);
        let mut window = DecodedWindow::new(&text, Decoding { references: true, percent: true });
        let mut decoded = 0;
        while !window.is_last() {
            window.fill(WINDOW_BYTES);
            assert!(window.lower.len() < WINDOW_BYTES + 8 && window.starts.len() == window.lower.len());
            decoded += window.discard(usize::MAX);
        }
        assert_eq!(decoded, 100_000 * "i\u{307}@".len());
    }

    proptest! {
        #[test]
        fn no_address_is_left_and_other_text_stays(
            before in "[a-z<>&;# ]{0,10}[ <>,]", after in "[ <>,][a-z<>&;# ]{0,10}",
            form in proptest::sample::select(vec!["ADA@example.com", "ada&#64;example.com", "ada%40example.com"]),
        ) {
            let text = format!("{before}{form}{after}");

            let replaced = set().replaced_in(&text, "[x]");

            let expected = format!("{before}[x]{after}");
            prop_assert_eq!(replaced.as_deref(), Some(expected.as_str()));
            prop_assert_eq!(set().replaced_in(&expected, "[x]"), None);
        }

        #[test]
        fn no_text_causes_a_panic(text in ".{0,60}|[a@.&#x;%0-9\u{130}]{0,60}") {
            let _ = set().replaced_in(&text, "[x]");
        }
    }
}
