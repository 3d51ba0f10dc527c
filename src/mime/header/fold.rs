//! Folding: a header field as words that stay whole and spaces that may become line ends.

/// Where lines are broken when a word allows it.
///
/// RFC 5322 §2.1.1 asks for 78 and RFC 2047 §2 allows 76 where encoded words stand: the
/// smaller serves both.
const LINE_BYTES_AIM: usize = 76;

/// Writes one header field.
///
/// A fold is always followed by a word, so no continuation line is white space alone, which
/// RFC 5322 §3.2.2 keeps for reading old mail only.
pub(crate) struct Folder<'a> {
    out: &'a mut Vec<u8>,
    column: usize,
}

impl<'a> Folder<'a> {
    /// Begins the field `name`, which the caller knows to be a valid field name.
    pub(crate) fn start(out: &'a mut Vec<u8>, name: &str) -> Self {
        out.extend_from_slice(name.as_bytes());
        out.push(b':');
        Self { out, column: name.len() + 1 }
    }

    /// Returns how many octets still fit on this line behind a space.
    pub(super) fn room(&self) -> usize {
        LINE_BYTES_AIM.saturating_sub(self.column + 1)
    }

    /// Writes a word behind a space, on the next line when it does not fit this one.
    pub(crate) fn word(&mut self, word: &[u8]) {
        self.spaced_word(b" ", word);
    }

    /// Writes a word behind the white space that stood before it.
    pub(super) fn spaced_word(&mut self, space: &[u8], word: &[u8]) {
        if self.column + space.len() + word.len() > LINE_BYTES_AIM {
            self.out.extend_from_slice(b"\r\n");
            self.column = 0;
        }
        self.out.extend_from_slice(space);
        self.out.extend_from_slice(word);
        self.column += space.len() + word.len();
    }

    /// Writes octets right behind the last ones, on the next line when they do not fit.
    /// For values in which white space means nothing, base64 among them.
    pub(crate) fn piece(&mut self, piece: &[u8]) {
        if self.column + piece.len() > LINE_BYTES_AIM {
            self.word(piece);
        } else {
            self.glue(piece);
        }
    }

    /// Writes octets right behind the last ones, whatever the length of the line.
    pub(crate) fn glue(&mut self, piece: &[u8]) {
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
    fn a_word_that_does_not_fit_begins_the_next_line() {
        let mut out = Vec::new();
        let mut folder = Folder::start(&mut out, "X-Words");
        for _ in 0..20 {
            folder.word(b"eight888");
        }
        folder.end();

        let field = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = field.strip_suffix("\r\n").unwrap().split("\r\n").collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].len(), 71, "seven words behind the name");
        assert_eq!(lines[1].len(), 72, "eight words behind the fold");
        assert!(lines[1..].iter().all(|line| line.starts_with(" eight888")));
    }

    #[test]
    fn a_word_longer_than_the_line_stands_alone() {
        let mut out = Vec::new();
        let mut folder = Folder::start(&mut out, "X");
        folder.word(&[b'x'; 100]);
        folder.word(b"y");
        folder.end();

        let expected = format!("X:\r\n {}\r\n y\r\n", "x".repeat(100));
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn pieces_touch_until_the_line_is_full() {
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
