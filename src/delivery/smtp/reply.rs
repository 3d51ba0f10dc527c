//! Parser of server replies.
//!
//! The grammar is that of RFC 5321 §4.2. The parser also accepts lines that end in LF alone, a code without text, a
//! missing enhanced code, and text that is not UTF-8. It rejects a line that does not start with a code, because the
//! boundaries of later replies would be unknown.

use std::fmt;

use crate::base::enhanced_code::{EnhancedCode, split_enhanced_code};

/// Maximum length of one reply, including line ends.
pub const REPLY_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of lines in one reply.
pub const REPLY_LINES_MAX: usize = 512;
/// Maximum length of [`Reply::text`]. Longer text is truncated.
pub const REPLY_TEXT_BYTES_MAX: usize = 2 * 1024;

/// One reply: code, enhanced status code and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 200 to 599.
    pub code: u16,
    /// `None` if the reply has no enhanced code.
    pub enhanced: Option<EnhancedCode>,
    /// Text of all lines without codes, joined with spaces; at most [`REPLY_TEXT_BYTES_MAX`] bytes.
    pub text: String,
}

impl Reply {
    /// Returns a reply made by the client, for a refusal without a command to the server.
    pub(super) fn local(code: u16, enhanced: EnhancedCode, text: String) -> Self {
        Self { code, enhanced: Some(enhanced), text }
    }

    /// Returns whether the command succeeded (2xx).
    pub fn is_positive(&self) -> bool {
        self.code / 100 == 2
    }

    /// Returns whether the server waits for more input (3xx).
    pub fn is_intermediate(&self) -> bool {
        self.code / 100 == 3
    }

    /// Returns whether the reply is a temporary refusal (4xx).
    pub fn is_transient(&self) -> bool {
        self.code / 100 == 4
    }

    /// Returns whether the reply is a permanent refusal (5xx).
    pub fn is_permanent(&self) -> bool {
        self.code / 100 == 5
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some((class, subject, detail)) = self.enhanced {
            write!(f, " {class}.{subject}.{detail}")?;
        }
        if !self.text.is_empty() {
            write!(f, " {}", self.text)?;
        }
        Ok(())
    }
}

/// Reason why bytes are not a valid reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    #[error("the reply is incomplete")]
    Incomplete,
    /// More than [`REPLY_BYTES_MAX`] bytes.
    #[error("the reply is longer than 64 KiB")]
    TooLong,
    /// More than [`REPLY_LINES_MAX`] lines.
    #[error("the reply has more than 512 lines")]
    TooManyLines,
    #[error("a line does not start with a reply code")]
    NotAReply,
}

/// Parses the reply at the start of `bytes`. Returns it with its length in bytes.
///
/// # Errors
///
/// [`ReplyError::Incomplete`] if more bytes could complete the reply. The other errors are final.
pub fn parse_reply(bytes: &[u8]) -> Result<(Reply, usize), ReplyError> {
    let mut consumed = 0;
    for _ in 0..REPLY_LINES_MAX {
        let rest = &bytes[consumed..];
        let Some(line_feed) = rest.iter().position(|&byte| byte == b'\n') else {
            return Err(if bytes.len() >= REPLY_BYTES_MAX { ReplyError::TooLong } else { ReplyError::Incomplete });
        };
        consumed += line_feed + 1;
        if consumed > REPLY_BYTES_MAX {
            return Err(ReplyError::TooLong);
        }
        let line = Line::parse(&rest[..=line_feed])?;
        if line.is_last {
            return Ok((assemble(&bytes[..consumed], line.code), consumed));
        }
    }
    Err(ReplyError::TooManyLines)
}

/// One line of a reply, without the line end.
pub(super) struct Line<'a> {
    code: u16,
    pub(super) is_last: bool,
    pub(super) text: &'a [u8],
}

impl<'a> Line<'a> {
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, ReplyError> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.trim_ascii_end();
        let [hundreds @ b'2'..=b'5', tens, ones, rest @ ..] = line else {
            return Err(ReplyError::NotAReply);
        };
        if !tens.is_ascii_digit() || !ones.is_ascii_digit() {
            return Err(ReplyError::NotAReply);
        }
        let digit = |byte: &u8| u16::from(byte - b'0');
        let code = digit(hundreds) * 100 + digit(tens) * 10 + digit(ones);
        let (is_last, text) = match rest {
            [] => (true, rest),
            [b'-', text @ ..] => (false, text),
            [b' ' | b'\t', text @ ..] => (true, text),
            _ => return Err(ReplyError::NotAReply),
        };
        Ok(Self { code, is_last, text })
    }
}

/// Joins the lines of a complete reply. `code` is the code of the last line, which ends the reply.
fn assemble(raw: &[u8], code: u16) -> Reply {
    let mut reply = Reply { code, enhanced: None, text: String::new() };
    for line in raw.split_inclusive(|&byte| byte == b'\n') {
        let Ok(line) = Line::parse(line) else {
            continue;
        };
        let mut text = line.text;
        if let Some((enhanced, rest)) = split_enhanced_code(text)
            && reply.enhanced.is_none_or(|known| known == enhanced)
        {
            reply.enhanced = Some(enhanced);
            text = rest;
        }
        append_text(&mut reply.text, text);
    }
    reply
}

/// Appends one line to the text, up to [`REPLY_TEXT_BYTES_MAX`]. Replaces control characters.
fn append_text(text: &mut String, line: &[u8]) {
    let line = line.trim_ascii();
    if line.is_empty() || text.len() >= REPLY_TEXT_BYTES_MAX {
        return;
    }
    if !text.is_empty() {
        text.push(' ');
    }
    // Decoding never shortens the text, so bytes after the maximum are not needed.
    let line = &line[..line.len().min(REPLY_TEXT_BYTES_MAX)];
    for char in String::from_utf8_lossy(line).chars() {
        let char = match char {
            '\t' => ' ',
            char if char.is_control() => char::REPLACEMENT_CHARACTER,
            char => char,
        };
        if text.len() + char.len_utf8() > REPLY_TEXT_BYTES_MAX {
            return;
        }
        text.push(char);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Expected = (u16, Option<EnhancedCode>, &'static str);

    #[test]
    fn replies_of_real_servers_are_parsed() {
        let cases: &[(&[u8], Expected)] = &[
            (b"250 ok\r\n", (250, None, "ok")),
            (b"250\r\n", (250, None, "")),
            (b"250 \r\n", (250, None, "")),
            (b"250-\r\n250\r\n", (250, None, "")),
            (b"250 ok\n", (250, None, "ok")),
            (b"250 ok\r\r\n", (250, None, "ok")),
            (b"220\tmx.example.com\r\n", (220, None, "mx.example.com")),
            (b"250 2.1.5 Ok\r\n", (250, Some((2, 1, 5)), "Ok")),
            (b"550 5.7.708 Service unavailable\r\n", (550, Some((5, 7, 708)), "Service unavailable")),
            (
                b"451 4.7.650 The mail server has been rate limited\r\n",
                (451, Some((4, 7, 650)), "The mail server has been rate limited"),
            ),
            (
                b"550-5.1.1 The account does not exist.\r\n550-5.1.1 Please try\r\n550 5.1.1 again. gsmtp\r\n",
                (550, Some((5, 1, 1)), "The account does not exist. Please try again. gsmtp"),
            ),
            (b"550-first line\n550 5.1.1 second line\n", (550, Some((5, 1, 1)), "first line second line")),
            (b"550 #5.1.0 Address rejected.\r\n", (550, Some((5, 1, 0)), "Address rejected.")),
            (b"550 5.1.1\r\n", (550, Some((5, 1, 1)), "")),
            (b"550 5.1.1: no such user\r\n", (550, Some((5, 1, 1)), ": no such user")),
            (b"554 5.1.1.7 is blocked\r\n", (554, None, "5.1.1.7 is blocked")),
            (b"554 5.7.1st try\r\n", (554, None, "5.7.1st try")),
            (b"554 5.7.1234 x\r\n", (554, None, "5.7.1234 x")),
            (b"554 3.1.1 x\r\n", (554, None, "3.1.1 x")),
            (b"421 4.3.0 a\xff\x00b\tc\r\n", (421, Some((4, 3, 0)), "a\u{fffd}\u{fffd}b c")),
        ];
        for (raw, (code, enhanced, text)) in cases {
            let (reply, consumed) = parse_reply(raw).unwrap();

            assert_eq!(consumed, raw.len(), "{}", raw.escape_ascii());
            assert_eq!(
                (reply.code, reply.enhanced, reply.text.as_str()),
                (*code, *enhanced, *text),
                "{}",
                raw.escape_ascii()
            );
        }
    }

    #[test]
    fn bytes_after_a_reply_are_not_consumed() {
        let raw = b"250 ok\r\n421 closing\r\n";

        let (first, consumed) = parse_reply(raw).unwrap();
        let (second, _) = parse_reply(&raw[consumed..]).unwrap();

        assert_eq!((first.code, second.code), (250, 421));
    }

    #[test]
    fn invalid_replies_are_rejected() {
        let cases: &[(&[u8], ReplyError)] = &[
            (b"", ReplyError::Incomplete),
            (b"250", ReplyError::Incomplete),
            (b"250 ok\r", ReplyError::Incomplete),
            (b"250-ok\r\n", ReplyError::Incomplete),
            (b"\r\n", ReplyError::NotAReply),
            (b"25\r\n", ReplyError::NotAReply),
            (b"150 ok\r\n", ReplyError::NotAReply),
            (b"650 ok\r\n", ReplyError::NotAReply),
            (b"2x0 ok\r\n", ReplyError::NotAReply),
            (b"250ok\r\n", ReplyError::NotAReply),
            (b"250-a\r\nb\r\n250 c\r\n", ReplyError::NotAReply),
            (b"HTTP/1.1 400 Bad Request\r\n", ReplyError::NotAReply),
        ];
        for (raw, expected) in cases {
            assert_eq!(parse_reply(raw), Err(*expected), "{}", raw.escape_ascii());
        }
    }

    #[test]
    fn a_reply_has_bounds() {
        let mut lines = b"250-x\r\n".repeat(REPLY_LINES_MAX - 1);
        lines.extend(b"250 x\r\n");
        assert!(parse_reply(&lines).is_ok());
        let lines = b"250-x\r\n".repeat(REPLY_LINES_MAX);
        assert_eq!(parse_reply(&lines), Err(ReplyError::TooManyLines));

        let mut long = b"250 ".to_vec();
        long.resize(REPLY_BYTES_MAX - 1, b'x');
        assert_eq!(parse_reply(&long), Err(ReplyError::Incomplete));
        long.push(b'\n');
        assert_eq!(parse_reply(&long).unwrap().0.text.len(), REPLY_TEXT_BYTES_MAX);
        long.insert(4, b'x');
        assert_eq!(parse_reply(&long), Err(ReplyError::TooLong));
        long.pop();
        assert_eq!(parse_reply(&long), Err(ReplyError::TooLong));
    }

    fn wire(reply: &Reply, width: usize) -> Vec<u8> {
        let words: Vec<&str> = reply.text.split(' ').collect();
        let lines: Vec<String> = words.chunks(width).map(|words| words.join(" ")).collect();
        let mut raw = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let separator = if index + 1 == lines.len() { ' ' } else { '-' };
            let enhanced = reply
                .enhanced
                .map(|(class, subject, detail)| format!("{class}.{subject}.{detail} "))
                .unwrap_or_default();
            raw.extend(format!("{}{separator}{enhanced}{line}\r\n", reply.code).bytes());
        }
        raw
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(raw in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = parse_reply(&raw);
        }

        #[test]
        fn parsed_replies_are_within_all_bounds(raw in "(25[05]|421)[- ]([245]\\.[0-9]{1,3}\\.[0-9]{1,3} )?[\\x00-\\x{3ff}]{0,900}\r?\n") {
            if let Ok((reply, consumed)) = parse_reply(raw.as_bytes()) {
                prop_assert!(consumed <= raw.len());
                prop_assert!((200..600).contains(&reply.code));
                prop_assert!(reply.text.len() <= REPLY_TEXT_BYTES_MAX);
                prop_assert!(!reply.text.contains(char::is_control));
            }
        }

        #[test]
        fn a_formatted_reply_round_trips(
            code in 200u16..600,
            enhanced in proptest::option::of((prop_oneof![Just(2u8), Just(4), Just(5)], 0u16..1000, 0u16..1000)),
            words in proptest::collection::vec("[a-zA-Z<>@é]{1,9}", 1..40),
            width in 1usize..12,
        ) {
            let reply = Reply { code, enhanced, text: words.join(" ") };
            let raw = wire(&reply, width);
            prop_assert_eq!(parse_reply(&raw), Ok((reply, raw.len())));
        }

        #[test]
        fn a_truncated_reply_is_incomplete(cut in 0usize..40) {
            let raw = b"550-5.1.1 no such user\r\n550 5.1.1 here.\r\n";
            prop_assert_eq!(parse_reply(&raw[..cut]), Err(ReplyError::Incomplete));
        }
    }
}
