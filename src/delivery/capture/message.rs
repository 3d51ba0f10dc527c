//! Reader of the bytes after DATA, up to the final dot.

use std::slice::Iter;

use smtp_proto::request::receiver::DataReceiver;

use super::MESSAGE_BYTES_MAX;

/// Maximum number of bytes that are read of a refused message while searching for its end.
const READ_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
/// Number of last bytes that a refused message keeps, to detect how its last line ends.
const TAIL_BYTES: usize = 4;

/// Reads one message and removes the stuffed dots.
pub(super) struct DataReader {
    receiver: DataReceiver,
    bytes: Vec<u8>,
    /// Number of received bytes, including discarded ones.
    received_bytes: usize,
    refused: Option<Refused>,
}

/// Reason why a message is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The message exceeds [`MESSAGE_BYTES_MAX`].
    TooLarge,
    /// The memory budget for messages in progress is used up.
    OutOfMemory,
}

/// Result of [`DataReader::receive`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DataProgress {
    /// All input belongs to the message, which is not complete.
    Part,
    /// The message is complete.
    Whole(Vec<u8>),
    /// The message is complete and was refused.
    Refused(Refused),
    /// The end of the message is unknown. The connection must be closed.
    Lost(Option<Refused>),
}

impl DataReader {
    pub(super) fn new() -> Self {
        let mut receiver = DataReceiver::new();
        // RFC 5321 §4.1.1.4: the CRLF of DATA precedes the first line, which can be the final dot.
        let mut discarded = Vec::with_capacity(2);
        receiver.ingest(&mut b"\r\n".iter(), &mut discarded);
        Self { receiver, bytes: Vec::new(), received_bytes: 0, refused: None }
    }

    /// Returns the number of buffered bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Refuses the message. The remaining bytes are read and discarded.
    pub(super) fn refuse(&mut self, why: Refused) {
        self.refused.get_or_insert(why);
        self.discard();
    }

    /// Consumes the bytes of `input` that belong to the message.
    pub(super) fn receive(&mut self, input: &mut Iter<'_, u8>) -> DataProgress {
        let before = input.len();
        let whole = self.receiver.ingest(input, &mut self.bytes);
        self.received_bytes += before - input.len();
        if self.refused.is_none() && self.bytes.len() > MESSAGE_BYTES_MAX {
            self.refused = Some(Refused::TooLarge);
        }
        // The receiver accepts CR CR LF after a dot as the end of the message. For other servers the
        // dot can be a line of the message, so the end is unknown.
        let ends_cleanly = self.bytes.is_empty() || self.bytes.ends_with(b"\r\n");
        if whole && !ends_cleanly || !whole && self.received_bytes > READ_BYTES_MAX {
            return DataProgress::Lost(self.refused);
        }
        match (self.refused, whole) {
            (None, true) => DataProgress::Whole(std::mem::take(&mut self.bytes)),
            (None, false) => DataProgress::Part,
            (Some(why), true) => DataProgress::Refused(why),
            (Some(_), false) => {
                self.discard();
                DataProgress::Part
            }
        }
    }

    /// Discards all buffered bytes except for the last [`TAIL_BYTES`].
    fn discard(&mut self) {
        let tail = self.bytes.split_off(self.bytes.len().saturating_sub(TAIL_BYTES));
        self.bytes = tail;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delivery::smtp::body::DotStuffer;

    /// Receives `wire` in pieces of `piece` bytes. Returns the result and the remaining bytes.
    fn receive(wire: &[u8], piece: usize) -> (DataProgress, Vec<u8>) {
        let mut message = DataReader::new();
        let mut rest = wire;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(piece.min(rest.len()));
            let mut input = now.iter();
            let received = message.receive(&mut input);
            if received != DataProgress::Part {
                return (received, [input.as_slice(), later].concat());
            }
            rest = later;
        }
        (DataProgress::Part, Vec::new())
    }

    #[test]
    fn a_message_ends_at_the_final_dot_and_stuffed_dots_are_removed() {
        for (wire, message) in [
            (".\r\n", ""),
            ("\r\n.\r\n", "\r\n"),
            ("a\r\n.\r\n", "a\r\n"),
            ("..\r\n.\r\n", ".\r\n"),
            ("..a\r\n..\r\n...\r\na.\r\n.\r\n", ".a\r\n.\r\n..\r\na.\r\n"),
        ] {
            for piece in 1..=wire.len() {
                let (received, left) = receive(format!("{wire}QUIT").as_bytes(), piece);

                assert_eq!(received, DataProgress::Whole(message.into()), "{wire:?} by {piece}");
                assert_eq!(left, b"QUIT");
            }
        }
    }

    #[test]
    fn no_other_bytes_end_a_message() {
        for not_the_end in ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r.\r\n", "\r\n.\r", "\n\r.\r\n", "\r\n.\0\r\n"] {
            let wire = format!("a{not_the_end}MAIL FROM:<b@x.test>\r\n.\r\nQUIT");
            for piece in 1..=wire.len() {
                let (received, left) = receive(wire.as_bytes(), piece);

                assert_eq!(left, b"QUIT", "{not_the_end:?} by {piece}");
                let DataProgress::Whole(message) = received else { panic!("{not_the_end:?}: {received:?}") };
                assert!(message.windows(4).any(|bytes| bytes == b"MAIL"));
            }
        }
    }

    #[test]
    fn an_ambiguous_end_is_an_error() {
        for wire in ["a\r\n.\r\r\nMAIL", ".\r\r\nMAIL", "a\r\n.\r\r\r\nMAIL"] {
            for piece in 1..=wire.len() {
                assert_eq!(receive(wire.as_bytes(), piece), (DataProgress::Lost(None), b"MAIL".into()), "{wire:?}");
            }
        }
    }

    #[test]
    fn a_refused_message_is_read_to_its_end_without_buffering() {
        let mut message = DataReader::new();
        assert_eq!(message.receive(&mut b"Subject: a\r\n\r\n".iter()), DataProgress::Part);

        message.refuse(Refused::OutOfMemory);

        let mut input = b"b\r\n.\r".iter();
        assert_eq!(message.receive(&mut input), DataProgress::Part);
        assert!(message.buffered_bytes() <= TAIL_BYTES);
        let mut input = b"\nQUIT".iter();
        assert_eq!(message.receive(&mut input), DataProgress::Refused(Refused::OutOfMemory));
        assert_eq!(input.as_slice(), b"QUIT");
    }

    #[test]
    fn a_message_without_an_end_is_an_error_after_the_maximum() {
        let block = vec![b'a'; 1 << 20];
        let mut message = DataReader::new();

        let parts = (0..1_000).take_while(|_| message.receive(&mut block.iter()) == DataProgress::Part).count();

        assert_eq!(parts, READ_BYTES_MAX >> 20);
        assert_eq!(message.receive(&mut block.iter()), DataProgress::Lost(Some(Refused::TooLarge)));
    }

    proptest! {
        #[test]
        fn a_stuffed_message_round_trips(
            lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..6), 0..12),
            piece in 1_usize..64,
        ) {
            // Replaces CR and LF inside lines by dots, because the client never sends them bare.
            let mut message = Vec::new();
            for line in lines {
                message.extend(line.into_iter().map(|byte| if b"\r\n".contains(&byte) { b'.' } else { byte }));
                message.extend_from_slice(b"\r\n");
            }
            let mut wire = Vec::new();
            let mut stuffer = DotStuffer::default();
            stuffer.push(&message, &mut wire);
            stuffer.finish(&mut wire);

            let (received, left) = receive(&wire, piece);

            prop_assert_eq!(received, DataProgress::Whole(message));
            prop_assert!(left.is_empty());
        }

        #[test]
        fn the_result_does_not_depend_on_the_pieces(
            wire in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'.'), Just(b'a')], 0..40),
            piece in 1_usize..8,
        ) {
            prop_assert_eq!(receive(&wire, piece), receive(&wire, wire.len().max(1)));
        }
    }
}
