//! Replacement of addresses in texts for people: plain, with HTML character references, and percent-encoded.
//!
//! The text is decoded with the position of each character, the addresses are found in the decoded text, and the
//! same positions of the original text are replaced. All other bytes stay.

use std::ops::Range;

use super::AddressSet;
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
            if is_needed && let Some(next) = self.replaced_by_pass(current, replacement, decoding) {
                replaced = Some(next);
            }
        }
        replaced
    }

    fn replaced_by_pass(&self, text: &str, replacement: &str, decoding: Decoding) -> Option<String> {
        let decoded = DecodedText::of(text, decoding);
        let mut spans = self.spans(&decoded.lower);
        spans.sort_unstable_by_key(|span| span.start);
        let mut replaced = String::with_capacity(text.len());
        let mut done = 0;
        for span in spans {
            let source = decoded.source(&span);
            // Two at signs can belong to one address with a quoted local part.
            if source.start < done {
                continue;
            }
            replaced.push_str(&text[done..source.start]);
            replaced.push_str(replacement);
            done = source.end;
        }
        if done == 0 {
            return None;
        }
        replaced.push_str(&text[done..]);
        Some(replaced)
    }
}

/// A decoded text in lower case, with the position of each byte in the original text.
struct DecodedText {
    lower: String,
    /// Start of the character of each byte of `lower` in the original text, and the end of that text.
    starts: Vec<usize>,
}

impl DecodedText {
    fn of(text: &str, decoding: Decoding) -> Self {
        let mut decoded = Self { lower: String::with_capacity(text.len()), starts: Vec::with_capacity(text.len() + 1) };
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            let rest = &text[at + character.len_utf8()..];
            let escape = match character {
                '&' if decoding.references => reference(rest),
                '%' if decoding.percent => {
                    percent_encoded(&text[at..]).map(|(character, bytes)| (character, bytes - 1))
                }
                _ => None,
            };
            let (found_character, bytes) =
                escape.map_or((character, character.len_utf8()), |(found, bytes)| (found, bytes + 1));
            for lower in found_character.to_lowercase() {
                decoded.lower.push(lower);
                decoded.starts.resize(decoded.lower.len(), at);
            }
            at += bytes;
        }
        decoded.starts.push(text.len());
        decoded
    }

    /// Returns the range of the original text for a range of the decoded text.
    fn source(&self, decoded: &Range<usize>) -> Range<usize> {
        self.starts[decoded.start]..self.starts[decoded.end]
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
