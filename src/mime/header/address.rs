//! Mailboxes: `From`, `To`, `Cc` and `Reply-To`.

use super::words::{Place, write_encoded};
use super::{Folder, refuse_controls};
use crate::mime::message::{ComposeError, Field, MimeMailbox};

/// RFC 5321 §4.5.3.1.1 and .2.
const LOCAL_PART_BYTES_MAX: usize = 64;
const DOMAIN_BYTES_MAX: usize = 255;

/// A longer name is carried as encoded words, which fold; a quoted one would not.
const QUOTED_NAME_BYTES_MAX: usize = 64;

/// Writes the field `name` with its mailboxes, in order.
pub(crate) fn write_addresses(out: &mut Vec<u8>, name: &str, parties: &[MimeMailbox<'_>]) -> Result<(), ComposeError> {
    let mut folder = Folder::start(out, name);
    for (index, party) in parties.iter().enumerate() {
        check_address(party.address)?;
        let comma = if index + 1 < parties.len() { "," } else { "" };
        let display_name = party.name.unwrap_or_default();
        refuse_controls(display_name, Field::DisplayName)?;
        let display_name = display_name.trim();
        if display_name.is_empty() {
            folder.word(format!("{}{comma}", party.address).as_bytes());
        } else {
            write_phrase(&mut folder, display_name);
            folder.word(format!("<{}>{comma}", party.address).as_bytes());
        }
    }
    folder.end();
    Ok(())
}

/// Writes a display name: atoms, a quoted string or encoded words, the first that serves.
pub(super) fn write_phrase(folder: &mut Folder<'_>, name: &str) {
    let quotable = name.is_ascii() && !name.contains("=?") && name.len() <= QUOTED_NAME_BYTES_MAX;
    if quotable && name.split(' ').all(is_atom) {
        name.split(' ').for_each(|atom| folder.word(atom.as_bytes()));
    } else if quotable {
        let mut quoted = Vec::with_capacity(name.len() + 2);
        push_quoted(&mut quoted, name);
        folder.word(&quoted);
    } else {
        write_encoded(folder, name, Place::Phrase);
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

/// RFC 5322 §3.2.3.
fn is_atom(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(is_atext)
}

fn is_atext(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

/// Checks that an address is one mailbox and nothing else.
///
/// The address was parsed where it entered; what is checked here is that it cannot end its own
/// mailbox and begin another.
fn check_address(address: &str) -> Result<(), ComposeError> {
    const MALFORMED: ComposeError = ComposeError::Malformed(Field::Address);

    refuse_controls(address, Field::Address)?;
    let (local, domain) = address.rsplit_once('@').ok_or(MALFORMED)?;
    if local.len() > LOCAL_PART_BYTES_MAX || domain.len() > DOMAIN_BYTES_MAX {
        return Err(ComposeError::TooLong(Field::Address));
    }

    // RFC 6532 §3.2 adds every character outside ASCII to atext and to qtext.
    let atom = |atom: &str| !atom.is_empty() && atom.bytes().all(|byte| is_atext(byte) || !byte.is_ascii());
    let local_holds = match local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => is_quoted_content(quoted),
        None => local.split('.').all(atom),
    };
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if local_holds && domain.split('.').all(label) { Ok(()) } else { Err(MALFORMED) }
}

/// Returns whether a quote stands only behind a backslash, and a backslash before something.
fn is_quoted_content(content: &str) -> bool {
    let mut bytes = content.bytes();
    while let Some(byte) = bytes.next() {
        let held = match byte {
            b'\\' => bytes.next().is_some(),
            byte => byte != b'"',
        };
        if !held {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn to(parties: &[MimeMailbox<'_>]) -> Result<String, ComposeError> {
        let mut out = Vec::new();
        write_addresses(&mut out, "To", parties)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn named<'a>(name: &'a str, address: &'a str) -> MimeMailbox<'a> {
        MimeMailbox { name: Some(name), address }
    }

    #[test]
    fn a_name_takes_the_plainest_form_that_holds_it() {
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
        let malformed = ComposeError::Malformed(Field::Address);
        let control = ComposeError::ControlCharacter(Field::Address);
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
        assert_eq!(to(&[MimeMailbox { name: None, address: &long }]), Err(ComposeError::TooLong(Field::Address)));
        assert_eq!(to(&[named("a\r\nBcc: x@y.co", "a@b.co")]), Err(ComposeError::ControlCharacter(Field::DisplayName)));
    }

    #[test]
    fn unusual_local_parts_are_kept() {
        for address in ["\"a b\"@c.co", "\"a\\\"b\"@c.co", "用户@xn--fsq.com", "x+y=z@c_d.co"] {
            let field = to(&[MimeMailbox { name: None, address }]).unwrap();
            assert_eq!(field, format!("To: {address}\r\n"));
        }
    }

    #[test]
    fn fifty_recipients_fold_and_read_back() {
        let addresses: Vec<String> = (0..50).map(|n| format!("recipient-{n}@department-{n}.example.com")).collect();
        let names: Vec<String> = (0..50).map(|n| format!("Recipiente número {n}")).collect();
        let parties: Vec<MimeMailbox<'_>> =
            names.iter().zip(&addresses).map(|(name, address)| named(name, address)).collect();

        let field = to(&parties).unwrap();

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
        fn names_read_back(names in prop::collection::vec("[^\\p{Cc}]{0,90}", 1..6)) {
            let parties: Vec<MimeMailbox<'_>> = names.iter().map(|name| named(name, "a@b.co")).collect();
            let field = to(&parties).unwrap();
            for line in field.lines() {
                prop_assert!(line.len() <= 76 + 64, "{}", line);
            }
            let expected: Vec<(String, String)> =
                names.iter().map(|name| (name.trim().to_owned(), "a@b.co".to_owned())).collect();
            prop_assert_eq!(read_back(&field), expected);
        }
    }
}
