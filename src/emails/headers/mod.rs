//! Custom headers of an email: the allowed names and values.
//!
//! [`RawHeaders`] decodes the JSON (`raw.rs`), and [`parse`] applies the rules of `table.rs` and returns
//! [`CustomHeaders`], the only type that is used in messages. A header that is not allowed is an error. With
//! [`CompatFeature::Headers`], the table allows further names, each passed, used or replaced by the server's own
//! header.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::excerpt::excerpt;
use crate::base::compat::{Compat, CompatFeature};
pub use raw::RawHeaders;
use table::{Form, LIST_UNSUBSCRIBE, LIST_UNSUBSCRIBE_POST, Treatment};

mod raw;
mod table;
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

/// The only value of `List-Unsubscribe-Post` (RFC 8058 §3.1).
const ONE_CLICK: &str = "List-Unsubscribe=One-Click";

/// Prefixes that are reserved for this server and for relays that act on such headers.
const RESERVED_PREFIXES: [&str; 2] = ["X-Ringmail-", "X-SES-"];

/// The headers of a request after the rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedHeaders {
    /// Headers of the message.
    pub custom: CustomHeaders,
    /// Value of `Reply-To`, which is a field of the request.
    pub reply_to: Option<String>,
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

    /// Removes a `List-Unsubscribe` without `List-Unsubscribe-Post`. The generated pair replaces it.
    pub fn remove_lone_unsubscribe(&mut self) {
        if !self.has_unsubscribe_pair() {
            self.0.retain(|(name, _)| !name.eq_ignore_ascii_case(LIST_UNSUBSCRIBE));
        }
    }

    /// Returns whether there are no headers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<Vec<(String, String)>> for CustomHeaders {
    type Error = CustomHeaderError;

    fn try_from(raw: Vec<(String, String)>) -> Result<Self, CustomHeaderError> {
        parse(raw, Compat::ALL).map(|parsed| parsed.custom)
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
pub fn parse(raw: Vec<(String, String)>, compat: Compat) -> Result<ParsedHeaders, CustomHeaderError> {
    if raw.len() > HEADERS_MAX {
        return Err(CustomHeaderError::TooMany);
    }
    let is_given = |wanted: &str| raw.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let is_paired = is_given(LIST_UNSUBSCRIBE) == is_given(LIST_UNSUBSCRIBE_POST);
    let is_alone = !is_paired && is_given(LIST_UNSUBSCRIBE) && compat.accepts(CompatFeature::Headers);
    let mut headers: Vec<(String, String)> = Vec::with_capacity(raw.len());
    let mut treatments = Vec::with_capacity(raw.len());
    let mut bytes = 0;
    for (name, value) in raw {
        let (form, treatment) = check_name(&name, compat)?;
        let form = if is_alone && form == Form::UnsubscribeTargets { Form::Targets } else { form };
        let value = check_value(&name, &value, form)?;
        if headers.iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(&name)) {
            return Err(CustomHeaderError::Duplicate(excerpt(&name)));
        }
        bytes += name.len() + value.len();
        if bytes > HEADERS_BYTES_MAX {
            return Err(CustomHeaderError::TooLarge);
        }
        headers.push((name, value));
        treatments.push(treatment);
    }
    if !is_paired && !is_alone {
        let accepts_one = compat.accepts(CompatFeature::Headers);
        return Err(if accepts_one { CustomHeaderError::PostAlone } else { CustomHeaderError::Unpaired });
    }

    let mut parsed = ParsedHeaders::default();
    for ((name, value), treatment) in headers.into_iter().zip(treatments) {
        match treatment {
            Treatment::Passed => parsed.custom.0.push((name, value)),
            Treatment::Used => parsed.reply_to = Some(value),
            Treatment::Replaced => {}
        }
    }
    Ok(parsed)
}

fn check_name(name: &str, compat: Compat) -> Result<(Form, Treatment), CustomHeaderError> {
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
        return Ok((Form::Text, Treatment::Passed));
    }
    table::rule_of(name)
        .filter(|rule| rule.is_accepted(compat))
        .map(|rule| (rule.form, rule.treatment))
        .ok_or_else(|| CustomHeaderError::NotAllowed { name: excerpt(name), compat })
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
    if !matches!(form, Form::Text | Form::ListId) && !value.is_ascii() {
        return Err(CustomHeaderError::NotAscii(excerpt(name)));
    }
    match form {
        Form::UnsubscribeTargets if !check_targets(name, value)? => {
            return Err(CustomHeaderError::UnsubscribeWithoutHttps);
        }
        Form::Targets => drop(check_targets(name, value)?),
        Form::ListId if !is_list_id(value) => return Err(CustomHeaderError::ListId),
        Form::OneClick if value != ONE_CLICK => return Err(CustomHeaderError::NotOneClick),
        Form::Text | Form::Ascii | Form::OneClick | Form::UnsubscribeTargets | Form::ListId => {}
    }
    Ok(value.to_owned())
}

/// Checks URLs in angle brackets, separated by commas (RFC 2369 §2). Returns whether one of them is https, which RFC
/// 8058 §3.1 requires of the unsubscribe pair.
fn check_targets(name: &str, value: &str) -> Result<bool, CustomHeaderError> {
    let malformed = || CustomHeaderError::Targets(excerpt(name));
    let mut https = false;
    let mut rest = value;
    loop {
        let (target, after) = rest
            .trim_start_matches([' ', '\t'])
            .strip_prefix('<')
            .and_then(|text| text.split_once('>'))
            .ok_or_else(malformed)?;
        if !target.bytes().all(|b| b.is_ascii_graphic() && b != b'<') {
            return Err(malformed());
        }
        if starts_with_ignoring_case(target, "https://") {
            // The host must not be empty, as in `https:///path`.
            if target["https://".len()..].starts_with(['/', '?', '#', ':']) || target.len() == "https://".len() {
                return Err(malformed());
            }
            https = true;
        } else if !starts_with_ignoring_case(target, "mailto:") || !target.contains('@') {
            return Err(malformed());
        }
        rest = after.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            break;
        }
        rest = rest.strip_prefix(',').ok_or_else(malformed)?;
    }
    Ok(https)
}

/// Returns whether a value is optional text and an identifier with a dot in angle brackets (RFC 2919 §2).
fn is_list_id(value: &str) -> bool {
    let Some((text, id)) = value.strip_suffix('>').and_then(|value| value.rsplit_once('<')) else { return false };
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_{|}~".contains(&b))
    };
    !text.contains(['<', '>']) && id.contains('.') && id.split('.').all(is_label)
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
    /// The instance does not accept the name.
    NotAllowed {
        name: String,
        compat: Compat,
    },
    Duplicate(String),
    ControlCharacter(String),
    EmptyValue(String),
    ValueTooLong(String),
    NotAscii(String),
    /// The value of the header is not a list of URLs in angle brackets.
    Targets(String),
    ListId,
    UnsubscribeWithoutHttps,
    NotOneClick,
    Unpaired,
    /// `List-Unsubscribe-Post` without `List-Unsubscribe`.
    PostAlone,
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
            Self::NotAllowed { name, compat } => {
                write!(f, "`{name}` may not be set; names that start with X- are accepted, and ")?;
                let names = table::names(*compat);
                let last = names.len() - 1;
                for (at, allowed) in names.enumerate() {
                    let separator = match at {
                        0 => "",
                        _ if at == last => " and ",
                        _ => ", ",
                    };
                    write!(f, "{separator}{allowed}")?;
                }
                match table::rule_of(name) {
                    Some(rule) => {
                        write!(f, "; leave it out, or {}", CompatFeature::Headers.advice())?;
                        match rule.treatment {
                            Treatment::Used => {
                                write!(f, "; if it repeats `reply_to`, {}", CompatFeature::Requests.advice())
                            }
                            Treatment::Passed | Treatment::Replaced => Ok(()),
                        }
                    }
                    None => Ok(()),
                }
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
            Self::Targets(name) => write!(
                f,
                "{name} must hold targets such as `<https://example.com/unsubscribe>` or `<mailto:leave@example.com>`, separated by commas"
            ),
            Self::UnsubscribeWithoutHttps => {
                write!(f, "{LIST_UNSUBSCRIBE} needs an https target, such as `<https://example.com/unsubscribe>`")
            }
            Self::ListId => f.write_str(
                "List-Id must hold an identifier with a dot in angle brackets, such as `News <news.example.com>`",
            ),
            Self::NotOneClick => write!(f, "the value of {LIST_UNSUBSCRIBE_POST} must be `{ONE_CLICK}`"),
            Self::PostAlone => write!(f, "{LIST_UNSUBSCRIBE_POST} must be given together with {LIST_UNSUBSCRIBE}"),
            Self::Unpaired => {
                write!(
                    f,
                    "{LIST_UNSUBSCRIBE} and {LIST_UNSUBSCRIBE_POST} must be given together or not at all; to give {LIST_UNSUBSCRIBE} alone, {}",
                    CompatFeature::Headers.advice()
                )
            }
        }
    }
}

impl std::error::Error for CustomHeaderError {}
