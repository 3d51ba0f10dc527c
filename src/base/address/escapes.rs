//! Decoding of escape sequences in texts that can contain addresses: JSON (RFC 8259 §7), URLs
//! (RFC 3986 §2.1) and quoted-printable (RFC 2045 §6.7).
//!
//! The encoding of a text is unknown, and text that looks like an escape can be literal. So each encoding is
//! decoded separately, and invalid escapes stay unchanged.

/// An escape encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    /// `\u0040`, `\n`
    Json,
    /// `%40`
    Url,
    /// `=40`, and the soft line break: `=` at the end of a line.
    QuotedPrintable,
}

impl Escapes {
    pub(super) const ALL: [Self; 3] = [Self::Json, Self::Url, Self::QuotedPrintable];

    const fn marker(self) -> char {
        match self {
            Self::Json => '\\',
            Self::Url => '%',
            Self::QuotedPrintable => '=',
        }
    }

    /// Returns the decoded text; `None` if the text does not contain the marker of this encoding.
    pub(super) fn decode(self, text: &str) -> Option<String> {
        let first = text.find(self.marker())?;
        let (plain, escaped) = text.as_bytes().split_at(first);
        let mut decoded = plain.to_vec();
        let mut rest = escaped;
        while let [byte, after @ ..] = rest {
            let escape = if char::from(*byte) == self.marker() { self.decode_one(after, &mut decoded) } else { None };
            rest = escape.unwrap_or_else(|| {
                decoded.push(*byte);
                after
            });
        }
        Some(String::from_utf8_lossy(&decoded).into_owned())
    }

    /// Decodes the escape whose marker precedes `after`, and returns the text after the escape; `None` if it is
    /// not a valid escape.
    fn decode_one<'a>(self, after: &'a [u8], decoded: &mut Vec<u8>) -> Option<&'a [u8]> {
        match self {
            Self::Json => decode_json(after, decoded),
            Self::Url => decode_hex(after, decoded),
            Self::QuotedPrintable => strip_line_break(after).or_else(|| decode_hex(after, decoded)),
        }
    }
}

/// Returns whether a lower-case text ends with an escape of any encoding.
pub(super) fn ends_with_escape(text: &str) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match text.as_bytes() {
        [.., b'\\', b'b' | b'f' | b'n' | b'r' | b't'] => true,
        [.., b'%' | b'=', a, b] if is_hex(&[*a, *b]) => true,
        [.., b'\\', b'u', a, b, c, d] => is_hex(&[*a, *b, *c, *d]),
        _ => false,
    }
}

/// Decodes two hexadecimal digits to a byte and returns the rest.
fn decode_hex<'a>(text: &'a [u8], decoded: &mut Vec<u8>) -> Option<&'a [u8]> {
    let [high, low, rest @ ..] = text else { return None };
    let byte = (digit(*high)? << 4) | digit(*low)?;
    decoded.push(u8::try_from(byte).ok()?);
    Some(rest)
}

/// Returns the text after a leading line break; `None` if there is no line break.
fn strip_line_break(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"\r\n").or_else(|| text.strip_prefix(b"\n"))
}

/// Decodes a JSON escape after its backslash and returns the rest. Each half of a surrogate pair becomes U+FFFD:
/// addresses do not contain characters that need surrogates.
fn decode_json<'a>(text: &'a [u8], decoded: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (letter, rest) = match text {
        [b'u', a, b, c, d, rest @ ..] => {
            let unit = [a, b, c, d].into_iter().try_fold(0, |unit, hex| Some((unit << 4) | digit(*hex)?))?;
            (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), rest)
        }
        [b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => (' ', rest),
        [byte @ (b'"' | b'\\' | b'/'), rest @ ..] => (char::from(*byte), rest),
        _ => return None,
    };
    decoded.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    Some(rest)
}

fn digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_encoding_decodes_only_its_own_valid_escapes() {
        use Escapes::{Json, QuotedPrintable, Url};

        for (kind, text, expected) in [
            (Json, r#"\u0061\u0040b\u00fc\n\"\\\/"#, "a@b\u{fc} \"\\/"),
            (Json, r"\x \u12 \ud83d \u12g4 %40 =40 \", "\\x \\u12 \u{fffd} \\u12g4 %40 =40 \\"),
            (Url, "%61%40b%C3%bc%ff", "a@b\u{fc}\u{fffd}"),
            (Url, "%4 %zz %", "%4 %zz %"),
            (QuotedPrintable, "=61=40b=C3=BC", "a@b\u{fc}"),
            (QuotedPrintable, "ada@exam=\r\nple.=\ncom=", "ada@example.com="),
            (QuotedPrintable, "a=b =4", "a=b =4"),
        ] {
            assert_eq!(kind.decode(text).as_deref(), Some(expected), "{kind:?} {text}");
        }
        for kind in Escapes::ALL {
            assert_eq!(kind.decode("ada@example.com"), None);
        }
    }

    #[test]
    fn an_escape_of_any_encoding_is_detected_at_the_end() {
        for text in [r"\u003c", r"\n", r"\t", r"\r", "%3c", "=3c", r"a\u00fc", "x%0a"] {
            assert!(ends_with_escape(text), "{text}");
        }
        for text in ["", "n", "u003c", r"\u03c", r"\u003g", r"\x", "%3", "=g3", "3c", r"\u003c "] {
            assert!(!ends_with_escape(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_fully_escaped_text_is_decoded(text in "[a-zA-Z0-9@.%=\\\\ \u{fc}]{1,20}") {
            let bytes = |marker: char| -> String { text.bytes().map(|byte| format!("{marker}{byte:02x}")).collect() };
            let json: String = text.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();

            prop_assert_eq!(Escapes::Json.decode(&json), Some(text.clone()));
            prop_assert_eq!(Escapes::Url.decode(&bytes('%')), Some(text.clone()));
            prop_assert_eq!(Escapes::QuotedPrintable.decode(&bytes('=')), Some(text.clone()));
        }

        #[test]
        fn decoding_never_panics(text in "[\\\\u%=0-9a-fn\r\n\u{fc}]{0,30}|.{0,30}") {
            let _ = ends_with_escape(&text);
            for kind in Escapes::ALL {
                let _ = kind.decode(&text);
            }
        }
    }
}
