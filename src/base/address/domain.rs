use std::borrow::{Borrow, Cow};
use std::fmt;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use super::{AddressError, is_control};

/// Longest domain name. RFC 1035 §2.3.4 allows 255 octets in a DNS message, which leaves 253 bytes of dotted text.
const DOMAIN_BYTES_MAX: usize = 253;
/// Longest label (RFC 1035 §2.3.4).
const LABEL_BYTES_MAX: usize = 63;
/// Longest input of the IDNA mapping. At most 253 characters of four bytes each can map to a valid name.
const UNICODE_BYTES_MAX: usize = 4 * DOMAIN_BYTES_MAX;

/// A domain name of at least two labels, in lower-case A-labels, without the root dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainName(Box<str>);

impl DomainName {
    /// Parses a domain name in any letter case, in ASCII or in Unicode. Drops one trailing dot.
    ///
    /// # Errors
    ///
    /// Returns one of the `Domain…` variants, or [`AddressError::ControlCharacter`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(AddressError::DomainEmpty);
        }
        if text.starts_with('[') {
            return Err(AddressError::DomainLiteral);
        }
        if text.len() > UNICODE_BYTES_MAX {
            return Err(AddressError::DomainTooLong);
        }
        if text.chars().any(is_control) {
            return Err(AddressError::ControlCharacter);
        }
        if let Some(c) = text.chars().find(|&c| c.is_ascii() && !is_ldh_or_dot(c)) {
            return Err(AddressError::DomainCharacter(c));
        }

        let ascii = if text.is_ascii() && !text.split('.').any(is_encoded_label) {
            Cow::Borrowed(text)
        } else {
            // RFC 5891 §5: the lookup form. `check_labels` checks the lengths, because it returns specific errors.
            Uts46::new()
                .to_ascii(text.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Ignore)
                .map_err(|_| AddressError::DomainNotEncodable)?
        };
        check_labels(&ascii)?;

        let mut name = ascii.into_owned().into_boxed_str();
        name.make_ascii_lowercase();
        Ok(Self(name))
    }

    /// Returns the domain whose text form is `text`, without parsing it again.
    pub(super) fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the name in lower-case A-labels, the form for DNS and SMTP.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name with its A-labels decoded to Unicode, for display.
    pub fn to_unicode(&self) -> Cow<'_, str> {
        // RFC 5891 §5.5: a label that cannot be decoded stays unchanged.
        Uts46::new().to_unicode(self.0.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast).0
    }
}

fn is_ldh_or_dot(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '.'
}

/// Returns whether a label has the prefix of an A-label (RFC 5890 §2.3.1), in any letter case.
fn is_encoded_label(label: &str) -> bool {
    label.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("xn--"))
}

fn check_labels(name: &str) -> Result<(), AddressError> {
    if name.len() > DOMAIN_BYTES_MAX {
        return Err(AddressError::DomainTooLong);
    }
    if !name.contains('.') {
        return Err(AddressError::DomainWithoutDot);
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err(AddressError::DomainLabelEmpty);
        }
        if label.len() > LABEL_BYTES_MAX {
            return Err(AddressError::DomainLabelTooLong);
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(AddressError::DomainLabelHyphen);
        }
    }
    // RFC 3696 §2: no top-level domain is all digits. A name with an all-digit last label is an IP address.
    if name.rsplit('.').next().is_some_and(|label| label.bytes().all(|b| b.is_ascii_digit())) {
        return Err(AddressError::DomainNumeric);
    }
    Ok(())
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for DomainName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Allows lookups by a lower-case `&str` in a map keyed by domain.
impl Borrow<str> for DomainName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accepted_names_are_normalized_to_lower_case_a_labels() {
        let longest_label = format!("{}.com", "a".repeat(63));
        let longest_name = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
        for (given, expected) in [
            ("example.com", "example.com"),
            ("EXAMPLE.Com", "example.com"),
            ("example.com.", "example.com"),
            ("a-b.c--d.example.co.uk", "a-b.c--d.example.co.uk"),
            ("r3---sn-apo3qvuoxuxbt-j5pe.googlevideo.com", "r3---sn-apo3qvuoxuxbt-j5pe.googlevideo.com"),
            ("1.2.3.com", "1.2.3.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("BÜCHER.example", "xn--bcher-kva.example"),
            ("bu\u{308}cher.example", "xn--bcher-kva.example"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
            ("straße.de", "xn--strae-oqa.de"),
            ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
            ("президент.рф", "xn--d1abbgf6aiiy.xn--p1ai"),
            (&longest_label, &longest_label),
            (&longest_name, &longest_name),
        ] {
            assert_eq!(DomainName::parse(given).unwrap().as_str(), expected, "{given}");
        }
    }

    #[test]
    fn a_refused_name_returns_the_error_of_its_rule() {
        let long_label = format!("{}.com", "a".repeat(64));
        let long_name = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(62));
        let huge = "é".repeat(600);
        for (given, error) in [
            ("", AddressError::DomainEmpty),
            (".", AddressError::DomainEmpty),
            ("localhost", AddressError::DomainWithoutDot),
            ("com.", AddressError::DomainWithoutDot),
            (".example.com", AddressError::DomainLabelEmpty),
            ("example..com", AddressError::DomainLabelEmpty),
            ("example.com..", AddressError::DomainLabelEmpty),
            ("example.com。。", AddressError::DomainLabelEmpty),
            ("-a.example.com", AddressError::DomainLabelHyphen),
            ("a-.example.com", AddressError::DomainLabelHyphen),
            ("exa_mple.com", AddressError::DomainCharacter('_')),
            ("exa mple.com", AddressError::DomainCharacter(' ')),
            ("example.com>", AddressError::DomainCharacter('>')),
            ("example.com,b.com", AddressError::DomainCharacter(',')),
            ("ex\rample.com", AddressError::ControlCharacter),
            ("example.com\n", AddressError::ControlCharacter),
            ("example.\0com", AddressError::ControlCharacter),
            ("[127.0.0.1]", AddressError::DomainLiteral),
            ("[IPv6:::1]", AddressError::DomainLiteral),
            ("127.0.0.1", AddressError::DomainNumeric),
            ("１２７.0.0.１", AddressError::DomainNumeric),
            ("xn--.com", AddressError::DomainNotEncodable),
            ("xn--a.com", AddressError::DomainNotEncodable),
            ("xn--ß.com", AddressError::DomainNotEncodable),
            ("a＠b.com", AddressError::DomainNotEncodable),
            ("a\u{202E}b.com", AddressError::DomainNotEncodable),
            (&long_label, AddressError::DomainLabelTooLong),
            (&long_name, AddressError::DomainTooLong),
            (&huge, AddressError::DomainTooLong),
        ] {
            assert_eq!(DomainName::parse(given), Err(error), "{given:?}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_name_is_bounded_and_parses_to_itself(text in "\\PC{0,80}|[a-zA-Z0-9.é例-]{1,80}|xn--[a-z0-9-]{0,20}\\.[a-z]{2,5}") {
            if let Ok(name) = DomainName::parse(&text) {
                prop_assert!(name.as_str().len() <= DOMAIN_BYTES_MAX);
                prop_assert!(name.as_str().chars().all(|c| is_ldh_or_dot(c) && !c.is_ascii_uppercase()));
                prop_assert_eq!(DomainName::parse(name.as_str()), Ok(name.clone()));
            }
        }
    }
}
