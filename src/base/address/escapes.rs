//! The escapes that texts about addresses come in: those of JSON (RFC 8259 §7), of URLs (RFC 3986 §2.1)
//! and of quoted-printable (RFC 2045 §6.7).
//!
//! A text does not say which of them it is written in, and what looks like an escape may be none. So
//! each is read by itself, and what is no escape stays as it is.

/// A way to write characters as others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    /// `\u0040`, `\n`
    Json,
    /// `%40`
    Url,
    /// `=40`, and a line that goes on behind `=`
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

    /// Returns a text as it reads without these escapes; `None` when it has none.
    pub(super) fn read(self, text: &str) -> Option<String> {
        let first = text.find(self.marker())?;
        let (plain, escaped) = text.as_bytes().split_at(first);
        let mut read = plain.to_vec();
        let mut rest = escaped;
        while let [byte, behind @ ..] = rest {
            let escape = if char::from(*byte) == self.marker() { self.read_one(behind, &mut read) } else { None };
            rest = escape.unwrap_or_else(|| {
                read.push(*byte);
                behind
            });
        }
        Some(String::from_utf8_lossy(&read).into_owned())
    }

    /// Reads what is behind a marker, where the two are an escape; returns the rest.
    fn read_one<'a>(self, behind: &'a [u8], read: &mut Vec<u8>) -> Option<&'a [u8]> {
        match self {
            Self::Json => read_json(behind, read),
            Self::Url => read_byte(behind, read),
            Self::QuotedPrintable => after_line(behind).or_else(|| read_byte(behind, read)),
        }
    }
}

/// Returns whether a text ends with an escape, of whichever kind. Letters are those of a text in lower
/// case.
pub(super) fn is_at_end(text: &str) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match text.as_bytes() {
        [.., b'\\', b'b' | b'f' | b'n' | b'r' | b't'] => true,
        [.., b'%' | b'=', a, b] if is_hex(&[*a, *b]) => true,
        [.., b'\\', b'u', a, b, c, d] => is_hex(&[*a, *b, *c, *d]),
        _ => false,
    }
}

/// Reads two hexadecimal digits as a byte; returns what is behind them.
fn read_byte<'a>(behind: &'a [u8], read: &mut Vec<u8>) -> Option<&'a [u8]> {
    let [high, low, rest @ ..] = behind else { return None };
    let byte = (digit(*high)? << 4) | digit(*low)?;
    read.push(u8::try_from(byte).ok()?);
    Some(rest)
}

/// Returns what is behind the end of a line, where one stands.
fn after_line(behind: &[u8]) -> Option<&[u8]> {
    behind.strip_prefix(b"\r\n").or_else(|| behind.strip_prefix(b"\n"))
}

/// Reads what is behind a backslash. A half of a surrogate pair reads as the sign for what cannot be
/// read: no address that anybody writes has either.
fn read_json<'a>(behind: &'a [u8], read: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (letter, rest) = match behind {
        [b'u', a, b, c, d, rest @ ..] => {
            let unit = [a, b, c, d].into_iter().try_fold(0, |unit, hex| Some((unit << 4) | digit(*hex)?))?;
            (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), rest)
        }
        [b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => (' ', rest),
        [byte @ (b'"' | b'\\' | b'/'), rest @ ..] => (char::from(*byte), rest),
        _ => return None,
    };
    read.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
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
    fn each_kind_reads_its_own_escapes_and_leaves_what_is_none() {
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
            assert_eq!(kind.read(text).as_deref(), Some(expected), "{kind:?} {text}");
        }
        for kind in Escapes::ALL {
            assert_eq!(kind.read("ada@example.com"), None);
        }
    }

    #[test]
    fn an_escape_at_the_end_is_one_of_any_kind() {
        for text in [r"\u003c", r"\n", r"\t", r"\r", "%3c", "=3c", r"a\u00fc", "x%0a"] {
            assert!(is_at_end(text), "{text}");
        }
        for text in ["", "n", "u003c", r"\u03c", r"\u003g", r"\x", "%3", "=g3", "3c", r"\u003c "] {
            assert!(!is_at_end(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_read_however_it_is_escaped(text in "[a-zA-Z0-9@.%=\\\\ \u{fc}]{1,20}") {
            let bytes = |marker: char| -> String { text.bytes().map(|byte| format!("{marker}{byte:02x}")).collect() };
            let json: String = text.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();

            prop_assert_eq!(Escapes::Json.read(&json), Some(text.clone()));
            prop_assert_eq!(Escapes::Url.read(&bytes('%')), Some(text.clone()));
            prop_assert_eq!(Escapes::QuotedPrintable.read(&bytes('=')), Some(text.clone()));
        }

        #[test]
        fn no_text_panics_the_reader(text in "[\\\\u%=0-9a-fn\r\n\u{fc}]{0,30}|.{0,30}") {
            let _ = is_at_end(&text);
            for kind in Escapes::ALL {
                let _ = kind.read(&text);
            }
        }
    }
}
