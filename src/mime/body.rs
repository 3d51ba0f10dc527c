//! Transfer encodings of leaf parts (RFC 2045 §6).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memchr2;

use super::header::hex;

/// Longest line, including the `=` of a soft line break (RFC 2045 §6.7 rule 5).
const QP_LINE_BYTES_MAX: usize = 76;
/// Number of input bytes in one base64 line of 76 characters (RFC 2045 §6.8).
const BASE64_LINE_INPUT_BYTES: usize = 57;
const BASE64_LINE_BYTES: usize = 76;

/// Writes text as quoted-printable lines, each ended by CRLF.
///
/// CR, LF and CRLF all end a line. White space at the end of the text is dropped, because some DKIM verifiers hash a
/// last line of only white space differently.
pub(super) fn write_quoted_printable(out: &mut Vec<u8>, text: &str) {
    let text = text.trim_end_matches([' ', '\t', '\r', '\n']);
    let mut rest = text.as_bytes();
    loop {
        let line_bytes = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(line_bytes);
        write_quoted_printable_line(out, line);
        out.extend_from_slice(b"\r\n");
        rest = match tail {
            [b'\r', b'\n', next @ ..] | [_, next @ ..] => next,
            [] => return,
        };
    }
}

fn write_quoted_printable_line(out: &mut Vec<u8>, line: &[u8]) {
    // RFC 2045 §6.7 rule 3: a space or tab at the end of a line is encoded.
    let (head, tail) = match line {
        [head @ .., last @ (b' ' | b'\t')] => (head, Some(*last)),
        _ => (line, None),
    };
    let mut column = 0;
    let mut rest = head;
    while let Some(&first) = rest.first() {
        // No line starts with a dot or "From ", so that neither dot-stuffing nor mbox files change the body.
        let must_escape = column == 0 && (first == b'.' || rest.starts_with(b"From "));
        if must_escape || !is_literal(first) {
            column = write_escape(out, first, column);
            rest = &rest[1..];
            continue;
        }
        let room = QP_LINE_BYTES_MAX - 1 - column;
        if room == 0 {
            column = write_soft_break(out);
            continue;
        }
        let window = &rest[..rest.len().min(room)];
        let run = literal_run(window);
        out.extend_from_slice(&window[..run]);
        column += run;
        rest = &rest[run..];
    }
    if let Some(space) = tail {
        write_escape(out, space, column);
    }
}

/// Returns the number of bytes at the start that need no encoding. Tests 16 bytes at a time, without a branch for each.
fn literal_run(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<16>();
    let whole = chunks.iter().take_while(|chunk| chunk.iter().fold(true, |all, byte| all & is_literal(*byte))).count();
    let tail = &bytes[whole * 16..];
    whole * 16 + tail.iter().position(|byte| !is_literal(*byte)).unwrap_or(tail.len())
}

/// Returns whether a byte needs no encoding (RFC 2045 §6.7 rule 2, and rule 3 for white space inside a line).
fn is_literal(byte: u8) -> bool {
    matches!(byte, b' '..=b'<' | b'>'..=b'~' | b'\t')
}

fn write_escape(out: &mut Vec<u8>, byte: u8, column: usize) -> usize {
    let column = if column + 3 > QP_LINE_BYTES_MAX - 1 { write_soft_break(out) } else { column };
    out.extend_from_slice(&[b'=', hex(byte >> 4), hex(byte & 0x0f)]);
    column + 3
}

fn write_soft_break(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(b"=\r\n");
    0
}

/// Writes bytes as base64 in lines of 76 characters, each ended by CRLF.
pub(super) fn write_base64(out: &mut Vec<u8>, content: &[u8]) {
    let mut line = [0; BASE64_LINE_BYTES];
    for chunk in content.chunks(BASE64_LINE_INPUT_BYTES) {
        let line_bytes = STANDARD.encode_slice(chunk, &mut line).expect("57 bytes encode to 76 characters");
        out.extend_from_slice(&line[..line_bytes]);
        out.extend_from_slice(b"\r\n");
    }
    if content.is_empty() {
        // The CRLF before a delimiter belongs to the delimiter, so an empty part needs one too.
        out.extend_from_slice(b"\r\n");
    }
}

/// Returns the encoded size of `bytes` of content in base64 lines.
pub(super) fn base64_bytes(bytes: usize) -> usize {
    bytes.div_ceil(BASE64_LINE_INPUT_BYTES).max(1) * (BASE64_LINE_BYTES + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn qp(text: &str) -> String {
        let mut out = Vec::new();
        write_quoted_printable(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    /// Decodes quoted-printable (RFC 2045 §6.7).
    fn decode(encoded: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let joined = encoded.replace("=\r\n", "");
        let mut bytes = joined.bytes();
        while let Some(byte) = bytes.next() {
            if byte == b'=' {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                let digits = std::str::from_utf8(&digits).unwrap();
                out.push(u8::from_str_radix(digits, 16).unwrap());
            } else {
                out.push(byte);
            }
        }
        out
    }

    #[test]
    fn text_is_encoded_line_by_line() {
        let x75 = "x".repeat(75);
        for (text, expected) in [
            ("", "\r\n".to_owned()),
            ("a", "a\r\n".to_owned()),
            ("a\nb\rc\r\nd\n\n\n", "a\r\nb\r\nc\r\nd\r\n".to_owned()),
            ("a\n\r\nb", "a\r\n\r\nb\r\n".to_owned()),
            ("1=1", "1=3D1\r\n".to_owned()),
            ("é", "=C3=A9\r\n".to_owned()),
            ("a \nb\t\n c", "a=20\r\nb=09\r\n c\r\n".to_owned()),
            ("a\n \t \n", "a\r\n".to_owned()),
            ("a\n   \nb", "a\r\n  =20\r\nb\r\n".to_owned()),
            (".\n..a\nFrom b\nFromage", "=2E\r\n=2E.a\r\n=46rom b\r\nFromage\r\n".to_owned()),
            ("\0\u{1b}\u{7f}", "=00=1B=7F\r\n".to_owned()),
            (&x75, format!("{x75}\r\n")),
            (&format!("{x75}y"), format!("{x75}=\r\ny\r\n")),
            (&format!("{x75}."), format!("{x75}=\r\n=2E\r\n")),
            (&format!("{x75} \nb"), format!("{x75}=\r\n=20\r\nb\r\n")),
            (&format!("{}é", "x".repeat(72)), format!("{}=C3=\r\n=A9\r\n", "x".repeat(72))),
        ] {
            assert_eq!(qp(text), expected, "{text:?}");
        }
    }

    #[test]
    fn base64_lines_have_76_characters() {
        for bytes in [0, 1, 56, 57, 58, 114, 1000] {
            let content: Vec<u8> = (0..bytes).map(|n| (n * 7) as u8).collect();
            let mut out = Vec::new();
            write_base64(&mut out, &content);
            assert!(out.len() <= base64_bytes(content.len()));
            let text = String::from_utf8(out).unwrap();
            assert!(text.ends_with("\r\n"));
            assert!(text.lines().all(|line| line.len() <= 76));
            assert_eq!(STANDARD.decode(text.replace("\r\n", "")).unwrap(), content);
        }
    }

    proptest! {
        #[test]
        fn quoted_printable_decodes_to_the_same_lines(text in "(?s).{0,100}[ -~\t\r\né]{0,400}") {
            let encoded = qp(&text);
            prop_assert!(encoded.ends_with("\r\n"));
            for line in encoded.strip_suffix("\r\n").unwrap().split("\r\n") {
                prop_assert!(line.len() <= 76);
                prop_assert!(line.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ' || byte == b'\t'));
                prop_assert!(!line.ends_with([' ', '\t']));
                prop_assert!(!line.starts_with('.') && !line.starts_with("From "));
            }
            let lines = text
                .trim_end_matches([' ', '\t', '\r', '\n'])
                .replace("\r\n", "\n")
                .replace('\r', "\n")
                .replace('\n', "\r\n");
            prop_assert_eq!(decode(&encoded), format!("{lines}\r\n").into_bytes());
        }
    }
}
