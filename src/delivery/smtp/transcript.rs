//! Transcripts of the commands and replies, stored with each attempt.

/// Maximum length of the first part.
const HEAD_BYTES_MAX: usize = 6 * 1024;
/// Maximum length of the last part, which starts when the first is full. It contains the decisive reply.
const TAIL_BYTES_MAX: usize = 2 * 1024;
/// Maximum length of one line. Longer lines are truncated.
const LINE_BYTES_MAX: usize = 1024;

/// Source of a line.
#[derive(Clone, Copy)]
pub(super) enum LineSource {
    Client,
    Server,
    /// A remark by the client that was not sent.
    Note,
}

/// The first and the last lines of a session, at most 8 KiB.
#[derive(Default)]
pub(super) struct Transcript {
    head: Vec<u8>,
    tail: Vec<u8>,
    is_cut: bool,
}

impl Transcript {
    /// Appends the lines of `bytes`. Replaces control characters.
    pub(super) fn record(&mut self, source: LineSource, bytes: &[u8]) {
        let prefix: &[u8] = match source {
            LineSource::Client => b"C: ",
            LineSource::Server => b"S: ",
            LineSource::Note => b"-- ",
        };
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let line = line.trim_ascii_end();
            let line = &line[..line.len().min(LINE_BYTES_MAX)];
            let free = HEAD_BYTES_MAX - self.head.len();
            if !self.is_cut && prefix.len() + line.len() < free {
                append(&mut self.head, prefix, line);
            } else {
                self.is_cut = true;
                append(&mut self.tail, prefix, line);
                // The tail may grow to twice its maximum, so that not every line moves its bytes.
                if self.tail.len() > 2 * TAIL_BYTES_MAX {
                    self.cut_tail();
                }
            }
        }
    }

    /// Removes and returns the text.
    pub(super) fn take(&mut self) -> String {
        let mut bytes = std::mem::take(&mut self.head);
        if self.is_cut {
            self.cut_tail();
            bytes.extend_from_slice(b"-- [...]\n");
            bytes.append(&mut self.tail);
            self.is_cut = false;
        }
        match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }

    /// Removes whole lines from the start of the tail until it is within its maximum.
    fn cut_tail(&mut self) {
        if let Some(excess) = self.tail.len().checked_sub(TAIL_BYTES_MAX) {
            let cut = self.tail[excess..]
                .iter()
                .position(|&byte| byte == b'\n')
                .map_or(self.tail.len(), |line_feed| excess + line_feed + 1);
            self.tail.drain(..cut);
        }
    }
}

fn append(out: &mut Vec<u8>, prefix: &[u8], line: &[u8]) {
    out.extend_from_slice(prefix);
    out.extend(line.iter().map(|&byte| if byte.is_ascii_control() { b'?' } else { byte }));
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_recorded_in_order_with_their_source() {
        let mut transcript = Transcript::default();

        transcript.record(LineSource::Server, b"220 hello\r\n");
        transcript.record(LineSource::Client, b"MAIL FROM:<a@b>\r\nDATA\r\n");
        transcript.record(LineSource::Note, b"7 bytes of message");

        assert_eq!(transcript.take(), "S: 220 hello\nC: MAIL FROM:<a@b>\nC: DATA\n-- 7 bytes of message\n");
        assert_eq!(transcript.take(), "");
    }

    #[test]
    fn a_long_transcript_contains_the_first_and_the_last_lines() {
        let mut transcript = Transcript::default();

        for line in 0..10_000 {
            transcript.record(LineSource::Server, format!("250-{line}\u{7f}\x1b\r\n").as_bytes());
        }
        transcript.record(LineSource::Server, &[b'x'; 100_000]);
        let text = transcript.take();

        assert!(text.len() <= 8 * 1024 + 16, "{}", text.len());
        assert!(text.starts_with("S: 250-0"));
        assert!(text.contains("[...]") && text.contains("250-9999"));
        assert!(text.ends_with("xxx\n"));
        assert!(!text.contains('\x1b'));
    }
}
