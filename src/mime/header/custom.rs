//! Custom header fields of the caller.

use super::address::write_phrase;
use super::{Folder, WORD_BYTES_MAX, refuse_controls, refuse_controls_but_tab, write_text};
use crate::mime::message::{ComposeError, MessageField};

/// Longest name of a custom header.
pub const HEADER_NAME_BYTES_MAX: usize = 128;

/// Fields that only the composer, a signer or a receiving host writes. A second one would contradict the first, or
/// disclose blind recipients.
const RESERVED: [&str; 13] = [
    "authentication-results",
    "bcc",
    "cc",
    "date",
    "dkim-signature",
    "from",
    "message-id",
    "mime-version",
    "received",
    "reply-to",
    "return-path",
    "sender",
    "subject",
];
const RESERVED_PREFIXES: [&str; 3] = ["arc-", "content-", "resent-"];

/// Syntax of a field's value, which decides how it is folded and encoded.
enum Form {
    /// Free text. Folds between words; non-ASCII text becomes encoded words.
    Unstructured,
    /// Message ids or URLs. Folds between them; receivers do not decode encoded words here.
    Tokens,
    /// An optional phrase and an identifier in angle brackets (RFC 2919 §2).
    ListId,
}

/// Checks that a custom header can be composed.
///
/// The API calls it for every header, so that every accepted message can be composed.
///
/// # Errors
/// Returns the [`ComposeError`] that composition would return.
pub fn check_header(name: &str, value: &str) -> Result<(), ComposeError> {
    write_custom(&mut Vec::new(), name, value)
}

/// Writes a custom header field.
pub(crate) fn write_custom(out: &mut Vec<u8>, name: &str, value: &str) -> Result<(), ComposeError> {
    let form = check_name(name)?;
    refuse_controls_but_tab(value, MessageField::HeaderValue)?;
    let mut folder = Folder::start(out, name);
    match form {
        // A long word is probably read by a program, so it is not encoded.
        Form::Unstructured => write_text(&mut folder, value, WORD_BYTES_MAX, MessageField::HeaderValue)?,
        Form::Tokens => write_tokens(&mut folder, value)?,
        Form::ListId => match value.rsplit_once('<') {
            Some((phrase, id)) if !phrase.trim().is_empty() => {
                write_phrase(&mut folder, unquoted(phrase.trim()));
                write_tokens(&mut folder, &format!("<{id}"))?;
            }
            _ => write_tokens(&mut folder, value)?,
        },
    }
    folder.end();
    Ok(())
}

fn check_name(name: &str) -> Result<Form, ComposeError> {
    refuse_controls(name, MessageField::HeaderName)?;
    // RFC 5322 §3.6.8: printable ASCII characters except the colon.
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':') {
        return Err(ComposeError::Malformed(MessageField::HeaderName));
    }
    if name.len() > HEADER_NAME_BYTES_MAX {
        return Err(ComposeError::TooLong(MessageField::HeaderName));
    }
    let lower = name.to_ascii_lowercase();
    // "To" is easy to overlook in the list, so it is compared here.
    let reserved = lower == "to"
        || RESERVED.contains(&lower.as_str())
        || RESERVED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix));
    if reserved {
        return Err(ComposeError::ReservedHeader);
    }
    Ok(match lower.as_str() {
        "list-id" => Form::ListId,
        "in-reply-to" | "references" | "feedback-id" | "auto-submitted" | "precedence" => Form::Tokens,
        list if list.starts_with("list-") => Form::Tokens,
        _ => Form::Unstructured,
    })
}

/// Returns a phrase without the quotes around it. A phrase with inner quotes or escapes is returned unchanged.
fn unquoted(phrase: &str) -> &str {
    let inner = phrase.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains(['"', '\\']) && !inner.is_empty()).unwrap_or(phrase)
}

/// Writes words without encoded words, folding only between them.
///
/// Non-ASCII octets are percent-encoded. That is correct for a URL (RFC 3987 §3.1). A message id with such octets
/// matches no message in any encoding.
fn write_tokens(folder: &mut Folder<'_>, value: &str) -> Result<(), ComposeError> {
    for token in value.split([' ', '\t']).filter(|token| !token.is_empty()) {
        let mut word = String::with_capacity(token.len());
        for c in token.chars() {
            if c.is_ascii() {
                word.push(c);
            } else {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    word.push_str(&format!("%{byte:02X}"));
                }
            }
        }
        if word.len() > WORD_BYTES_MAX {
            return Err(ComposeError::TooLong(MessageField::HeaderValue));
        }
        folder.word(word.as_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn custom(name: &str, value: &str) -> Result<String, ComposeError> {
        let mut out = Vec::new();
        write_custom(&mut out, name, value)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn each_form_is_folded_by_its_own_rules() {
        let url = format!("<https://example.com/u?t={}>", "t".repeat(80));
        for (name, value, expected) in [
            ("X-Entity-Ref-ID", "123", "X-Entity-Ref-ID: 123\r\n".to_owned()),
            ("X-Empty", "", "X-Empty:\r\n".to_owned()),
            ("X-Note", "la primera señal", "X-Note: =?utf-8?q?la_primera_se=C3=B1al?=\r\n".to_owned()),
            ("X-Token", &"k".repeat(300), format!("X-Token:\r\n {}\r\n", "k".repeat(300))),
            ("References", "<a@b>  <c@d>", "References: <a@b> <c@d>\r\n".to_owned()),
            ("In-Reply-To", "<ä@b>", "In-Reply-To: <%C3%A4@b>\r\n".to_owned()),
            (
                "List-Unsubscribe",
                &format!("{url}, <mailto:u@example.com?subject=?x>"),
                format!("List-Unsubscribe:\r\n {url},\r\n <mailto:u@example.com?subject=?x>\r\n"),
            ),
            (
                "List-Unsubscribe-Post",
                "List-Unsubscribe=One-Click",
                "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n".to_owned(),
            ),
            (
                "List-Id",
                "Nouveautés <news.example.com>",
                "List-Id: =?utf-8?q?Nouveaut=C3=A9s?= <news.example.com>\r\n".to_owned(),
            ),
            ("List-Id", "<news.example.com>", "List-Id: <news.example.com>\r\n".to_owned()),
            ("List-Id", "\"News, all\" <n.example.com>", "List-Id: \"News, all\" <n.example.com>\r\n".to_owned()),
            ("Auto-Submitted", "auto-generated", "Auto-Submitted: auto-generated\r\n".to_owned()),
            ("Precedence", "bulk", "Precedence: bulk\r\n".to_owned()),
        ] {
            assert_eq!(custom(name, value).unwrap(), expected);
        }
    }

    #[test]
    fn a_reserved_header_is_refused() {
        for name in [
            "To",
            "tO",
            "Bcc",
            "FROM",
            "Sender",
            "Subject",
            "Date",
            "Message-Id",
            "MIME-Version",
            "Content-Type",
            "content-transfer-encoding",
            "DKIM-Signature",
            "Received",
            "Return-Path",
            "ARC-Seal",
            "Resent-To",
            "Authentication-Results",
        ] {
            assert_eq!(custom(name, "x"), Err(ComposeError::ReservedHeader), "{name}");
        }
    }

    #[test]
    fn an_invalid_name_or_value_is_refused() {
        let long_name = "X".repeat(HEADER_NAME_BYTES_MAX + 1);
        let long_id = format!("<{}@b>", "x".repeat(1000));
        for (name, value, expected) in [
            ("", "x", ComposeError::Malformed(MessageField::HeaderName)),
            ("X A", "x", ComposeError::Malformed(MessageField::HeaderName)),
            ("X:", "x", ComposeError::Malformed(MessageField::HeaderName)),
            ("Xé", "x", ComposeError::Malformed(MessageField::HeaderName)),
            (long_name.as_str(), "x", ComposeError::TooLong(MessageField::HeaderName)),
            ("X\r\nBcc", "x", ComposeError::ControlCharacter(MessageField::HeaderName)),
            ("X-A", "x\r\nBcc: a@b.co", ComposeError::ControlCharacter(MessageField::HeaderValue)),
            ("X-A", "x\r\n y", ComposeError::ControlCharacter(MessageField::HeaderValue)),
            ("References", "<a@b>\n<c@d>", ComposeError::ControlCharacter(MessageField::HeaderValue)),
            ("List-Id", "x\0 <a.b>", ComposeError::ControlCharacter(MessageField::HeaderValue)),
            ("References", long_id.as_str(), ComposeError::TooLong(MessageField::HeaderValue)),
        ] {
            assert_eq!(custom(name, value), Err(expected), "{name:?}: {value:?}");
            assert_eq!(check_header(name, value), Err(expected));
        }
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_one_field(
            name in prop::sample::select(vec!["X-A", "References", "List-Id", "List-Unsubscribe"]),
            value in "\\PC{0,1500}",
        ) {
            if let Ok(field) = custom(name, &value) {
                prop_assert!(field.is_ascii());
                let lines: Vec<&str> = field.strip_suffix("\r\n").unwrap().split("\r\n").collect();
                for (index, line) in lines.iter().enumerate() {
                    prop_assert!(line.len() <= 998);
                    prop_assert_eq!(line.starts_with(' '), index > 0);
                    prop_assert!(!line.trim().is_empty());
                }
            }
        }

        #[test]
        fn writing_never_panics(name in any::<String>(), value in any::<String>()) {
            let _ = custom(&name, &value);
        }
    }
}
