//! The record of a conversation, kept with each attempt.

/// Bytes kept from the start.
const HEAD_BYTES_MAX: usize = 6 * 1024;
/// Bytes kept from the end once the start is full: the end holds the reply that decided.
const TAIL_BYTES_MAX: usize = 2 * 1024;
/// Bytes kept of one line.
const LINE_BYTES_MAX: usize = 1024;

/// Who said a line.
#[derive(Clone, Copy)]
pub(super) enum Speaker {
    Client,
    Server,
    /// A remark of ours that did not travel.
    Note,
}

/// At most 8 KiB of a conversation, its start and its end.
#[derive(Default)]
pub(super) struct Transcript {
    head: Vec<u8>,
    tail: Vec<u8>,
    is_cut: bool,
}

impl Transcript {
    /// Adds the lines of `bytes`.
    pub(super) fn record(&mut self, speaker: Speaker, bytes: &[u8]) {
        let prefix: &[u8] = match speaker {
            Speaker::Client => b"C: ",
            Speaker::Server => b"S: ",
            Speaker::Note => b"-- ",
        };
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let line = line.trim_ascii_end();
            let line = &line[..line.len().min(LINE_BYTES_MAX)];
            let room = HEAD_BYTES_MAX - self.head.len();
            if !self.is_cut && prefix.len() + line.len() < room {
                append(&mut self.head, prefix, line);
            } else {
                self.is_cut = true;
                append(&mut self.tail, prefix, line);
                // Cut rarely, so that a long conversation is not moved about at every line.
                if self.tail.len() > 2 * TAIL_BYTES_MAX {
                    self.cut_tail();
                }
            }
        }
    }

    /// Returns the text so far and starts afresh.
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

    /// Drops whole lines from the front of the tail until it keeps its bound.
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
    fn a_conversation_reads_top_to_bottom() {
        let mut transcript = Transcript::default();

        transcript.record(Speaker::Server, b"220 hello\r\n");
        transcript.record(Speaker::Client, b"MAIL FROM:<a@b>\r\nDATA\r\n");
        transcript.record(Speaker::Note, b"7 bytes of message");

        assert_eq!(transcript.take(), "S: 220 hello\nC: MAIL FROM:<a@b>\nC: DATA\n-- 7 bytes of message\n");
        assert_eq!(transcript.take(), "");
    }

    #[test]
    fn a_long_conversation_keeps_its_start_and_its_end() {
        let mut transcript = Transcript::default();

        for line in 0..10_000 {
            transcript.record(Speaker::Server, format!("250-{line}\u{7f}\x1b\r\n").as_bytes());
        }
        transcript.record(Speaker::Server, &[b'x'; 100_000]);
        let text = transcript.take();

        assert!(text.len() <= 8 * 1024 + 16, "{}", text.len());
        assert!(text.starts_with("S: 250-0"));
        assert!(text.contains("[...]") && text.contains("250-9999"));
        assert!(text.ends_with("xxx\n"));
        assert!(!text.contains('\x1b'));
    }
}
