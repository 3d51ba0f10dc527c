use std::borrow::Cow;
use std::fmt;

use sha2::{Digest as _, Sha256};

use super::{AddressError, DomainName, is_control};

/// Longest local part (RFC 5321 §4.5.3.1.1).
pub(super) const LOCAL_BYTES_MAX: usize = 64;
/// Longest address. RFC 5321 §4.5.3.1.3 allows a path of 256 octets, which includes two angle brackets.
const ADDRESS_BYTES_MAX: usize = 254;

/// Exactly one `local@domain`, as in an SMTP command.
///
/// The local part keeps its letter case, because only the receiving host may ignore it.
/// [`identity`](Self::identity) returns the form for comparison.
/// A quoted local part that needs no quotes is stored without them: RFC 5321 §4.1.2 defines both as the same address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmailAddress {
    local: Box<str>,
    domain: DomainName,
}

impl EmailAddress {
    /// Parses a bare address, without display name, angle brackets or surrounding spaces.
    ///
    /// # Errors
    ///
    /// Returns the variant of the first rule that the text violates.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        if text.chars().any(is_control) {
            return Err(AddressError::ControlCharacter);
        }
        if text.ends_with('>') && text.contains('<') {
            return Err(AddressError::NotBare);
        }

        let (local, domain) = if let Some(quoted) = text.strip_prefix('"') {
            split_after_quote(quoted)?
        } else {
            let (local, domain) = text.split_once('@').ok_or(AddressError::NoAtSign)?;
            check_dot_atom(local)?;
            (Cow::Borrowed(local), domain)
        };
        if local.len() > LOCAL_BYTES_MAX {
            return Err(AddressError::LocalPartTooLong);
        }
        if domain.contains('@') {
            return Err(AddressError::SeveralAtSigns);
        }
        let domain = DomainName::parse(domain)?;
        if local.len() + 1 + domain.as_str().len() > ADDRESS_BYTES_MAX {
            return Err(AddressError::TooLong);
        }
        Ok(Self { local: local.into_owned().into_boxed_str(), domain })
    }

    /// Splits the text form of a parsed address without parsing it again, for rows that are read often. `None` if the
    /// text has no `@`.
    pub fn from_stored(text: &str) -> Option<Self> {
        // A domain contains no `@`.
        let (local, domain) =
            text.rsplit_once('@').filter(|(local, domain)| !local.is_empty() && !domain.is_empty())?;
        let address = Self { local: local.into(), domain: DomainName::from_stored(domain) };
        debug_assert_eq!(Self::parse(text).as_ref(), Ok(&address), "the text is not the form of an address");
        Some(address)
    }

    /// Returns the part before the `@`, in quotes if it needs them.
    ///
    /// The local part can contain non-ASCII text. Such an address needs a receiving host that offers SMTPUTF8 (RFC
    /// 6531).
    pub fn local(&self) -> &str {
        &self.local
    }

    /// Returns the domain after the `@`.
    pub fn domain(&self) -> &DomainName {
        &self.domain
    }

    /// Returns the address in lower case: the normalised form that contacts and suppressions are compared by.
    pub fn identity(&self) -> String {
        let mut identity = String::with_capacity(self.local.len() + 1 + self.domain.as_str().len());
        if self.local.is_ascii() {
            identity.push_str(&self.local);
            identity.make_ascii_lowercase();
        } else {
            identity.push_str(&self.local.to_lowercase());
        }
        identity.push('@');
        identity.push_str(self.domain.as_str());
        identity
    }

    /// Returns the SHA-256 of the [`identity`](Self::identity): the key of the address indexes.
    pub fn identity_hash(&self) -> [u8; 32] {
        Sha256::digest(self.identity().as_bytes()).into()
    }
}

/// Parses a quoted local part after its opening quote. Returns its shortest spelling and the text after the `@`.
fn split_after_quote(text: &str) -> Result<(Cow<'_, str>, &str), AddressError> {
    let mut content = String::new();
    let mut rest = text.chars();
    loop {
        let c = match rest.next().ok_or(AddressError::UnterminatedQuote)? {
            '"' => break,
            '\\' => rest.next().ok_or(AddressError::UnterminatedQuote)?,
            c => c,
        };
        if c != ' ' && !c.is_ascii_graphic() && !is_visible_non_ascii(c) {
            return Err(AddressError::LocalPartCharacter(c));
        }
        content.push(c);
    }
    let domain = match rest.as_str() {
        "" => return Err(AddressError::NoAtSign),
        rest => rest.strip_prefix('@').ok_or(AddressError::TextAfterQuote)?,
    };

    if content.is_empty() {
        return Err(AddressError::LocalPartEmpty);
    }
    if check_dot_atom(&content).is_ok() {
        return Ok((Cow::Owned(content), domain));
    }
    let mut local = String::with_capacity(content.len() + 2);
    local.push('"');
    for c in content.chars() {
        if matches!(c, '"' | '\\') {
            local.push('\\');
        }
        local.push(c);
    }
    local.push('"');
    Ok((Cow::Owned(local), domain))
}

/// Checks for a `Dot-string` (RFC 5321 §4.1.2), with the characters that RFC 6531 §3.3 adds.
fn check_dot_atom(local: &str) -> Result<(), AddressError> {
    if local.is_empty() {
        return Err(AddressError::LocalPartEmpty);
    }
    if let Some(c) = local.chars().find(|&c| c != '.' && !is_atext(c)) {
        return Err(AddressError::LocalPartCharacter(c));
    }
    if local.split('.').any(str::is_empty) {
        return Err(AddressError::LocalPartDots);
    }
    Ok(())
}

/// Returns whether a character is `atext` (RFC 5322 §3.2.3), including visible non-ASCII characters.
fn is_atext(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || is_visible_non_ascii(c)
}

/// Returns whether a non-ASCII character is visible.
///
/// RFC 6531 allows every non-ASCII character in a local part. Spaces, direction marks and zero-width characters are
/// refused: they result from pasting, or make two addresses look equal.
fn is_visible_non_ascii(c: char) -> bool {
    !c.is_ascii()
        && !c.is_whitespace()
        && !is_control(c)
        && !matches!(
            c,
            '\u{AD}'
                | '\u{61C}'
                | '\u{180E}'
                | '\u{200B}'..='\u{200F}'
                | '\u{202A}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF0}'..='\u{FFFF}'
        )
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.local, self.domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accepted_addresses_have_one_spelling() {
        let longest_local = format!("{}@example.com", "a".repeat(64));
        for (given, expected) in [
            ("user@example.com", "user@example.com"),
            ("First.Last+tag@Example.COM", "First.Last+tag@example.com"),
            ("!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"),
            ("user@bücher.example", "user@xn--bcher-kva.example"),
            ("δοκιμή@example.com", "δοκιμή@example.com"),
            ("用户@例え.テスト", "用户@xn--r8jz45g.xn--zckzah"),
            ("\"john\"@example.com", "john@example.com"),
            ("\"j\\ohn\"@example.com", "john@example.com"),
            ("\"john doe\"@example.com", "\"john doe\"@example.com"),
            ("\"a@b\"@example.com", "\"a@b\"@example.com"),
            ("\"a,b;<c>\"@example.com", "\"a,b;<c>\"@example.com"),
            ("\"a\\\"b\\\\c\"@example.com", "\"a\\\"b\\\\c\"@example.com"),
            ("\".a..b.\"@example.com", "\".a..b.\"@example.com"),
            ("user@example.com.", "user@example.com"),
            (&longest_local, &longest_local),
        ] {
            assert_eq!(EmailAddress::parse(given).unwrap().to_string(), expected, "{given}");
        }
    }

    #[test]
    fn a_refused_address_returns_the_error_of_its_rule() {
        let long_local = format!("{}@example.com", "a".repeat(65));
        let long_in_bytes = format!("{}@example.com", "é".repeat(33));
        let label = "b".repeat(63);
        let too_long = format!("{}@{label}.{label}.{}.com", "a".repeat(64), "b".repeat(58));
        let unclosed_quote = format!("\"{}", "\\\\".repeat(100_000));
        for (given, error) in [
            ("", AddressError::Empty),
            ("user", AddressError::NoAtSign),
            ("\"user\"", AddressError::NoAtSign),
            ("@example.com", AddressError::LocalPartEmpty),
            ("\"\"@example.com", AddressError::LocalPartEmpty),
            ("user@", AddressError::DomainEmpty),
            ("user@localhost", AddressError::DomainWithoutDot),
            ("a@b@example.com", AddressError::SeveralAtSigns),
            (".a@example.com", AddressError::LocalPartDots),
            ("a.@example.com", AddressError::LocalPartDots),
            ("a..b@example.com", AddressError::LocalPartDots),
            ("a b@example.com", AddressError::LocalPartCharacter(' ')),
            (" a@example.com", AddressError::LocalPartCharacter(' ')),
            ("a@example.com ", AddressError::DomainCharacter(' ')),
            ("a(comment)@example.com", AddressError::LocalPartCharacter('(')),
            ("a,b@example.com", AddressError::LocalPartCharacter(',')),
            ("a\u{200B}@example.com", AddressError::LocalPartCharacter('\u{200B}')),
            ("a\u{A0}b@example.com", AddressError::LocalPartCharacter('\u{A0}')),
            ("\"a\u{202E}b\"@example.com", AddressError::LocalPartCharacter('\u{202E}')),
            ("a\r\nRCPT TO:<x@example.com>", AddressError::ControlCharacter),
            ("\"a\r\nb\"@example.com", AddressError::ControlCharacter),
            ("a\u{85}@example.com", AddressError::ControlCharacter),
            ("a\u{2028}@example.com", AddressError::ControlCharacter),
            ("a\t@example.com", AddressError::ControlCharacter),
            ("\"a@example.com", AddressError::UnterminatedQuote),
            ("\"a\\", AddressError::UnterminatedQuote),
            ("\"a\"b@example.com", AddressError::TextAfterQuote),
            ("a\"b\"@example.com", AddressError::LocalPartCharacter('"')),
            ("<a@example.com>", AddressError::NotBare),
            ("Name <a@example.com>", AddressError::NotBare),
            ("a@[127.0.0.1]", AddressError::DomainLiteral),
            ("a@[IPv6:2001:db8::1]", AddressError::DomainLiteral),
            ("a@127.0.0.1", AddressError::DomainNumeric),
            (&long_local, AddressError::LocalPartTooLong),
            (&long_in_bytes, AddressError::LocalPartTooLong),
            (&too_long, AddressError::TooLong),
            (&unclosed_quote, AddressError::UnterminatedQuote),
        ] {
            assert_eq!(EmailAddress::parse(given), Err(error), "{given:?}");
        }
    }

    #[test]
    fn the_longest_address_has_254_bytes() {
        let label = "b".repeat(63);
        let address = format!("{}@{label}.{label}.{}.com", "a".repeat(64), "b".repeat(57));

        assert_eq!(address.len(), 254);
        assert_eq!(EmailAddress::parse(&address).unwrap().to_string(), address);
    }

    #[test]
    fn an_identity_ignores_letter_case_and_needless_quotes() {
        for (one, other) in [
            ("User@Example.com", "user@example.com"),
            ("\"User\"@example.com", "USER@example.com"),
            ("ΔΟΚΙΜΉ@example.com", "δοκιμή@example.com"),
            ("a@BÜCHER.example", "A@xn--bcher-kva.example"),
        ] {
            let identity = EmailAddress::parse(one).unwrap().identity();
            assert_eq!(identity, EmailAddress::parse(other).unwrap().identity());
            assert_eq!(identity, identity.to_lowercase());
        }
    }

    #[test]
    fn every_error_message_is_a_lower_case_fragment() {
        for text in ["", "a", "a@b", "a b@c.d", "a\u{200B}@c.d", "a@b_c.d", "a@1.2"] {
            let message = EmailAddress::parse(text).unwrap_err().to_string();
            assert!(message.starts_with(|c: char| c.is_lowercase()), "{message}");
            assert!(!message.ends_with('.'), "{message}");
        }
    }

    #[test]
    fn json_and_stored_rows_contain_the_text_form() {
        let address: EmailAddress = serde_json::from_str("\"User@EXAMPLE.com\"").unwrap();
        assert_eq!(serde_json::to_string(&address).unwrap(), "\"User@example.com\"");
        assert!(serde_json::from_str::<EmailAddress>("\"nobody\"").is_err());
        assert!(serde_json::from_str::<EmailAddress>("7").is_err());

        let stored = rmp_serde::to_vec_named(&address).unwrap();
        assert_eq!(rmp_serde::from_slice::<EmailAddress>(&stored).unwrap(), address);
    }

    fn address_like() -> impl Strategy<Value = String> {
        let local = prop_oneof![
            "[a-zA-Z0-9.+_'-]{1,20}",
            "\"[ -~]{0,12}\"",
            "[a-zé用δ]{1,10}",
            "\"([ !#-\\[\\]-~é]|\\\\[ -~]){1,20}\"",
        ];
        let domain = prop_oneof!["[a-zA-Z0-9-]{1,10}(\\.[a-zA-Z0-9-]{1,8}){1,3}", "[a-z例é]{1,8}\\.[a-z]{2,4}"];
        (local, domain).prop_map(|(local, domain)| format!("{local}@{domain}"))
    }

    proptest! {
        #[test]
        fn a_displayed_address_parses_to_the_same_address(text in prop_oneof![address_like(), "\\PC{0,40}"]) {
            if let Ok(address) = EmailAddress::parse(&text) {
                let printed = address.to_string();
                prop_assert!(printed.len() <= ADDRESS_BYTES_MAX);
                prop_assert!(!printed.chars().any(is_control));
                prop_assert_eq!(EmailAddress::parse(&printed), Ok(address.clone()));
                prop_assert_eq!(EmailAddress::from_stored(&printed), Some(address));
            }
        }

        #[test]
        fn parsing_never_panics(text in any::<String>()) {
            let _ = EmailAddress::parse(&text);
        }
    }
}
