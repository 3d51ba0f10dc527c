//! Stands for the client of customers' URLs until it is here.

use std::fmt;

/// What an instance allows of customers' URLs.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Plain HTTP is accepted.
    pub plain_http: bool,
}

/// A URL that a customer gave.
#[derive(Clone, PartialEq, Eq)]
pub struct CustomerUrl(Box<str>);

/// Why a text is none.
#[derive(Debug)]
pub struct UrlError;

impl CustomerUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// [`UrlError`].
    pub fn parse(text: &str, policy: &Policy) -> Result<Self, UrlError> {
        let plain = policy.plain_http && text.starts_with("http://");
        if plain || text.starts_with("https://") { Ok(Self(text.into())) } else { Err(UrlError) }
    }
}

impl fmt::Display for CustomerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CustomerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomerUrl(…)")
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the URL does not begin with `https://`, and nothing else is accepted")
    }
}
