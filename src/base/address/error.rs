use std::fmt;

/// Reason why a text is not a valid address.
///
/// `Display` writes a lower-case fragment with the problem and the accepted form. The caller adds the name of the
/// field before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address is empty; write `user@example.com` or `Name <user@example.com>`")]
    Empty,
    #[error(
        "the address holds a line break, a tab or another control character; write it on one line in visible characters"
    )]
    ControlCharacter,
    #[error("there is no `@`; write `user@example.com`")]
    NoAtSign,
    #[error("there is more than one `@`; write exactly one address, such as `user@example.com`")]
    SeveralAtSigns,
    #[error(
        "a display name or angle brackets are not accepted here; write the bare address, such as `user@example.com`"
    )]
    NotBare,
    #[error("the address is longer than 254 bytes, the most that mail servers take")]
    TooLong,
    #[error("there is nothing before the `@`; write `user@example.com`")]
    LocalPartEmpty,
    #[error("the part before the `@` is longer than 64 bytes, the most that mail servers take")]
    LocalPartTooLong,
    #[error(
        "the part before the `@` starts or ends with a dot or has two dots in a row; put such a part in double quotes"
    )]
    LocalPartDots,
    #[error(
        "the part before the `@` holds {}; letters, digits, dots and !#$%&'*+-/=?^_`{{|}}~ are accepted",
        QuotedChar(*.0)
    )]
    LocalPartCharacter(char),
    #[error("a double quote is opened and never closed; close it, or leave it out")]
    UnterminatedQuote,
    #[error("a quoted part must be followed by the `@` at once, or by `<user@example.com>` when it is a display name")]
    TextAfterQuote,
    #[error(
        "a comma or semicolon separates two addresses; give each address an entry of its own, and put a display name that has a comma in double quotes"
    )]
    SeveralAddresses,
    #[error("there is a second `<`; write exactly one address, as `Name <user@example.com>`")]
    SecondAngleBracket,
    #[error("`<` and `>` do not pair up; write `Name <user@example.com>`")]
    UnmatchedAngleBracket,
    #[error("there is text after the `>`; write `Name <user@example.com>`")]
    TextAfterAddress,
    #[error("the display name holds an `@`; leave the `@` to the address between `<` and `>`")]
    AtSignInName,
    #[error("the display name is longer than 256 characters")]
    NameTooLong,
    #[error("there is no domain; use a domain name such as `example.com`")]
    DomainEmpty,
    #[error("an address literal in brackets is not accepted; use a domain name such as `example.com`")]
    DomainLiteral,
    #[error("the domain ends in a number, as an IP address does; use a domain name such as `example.com`")]
    DomainNumeric,
    #[error("the domain is longer than 253 bytes")]
    DomainTooLong,
    #[error("the domain has no dot; use a full domain name such as `example.com`")]
    DomainWithoutDot,
    #[error("the domain starts with a dot or has two dots in a row; use a domain name such as `example.com`")]
    DomainLabelEmpty,
    #[error("a label of the domain is longer than 63 bytes")]
    DomainLabelTooLong,
    #[error("a label of the domain starts or ends with a hyphen")]
    DomainLabelHyphen,
    #[error("the domain holds {}; letters, digits, hyphens and dots are accepted", QuotedChar(*.0))]
    DomainCharacter(char),
    #[error("the domain is not a valid internationalized domain name")]
    DomainNotEncodable,
}

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
