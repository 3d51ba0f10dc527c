//! Parameters of MIME fields: tokens, quoted strings, and the extended form of RFC 2231.

use super::Folder;
use super::address::push_quoted;
use super::words::hex;

/// Longest plain value. A longer or non-ASCII value is written in the extended form of RFC 2231.
const PLAIN_VALUE_BYTES_MAX: usize = 56;
/// Longest parameter, so that it fits on a line of 76 octets with its space and semicolon.
const PARAMETER_BYTES_MAX: usize = 74;
const CHARSET: &str = "utf-8''";

/// Appends a parameter to a field. The caller must have checked that the value contains no control character.
pub(crate) fn write_parameter(folder: &mut Folder<'_>, attribute: &str, value: &str) {
    let plain =
        value.len() <= PLAIN_VALUE_BYTES_MAX && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if !plain {
        return write_extended(folder, attribute, value);
    }
    let mut parameter = Vec::with_capacity(attribute.len() + value.len() + 3);
    parameter.extend_from_slice(attribute.as_bytes());
    parameter.push(b'=');
    if is_token(value) {
        parameter.extend_from_slice(value.as_bytes());
    } else {
        push_quoted(&mut parameter, value);
    }
    folder.append(b";");
    folder.word(&parameter);
}

/// Writes the extended form (RFC 2231 §4), in numbered sections (§3) if it is long.
///
/// A character is never split between sections, because some mail clients decode each section separately.
fn write_extended(folder: &mut Folder<'_>, attribute: &str, value: &str) {
    let encoded_bytes: usize = value.chars().map(cost).sum();
    if attribute.len() + "*=".len() + CHARSET.len() + encoded_bytes <= PARAMETER_BYTES_MAX {
        let mut parameter = format!("{attribute}*={CHARSET}").into_bytes();
        value.chars().for_each(|c| push_encoded(&mut parameter, c));
        folder.append(b";");
        return folder.word(&parameter);
    }

    let mut section = 0;
    let mut chars = value.chars().peekable();
    while chars.peek().is_some() {
        let charset = if section == 0 { CHARSET } else { "" };
        let mut parameter = format!("{attribute}*{section}*={charset}").into_bytes();
        while let Some(c) = chars.next_if(|&c| parameter.len() + cost(c) <= PARAMETER_BYTES_MAX) {
            push_encoded(&mut parameter, c);
        }
        folder.append(b";");
        folder.word(&parameter);
        section += 1;
    }
}

/// Returns the encoded size of a character.
fn cost(c: char) -> usize {
    if is_attribute_char(c) { 1 } else { c.len_utf8() * 3 }
}

fn push_encoded(out: &mut Vec<u8>, c: char) {
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        if is_attribute_char(c) {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', hex(byte >> 4), hex(byte & 0x0f)]);
        }
    }
}

/// Returns whether an extended value can contain the character without encoding (RFC 2231 §7).
fn is_attribute_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$&+-.^_`{|}~".contains(c)
}

/// Returns whether a text is a `token` (RFC 2045 §5.1).
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail_parser::MimeHeaders as _;
    use proptest::prelude::*;

    fn disposition(filename: &str) -> String {
        let mut out = Vec::new();
        let mut folder = Folder::start(&mut out, "Content-Disposition");
        folder.word(b"attachment");
        write_parameter(&mut folder, "filename", filename);
        folder.end();
        String::from_utf8(out).unwrap()
    }

    fn read_back(field: &str) -> String {
        let raw = format!("Content-Type: text/plain\r\n{field}\r\nx");
        let message = mail_parser::MessageParser::new().parse(raw.as_bytes()).unwrap();
        message.parts[0]
            .content_disposition()
            .and_then(|value| value.attribute("filename"))
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn a_filename_is_written_in_the_simplest_possible_form() {
        for (filename, expected) in [
            ("a.pdf", "attachment; filename=a.pdf"),
            ("my file.pdf", "attachment; filename=\"my file.pdf\""),
            ("a\"b\\c", "attachment; filename=\"a\\\"b\\\\c\""),
            ("naïve.txt", "attachment; filename*=utf-8''na%C3%AFve.txt"),
            ("100%*'.txt", "attachment; filename=100%*'.txt"),
        ] {
            assert_eq!(disposition(filename), format!("Content-Disposition: {expected}\r\n"));
        }
    }

    #[test]
    fn a_long_filename_is_split_between_characters() {
        let filename = format!("{}.pdf", "報告書".repeat(40));
        let field = disposition(&filename);
        assert!(field.contains("filename*0*=utf-8''%E5%A0%B1"), "{field}");
        assert!(field.contains(" filename*1*=%E"), "{field}");
        assert!(field.lines().all(|line| line.len() <= 76), "{field}");
        assert_eq!(read_back(&field), filename);
    }

    proptest! {
        #[test]
        fn a_mail_parser_reads_the_same_filename(filename in "[^\\p{Cc}]{1,200}") {
            let field = disposition(&filename);
            prop_assert!(field.is_ascii());
            prop_assert!(field.lines().all(|line| line.len() <= 77), "{}", field);
            prop_assert_eq!(read_back(&field), filename);
        }
    }
}
