//! Parsing of a customer URL.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

use hyper::Uri;
use hyper::header::HeaderValue;

use super::policy::UrlPolicy;
use crate::base::address::{AddressError, DomainName};
use crate::base::percent;
use crate::dns::{BlockedAddress, host};

/// Maximum characters of a URL. A longer URL contains data that belongs in the body.
pub const URL_CHARS_MAX: usize = 2_048;

/// Printable characters that RFC 3986 §2 does not allow and that programs interpret differently: a browser reads a
/// backslash as a slash. Other forbidden characters, such as braces, are accepted and sent unchanged.
const UNSAFE: [char; 5] = ['"', '<', '>', '\\', '`'];

/// An absolute `https` URL, or an `http` URL that the policy allows. The policy allows its host; the addresses of a
/// name are checked at each connection.
///
/// `Display` returns the original text, which parses to an equal value under the same policy.
#[derive(Clone, PartialEq, Eq)]
pub struct CustomerUrl {
    text: Box<str>,
    pub(super) scheme: UrlScheme,
    pub(super) host: UrlHost,
    port: Option<NonZeroU16>,
    /// Path and query as written: the request target in origin form (RFC 9112 §3.2.1).
    pub(super) target: Uri,
}

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UrlScheme {
    Http,
    Https,
}

/// The host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UrlHost {
    /// A name in lowercase A-labels, without the final dot.
    Name(Box<str>),
    /// `localhost` or a name below it.
    Local(Box<str>),
    Address(IpAddr),
}

/// The reason that a text is not a [`CustomerUrl`].
///
/// `Display` returns a lowercase fragment with the problem and the accepted form. The caller prefixes the name of the
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlError {
    /// More than 2,048 characters.
    TooLong,
    /// The text has no scheme and host, or cannot be sent in a request line.
    Malformed,
    /// The scheme is not `https`.
    NotHttps,
    /// The scheme is neither `https` nor `http`, and both are accepted.
    NotHttp,
    /// A user name or a password before the host.
    UserInfo,
    /// A fragment after `#`, which is never sent.
    Fragment,
    /// The host is empty.
    NoHost,
    /// The host is not a domain name.
    Host(AddressError),
    /// Brackets around a text that is not an IPv6 address.
    AddressLiteral,
    /// `localhost`, or a name below it.
    Localhost,
    /// The host is an address that the guard does not permit.
    Blocked(BlockedAddress),
    /// The port is not a number from 1 to 65535.
    Port,
    /// A space, a control character, or a character that must be percent-encoded.
    Character(char),
}

impl CustomerUrl {
    /// Parses a URL.
    ///
    /// # Errors
    ///
    /// Returns the first rule that `text` violates.
    pub fn parse(text: &str, policy: &UrlPolicy) -> Result<Self, UrlError> {
        if text.chars().nth(URL_CHARS_MAX).is_some() {
            return Err(UrlError::TooLong);
        }
        if let Some(c) = text.chars().find(|c| c.is_whitespace() || c.is_control()) {
            return Err(UrlError::Character(c));
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Malformed)?;
        let scheme = UrlScheme::parse(scheme, policy)?;
        if rest.contains('#') {
            return Err(UrlError::Fragment);
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let (host, port) = split_port(authority)?;
        Ok(Self { text: text.into(), scheme, host: UrlHost::parse(host, policy)?, port, target: parse_target(target)? })
    }

    /// Returns the host, for logs. The path can contain a secret and must not be logged.
    pub fn host(&self) -> impl fmt::Display {
        &self.host
    }

    /// Returns the port, or the default port of the scheme if the URL has none.
    pub fn port(&self) -> u16 {
        self.port.map_or_else(|| self.scheme.default_port(), NonZeroU16::get)
    }

    /// Returns the value of the `Host` header.
    pub(super) fn host_header(&self) -> HeaderValue {
        HeaderValue::try_from(self.authority()).expect("a parsed host is printable ASCII")
    }

    /// Returns the URL of a redirect (RFC 9110 §10.2.2), resolved as in RFC 3986 §5.2.2, without its fragment.
    ///
    /// # Errors
    ///
    /// Returns the first rule that the URL violates.
    pub(super) fn redirect(&self, location: &str, policy: &UrlPolicy) -> Result<Self, UrlError> {
        let location = location.split('#').next().unwrap_or_default();
        let is_scheme = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
        if location.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme)) {
            return Self::parse(location, policy)?.without_dot_segments(policy);
        }
        let scheme = self.scheme.as_str();
        if location.starts_with("//") {
            return Self::parse(&format!("{scheme}:{location}"), policy)?.without_dot_segments(policy);
        }
        let authority = self.authority();
        let path = self.target.path();
        let before = match location.bytes().next() {
            None => return Self::parse(&format!("{scheme}://{authority}{}", self.target), policy),
            Some(b'?') => return Self::parse(&format!("{scheme}://{authority}{path}{location}"), policy),
            Some(b'/') => "",
            Some(_) => path.rfind('/').map_or("/", |slash| &path[..=slash]),
        };
        Self::parse(&format!("{scheme}://{authority}{before}{location}"), policy)?.without_dot_segments(policy)
    }

    /// Removes the segments `.` and `..` of the path (RFC 3986 §5.2.4).
    fn without_dot_segments(self, policy: &UrlPolicy) -> Result<Self, UrlError> {
        let mut kept = Vec::new();
        let mut segments = self.target.path().split('/').skip(1).peekable();
        while let Some(segment) = segments.next() {
            let is_dots = matches!(segment, "." | "..");
            if segment == ".." {
                kept.pop();
            }
            if !is_dots {
                kept.push(segment);
            } else if segments.peek().is_none() {
                kept.push("");
            }
        }
        let path = format!("/{}", kept.join("/"));
        if path == self.target.path() {
            return Ok(self);
        }
        let query = self.target.query().map_or_else(String::new, |query| format!("?{query}"));
        Self::parse(&format!("{}://{}{path}{query}", self.scheme.as_str(), self.authority()), policy)
    }

    /// Returns the last component of the path, percent-decoded if all its escapes are valid; `None` if it is empty or
    /// not UTF-8.
    pub(super) fn filename(&self) -> Option<String> {
        let component = self.target.path().rsplit('/').next()?;
        let bytes = percent::decode(component).unwrap_or_else(|| component.as_bytes().to_vec());
        String::from_utf8(bytes).ok().filter(|name| !name.is_empty())
    }

    /// Returns the host and port for the `Host` header. RFC 9110 §4.2.3: the default port is omitted.
    pub(super) fn authority(&self) -> String {
        match self.port() {
            port if port == self.scheme.default_port() => self.host.to_string(),
            port => format!("{}:{port}", self.host),
        }
    }
}

impl UrlScheme {
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

    fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl UrlHost {
    /// Parses the host part of a URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a host, or if `policy` does not allow the host. Does not look a name up.
    pub(super) fn parse(text: &str, policy: &UrlPolicy) -> Result<Self, UrlError> {
        if text.is_empty() {
            return Err(UrlError::NoHost);
        }
        if let Some(literal) = text.strip_prefix('[') {
            // RFC 3986 §3.2.2: brackets contain an IPv6 address. A zone (RFC 6874) names a network interface of this
            // server, and is rejected.
            let literal = literal.strip_suffix(']').ok_or(UrlError::AddressLiteral)?;
            let ip: Ipv6Addr = literal.parse().map_err(|_| UrlError::AddressLiteral)?;
            return Self::address(ip.into(), policy);
        }
        // Only four decimal numbers are an address. `127.1`, `0177.0.0.1` and `2130706433` are not. They are also
        // rejected as names, because their last label is a number.
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Self::address(ip.into(), policy);
        }
        let name: Box<str> = match DomainName::parse(text) {
            Ok(domain) => domain.as_str().into(),
            // `localhost`, or the name of a container in development. Such names are not in the public DNS.
            Err(error @ AddressError::DomainWithoutDot) => host::normalize(text)
                .filter(|name| policy.local_names || is_local(name))
                .ok_or(UrlError::Host(error))?
                .into(),
            Err(error) => return Err(UrlError::Host(error)),
        };
        match is_local(&name) {
            false => Ok(Self::Name(name)),
            true if policy.local_names => Ok(Self::Local(name)),
            true => Err(UrlError::Localhost),
        }
    }

    fn address(ip: IpAddr, policy: &UrlPolicy) -> Result<Self, UrlError> {
        policy.guard.check(ip).map_err(UrlError::Blocked)?;
        Ok(Self::Address(ip))
    }
}

/// Returns whether `name` is `localhost` or below it (RFC 6761 §6.3).
fn is_local(name: &str) -> bool {
    host::is_within(name, "localhost")
}

fn split_port(authority: &str) -> Result<(&str, Option<NonZeroU16>), UrlError> {
    // The colons of an IPv6 address precede the closing bracket.
    let port_start = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    let Some(colon) = authority[port_start..].rfind(':').map(|at| port_start + at) else {
        return Ok((authority, None));
    };
    let digits = &authority[colon + 1..];
    // `u16::from_str` would accept a plus sign.
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
    // `Uri::from_str` would parse a target that begins with two slashes as an authority; the builder does not.
    Uri::builder().path_and_query(target).build().map_err(|_| UrlError::Malformed)
}

impl fmt::Display for CustomerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Shows only the scheme and authority: the path and query often contain a secret.
impl fmt::Debug for CustomerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomerUrl({:?} {}…)", self.scheme, self.authority())
    }
}

/// Writes the host as in a `Host` header.
impl fmt::Display for UrlHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) | Self::Local(name) => f.write_str(name),
            Self::Address(IpAddr::V4(ip)) => write!(f, "{ip}"),
            Self::Address(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
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
            Self::Fragment => "the URL has a fragment after `#`, which is never sent; leave it out",
            Self::NoHost => "the URL has no host; write `https://example.com/path`",
            Self::Host(error) => return write!(f, "the URL's host is not accepted: {error}"),
            Self::AddressLiteral => {
                "the brackets in the URL do not contain an IPv6 address; use a host name such as `example.com`"
            }
            Self::Localhost => "the URL points at this server itself; use a host that the Internet can reach",
            Self::Blocked(reason) => {
                let reason = reason.to_string();
                let article = if reason.starts_with("IPv") || reason.starts_with("unspecified") { "an" } else { "a" };
                return write!(f, "the URL's host is {article} {reason}; use a host that the Internet can reach");
            }
            Self::Port => "the URL's port is not a number from 1 to 65535",
            Self::Character(' ') => "the URL contains a space; write it as `%20`",
            Self::Character(c) if c.is_ascii_graphic() => {
                return write!(f, "the URL contains `{c}`; percent-encode it, as `%{:02X}`", u32::from(*c));
            }
            Self::Character(c) => {
                return write!(
                    f,
                    "the URL contains the character U+{:04X}; leave it out or percent-encode it",
                    u32::from(*c)
                );
            }
        })
    }
}

impl std::error::Error for UrlError {}
