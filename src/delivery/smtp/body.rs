//! Dot-stuffing: encodes a message for the DATA phase.

use memchr::{memchr2, memchr2_iter};

/// Encodes a message, given in any number of pieces, as the lines of RFC 5321 §4.5.2.
///
/// Every line ends with CRLF. A bare CR or LF becomes CRLF (RFC 5321 §2.3.8). Some servers accept a bare one as a line
/// end and could read a final dot inside the message (SMTP smuggling).
#[derive(Debug)]
pub struct DotStuffer {
    is_line_start: bool,
    /// Whether the last byte was a CR that is not written yet. The next byte decides whether it is bare.
    has_pending_cr: bool,
}

impl Default for DotStuffer {
    fn default() -> Self {
        Self { is_line_start: true, has_pending_cr: false }
    }
}

impl DotStuffer {
    /// Appends one piece of the message to `out`.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let mut rest = piece;
        while let Some(&first) = rest.first() {
            if self.has_pending_cr {
                self.end_line(out);
                if first == b'\n' {
                    rest = &rest[1..];
                }
                continue;
            }
            // RFC 5321 §4.5.2: a line that starts with a dot gets another dot.
            if self.is_line_start && first == b'.' {
                out.push(b'.');
            }
            // Lines that need no change are copied together.
            let whole = whole_lines(rest);
            if whole > 0 {
                out.extend_from_slice(&rest[..whole]);
                self.is_line_start = true;
                rest = &rest[whole..];
                continue;
            }
            let Some(line_end) = memchr2(b'\r', b'\n', rest) else {
                out.extend_from_slice(rest);
                self.is_line_start = false;
                return;
            };
            out.extend_from_slice(&rest[..line_end]);
            self.is_line_start = self.is_line_start && line_end == 0;
            match rest[line_end] {
                b'\r' => self.has_pending_cr = true,
                _ => self.end_line(out),
            }
            rest = &rest[line_end + 1..];
        }
    }

    /// Appends a missing end of the last line and the final dot to `out`.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        if self.has_pending_cr || !self.is_line_start {
            self.end_line(out);
        }
        out.extend_from_slice(b".\r\n");
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n");
        self.is_line_start = true;
        self.has_pending_cr = false;
    }
}

/// Returns the number of bytes at the start that are sent as they are. They end before the first line that has a bare CR
/// or LF, that starts with a dot, or that is incomplete. A dot at the start of `bytes` is ignored.
fn whole_lines(bytes: &[u8]) -> usize {
    let mut end = 0;
    for at in memchr2_iter(b'\r', b'\n', bytes) {
        // The LF of the last CRLF.
        if at < end {
            continue;
        }
        if !bytes[at..].starts_with(b"\r\n") {
            break;
        }
        end = at + 2;
        if bytes.get(end) == Some(&b'.') {
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stuffed(pieces: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut stuffer = DotStuffer::default();
        for piece in pieces {
            stuffer.push(piece, &mut out);
        }
        stuffer.finish(&mut out);
        out
    }

    #[test]
    fn each_line_that_starts_with_a_dot_gets_another() {
        let cases: &[(&[&[u8]], &[u8])] = &[
            (&[], b".\r\n"),
            (&[b""], b".\r\n"),
            (&[b"a: b\r\n\r\nhi\r\n"], b"a: b\r\n\r\nhi\r\n.\r\n"),
            (&[b"hi"], b"hi\r\n.\r\n"),
            (&[b".\r\n"], b"..\r\n.\r\n"),
            (&[b"..\r\n"], b"...\r\n.\r\n"),
            (&[b"a.b\r\n.c\r\n"], b"a.b\r\n..c\r\n.\r\n"),
            (&[b"a\r\n", b".b\r\n"], b"a\r\n..b\r\n.\r\n"),
            (&[b"a\r", b"\n.", b"b\r\n"], b"a\r\n..b\r\n.\r\n"),
            (&[b"a", b".b"], b"a.b\r\n.\r\n"),
            (&[b"a\r\nb\r\n.c\r\n.d\r\ne\r\n"], b"a\r\nb\r\n..c\r\n..d\r\ne\r\n.\r\n"),
            (&[b"a\r\nb\r\nc\nd\r\ne"], b"a\r\nb\r\nc\r\nd\r\ne\r\n.\r\n"),
            (&[b"a\n.\nb"], b"a\r\n..\r\nb\r\n.\r\n"),
            (&[b"a\r.\rb\r"], b"a\r\n..\r\nb\r\n.\r\n"),
            (&[b"a\n.\r\nMAIL FROM:<x>\r\n"], b"a\r\n..\r\nMAIL FROM:<x>\r\n.\r\n"),
            (&[b"a\r\r\nb"], b"a\r\n\r\nb\r\n.\r\n"),
        ];
        for (pieces, expected) in cases {
            let out = stuffed(pieces);

            assert_eq!(out, *expected, "{}", out.escape_ascii());
        }
    }

    /// Returns the message that a server stores: without the stuffed dots and the final dot.
    fn unstuffed(wire: &[u8]) -> Vec<u8> {
        let body = wire.strip_suffix(b".\r\n").expect("a final dot");
        body.split_inclusive(|&byte| byte == b'\n')
            .flat_map(|line| line.strip_prefix(b".").unwrap_or(line))
            .copied()
            .collect()
    }

    fn normalised(message: &[u8]) -> Vec<u8> {
        let text: String = message.iter().map(|&byte| char::from(byte)).collect();
        let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.replace('\n', "\r\n").chars().map(|char| char as u8).collect()
    }

    proptest! {
        #[test]
        fn bare_cr_and_lf_become_crlf_and_nothing_else_changes(
            pieces in proptest::collection::vec("[a.\r\n]{0,12}", 0..8),
        ) {
            let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
            let whole = pieces.concat();
            let out = stuffed(&pieces);

            prop_assert_eq!(&out, &stuffed(&[&whole]), "the result depends on the pieces");
            prop_assert_eq!(unstuffed(&out), normalised(&whole));
            for (index, &byte) in out.iter().enumerate() {
                prop_assert!(byte != b'\n' || out[..index].ends_with(b"\r"));
                prop_assert!(byte != b'\r' || out[index + 1..].starts_with(b"\n"));
            }
            let end = out.windows(5).position(|window| window == b"\r\n.\r\n");
            prop_assert!(end.is_none_or(|end| end + 5 == out.len()), "a final dot inside the message");
        }
    }
}
