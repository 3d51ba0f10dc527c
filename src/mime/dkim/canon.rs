//! Relaxed canonicalization (RFC 6376 §3.4.2 and §3.4.4).

/// A header field of a message: its name, and the text after the colon, including folds and without the final CRLF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawField<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
}

/// Splits a message into its header fields and its body. `None` if a line of the header section neither starts nor
/// continues a field.
pub(super) fn split(message: &[u8]) -> Option<(Vec<RawField<'_>>, &[u8])> {
    let mut fields = Vec::with_capacity(24);
    let mut rest = message;
    loop {
        if let Some(body) = rest.strip_prefix(b"\r\n") {
            return Some((fields, body));
        }
        if rest.is_empty() {
            return Some((fields, rest));
        }
        let end = field_end(rest);
        let field = &rest[..end];
        let colon = field.iter().position(|&byte| byte == b':')?;
        let name = field[..colon].trim_ascii_end();
        if name.is_empty() || name.iter().any(|byte| !byte.is_ascii_graphic()) {
            return None;
        }
        fields.push(RawField { name, value: &field[colon + 1..] });
        rest = rest[end..].strip_prefix(b"\r\n").unwrap_or_default();
    }
}

/// Returns the offset of the first CRLF that no continuation line follows.
fn field_end(rest: &[u8]) -> usize {
    let mut from = 0;
    while let Some(at) = rest[from..].windows(2).position(|pair| pair == b"\r\n") {
        let at = from + at;
        if !matches!(rest.get(at + 2), Some(b' ' | b'\t')) {
            return at;
        }
        from = at + 2;
    }
    rest.len()
}

/// Appends the relaxed form of a field, without its final CRLF.
pub(super) fn push_relaxed_field(out: &mut Vec<u8>, field: &RawField<'_>) {
    out.extend(field.name.iter().map(u8::to_ascii_lowercase));
    out.push(b':');
    let mut space = false;
    let start = out.len();
    for &byte in field.value {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => space = true,
            byte => {
                // White space before the first octet of the value is dropped.
                if std::mem::take(&mut space) && out.len() > start {
                    out.push(b' ');
                }
                out.push(byte);
            }
        }
    }
}

/// Size of the slices that are passed to the hash. Each call costs as much as hashing a word, so slices must not be
/// small.
const SLICE_BYTES: usize = 4096;

/// Passes the relaxed form of a body to `sink`, slice by slice.
///
/// White space at the end of lines is dropped first, then empty lines at the end of the body. A last line of only white
/// space is therefore dropped too.
pub(super) fn feed_relaxed_body(body: &[u8], sink: impl FnMut(&[u8])) {
    let mut slices = Slices::new(sink);
    // Line ends and white space that are written only if other octets follow.
    let mut line_ends = 0_usize;
    let mut space = false;
    let mut written = false;
    let mut at = 0;
    while at < body.len() {
        match &body[at..] {
            [b' ' | b'\t', ..] => {
                space = true;
                at += 1;
            }
            [b'\r', b'\n', ..] => {
                space = false;
                line_ends += 1;
                at += 2;
            }
            rest => {
                for _ in 0..std::mem::take(&mut line_ends) {
                    slices.push(b"\r\n");
                }
                if std::mem::take(&mut space) {
                    slices.push(b" ");
                }
                let run = plain_run(rest);
                slices.push(&rest[..run]);
                written = true;
                at += run;
            }
        }
    }
    // RFC 6376 §3.4.4: an empty body stays empty, any other ends with one CRLF.
    if written {
        slices.push(b"\r\n");
    }
    slices.flush();
}

/// Returns the number of octets to copy unchanged. They are the first one, and all up to a line end or to white space
/// other than a single space between two words.
fn plain_run(rest: &[u8]) -> usize {
    let mut run = word_run(rest);
    while let [b' ', next, ..] = rest[run..] {
        if next < 0x21 {
            break;
        }
        run += 1 + word_run(&rest[run + 1..]);
    }
    run
}

/// Returns the offset of the next octet that can be white space or a line end, ignoring the first octet. Tests eight
/// octets at a time, because an attachment can have 40 MiB.
fn word_run(rest: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);

    let mut at = 1;
    while let Some(chunk) = rest.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        // Sets the high bit of each octet below 0x21. A borrow can mark the next octet by mistake, so only the lowest
        // mark is used.
        let marks = word.wrapping_sub(ONES * 0x21) & !word & HIGH;
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let tail = rest.get(at..).unwrap_or_default();
    at + tail.iter().position(|&byte| byte < 0x21).unwrap_or(tail.len())
}

/// Collects short pieces into slices.
struct Slices<F> {
    sink: F,
    buffer: [u8; SLICE_BYTES],
    filled: usize,
}

impl<F: FnMut(&[u8])> Slices<F> {
    fn new(sink: F) -> Self {
        Self { sink, buffer: [0; SLICE_BYTES], filled: 0 }
    }

    fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.filled == SLICE_BYTES {
                self.flush();
            }
            let (head, tail) = piece.split_at(piece.len().min(SLICE_BYTES - self.filled));
            self.buffer[self.filled..self.filled + head.len()].copy_from_slice(head);
            self.filled += head.len();
            piece = tail;
        }
    }

    fn flush(&mut self) {
        if self.filled > 0 {
            (self.sink)(&self.buffer[..self.filled]);
            self.filled = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn relaxed_body(body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        feed_relaxed_body(body, |slice| out.extend_from_slice(slice));
        out
    }

    fn relaxed_header(message: &[u8]) -> String {
        let (fields, _) = split(message).unwrap();
        let mut out = Vec::new();
        for field in &fields {
            push_relaxed_field(&mut out, field);
            out.extend_from_slice(b"\r\n");
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_examples_of_rfc_6376_are_reproduced() {
        // RFC 6376 §3.4.5.
        let message = b"A: X\r\nB : Y\t\r\n\tZ  \r\n\r\n C \r\nD \t E\r\n\r\n\r\n";
        assert_eq!(relaxed_header(message), "a:X\r\nb:Y Z\r\n");
        let (_, body) = split(message).unwrap();
        assert_eq!(relaxed_body(body), b" C\r\nD E\r\n");
    }

    #[test]
    fn a_body_ends_in_one_line_end_or_is_empty() {
        for (body, expected) in [
            ("", ""),
            ("\r\n", ""),
            ("\r\n\r\n", ""),
            (" \t\r\n \r\n", ""),
            ("a", "a\r\n"),
            ("a\r\n", "a\r\n"),
            ("a\r\n\r\n\r\n", "a\r\n"),
            ("a\r\n \t", "a\r\n"),
            ("a\r\n   \r\n", "a\r\n"),
            ("a \r\n", "a\r\n"),
            ("\r\n\r\na", "\r\n\r\na\r\n"),
            ("a\r\n \r\nb\t \tc", "a\r\n\r\nb c\r\n"),
            (" a", " a\r\n"),
            ("a\rb\nc", "a\rb\nc\r\n"),
        ] {
            assert_eq!(relaxed_body(body.as_bytes()), expected.as_bytes(), "{body:?}");
        }
    }

    #[test]
    fn a_header_section_is_split_at_its_fields() {
        for (message, fields, body) in [
            ("", Some(0), ""),
            ("\r\nbody", Some(0), "body"),
            ("A: b", Some(1), ""),
            ("A: b\r\n", Some(1), ""),
            ("A: b\r\n\tc\r\nD:\r\n\r\nbody\r\n", Some(2), "body\r\n"),
            ("A: b\r\nno colon\r\n\r\n", None, ""),
            (" begins folded: x\r\n\r\n", None, ""),
            (": x\r\n\r\n", None, ""),
        ] {
            let found = split(message.as_bytes());
            assert_eq!(found.as_ref().map(|(fields, _)| fields.len()), fields, "{message:?}");
            if let Some((_, found)) = found {
                assert_eq!(found, body.as_bytes(), "{message:?}");
            }
        }
    }

    /// Applies the steps of RFC 6376 §3.4.4 one after the other.
    fn reference_form(body: &str) -> String {
        let mut lines: Vec<String> = body
            .split("\r\n")
            .map(|line| {
                let mut reduced = String::new();
                for c in line.chars() {
                    match c {
                        ' ' | '\t' if reduced.ends_with(' ') => {}
                        ' ' | '\t' => reduced.push(' '),
                        c => reduced.push(c),
                    }
                }
                reduced.trim_end_matches(' ').to_owned()
            })
            .collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines.iter().map(|line| format!("{line}\r\n")).collect()
    }

    proptest! {
        #[test]
        fn the_streaming_form_equals_the_reference_form(body in "([a-z]{0,9}|[ \t]{0,3}|\r\n|\r|\n|\0|é){0,40}") {
            prop_assert_eq!(
                String::from_utf8(relaxed_body(body.as_bytes())).unwrap(),
                reference_form(&body)
            );
        }

        #[test]
        fn runs_longer_than_the_buffer_are_copied(lengths in prop::collection::vec(0_usize..5000, 1..6)) {
            let body: String = lengths.iter().map(|n| "x".repeat(*n) + " \r\n").collect();
            prop_assert_eq!(
                String::from_utf8(relaxed_body(body.as_bytes())).unwrap(),
                reference_form(&body)
            );
        }
    }
}
