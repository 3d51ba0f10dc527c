//! Writers of header fields.
//!
//! Files in reading order:
//! - `fold.rs`: line folding;
//! - `words.rs`: encoded words (RFC 2047) for non-ASCII text and names;
//! - `address.rs`: lists of mailboxes;
//! - `param.rs`: parameters of MIME fields, such as filenames (RFC 2231);
//! - `custom.rs`: custom header fields of the caller.
//!
//! Invariant: only these writers write values to the output, and each of them refuses control characters first. Header
//! injection is therefore impossible, whatever the call sites pass.

mod address;
mod custom;
mod fold;
mod param;
mod words;

use super::message::{ComposeError, MessageField};

pub(super) use address::write_addresses;
pub(super) use custom::write_custom;
pub use custom::{HEADER_NAME_BYTES_MAX, check_header};
pub(super) use fold::Folder;
pub(super) use param::{is_token, write_parameter};
pub(super) use words::{hex, write_text};

/// Longest line without its CRLF (RFC 5322 §2.1.1).
const LINE_BYTES_MAX: usize = 998;

/// Longest word that fits on a line after the space of the fold.
const WORD_BYTES_MAX: usize = LINE_BYTES_MAX - 1;

/// Returns an error if the text contains a control character.
pub(super) fn refuse_controls(text: &str, field: MessageField) -> Result<(), ComposeError> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(ComposeError::ControlCharacter(field));
    }
    Ok(())
}

/// Returns an error if the text contains a control character other than the tab, which is folding white space.
fn refuse_controls_but_tab(text: &str, field: MessageField) -> Result<(), ComposeError> {
    if text.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return Err(ComposeError::ControlCharacter(field));
    }
    Ok(())
}

/// Writes `Date`, in UTC.
pub(super) fn write_date(out: &mut Vec<u8>, date_ms: i64) -> Result<(), ComposeError> {
    use chrono::Datelike as _;

    let date = chrono::DateTime::from_timestamp_millis(date_ms)
        .filter(|date| (1900..=9999).contains(&date.year()))
        .ok_or(ComposeError::DateOutOfRange)?;
    let mut folder = Folder::start(out, "Date");
    folder.word(date.format("%a, %d %b %Y %H:%M:%S +0000").to_string().as_bytes());
    folder.end();
    Ok(())
}

/// Writes `Message-ID` and adds the angle brackets.
pub(super) fn write_message_id(out: &mut Vec<u8>, id: &str) -> Result<(), ComposeError> {
    refuse_controls(id, MessageField::MessageId)?;
    // RFC 5322 §3.6.4: `id-left@id-right` without white space.
    let plain = id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'));
    let sides =
        id.split_once('@').is_some_and(|(left, right)| !left.is_empty() && !right.is_empty() && !right.contains('@'));
    if !plain || !sides {
        return Err(ComposeError::Malformed(MessageField::MessageId));
    }
    if id.len() + 2 > WORD_BYTES_MAX {
        return Err(ComposeError::TooLong(MessageField::MessageId));
    }
    let mut folder = Folder::start(out, "Message-ID");
    folder.word(format!("<{id}>").as_bytes());
    folder.end();
    Ok(())
}

/// Writes `Content-ID` and adds the angle brackets. Unlike a `Message-ID`, it can lack the part after the at sign,
/// because mail clients compare it with a `cid:` URL only.
pub(super) fn write_content_id(out: &mut Vec<u8>, id: &str) -> Result<(), ComposeError> {
    refuse_controls(id, MessageField::ContentId)?;
    let is_plain = id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'));
    if id.is_empty() || !is_plain {
        return Err(ComposeError::Malformed(MessageField::ContentId));
    }
    if id.len() + 2 > WORD_BYTES_MAX {
        return Err(ComposeError::TooLong(MessageField::ContentId));
    }
    let mut folder = Folder::start(out, "Content-ID");
    folder.word(format!("<{id}>").as_bytes());
    folder.end();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_written_in_utc() {
        for (date_ms, expected) in [
            (0, "Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n"),
            (1_767_225_599_999, "Date: Wed, 31 Dec 2025 23:59:59 +0000\r\n"),
            (951_782_400_000, "Date: Tue, 29 Feb 2000 00:00:00 +0000\r\n"),
        ] {
            let mut out = Vec::new();
            write_date(&mut out, date_ms).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
        for date_ms in [i64::MIN, i64::MAX, 253_402_300_800_000, -2_208_988_800_001] {
            assert_eq!(write_date(&mut Vec::new(), date_ms), Err(ComposeError::DateOutOfRange));
        }
    }

    #[test]
    fn a_message_id_has_two_sides_and_no_brackets() {
        let mut out = Vec::new();
        write_message_id(&mut out, "0198@example.com").unwrap();
        assert_eq!(out, b"Message-ID: <0198@example.com>\r\n");

        for (id, expected) in [
            ("", ComposeError::Malformed(MessageField::MessageId)),
            ("no-at", ComposeError::Malformed(MessageField::MessageId)),
            ("@example.com", ComposeError::Malformed(MessageField::MessageId)),
            ("a@b@c", ComposeError::Malformed(MessageField::MessageId)),
            ("a@", ComposeError::Malformed(MessageField::MessageId)),
            ("a b@c", ComposeError::Malformed(MessageField::MessageId)),
            ("<a@b>", ComposeError::Malformed(MessageField::MessageId)),
            ("é@b", ComposeError::Malformed(MessageField::MessageId)),
            ("a@b\r\nBcc: c@d", ComposeError::ControlCharacter(MessageField::MessageId)),
        ] {
            assert_eq!(write_message_id(&mut Vec::new(), id), Err(expected), "{id:?}");
        }
        let long = format!("{}@example.com", "x".repeat(990));
        assert_eq!(write_message_id(&mut Vec::new(), &long), Err(ComposeError::TooLong(MessageField::MessageId)));
    }
}
