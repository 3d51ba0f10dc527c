//! Custom headers of an email: the allowed names and values.
//!
//! [`RawHeaders`] decodes the JSON (`raw.rs`), and [`parse`] applies the rules and returns [`CustomHeaders`],
//! the only type that is used in messages. A header that is not allowed is an error. It is never dropped
//! silently.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::excerpt::excerpt;
pub use raw::RawHeaders;

mod raw;
#[cfg(test)]
mod tests;

/// Maximum number of custom headers of an email.
pub const HEADERS_MAX: usize = 50;
/// Maximum size of all names and values together. Several large hosts refuse a message whose header section
/// is larger than 64 KiB.
pub const HEADERS_BYTES_MAX: usize = 32 * 1024;
/// Maximum length of a name. With `: `, it fits on a line of 78 characters (RFC 5322 §2.1.1).
pub const NAME_BYTES_MAX: usize = 76;
/// Maximum length of a value. It is folded at its spaces, so that it can be longer than one line. A
/// `References` header of about fifty message ids fits.
pub const VALUE_BYTES_MAX: usize = 4096;
/// Maximum length of a word of a value, which cannot be folded. With the longest name and `: `, 920 octets
/// fit on a line of 998 (RFC 5322 §2.1.1).
pub const WORD_BYTES_MAX: usize = 920;

const LIST_UNSUBSCRIBE: &str = "List-Unsubscribe";
const LIST_UNSUBSCRIBE_POST: &str = "List-Unsubscribe-Post";
/// The only value of `List-Unsubscribe-Post` (RFC 8058 §3.1).
const ONE_CLICK: &str = "List-Unsubscribe=One-Click";

/// Allowed names without the prefix `X-`, each with the form of its value.
const ALLOWED: [(&str, Form); 9] = [
    ("In-Reply-To", Form::Ascii),
    ("References", Form::Ascii),
    ("Importance", Form::Ascii),
    ("Priority", Form::Ascii),
    ("Comments", Form::Text),
    ("Keywords", Form::Text),
    ("Organization", Form::Text),
    (LIST_UNSUBSCRIBE, Form::UnsubscribeTargets),
    (LIST_UNSUBSCRIBE_POST, Form::OneClick),
];

/// Prefixes that are reserved for this server and for relays that act on such headers.
const RESERVED_PREFIXES: [&str; 2] = ["X-Ringmail-", "X-SES-"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Any text. Non-ASCII text is sent as encoded words.
    Text,
    /// A structured field, in which RFC 2047 §5 does not allow encoded words.
    Ascii,
    UnsubscribeTargets,
    OneClick,
}

/// Checked headers, in the order of the request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<(String, String)>", into = "Vec<(String, String)>")]
pub struct CustomHeaders(Vec<(String, String)>);

impl CustomHeaders {
    /// Returns names and values. Names have the letter case of the request. Values are trimmed.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the value of a name, ignoring case.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns whether the request has an unsubscribe pair, which replaces the generated one.
    pub fn has_unsubscribe_pair(&self) -> bool {
        self.value(LIST_UNSUBSCRIBE_POST).is_some()
    }

    /// Returns whether there are no headers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<Vec<(String, String)>> for CustomHeaders {
    type Error = CustomHeaderError;

    fn try_from(raw: Vec<(String, String)>) -> Result<Self, CustomHeaderError> {
        parse(raw)
    }
}

impl From<CustomHeaders> for Vec<(String, String)> {
    fn from(headers: CustomHeaders) -> Self {
        headers.0
    }
}

/// Checks the headers of one email.
///
/// # Errors
/// [`CustomHeaderError`] of the first broken rule.
pub fn parse(raw: Vec<(String, String)>) -> Result<CustomHeaders, CustomHeaderError> {
    if raw.len() > HEADERS_MAX {
        return Err(CustomHeaderError::TooMany);
    }
    let mut headers: Vec<(String, String)> = Vec::with_capacity(raw.len());
    let mut bytes = 0;
    for (name, value) in raw {
        let form = check_name(&name)?;
        let value = check_value(&name, &value, form)?;
        if headers.iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(&name)) {
            return Err(CustomHeaderError::Duplicate(excerpt(&name)));
        }
        bytes += name.len() + value.len();
        if bytes > HEADERS_BYTES_MAX {
            return Err(CustomHeaderError::TooLarge);
        }
        headers.push((name, value));
    }

    let headers = CustomHeaders(headers);
    if headers.value(LIST_UNSUBSCRIBE).is_some() != headers.value(LIST_UNSUBSCRIBE_POST).is_some() {
        return Err(CustomHeaderError::Unpaired);
    }
    Ok(headers)
}

fn check_name(name: &str) -> Result<Form, CustomHeaderError> {
    // RFC 5322 §3.6.8: printable US-ASCII except for the colon.
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic() && b != b':') {
        return Err(CustomHeaderError::NameCharacters(excerpt(name)));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(CustomHeaderError::NameTooLong(excerpt(name)));
    }
    if RESERVED_PREFIXES.iter().any(|prefix| starts_with_ignoring_case(name, prefix)) {
        return Err(CustomHeaderError::Reserved(excerpt(name)));
    }
    if name.len() > 2 && starts_with_ignoring_case(name, "X-") {
        return Ok(Form::Text);
    }
    ALLOWED
        .iter()
        .find(|(allowed, _)| allowed.eq_ignore_ascii_case(name))
        .map(|&(_, form)| form)
        .ok_or_else(|| CustomHeaderError::NotAllowed(excerpt(name)))
}

fn check_value(name: &str, value: &str, form: Form) -> Result<String, CustomHeaderError> {
    if value.chars().any(|c| (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}')) {
        return Err(CustomHeaderError::ControlCharacter(excerpt(name)));
    }
    let value = value.trim_matches([' ', '\t']);
    // RFC 5322 §3.2.2: a line of only spaces is obsolete, and programs read it differently.
    if value.is_empty() {
        return Err(CustomHeaderError::EmptyValue(excerpt(name)));
    }
    if value.len() > VALUE_BYTES_MAX || value.split([' ', '\t']).any(|word| word.len() > WORD_BYTES_MAX) {
        return Err(CustomHeaderError::ValueTooLong(excerpt(name)));
    }
    if form != Form::Text && !value.is_ascii() {
        return Err(CustomHeaderError::NotAscii(excerpt(name)));
    }
    match form {
        Form::UnsubscribeTargets => check_unsubscribe_targets(value)?,
        Form::OneClick if value != ONE_CLICK => return Err(CustomHeaderError::NotOneClick),
        Form::Text | Form::Ascii | Form::OneClick => {}
    }
    Ok(value.to_owned())
}

/// Checks the value of `List-Unsubscribe`: URLs in angle brackets, separated by commas (RFC 2369 §2), at least
/// one of them https (RFC 8058 §3.1).
fn check_unsubscribe_targets(value: &str) -> Result<(), CustomHeaderError> {
    let mut https = false;
    let mut rest = value;
    loop {
        let (target, after) = rest
            .trim_start_matches([' ', '\t'])
            .strip_prefix('<')
            .and_then(|text| text.split_once('>'))
            .ok_or(CustomHeaderError::UnsubscribeTarget)?;
        if !target.bytes().all(|b| b.is_ascii_graphic() && b != b'<') {
            return Err(CustomHeaderError::UnsubscribeTarget);
        }
        if starts_with_ignoring_case(target, "https://") {
            // The host must not be empty, as in `https:///path`.
            if target["https://".len()..].starts_with(['/', '?', '#', ':']) || target.len() == "https://".len() {
                return Err(CustomHeaderError::UnsubscribeTarget);
            }
            https = true;
        } else if !starts_with_ignoring_case(target, "mailto:") || !target.contains('@') {
            return Err(CustomHeaderError::UnsubscribeTarget);
        }
        rest = after.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            break;
        }
        rest = rest.strip_prefix(',').ok_or(CustomHeaderError::UnsubscribeTarget)?;
    }
    if https { Ok(()) } else { Err(CustomHeaderError::UnsubscribeWithoutHttps) }
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Broken rule of the custom headers. The text is an excerpt of the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomHeaderError {
    TooMany,
    TooLarge,
    NameCharacters(String),
    NameTooLong(String),
    Reserved(String),
    NotAllowed(String),
    Duplicate(String),
    ControlCharacter(String),
    EmptyValue(String),
    ValueTooLong(String),
    NotAscii(String),
    UnsubscribeTarget,
    UnsubscribeWithoutHttps,
    NotOneClick,
    Unpaired,
}

impl fmt::Display for CustomHeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "there are more than {HEADERS_MAX} headers"),
            Self::TooLarge => write!(f, "names and values together are larger than {} KiB", HEADERS_BYTES_MAX / 1024),
            Self::NameCharacters(name) => {
                write!(f, "`{name}` is not a header name; use visible ASCII characters other than the colon")
            }
            Self::NameTooLong(name) => write!(f, "the name `{name}` is longer than {NAME_BYTES_MAX} characters"),
            Self::Reserved(name) => write!(
                f,
                "`{name}` is reserved: names that start with {} or {} belong to the server; choose another X- name",
                RESERVED_PREFIXES[0], RESERVED_PREFIXES[1]
            ),
            Self::NotAllowed(name) => {
                write!(f, "`{name}` may not be set; names that start with X- are accepted, and ")?;
                for (at, (allowed, _)) in ALLOWED.iter().enumerate() {
                    let separator = match at {
                        0 => "",
                        _ if at + 1 == ALLOWED.len() => " and ",
                        _ => ", ",
                    };
                    write!(f, "{separator}{allowed}")?;
                }
                Ok(())
            }
            Self::Duplicate(name) => write!(
                f,
                "`{name}` is given twice (letter case makes no difference in header names); give each header once"
            ),
            Self::ControlCharacter(name) => {
                write!(f, "the value of `{name}` holds a line break or another control character; write it on one line")
            }
            Self::EmptyValue(name) => {
                write!(f, "the value of `{name}` is empty; give it a value or leave the header out")
            }
            Self::ValueTooLong(name) => write!(
                f,
                "the value of `{name}` is too long; at most {VALUE_BYTES_MAX} bytes are accepted, and {WORD_BYTES_MAX} between two spaces"
            ),
            Self::NotAscii(name) => write!(f, "the value of `{name}` must be plain ASCII"),
            Self::UnsubscribeTarget => write!(
                f,
                "{LIST_UNSUBSCRIBE} must hold targets such as `<https://example.com/unsubscribe>` or `<mailto:leave@example.com>`, separated by commas"
            ),
            Self::UnsubscribeWithoutHttps => {
                write!(f, "{LIST_UNSUBSCRIBE} needs an https target, such as `<https://example.com/unsubscribe>`")
            }
            Self::NotOneClick => write!(f, "the value of {LIST_UNSUBSCRIBE_POST} must be `{ONE_CLICK}`"),
            Self::Unpaired => {
                write!(f, "{LIST_UNSUBSCRIBE} and {LIST_UNSUBSCRIBE_POST} must be given together or not at all")
            }
        }
    }
}

impl std::error::Error for CustomHeaderError {}
