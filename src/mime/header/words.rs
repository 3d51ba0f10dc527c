//! Text in header fields: plain if possible, else as encoded words (RFC 2047).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Folder, refuse_controls_but_tab};
use crate::mime::message::{ComposeError, MessageField};

/// Longest encoded word (RFC 2047 §2).
const ENCODED_WORD_BYTES_MAX: usize = 75;
/// Length of `=?utf-8?q?` and `?=`.
const ENCODED_WORD_FRAME_BYTES: usize = 12;
/// Minimum room on a line to start an encoded word. With less, the word starts on the next line.
const ROOM_BYTES_MIN: usize = 28;

/// Context of encoded words. It decides which characters the Q encoding can leave plain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WordContext {
    /// Unstructured text (RFC 2047 §5 (1)).
    Text,
    /// A display name (RFC 2047 §5 (3)).
    Phrase,
}

/// Writes unstructured text without surrounding white space.
///
/// A text with an ASCII word longer than `word_bytes_max` is written as encoded words.
pub(crate) fn write_text(
    folder: &mut Folder<'_>,
    text: &str,
    word_bytes_max: usize,
    field: MessageField,
) -> Result<(), ComposeError> {
    refuse_controls_but_tab(text, field)?;
    let text = text.trim_matches([' ', '\t']);
    if is_plain(text, word_bytes_max) {
        write_plain(folder, text);
    } else {
        write_encoded(folder, text, WordContext::Text);
    }
    Ok(())
}

/// Returns whether a text can be written without encoded words.
fn is_plain(text: &str, word_bytes_max: usize) -> bool {
    text.is_ascii()
        // A mail client would decode text that looks like an encoded word.
        && !text.contains("=?")
        && spaced_words(text).all(|(space, word)| space.len() + word.len() <= word_bytes_max)
}

fn write_plain(folder: &mut Folder<'_>, text: &str) {
    for (space, word) in spaced_words(text) {
        let space = if space.is_empty() { " " } else { space };
        folder.spaced_word(space.as_bytes(), word.as_bytes());
    }
}

/// Splits text without surrounding white space into words, each with the white space before it.
fn spaced_words(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let word_start = rest.find(|c| c != ' ' && c != '\t').unwrap_or(rest.len());
        let word_bytes = rest[word_start..].find([' ', '\t']).unwrap_or(rest.len() - word_start);
        let (spaced, tail) = rest.split_at(word_start + word_bytes);
        rest = tail;
        Some(spaced.split_at(word_start))
    })
}

/// Writes the whole text as encoded words, in the shorter of the two encodings.
///
/// RFC 2047 §5: a character is never split between two words. §6.2: white space between two encoded words is not part
/// of the text, so white space of the text is encoded.
pub(super) fn write_encoded(folder: &mut Folder<'_>, text: &str, context: WordContext) {
    let q_bytes: usize = text.bytes().map(|byte| q_cost(byte, context)).sum();
    let encoding = if q_bytes <= text.len().div_ceil(3) * 4 { Encoding::Q(context) } else { Encoding::B };

    let mut word = Vec::with_capacity(ENCODED_WORD_BYTES_MAX);
    let mut rest = text;
    while !rest.is_empty() {
        let room = match folder.room() {
            room if room < ROOM_BYTES_MIN => ENCODED_WORD_BYTES_MAX,
            room => room.min(ENCODED_WORD_BYTES_MAX),
        };
        let (chunk, tail) = rest.split_at(encoding.fitting(rest, room - ENCODED_WORD_FRAME_BYTES));
        word.clear();
        encoding.encode(chunk, &mut word);
        folder.word(&word);
        rest = tail;
    }
}

#[derive(Clone, Copy)]
enum Encoding {
    Q(WordContext),
    B,
}

impl Encoding {
    /// Returns the number of bytes of `text` whose encoding fits in `room` octets, at a character boundary.
    fn fitting(self, text: &str, room: usize) -> usize {
        let mut bytes = 0;
        let mut used = 0;
        for c in text.chars() {
            let mut utf8 = [0; 4];
            let encoded = c.encode_utf8(&mut utf8);
            let after = match self {
                Self::Q(context) => {
                    used += encoded.bytes().map(|byte| q_cost(byte, context)).sum::<usize>();
                    used
                }
                Self::B => (bytes + encoded.len()).div_ceil(3) * 4,
            };
            if after > room {
                break;
            }
            bytes += encoded.len();
        }
        // Even the smallest room fits the longest character: four bytes of UTF-8 are twelve octets of Q.
        debug_assert!(bytes > 0);
        bytes
    }

    fn encode(self, chunk: &str, word: &mut Vec<u8>) {
        match self {
            Self::Q(context) => {
                word.extend_from_slice(b"=?utf-8?q?");
                for byte in chunk.bytes() {
                    match byte {
                        b' ' => word.push(b'_'),
                        byte if q_cost(byte, context) == 1 => word.push(byte),
                        byte => {
                            word.extend_from_slice(&[b'=', hex(byte >> 4), hex(byte & 0x0f)]);
                        }
                    }
                }
            }
            Self::B => {
                word.extend_from_slice(b"=?utf-8?b?");
                word.extend_from_slice(STANDARD.encode(chunk).as_bytes());
            }
        }
        word.extend_from_slice(b"?=");
    }
}

/// Returns the number of octets of one byte in the Q encoding.
fn q_cost(byte: u8, context: WordContext) -> usize {
    let plain = match context {
        WordContext::Text => byte.is_ascii_graphic() && !matches!(byte, b'=' | b'?' | b'_'),
        WordContext::Phrase => byte.is_ascii_alphanumeric() || matches!(byte, b'!' | b'*' | b'+' | b'-' | b'/'),
    };
    if plain || byte == b' ' { 1 } else { 3 }
}

/// Returns the upper-case hexadecimal digit of a value below sixteen.
pub(crate) fn hex(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'A' + nibble - 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn subject(text: &str) -> String {
        let mut out = Vec::new();
        let mut folder = Folder::start(&mut out, "Subject");
        write_text(&mut folder, text, 75, MessageField::Subject).unwrap();
        folder.end();
        String::from_utf8(out).unwrap()
    }

    fn read_back(field: &str) -> String {
        let raw = format!("{field}\r\n");
        let message = mail_parser::MessageParser::new().parse_headers(raw.as_bytes()).unwrap();
        message.subject().unwrap_or_default().to_owned()
    }

    #[test]
    fn ascii_text_stays_plain_and_other_text_is_encoded() {
        for (text, expected) in [
            ("Hello", "Subject: Hello\r\n"),
            ("", "Subject:\r\n"),
            ("   ", "Subject:\r\n"),
            ("  edges\t", "Subject: edges\r\n"),
            ("two  spaces", "Subject: two  spaces\r\n"),
            ("tab\tstays", "Subject: tab\tstays\r\n"),
            ("Café, 5% off?", "Subject: =?utf-8?q?Caf=C3=A9,_5%_off=3F?=\r\n"),
            ("🎉🎉🎉", "Subject: =?utf-8?b?8J+OifCfjonwn46J?=\r\n"),
            ("=?utf-8?q?x?=", "Subject: =?utf-8?b?PT91dGYtOD9xP3g/PQ==?=\r\n"),
        ] {
            assert_eq!(subject(text), expected);
        }
    }

    #[test]
    fn a_control_character_is_refused() {
        for text in ["a\r\nBcc: b", "a\nb", "a\rb", "a\0b", "a\u{1b}b", "a\u{7f}"] {
            let mut out = Vec::new();
            let mut folder = Folder::start(&mut out, "Subject");
            assert_eq!(
                write_text(&mut folder, text, 75, MessageField::Subject),
                Err(ComposeError::ControlCharacter(MessageField::Subject)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn emoji_sequences_and_right_to_left_text_are_parsed_again() {
        for text in [
            "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦",
            "שלום עולם, زيارة جديدة إلى الموقع اليوم مع عرض خاص لجميع العملاء الكرام",
            "安全なアカウントのためにパスワードを再設定してください。このリンクは一時間だけ有効です。",
        ] {
            let field = subject(text);
            assert!(field.is_ascii());
            assert!(field.lines().all(|line| line.len() <= 76), "{field}");
            assert_eq!(read_back(&field), text);
        }
    }

    proptest! {
        #[test]
        fn a_mail_parser_reads_the_same_text_from_lines_of_76(text in "[^\\p{Cc}]{0,200}") {
            let field = subject(&text);
            prop_assert!(field.is_ascii());
            for line in field.strip_suffix("\r\n").unwrap().split("\r\n") {
                prop_assert!(line.len() <= 76, "{}", line);
                prop_assert!(!line.trim().is_empty());
            }
            prop_assert_eq!(read_back(&field), text.trim_matches([' ', '\t']));
        }

        #[test]
        fn spaced_words_contain_the_whole_text(text in "[a-c \t]{0,40}") {
            let joined: String =
                spaced_words(text.trim_matches([' ', '\t'])).flat_map(|(a, b)| [a, b]).collect();
            prop_assert_eq!(joined, text.trim_matches([' ', '\t']));
        }
    }
}
