use std::fmt;

/// Reason why a text is not a valid address.
///
/// `Display` writes a lower-case fragment with the problem and the accepted form. The caller adds the name of the
/// field before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressError {
    Empty,
    ControlCharacter,
    NoAtSign,
    SeveralAtSigns,
    NotBare,
    TooLong,
    LocalPartEmpty,
    LocalPartTooLong,
    LocalPartDots,
    LocalPartCharacter(char),
    UnterminatedQuote,
    TextAfterQuote,
    SeveralAddresses,
    SecondAngleBracket,
    UnmatchedAngleBracket,
    TextAfterAddress,
    AtSignInName,
    NameTooLong,
    DomainEmpty,
    DomainLiteral,
    DomainNumeric,
    DomainTooLong,
    DomainWithoutDot,
    DomainLabelEmpty,
    DomainLabelTooLong,
    DomainLabelHyphen,
    DomainCharacter(char),
    DomainNotEncodable,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the address is empty; write `user@example.com` or `Name <user@example.com>`",
            Self::ControlCharacter => {
                "the address holds a line break, a tab or another control character; write it on one line in visible characters"
            }
            Self::NoAtSign => "there is no `@`; write `user@example.com`",
            Self::SeveralAtSigns => "there is more than one `@`; write exactly one address, such as `user@example.com`",
            Self::NotBare => "a display name or angle brackets are not accepted here; write the bare address, such as `user@example.com`",
            Self::TooLong => "the address is longer than 254 bytes, the most that mail servers take",
            Self::LocalPartEmpty => "there is nothing before the `@`; write `user@example.com`",
            Self::LocalPartTooLong => "the part before the `@` is longer than 64 bytes, the most that mail servers take",
            Self::LocalPartDots => {
                "the part before the `@` starts or ends with a dot or has two dots in a row; put such a part in double quotes"
            }
            Self::LocalPartCharacter(c) => {
                return write!(
                    f,
                    "the part before the `@` holds {}; letters, digits, dots and !#$%&'*+-/=?^_`{{|}}~ are accepted",
                    QuotedChar(*c)
                );
            }
            Self::UnterminatedQuote => "a double quote is opened and never closed; close it, or leave it out",
            Self::TextAfterQuote => "a quoted part must be followed by the `@` at once, or by `<user@example.com>` when it is a display name",
            Self::SeveralAddresses => {
                "a comma or semicolon separates two addresses; give each address an entry of its own, and put a display name that has a comma in double quotes"
            }
            Self::SecondAngleBracket => "there is a second `<`; write exactly one address, as `Name <user@example.com>`",
            Self::UnmatchedAngleBracket => "`<` and `>` do not pair up; write `Name <user@example.com>`",
            Self::TextAfterAddress => "there is text after the `>`; write `Name <user@example.com>`",
            Self::AtSignInName => "the display name holds an `@`; leave the `@` to the address between `<` and `>`",
            Self::NameTooLong => "the display name is longer than 256 characters",
            Self::DomainEmpty => "there is no domain; use a domain name such as `example.com`",
            Self::DomainLiteral => "an address literal in brackets is not accepted; use a domain name such as `example.com`",
            Self::DomainNumeric => {
                "the domain ends in a number, as an IP address does; use a domain name such as `example.com`"
            }
            Self::DomainTooLong => "the domain is longer than 253 bytes",
            Self::DomainWithoutDot => "the domain has no dot; use a full domain name such as `example.com`",
            Self::DomainLabelEmpty => {
                "the domain starts with a dot or has two dots in a row; use a domain name such as `example.com`"
            }
            Self::DomainLabelTooLong => "a label of the domain is longer than 63 bytes",
            Self::DomainLabelHyphen => "a label of the domain starts or ends with a hyphen",
            Self::DomainCharacter(c) => {
                return write!(f, "the domain holds {}; letters, digits, hyphens and dots are accepted", QuotedChar(*c));
            }
            Self::DomainNotEncodable => "the domain is not a valid internationalized domain name",
        })
    }
}

impl std::error::Error for AddressError {}

/// One refused character. `Display` writes a visible character itself, and the code point of any other.
struct QuotedChar(char);

impl fmt::Display for QuotedChar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ' ' => f.write_str("a space"),
            c if c.is_ascii_graphic() || c.is_alphanumeric() => write!(f, "`{c}`"),
            c => write!(f, "the character U+{:04X}", u32::from(c)),
        }
    }
}
