//! Content ids of inline images.

/// Maximum length of a content id.
pub const CONTENT_ID_BYTES_MAX: usize = 128;

/// The content id of an inline image, which the HTML part names as `cid:…` (RFC 2392). It has no angle brackets, and
/// only characters that need no quoting in a header and no escape in a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentId(String);

impl ContentId {
    /// Parses a content id with or without angle brackets; `None` if it is too long or has other characters.
    pub(super) fn parse(given: &str) -> Option<Self> {
        let id = given.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')).unwrap_or(given);
        let is_atom = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!$&'*+-./=^_{|}~".contains(&b))
        };
        let is_valid = match id.split_once('@') {
            Some((left, right)) => is_atom(left) && is_atom(right),
            None => is_atom(id),
        };
        (is_valid && id.len() <= CONTENT_ID_BYTES_MAX).then(|| Self(id.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_id_is_an_atom_with_an_optional_domain() {
        let longest = "a".repeat(CONTENT_ID_BYTES_MAX);
        for (given, id) in [
            ("logo", "logo"),
            ("<logo>", "logo"),
            ("logo.png@example.com", "logo.png@example.com"),
            ("<0199-a_b+c=d@mail.example.com>", "0199-a_b+c=d@mail.example.com"),
            (&longest, &longest),
        ] {
            assert_eq!(ContentId::parse(given).unwrap().as_str(), id);
        }
        let long = "a".repeat(CONTENT_ID_BYTES_MAX + 1);
        for given in [
            "",
            "<>",
            "<logo",
            "logo>",
            "<<logo>>",
            "a b",
            "a\tb",
            "a\r\nBcc: x@y.co",
            "a\0",
            "@a",
            "a@",
            "a@b@c",
            "é",
            "a\"b",
            "a<b",
            "a(b)",
            "a,b",
            "a;b",
            "a:b",
            "a%20b",
            "a?b",
            "a#b",
            "cid:logo",
            &long,
        ] {
            assert_eq!(ContentId::parse(given), None, "{given:?}");
        }
    }
}
