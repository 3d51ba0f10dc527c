//! Folding of header fields: words stay whole, and line breaks are inserted before white space.

/// Preferred length of a line.
///
/// RFC 5322 §2.1.1 recommends 78, and RFC 2047 §2 requires 76 for lines with encoded words.
const LINE_BYTES_AIM: usize = 76;

/// Writer of one header field.
///
/// A word follows every fold, so no continuation line consists of only white space, which RFC 5322 §3.2.2 forbids.
pub(crate) struct Folder<'a> {
    out: &'a mut Vec<u8>,
    column: usize,
}

impl<'a> Folder<'a> {
    /// Starts the field `name`. The caller has validated the name.
    pub(crate) fn start(out: &'a mut Vec<u8>, name: &str) -> Self {
        out.extend_from_slice(name.as_bytes());
        out.push(b':');
        Self { out, column: name.len() + 1 }
    }

    /// Returns the number of octets that fit on this line after a space.
    pub(super) fn room(&self) -> usize {
        LINE_BYTES_AIM.saturating_sub(self.column + 1)
    }

    /// Writes a space and a word, on the next line if they do not fit on this one.
    pub(crate) fn word(&mut self, word: &[u8]) {
        self.spaced_word(b" ", word);
    }

    /// Writes the white space that precedes a word, and the word, on the next line if they do not fit on this one.
    pub(super) fn spaced_word(&mut self, space: &[u8], word: &[u8]) {
        if self.column + space.len() + word.len() > LINE_BYTES_AIM {
            self.out.extend_from_slice(b"\r\n");
            self.column = 0;
        }
        self.out.extend_from_slice(space);
        self.out.extend_from_slice(word);
        self.column += space.len() + word.len();
    }

    /// Writes octets without a space, or with a fold if they do not fit on this line. Only for values that ignore white
    /// space, such as base64.
    pub(crate) fn piece(&mut self, piece: &[u8]) {
        if self.column + piece.len() > LINE_BYTES_AIM {
            self.word(piece);
        } else {
            self.append(piece);
        }
    }

    /// Writes octets without a space or a fold, whatever the length of the line.
    pub(crate) fn append(&mut self, piece: &[u8]) {
        self.out.extend_from_slice(piece);
        self.column += piece.len();
    }

    /// Ends the field.
    pub(crate) fn end(self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_does_not_fit_starts_the_next_line() {
        let mut out = Vec::new();
        let mut folder = Folder::start(&mut out, "X-Words");
        for _ in 0..20 {
            folder.word(b"eight888");
        }
        folder.end();

        let field = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = field.strip_suffix("\r\n").unwrap().split("\r\n").collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].len(), 71, "seven words after the name");
        assert_eq!(lines[1].len(), 72, "eight words after the fold");
        assert!(lines[1..].iter().all(|line| line.starts_with(" eight888")));
    }

    #[test]
    fn a_word_longer_than_the_line_has_its_own_line() {
        let mut out = Vec::new();
        let mut folder = Folder::start(&mut out, "X");
        folder.word(&[b'x'; 100]);
        folder.word(b"y");
        folder.end();

        let expected = format!("X:\r\n {}\r\n y\r\n", "x".repeat(100));
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn pieces_have_no_space_until_the_line_is_full() {
        let mut out = Vec::new();
        let mut folder = Folder::start(&mut out, "X");
        folder.word(b"b=");
        for _ in 0..3 {
            folder.piece(&[b'z'; 40]);
        }
        folder.end();

        let z = "z".repeat(40);
        assert_eq!(String::from_utf8(out).unwrap(), format!("X: b={z}\r\n {z}\r\n {z}\r\n"));
    }
}
