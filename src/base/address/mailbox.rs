use std::fmt;

use super::{AddressError, EmailAddress, is_control};

/// Longest display name. Long enough for real names; with fifty recipients the headers stay far below the limits of
/// mail servers.
const NAME_CHARS_MAX: usize = 256;

/// One mailbox: `user@host`, `Name <user@host>` or `"Quoted, Name" <user@host>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mailbox {
    name: Option<String>,
    address: EmailAddress,
}

impl Mailbox {
    /// Parses exactly one mailbox. Drops surrounding spaces and reduces runs of spaces in the name to one. An empty
    /// name becomes `None`.
    ///
    /// # Errors
    ///
    /// Returns [`AddressError::SeveralAddresses`] for a comma or semicolon outside quotes. The names of the other
    /// variants describe their cause.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.chars().any(is_control) {
            return Err(AddressError::ControlCharacter);
        }
        let text = text.trim_matches(' ');

        let Some(open) = find_bracket(text, '<', '>')? else {
            return Ok(Self { name: None, address: EmailAddress::parse(text)? });
        };
        let (phrase, bracketed) = (&text[..open], &text[open + 1..]);
        let name = parse_name(phrase)?;

        let close = match find_bracket(bracketed, '>', '<') {
            Ok(Some(close)) => close,
            Ok(None) => return Err(AddressError::UnmatchedAngleBracket),
            Err(AddressError::UnmatchedAngleBracket) => {
                return Err(AddressError::SecondAngleBracket);
            }
            Err(error) => return Err(error),
        };
        let (address, after) = (&bracketed[..close], &bracketed[close + 1..]);
        match after.trim_start_matches(' ').chars().next() {
            None => {}
            Some(',' | ';') => return Err(AddressError::SeveralAddresses),
            Some('<') => return Err(AddressError::SecondAngleBracket),
            Some(_) => return Err(AddressError::TextAfterAddress),
        }
        Ok(Self { name, address: EmailAddress::parse(address.trim_matches(' '))? })
    }

    /// Splits the text form of a parsed mailbox without parsing it again, for rows that are read often. `None` if the text has
    /// no address.
    pub fn from_stored(text: &str) -> Option<Self> {
        if text.contains('"') {
            return Self::parse(text).ok();
        }
        let (name, address) = match text.strip_suffix('>').and_then(|text| text.split_once(" <")) {
            Some((name, address)) => (Some(name.to_owned()), address),
            None => (None, text),
        };
        Some(Self { name, address: EmailAddress::from_stored(address)? })
    }

    /// Parses a list of mailboxes, as in a header field. Commas separate them.
    ///
    /// # Errors
    ///
    /// Returns the error of the first invalid mailbox.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, AddressError> {
        let mut mailboxes = Vec::new();
        let mut start = 0;
        let mut chars = text.char_indices();
        let mut quoted = false;
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => quoted = !quoted,
                '\\' if quoted => drop(chars.next()),
                ',' if !quoted => {
                    mailboxes.push(Self::parse(&text[start..at])?);
                    start = at + 1;
                }
                _ => {}
            }
        }
        mailboxes.push(Self::parse(&text[start..])?);
        Ok(mailboxes)
    }

    /// Returns the display name, without quotes and escapes.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub fn address(&self) -> &EmailAddress {
        &self.address
    }
}

impl From<EmailAddress> for Mailbox {
    fn from(address: EmailAddress) -> Self {
        Self { name: None, address }
    }
}

/// Returns the byte offset of the first `wanted` bracket outside quotes. An `opposite` bracket or a separator
/// before it is an error.
fn find_bracket(text: &str, wanted: char, opposite: char) -> Result<Option<usize>, AddressError> {
    let mut chars = text.char_indices();
    let mut quoted = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' if quoted => {
                chars.next();
            }
            _ if quoted => {}
            ',' | ';' => return Err(AddressError::SeveralAddresses),
            c if c == wanted => return Ok(Some(at)),
            c if c == opposite => return Err(AddressError::UnmatchedAngleBracket),
            _ => {}
        }
    }
    if quoted { Err(AddressError::UnterminatedQuote) } else { Ok(None) }
}

/// Parses the phrase before the `<`, with plain and quoted words (RFC 5322 §3.2.5). The caller has checked that all
/// quotes are closed.
fn parse_name(phrase: &str) -> Result<Option<String>, AddressError> {
    let mut name = String::new();
    let mut chars = phrase.chars();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        let c = match c {
            '"' => {
                quoted = !quoted;
                continue;
            }
            '\\' if quoted => chars.next().ok_or(AddressError::UnterminatedQuote)?,
            c => c,
        };
        match c {
            '@' => return Err(AddressError::AtSignInName),
            ' ' if name.is_empty() || name.ends_with(' ') => {}
            c => name.push(c),
        }
    }
    name.truncate(name.trim_end_matches(' ').len());

    if name.chars().count() > NAME_CHARS_MAX {
        return Err(AddressError::NameTooLong);
    }
    Ok(if name.is_empty() { None } else { Some(name) })
}

/// Writes `user@host` or `Name <user@host>`, which [`Mailbox::parse`] accepts. The name is in quotes if it contains
/// a character that RFC 5322 §3.2.3 reserves.
///
/// The dot is reserved too, but every parser accepts `Acme Inc.` without quotes, and §4.1 allows it.
impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(name) = &self.name else {
            return write!(f, "{}", self.address);
        };
        if !name.contains(['(', ')', '<', '>', '[', ']', ':', ';', '\\', ',', '"']) {
            return write!(f, "{name} <{}>", self.address);
        }
        f.write_str("\"")?;
        for part in name.split_inclusive(['"', '\\']) {
            match part.strip_suffix(['"', '\\']) {
                Some(plain) => write!(f, "{plain}\\{}", &part[plain.len()..])?,
                None => f.write_str(part)?,
            }
        }
        write!(f, "\" <{}>", self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_accepted_form_parses_and_displays() {
        let longest_name = "é".repeat(256);
        let long_form = format!("{longest_name} <a@b.co>");
        for (given, name, printed) in [
            ("a@b.co", None, "a@b.co"),
            ("  a@b.co ", None, "a@b.co"),
            ("<a@b.co>", None, "a@b.co"),
            ("< a@b.co >", None, "a@b.co"),
            ("\"\" <a@b.co>", None, "a@b.co"),
            ("Name <a@b.co>", Some("Name"), "Name <a@b.co>"),
            ("Name<a@B.co>", Some("Name"), "Name <a@b.co>"),
            ("  Two   Words  < a@b.co > ", Some("Two Words"), "Two Words <a@b.co>"),
            ("Acme Inc. <a@b.co>", Some("Acme Inc."), "Acme Inc. <a@b.co>"),
            ("O'Neil & Söhne 🚀 <a@b.co>", Some("O'Neil & Söhne 🚀"), "O'Neil & Söhne 🚀 <a@b.co>"),
            ("\"Name\" <a@b.co>", Some("Name"), "Name <a@b.co>"),
            ("\"Quoted, Name\" <a@b.co>", Some("Quoted, Name"), "\"Quoted, Name\" <a@b.co>"),
            ("\"A; <B>\" <a@b.co>", Some("A; <B>"), "\"A; <B>\" <a@b.co>"),
            ("\"a \\\"b\\\" \\\\c\" <a@b.co>", Some("a \"b\" \\c"), "\"a \\\"b\\\" \\\\c\" <a@b.co>"),
            ("Robert \"Bob\" Smith <a@b.co>", Some("Robert Bob Smith"), "Robert Bob Smith <a@b.co>"),
            ("Acme (Support) <a@b.co>", Some("Acme (Support)"), "\"Acme (Support)\" <a@b.co>"),
            ("Team: Sales <a@b.co>", Some("Team: Sales"), "\"Team: Sales\" <a@b.co>"),
            ("a\\b <a@b.co>", Some("a\\b"), "\"a\\\\b\" <a@b.co>"),
            ("\"john doe\"@b.co", None, "\"john doe\"@b.co"),
            ("\"a,<b\"@b.co", None, "\"a,<b\"@b.co"),
            ("N <\"a>b,\\\"\"@b.co>", Some("N"), "N <\"a>b,\\\"\"@b.co>"),
            ("用户 <用户@例え.テスト>", Some("用户"), "用户 <用户@xn--r8jz45g.xn--zckzah>"),
            (&long_form, Some(&*longest_name), &long_form),
        ] {
            let mailbox = Mailbox::parse(given).unwrap_or_else(|error| panic!("{given}: {error}"));
            assert_eq!(mailbox.name(), name, "{given}");
            assert_eq!(mailbox.to_string(), printed, "{given}");
            assert_eq!(Mailbox::parse(printed).as_ref(), Ok(&mailbox), "{printed}");
            assert_eq!(Mailbox::from_stored(printed), Some(mailbox), "{printed}");
        }
    }

    #[test]
    fn a_list_is_split_at_commas_outside_quotes() {
        for (given, printed) in [
            ("a@b.co", vec!["a@b.co"]),
            ("a@b.co,c@d.co", vec!["a@b.co", "c@d.co"]),
            (" A <a@b.co> , \"B, \\\"C\\\"\" <c@d.co>", vec!["A <a@b.co>", "\"B, \\\"C\\\"\" <c@d.co>"]),
            ("\"a,b\"@c.co, d@e.co", vec!["\"a,b\"@c.co", "d@e.co"]),
        ] {
            let list = Mailbox::parse_list(given).unwrap();
            assert_eq!(list.iter().map(ToString::to_string).collect::<Vec<_>>(), printed, "{given}");
        }
        for (given, error) in [
            ("", AddressError::Empty),
            ("a@b.co,", AddressError::Empty),
            (",a@b.co", AddressError::Empty),
            ("a@b.co; c@d.co", AddressError::SeveralAddresses),
            ("a@b.co, c", AddressError::NoAtSign),
            ("\"a, b@c.co", AddressError::UnterminatedQuote),
            ("a@b.co,\r\n c@d.co", AddressError::ControlCharacter),
        ] {
            assert_eq!(Mailbox::parse_list(given), Err(error), "{given}");
        }
    }

    #[test]
    fn a_refused_mailbox_returns_the_error_of_its_rule() {
        let long_name = format!("{} <a@b.co>", "n".repeat(257));
        for (given, error) in [
            ("", AddressError::Empty),
            ("   ", AddressError::Empty),
            ("<>", AddressError::Empty),
            ("Name <>", AddressError::Empty),
            ("Name", AddressError::NoAtSign),
            ("a@b.co, c@d.co", AddressError::SeveralAddresses),
            ("a@b.co; c@d.co", AddressError::SeveralAddresses),
            ("a@b.co,", AddressError::SeveralAddresses),
            ("Doe, John <a@b.co>", AddressError::SeveralAddresses),
            ("Doe; John <a@b.co>", AddressError::SeveralAddresses),
            ("Team: a@b.co;", AddressError::SeveralAddresses),
            ("N <a@b.co>, M <c@d.co>", AddressError::SeveralAddresses),
            ("N <a@b.co, c@d.co>", AddressError::SeveralAddresses),
            ("N <<a@b.co>>", AddressError::SecondAngleBracket),
            ("N <a@b.co <c@d.co>", AddressError::SecondAngleBracket),
            ("N <a@b.co> <c@d.co>", AddressError::SecondAngleBracket),
            ("N <a@b.co", AddressError::UnmatchedAngleBracket),
            ("a@b.co>", AddressError::UnmatchedAngleBracket),
            ("N> <a@b.co>", AddressError::UnmatchedAngleBracket),
            ("N <a@b.co> tail", AddressError::TextAfterAddress),
            ("N <a@b.co>>", AddressError::TextAfterAddress),
            ("<a@b.co> (comment)", AddressError::TextAfterAddress),
            ("x@y.co <a@b.co>", AddressError::AtSignInName),
            ("\"x@y.co\" <a@b.co>", AddressError::AtSignInName),
            ("\"x\\@y\" <a@b.co>", AddressError::AtSignInName),
            ("\"Name <a@b.co>", AddressError::UnterminatedQuote),
            ("Name\" <a@b.co>", AddressError::UnterminatedQuote),
            ("\"Name\\\" <a@b.co>", AddressError::UnterminatedQuote),
            ("N <\"a@b.co>", AddressError::UnterminatedQuote),
            ("Name\r\nBcc: x@y.co <a@b.co>", AddressError::ControlCharacter),
            ("Name <a@b.co>\n", AddressError::ControlCharacter),
            ("Na\tme <a@b.co>", AddressError::ControlCharacter),
            ("\"Na\0me\" <a@b.co>", AddressError::ControlCharacter),
            ("Na\u{7F}me <a@b.co>", AddressError::ControlCharacter),
            ("Na\u{2029}me <a@b.co>", AddressError::ControlCharacter),
            ("Name a@b.co", AddressError::LocalPartCharacter(' ')),
            ("\"Name\" a@b.co", AddressError::TextAfterQuote),
            ("Name <a b@c.co>", AddressError::LocalPartCharacter(' ')),
            (&long_name, AddressError::NameTooLong),
        ] {
            assert_eq!(Mailbox::parse(given), Err(error), "{given:?}");
        }
    }

    #[test]
    fn json_contains_the_text_form() {
        let mailbox: Mailbox = serde_json::from_str(r#""\"Doe, J\" <J@B.co>""#).unwrap();
        assert_eq!(mailbox.name(), Some("Doe, J"));
        assert_eq!(serde_json::to_string(&mailbox).unwrap(), r#""\"Doe, J\" <J@b.co>""#);
        assert!(serde_json::from_str::<Mailbox>(r#""a@b.co, c@d.co""#).is_err());
    }

    proptest! {
        #[test]
        fn a_displayed_list_parses_to_the_same_mailboxes(texts in prop::collection::vec("\\PC{0,12} <[a-z]{1,5}@b.co>", 1..4)) {
            let mailboxes: Vec<Mailbox> = texts.iter().filter_map(|text| Mailbox::parse(text).ok()).collect();
            if !mailboxes.is_empty() {
                let list = mailboxes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                prop_assert_eq!(Mailbox::parse_list(&list), Ok(mailboxes));
            }
        }

        #[test]
        fn a_displayed_mailbox_parses_to_the_same_mailbox(
            text in prop_oneof![
                "[ -?A-~é用]{0,20}<[a-z.]{1,5}@[a-z]{1,4}\\.co>",
                "\"([ -!#-?A-\\[\\]-~é]|\\\\[ -?A-~]){0,20}\" <[a-z]{1,5}@[a-z]{1,4}\\.co>",
                "\\PC{0,40}",
            ]
        ) {
            if let Ok(mailbox) = Mailbox::parse(&text) {
                let printed = mailbox.to_string();
                prop_assert!(!printed.chars().any(is_control));
                prop_assert!(!mailbox.name().unwrap_or_default().contains('@'));
                prop_assert_eq!(Mailbox::from_stored(&printed), Some(mailbox.clone()));
                prop_assert_eq!(Mailbox::parse(&printed), Ok(mailbox));
            }
        }

        #[test]
        fn a_quoted_name_can_contain_any_character_except_at_signs(name in "[!-?A-~é🚀]([ !-?A-~é🚀]{0,30}[!-?A-~é🚀])?") {
            prop_assume!(!name.contains("  "));
            let quoted = format!("\"{}\" <a@b.co>", name.replace('\\', "\\\\").replace('"', "\\\""));

            let mailbox = Mailbox::parse(&quoted);

            prop_assert_eq!(mailbox.as_ref().map(Mailbox::name), Ok(Some(name.as_str())));
        }

        #[test]
        fn parsing_never_panics(text in any::<String>()) {
            let _ = Mailbox::parse(&text);
        }
    }
}
