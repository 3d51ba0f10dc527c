//! Fields with mailboxes: `From`, `To`, `Cc` and `Reply-To`.

use super::words::{WordContext, write_encoded};
use super::{Folder, refuse_controls};
use crate::mime::message::{AddressForm, ComposeError, MessageField, MimeMailbox};

/// Longest local part (RFC 5321 §4.5.3.1.1).
const LOCAL_PART_BYTES_MAX: usize = 64;
/// Longest domain (RFC 5321 §4.5.3.1.2).
const DOMAIN_BYTES_MAX: usize = 255;

/// Longest name in a quoted string. A longer name becomes encoded words, because a quoted string is not folded.
const QUOTED_NAME_BYTES_MAX: usize = 64;

/// Writes the field `name` with its mailboxes, in order.
pub(crate) fn write_addresses(
    out: &mut Vec<u8>,
    name: &str,
    mailboxes: &[MimeMailbox<'_>],
    form: AddressForm,
) -> Result<(), ComposeError> {
    let mut folder = Folder::start(out, name);
    for (index, mailbox) in mailboxes.iter().enumerate() {
        check_address(mailbox.address)?;
        let comma = if index + 1 < mailboxes.len() { "," } else { "" };
        let display_name = mailbox.name.unwrap_or_default();
        refuse_controls(display_name, MessageField::DisplayName)?;
        let display_name = display_name.trim();
        if form == AddressForm::Ascii && !mailbox.address.is_ascii() {
            write_phrase(&mut folder, format!("{display_name} {}", mailbox.address).trim_start());
            folder.word(format!(":;{comma}").as_bytes());
        } else if display_name.is_empty() {
            folder.word(format!("{}{comma}", mailbox.address).as_bytes());
        } else {
            write_phrase(&mut folder, display_name);
            folder.word(format!("<{}>{comma}", mailbox.address).as_bytes());
        }
    }
    folder.end();
    Ok(())
}

/// Writes a display name in the first form that is possible: atoms, a quoted string, encoded words.
pub(super) fn write_phrase(folder: &mut Folder<'_>, name: &str) {
    let quotable = name.is_ascii() && !name.contains("=?") && name.len() <= QUOTED_NAME_BYTES_MAX;
    if quotable && name.split(' ').all(is_atom) {
        name.split(' ').for_each(|atom| folder.word(atom.as_bytes()));
    } else if quotable {
        let mut quoted = Vec::with_capacity(name.len() + 2);
        push_quoted(&mut quoted, name);
        folder.word(&quoted);
    } else {
        write_encoded(folder, name, WordContext::Phrase);
    }
}

/// Appends a quoted string (RFC 5322 §3.2.4).
pub(super) fn push_quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for byte in text.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Returns whether a word is an `atom` (RFC 5322 §3.2.3).
fn is_atom(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(is_atext)
}

fn is_atext(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

/// Checks that an address is exactly one mailbox.
///
/// The API has parsed the address. This check only prevents an address that ends its mailbox and starts another.
fn check_address(address: &str) -> Result<(), ComposeError> {
    const MALFORMED: ComposeError = ComposeError::Malformed(MessageField::Address);

    refuse_controls(address, MessageField::Address)?;
    let (local, domain) = address.rsplit_once('@').ok_or(MALFORMED)?;
    if local.len() > LOCAL_PART_BYTES_MAX || domain.len() > DOMAIN_BYTES_MAX {
        return Err(ComposeError::TooLong(MessageField::Address));
    }

    // RFC 6532 §3.2: atext and qtext include all non-ASCII characters.
    let atom = |atom: &str| !atom.is_empty() && atom.bytes().all(|byte| is_atext(byte) || !byte.is_ascii());
    let is_local_valid = match local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => is_quoted_content(quoted),
        None => local.split('.').all(atom),
    };
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if is_local_valid && domain.split('.').all(label) { Ok(()) } else { Err(MALFORMED) }
}

/// Returns whether every quote is escaped and every backslash escapes a character.
fn is_quoted_content(content: &str) -> bool {
    let mut bytes = content.bytes();
    while let Some(byte) = bytes.next() {
        let is_valid = match byte {
            b'\\' => bytes.next().is_some(),
            byte => byte != b'"',
        };
        if !is_valid {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn to(mailboxes: &[MimeMailbox<'_>]) -> Result<String, ComposeError> {
        let mut out = Vec::new();
        write_addresses(&mut out, "To", mailboxes, AddressForm::Unicode)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn named<'a>(name: &'a str, address: &'a str) -> MimeMailbox<'a> {
        MimeMailbox { name: Some(name), address }
    }

    #[test]
    fn a_name_is_written_in_the_simplest_possible_form() {
        for (name, expected) in [
            ("", "To: a@b.co\r\n"),
            ("  ", "To: a@b.co\r\n"),
            ("Ada Lovelace", "To: Ada Lovelace <a@b.co>\r\n"),
            ("Lovelace, Ada", "To: \"Lovelace, Ada\" <a@b.co>\r\n"),
            ("J. \"X\" \\ Doe", "To: \"J. \\\"X\\\" \\\\ Doe\" <a@b.co>\r\n"),
            ("two  spaces", "To: \"two  spaces\" <a@b.co>\r\n"),
            ("Zoë", "To: =?utf-8?q?Zo=C3=AB?= <a@b.co>\r\n"),
            ("Jörg (Vertrieb)", "To: =?utf-8?q?J=C3=B6rg_=28Vertrieb=29?= <a@b.co>\r\n"),
            ("=?x?q?y?=", "To: =?utf-8?b?PT94P3E/eT89?= <a@b.co>\r\n"),
        ] {
            assert_eq!(to(&[named(name, "a@b.co")]).unwrap(), expected);
        }
    }

    #[test]
    fn an_address_cannot_end_its_own_mailbox() {
        let malformed = ComposeError::Malformed(MessageField::Address);
        let control = ComposeError::ControlCharacter(MessageField::Address);
        for (address, expected) in [
            ("", malformed),
            ("nobody", malformed),
            ("@b.co", malformed),
            ("a@", malformed),
            ("a@b..co", malformed),
            ("a..b@c.co", malformed),
            ("a b@c.co", malformed),
            ("a@c.co, x@y.co", malformed),
            ("a>,<x@y.co", malformed),
            ("\"a\" <x@y.co", malformed),
            ("\"a\"b\"@y.co", malformed),
            ("\"a\\\"@y.co", malformed),
            ("a@exämple.com", malformed),
            ("a@[127.0.0.1]", malformed),
            ("a@b.co\r\nBcc: x@y.co", control),
            ("a\0@b.co", control),
        ] {
            assert_eq!(to(&[MimeMailbox { name: None, address }]), Err(expected), "{address:?}");
        }
        let long = format!("{}@b.co", "x".repeat(65));
        assert_eq!(
            to(&[MimeMailbox { name: None, address: &long }]),
            Err(ComposeError::TooLong(MessageField::Address))
        );
        assert_eq!(
            to(&[named("a\r\nBcc: x@y.co", "a@b.co")]),
            Err(ComposeError::ControlCharacter(MessageField::DisplayName))
        );
    }

    #[test]
    fn unusual_local_parts_are_written_unchanged() {
        for address in ["\"a b\"@c.co", "\"a\\\"b\"@c.co", "用户@xn--fsq.com", "x+y=z@c_d.co"] {
            let field = to(&[MimeMailbox { name: None, address }]).unwrap();
            assert_eq!(field, format!("To: {address}\r\n"));
        }
    }

    #[test]
    fn fifty_recipients_are_folded_and_parsed_again() {
        let addresses: Vec<String> = (0..50).map(|n| format!("recipient-{n}@department-{n}.example.com")).collect();
        let names: Vec<String> = (0..50).map(|n| format!("Recipiente número {n}")).collect();
        let mailboxes: Vec<MimeMailbox<'_>> =
            names.iter().zip(&addresses).map(|(name, address)| named(name, address)).collect();

        let field = to(&mailboxes).unwrap();

        assert!(field.lines().all(|line| line.len() <= 76), "{field}");
        assert_eq!(read_back(&field), names.into_iter().zip(addresses).collect::<Vec<_>>());
    }

    fn read_back(field: &str) -> Vec<(String, String)> {
        let raw = format!("{field}\r\n");
        let message = mail_parser::MessageParser::new().parse_headers(raw.as_bytes()).unwrap();
        let list = message.to().unwrap();
        list.iter()
            .map(|addr| {
                let name = addr.name().unwrap_or_default().to_owned();
                (name, addr.address().unwrap_or_default().to_owned())
            })
            .collect()
    }

    proptest! {
        #[test]
        fn a_mail_parser_reads_the_same_names(names in prop::collection::vec("[^\\p{Cc}]{0,90}", 1..6)) {
            let mailboxes: Vec<MimeMailbox<'_>> = names.iter().map(|name| named(name, "a@b.co")).collect();
            let field = to(&mailboxes).unwrap();
            for line in field.lines() {
                prop_assert!(line.len() <= 76 + 64, "{}", line);
            }
            let expected: Vec<(String, String)> =
                names.iter().map(|name| (name.trim().to_owned(), "a@b.co".to_owned())).collect();
            prop_assert_eq!(read_back(&field), expected);
        }
    }
}
