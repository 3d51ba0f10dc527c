//! A URL that a customer gave, parsed once.

use std::fmt;
use std::num::NonZeroU16;

use hyper::Uri;

use super::host::Host;
use super::policy::UrlPolicy;
use crate::base::address::AddressError;
use crate::dns::BlockedAddress;

/// Characters of a URL. Longer ones carry data, and that belongs in the body.
pub(super) const URL_CHARS_MAX: usize = 2_048;

/// Printable characters that RFC 3986 §2 allows nowhere and that programs read differently: a backslash is a slash to
/// a browser. The rest of those it forbids, such as braces, are passed on as they came.
const UNSAFE: [char; 5] = ['"', '<', '>', '\\', '`'];

/// An absolute `https` URL (or `http` in development) whose host may be dialled as far as its text tells.
///
/// `Display` gives it back as it was written, and that parses to an equal value under the same policy.
#[derive(Clone, PartialEq, Eq)]
pub struct CustomerUrl {
    text: Box<str>,
    pub(super) scheme: Scheme,
    pub(super) host: Host,
    port: Option<NonZeroU16>,
    /// Path and query as written: the request target in origin form (RFC 9112 §3.2.1).
    pub(super) target: Uri,
}

/// How a URL is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

/// Why a text is no [`CustomerUrl`].
///
/// `Display` gives a lower-case fragment that says what was wrong and what is accepted; the caller puts the field's
/// name in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlError {
    /// More than 2,048 characters.
    TooLong,
    /// No scheme and host, or no request line can hold it.
    Malformed,
    /// Another scheme than `https`.
    NotHttps,
    /// Another scheme than `https` and `http`, where both are accepted.
    NotHttp,
    /// A name or a password before the host.
    UserInfo,
    /// A part behind `#`, which is never sent.
    Fragment,
    /// Nothing where the host belongs.
    NoHost,
    /// No domain name.
    Host(AddressError),
    /// Brackets around something else than an IPv6 address.
    AddressLiteral,
    /// `localhost`, or a name below it.
    Localhost,
    /// The host is an address that is not dialled.
    Refused(BlockedAddress),
    /// No number from 1 to 65535.
    Port,
    /// A space, a control character, or one that must be percent-encoded.
    Character(char),
}

impl CustomerUrl {
    /// Parses a URL.
    ///
    /// # Errors
    ///
    /// The first rule that `text` breaks.
    pub fn parse(text: &str, policy: &UrlPolicy) -> Result<Self, UrlError> {
        if text.chars().nth(URL_CHARS_MAX).is_some() {
            return Err(UrlError::TooLong);
        }
        if let Some(c) = text.chars().find(|c| c.is_whitespace() || c.is_control()) {
            return Err(UrlError::Character(c));
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Malformed)?;
        let scheme = Scheme::parse(scheme, policy)?;
        if rest.contains('#') {
            return Err(UrlError::Fragment);
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let (host, port) = split_port(authority)?;
        Ok(Self { text: text.into(), scheme, host: Host::parse(host, policy)?, port, target: parse_target(target)? })
    }

    /// Returns the host for logs: a path may hold a secret, a host does not.
    pub fn host(&self) -> impl fmt::Display {
        &self.host
    }

    /// Returns the port that is dialled.
    pub fn port(&self) -> u16 {
        self.port.map_or_else(|| self.scheme.default_port(), NonZeroU16::get)
    }

    /// Returns host and port as the `Host` header has them. RFC 9110 §4.2.3: the default port is left out.
    pub(super) fn authority(&self) -> String {
        match self.port() {
            port if port == self.scheme.default_port() => self.host.to_string(),
            port => format!("{}:{port}", self.host),
        }
    }
}

impl Scheme {
    fn parse(text: &str, policy: &UrlPolicy) -> Result<Self, UrlError> {
        if text.eq_ignore_ascii_case("https") {
            Ok(Self::Https)
        } else if !policy.plain_http {
            Err(UrlError::NotHttps)
        } else if text.eq_ignore_ascii_case("http") {
            Ok(Self::Http)
        } else {
            Err(UrlError::NotHttp)
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<NonZeroU16>), UrlError> {
    // The colons of an IPv6 address stand before its bracket.
    let ports_from = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    let Some(colon) = authority[ports_from..].rfind(':').map(|at| ports_from + at) else {
        return Ok((authority, None));
    };
    let digits = &authority[colon + 1..];
    // `u16::from_str` would let a plus sign through.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(UrlError::Port);
    }
    let port = digits.parse().map_err(|_| UrlError::Port)?;
    Ok((&authority[..colon], Some(port)))
}

fn parse_target(text: &str) -> Result<Uri, UrlError> {
    if let Some(c) = text.chars().find(|c| !c.is_ascii_graphic() || UNSAFE.contains(c)) {
        return Err(UrlError::Character(c));
    }
    // RFC 9112 §3.2.1: an empty path is sent as a slash.
    let target = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
    // A target that begins with two slashes would be read as an authority; the parts say what is what.
    Uri::builder().path_and_query(target).build().map_err(|_| UrlError::Malformed)
}

impl fmt::Display for CustomerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The host alone: what follows it is often a secret.
impl fmt::Debug for CustomerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomerUrl({:?} {}…)", self.scheme, self.authority())
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the URL is longer than 2048 characters",
            Self::Malformed => "this is no complete URL; write `https://example.com/path`",
            Self::NotHttps => "the URL does not begin with `https://`, and nothing else is accepted",
            Self::NotHttp => "the URL begins with neither `https://` nor `http://`, and nothing else is accepted",
            Self::UserInfo => {
                "the URL has a user name or a password before its host; leave them out, and check the signature instead"
            }
            Self::Fragment => "the URL has a `#`, and what follows it is never sent; leave it out",
            Self::NoHost => "the URL has no host; write `https://example.com/path`",
            Self::Host(error) => return write!(f, "the URL's host is not accepted: {error}"),
            Self::AddressLiteral => {
                "the brackets in the URL do not hold an IPv6 address; use a host name such as `example.com`"
            }
            Self::Localhost => "the URL points at this server itself; use a host that the Internet can reach",
            Self::Refused(refusal) => {
                return write!(f, "the URL's host is a {refusal}; use a host that the Internet can reach");
            }
            Self::Port => "the URL's port is no number from 1 to 65535",
            Self::Character(' ') => "the URL holds a space; write it as `%20`",
            Self::Character(c) if c.is_ascii_graphic() => {
                return write!(f, "the URL holds `{c}`; percent-encode it, as `%{:02X}`", u32::from(*c));
            }
            Self::Character(c) => {
                return write!(
                    f,
                    "the URL holds the character U+{:04X}; leave it out or percent-encode it",
                    u32::from(*c)
                );
            }
        })
    }
}

impl std::error::Error for UrlError {}
