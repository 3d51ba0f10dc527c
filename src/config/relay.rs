//! URL of a smarthost: `smtp://user:password@host:port?tls=…` or `smtps://…`.

use std::net::IpAddr;
use std::str::FromStr;

use super::ConfigError;
use crate::base::address::DomainName;
use crate::base::percent;

/// RFC 6409 §3.1: port of message submission.
const SUBMISSION_PORT: u16 = 587;
/// RFC 8314 §3.3: port of submission with implicit TLS.
const SUBMISSIONS_PORT: u16 = 465;
/// Maximum length of the user and of the password. RFC 4616 §2 has no limit; the limits of servers are
/// much lower.
pub(super) const CREDENTIAL_BYTES_MAX: usize = 255;

/// TLS mode of the sessions with the smarthost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayTls {
    /// TLS from the first byte (`smtps`).
    Implicit,
    /// STARTTLS with a valid certificate. Without it, no email is sent.
    Required,
    /// STARTTLS if the server offers it, with any certificate.
    Opportunistic,
    /// No TLS.
    Never,
}

/// Password of the smarthost. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct RelayPassword(String);

impl RelayPassword {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the password in clear text, for authentication at the smarthost.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for RelayPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RelayPassword(hidden)")
    }
}

/// Unparsed URL of the smarthost. It may contain a password, so that `Debug` hides it. Errors do not
/// contain it, unlike the default errors of clap.
#[derive(Clone)]
pub(super) struct RelayText(String);

impl RelayText {
    pub(super) fn parse(&self) -> Result<RelayUrl, RelayUrlError> {
        self.0.trim().parse()
    }

    /// Returns the name and the URL of `NAME=URL`; `None` if the text has another form.
    pub(super) fn named(&self) -> Option<(&str, &str)> {
        let (name, url) = self.0.trim().split_once('=')?;
        // The query of a URL without a name has an equals sign too.
        (!name.contains(':')).then_some((name.trim(), url.trim()))
    }
}

impl From<&str> for RelayText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl std::fmt::Debug for RelayText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RelayText(hidden)")
    }
}

/// Login at the smarthost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayCredentials {
    pub user: String,
    pub password: RelayPassword,
}

/// Address, TLS mode and login of the smarthost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayUrl {
    /// Host name in lower-case A-labels, or an IP address without brackets. The certificate must be valid
    /// for it.
    pub host: String,
    pub port: u16,
    pub tls: RelayTls,
    /// `None` if the smarthost needs no login.
    pub credentials: Option<RelayCredentials>,
    /// Whether the smarthost serves the recipients itself, so that its acceptance is the delivery.
    pub is_final: bool,
}

impl RelayUrl {
    /// Returns whether the URL has a user without a password.
    pub(super) fn needs_password(&self) -> bool {
        self.credentials.as_ref().is_some_and(|credentials| credentials.password.reveal().is_empty())
    }

    /// Adds the password of the environment or of the file if the URL has a user without a password.
    ///
    /// # Errors
    /// [`ConfigError::UserWithoutPassword`] and [`ConfigError::PasswordWithoutUser`].
    pub(super) fn with_password(mut self, password: Option<RelayPassword>) -> Result<Self, ConfigError> {
        match (&mut self.credentials, password) {
            (Some(credentials), Some(password)) if credentials.password.reveal().is_empty() => {
                credentials.password = password;
            }
            (Some(credentials), None) if credentials.password.reveal().is_empty() => {
                return Err(ConfigError::UserWithoutPassword);
            }
            (None, Some(_)) => return Err(ConfigError::PasswordWithoutUser),
            _ => {}
        }
        Ok(self)
    }
}

/// Writes scheme, host and port, without the login.
impl std::fmt::Display for RelayUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls == RelayTls::Implicit { "smtps" } else { "smtp" };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}

/// Error in the URL of a smarthost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayUrlError {
    #[error("it must begin with smtp:// or smtps://")]
    Scheme,
    #[error("the host must be a name, an IPv4 address, or an IPv6 address in brackets")]
    Host,
    #[error("the port must be a number from 1 to 65535")]
    Port,
    #[error("only ?tls=required, ?tls=opportunistic, ?tls=never and ?final=true may follow the port, joined by &")]
    Rest,
    #[error("tls must be required, opportunistic or never, and smtps:// allows none of them")]
    Tls,
    /// The user is empty, or the user or the password is too long or has invalid percent-encoding.
    #[error(
        "user and password must be 1 to 255 bytes without control characters; \
         write % : @ and / in them as %25 %3A %40 and %2F"
    )]
    Credentials,
    /// The password would be sent over the network in clear text.
    #[error("a password needs TLS on the network: use ?tls=required or smtps://, or a relay on loopback")]
    ClearPassword,
}

impl FromStr for RelayUrl {
    type Err = RelayUrlError;

    fn from_str(text: &str) -> Result<Self, RelayUrlError> {
        let (implicit, rest) = match (text.strip_prefix("smtps://"), text.strip_prefix("smtp://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(RelayUrlError::Scheme),
        };
        let (authority, query) = match rest.split_once('?') {
            Some((authority, query)) => (authority, Some(query)),
            None => (rest, None),
        };
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        if authority.contains(['/', '#']) {
            return Err(RelayUrlError::Rest);
        }
        let (credentials, host_port) = match authority.rsplit_once('@') {
            Some((credentials, host_port)) => (Some(parse_credentials(credentials)?), host_port),
            None => (None, authority),
        };
        let (host, port) = split_port(host_port)?;
        let (host, loopback) = parse_host(host)?;
        let port = match port {
            Some(port) => parse_port(port)?,
            None if implicit => SUBMISSIONS_PORT,
            None => SUBMISSION_PORT,
        };
        let (tls, is_final) = parse_query(query)?;
        let tls = parse_tls(implicit, tls, loopback, credentials.is_some())?;
        // RFC 4954 §4: no plain-text password without encryption.
        if credentials.is_some() && !loopback && matches!(tls, RelayTls::Opportunistic | RelayTls::Never) {
            return Err(RelayUrlError::ClearPassword);
        }
        Ok(Self { host, port, tls, credentials, is_final })
    }
}

fn split_port(host_port: &str) -> Result<(&str, Option<&str>), RelayUrlError> {
    if let Some(bracketed) = host_port.strip_prefix('[') {
        let (host, rest) = bracketed.split_once(']').ok_or(RelayUrlError::Host)?;
        if !host.contains(':') {
            return Err(RelayUrlError::Host);
        }
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(RelayUrlError::Port),
        };
    }
    match host_port.split_once(':') {
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((host_port, None)),
    }
}

fn parse_host(text: &str) -> Result<(String, bool), RelayUrlError> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok((ip.to_string(), ip.is_loopback()));
    }
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(("localhost".to_owned(), true));
    }
    // A smarthost in a private network often has a name with one label.
    let single = !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.bytes().all(|byte| byte.is_ascii_digit());
    if single {
        return Ok((text.to_ascii_lowercase(), false));
    }
    let name = DomainName::parse(text).map_err(|_| RelayUrlError::Host)?;
    Ok((name.as_str().to_owned(), false))
}

fn parse_port(text: &str) -> Result<u16, RelayUrlError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u16>() {
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err(RelayUrlError::Port),
    }
}

/// Returns the value of `tls`, if it is given, and whether `final=true` is given.
fn parse_query(query: Option<&str>) -> Result<(Option<&str>, bool), RelayUrlError> {
    let (mut tls, mut is_final) = (None, false);
    for parameter in query.into_iter().flat_map(|query| query.split('&')) {
        match parameter.split_once('=') {
            Some(("tls", mode)) if tls.is_none() => tls = Some(mode),
            Some(("final", "true")) if !is_final => is_final = true,
            _ => return Err(RelayUrlError::Rest),
        }
    }
    Ok((tls, is_final))
}

fn parse_tls(implicit: bool, mode: Option<&str>, loopback: bool, has_login: bool) -> Result<RelayTls, RelayUrlError> {
    match mode {
        Some(_) if implicit => Err(RelayUrlError::Tls),
        None if implicit => Ok(RelayTls::Implicit),
        Some("required") => Ok(RelayTls::Required),
        Some("opportunistic") => Ok(RelayTls::Opportunistic),
        Some("never") => Ok(RelayTls::Never),
        Some(_) => Err(RelayUrlError::Tls),
        // `Opportunistic` does not send the password without TLS. On loopback, clear text is safe.
        None if loopback && has_login => Ok(RelayTls::Never),
        None if loopback => Ok(RelayTls::Opportunistic),
        None => Ok(RelayTls::Required),
    }
}

fn parse_credentials(text: &str) -> Result<RelayCredentials, RelayUrlError> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    let user = decode(user)?;
    if user.is_empty() {
        return Err(RelayUrlError::Credentials);
    }
    Ok(RelayCredentials { user, password: RelayPassword(decode(password)?) })
}

/// Decodes a percent-encoded credential.
fn decode(text: &str) -> Result<String, RelayUrlError> {
    let bytes = percent::decode(text).ok_or(RelayUrlError::Credentials)?;
    let decoded = String::from_utf8(bytes).map_err(|_| RelayUrlError::Credentials)?;
    // A control character could end the SMTP command and start another one.
    if decoded.len() > CREDENTIAL_BYTES_MAX || decoded.chars().any(char::is_control) {
        return Err(RelayUrlError::Credentials);
    }
    Ok(decoded)
}
