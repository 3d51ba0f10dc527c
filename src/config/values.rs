//! Parsers of setting values: durations, addresses, names.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;

use crate::base::address::{DomainName, Mailbox};
use crate::base::signature::WebhookSecret;
use crate::domains::RelayRecords;

/// DNS port (RFC 1035 §4.2).
const DNS_PORT: u16 = 53;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Bounds of a delay between two attempts.
const RETRY_DELAY_RANGE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(5 * 24 * 60 * 60);
/// Bounds of the retry period of an email.
const EXPIRE_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(5 * 24 * 60 * 60);

/// Parses a duration: numbers with the units `ms`, `s`, `m`, `h` and `d`, such as `90s` or `1h30m`.
///
/// # Errors
/// A sentence with the accepted form.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; use numbers with units (ms, s, m, h, d), such as 90s or 1h30m");
    let mut total = Duration::ZERO;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        let unit_ms: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(wrong()),
        };
        let part = number.checked_mul(unit_ms).map(Duration::from_millis).ok_or_else(wrong)?;
        total = total.checked_add(part).ok_or_else(wrong)?;
        rest = tail;
    }
    Ok(total)
}

/// Formats a duration for [`parse_duration`]. Used in messages.
pub(super) fn spell(duration: Duration) -> String {
    let ms = duration.as_millis();
    for (unit, unit_ms) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
        if ms >= unit_ms && ms.is_multiple_of(unit_ms) {
            return format!("{}{unit}", ms / unit_ms);
        }
    }
    format!("{ms}ms")
}

fn within(duration: Duration, range: &RangeInclusive<Duration>) -> Result<Duration, String> {
    if range.contains(&duration) {
        return Ok(duration);
    }
    Err(format!("{} is not between {} and {}", spell(duration), spell(*range.start()), spell(*range.end())))
}

/// Parses an email address with or without a display name.
pub(super) fn mailbox(text: &str) -> Result<Mailbox, String> {
    Mailbox::parse(text).map_err(|error| {
        format!(
            "`{text}` is not a sender ({error}); use a form such as notices@example.com or Name <notices@example.com>"
        )
    })
}

/// Parses one delay of the retry schedule.
pub(super) fn retry_delay(text: &str) -> Result<Duration, String> {
    within(parse_duration(text)?, &RETRY_DELAY_RANGE)
}

/// Parses the retry period of an email.
pub(super) fn expire_after(text: &str) -> Result<Duration, String> {
    within(parse_duration(text)?, &EXPIRE_RANGE)
}

/// Parses the maximum wait of a verb: up to one day.
///
/// # Errors
/// A sentence with the accepted form.
pub(crate) fn wait(text: &str) -> Result<Duration, String> {
    within(parse_duration(text)?, &(Duration::ZERO..=DAY))
}

/// Parses the maximum age of the queue: up to the retry period of an email.
pub(super) fn queue_age(text: &str) -> Result<Duration, String> {
    within(parse_duration(text)?, &(Duration::ZERO..=*EXPIRE_RANGE.end()))
}

/// Parses a listen address: an IP address or `localhost`, and a port.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let wrong = || format!("`{text}` is not a listen address; use ADDRESS:PORT, such as 127.0.0.1:8787");
    if let Ok(address) = SocketAddr::from_str(text) {
        return Ok(address);
    }
    let (host, _) = text.rsplit_once(':').ok_or_else(wrong)?;
    if host != "localhost" {
        return Err(wrong());
    }
    // The system decides between 127.0.0.1 and ::1 without a DNS query.
    let addresses: Vec<SocketAddr> = text.to_socket_addrs().map_err(|_| wrong())?.collect();
    let first_v4 = addresses.iter().find(|address| address.is_ipv4());
    first_v4.or(addresses.first()).copied().filter(|address| address.ip().is_loopback()).ok_or_else(wrong)
}

/// Parses the address of a DNS server: an IP address with an optional port.
pub(super) fn dns_server(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    if let Ok(address) = SocketAddr::from_str(text) {
        return Ok(address);
    }
    match IpAddr::from_str(text.trim_start_matches('[').trim_end_matches(']')) {
        Ok(ip) => Ok(SocketAddr::new(ip, DNS_PORT)),
        Err(_) => Err(format!("`{text}` is not a DNS server; use an IP address, with a port if it is not 53")),
    }
}

/// Parses an address range, or one address.
pub(super) fn cidr(text: &str) -> Result<IpNet, String> {
    let trimmed = text.trim();
    let range = IpNet::from_str(trimmed).map(|range| range.trunc());
    let range = range.or_else(|_| IpAddr::from_str(trimmed).map(IpNet::from));
    range.map_err(|_| format!("`{text}` is not an address range; use a form such as 10.0.0.0/8 or fd00::/8"))
}

/// Parses a host name of at least two labels.
pub(super) fn host_name(text: &str) -> Result<DomainName, String> {
    DomainName::parse(text)
        .map_err(|error| format!("`{text}` is not a fully qualified host name such as mail.example.com: {error}"))
}

/// Unparsed signing secret. `Debug` hides it. Errors do not contain it, unlike the default errors of
/// clap.
#[derive(Clone)]
pub(super) struct SecretText(String);

impl SecretText {
    /// Returns the secret; `None` if the text is not a secret.
    pub(super) fn parse(&self) -> Option<WebhookSecret> {
        WebhookSecret::parse(self.0.trim())
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretText(hidden)")
    }
}

/// Parses a base URL: scheme, host and path, without query and fragment. Removes trailing slashes.
///
/// # Errors
/// A sentence with the accepted form.
pub fn parse_url(text: &str) -> Result<String, String> {
    let wrong = || format!("`{text}` is not a base URL; use a form such as https://mail.example.com");
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).ok_or_else(wrong)?;
    let host = rest.split('/').next().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '<' | '>' | '\\' | '?' | '#' | '@' | '`');
    if host.is_empty() || host.starts_with(':') || !rest.chars().all(allowed) {
        return Err(wrong());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Parses a CORS origin: scheme and host, or `*`.
pub(super) fn cors_origin(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text == "*" {
        return Ok(text.to_owned());
    }
    let wrong = || format!("`{text}` is not an origin; use a form such as https://app.example.com, or * for any");
    let url = parse_url(text).map_err(|_| wrong())?;
    let path = url.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    if path { Err(wrong()) } else { Ok(url) }
}

/// Parses a host of the dashboard: a name with any number of labels, or an IP address.
pub(super) fn dashboard_host(text: &str) -> Result<String, String> {
    let host = text.trim().to_ascii_lowercase();
    let is_name = !host.is_empty()
        && host.len() <= 253
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match address {
        Ok(address) => Ok(address.to_string()),
        Err(_) if is_name => Ok(host.trim_end_matches('.').to_owned()),
        Err(_) => Err(format!("`{text}` is not a host; use a name or an address without a port, such as mail.lan")),
    }
}

/// Parses the return-path records that a smarthost requires.
pub(super) fn relay_records(text: &str) -> Result<RelayRecords, String> {
    RelayRecords::parse(text).map_err(|error| error.to_string())
}

/// Parses the name of a region.
pub(super) fn region(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_valid = (1..=32).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not a region; use lower-case letters, digits and hyphens, such as us-east-1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_ranges_are_masked_and_one_address_is_a_range() {
        for (text, expected) in [
            ("10.1.2.3/8", Some("10.0.0.0/8")),
            ("127.0.0.1", Some("127.0.0.1/32")),
            ("0.0.0.0/0", Some("0.0.0.0/0")),
            ("fd00::1/8", Some("fd00::/8")),
            ("::1", Some("::1/128")),
            (" ::/0 ", Some("::/0")),
            ("10.0.0.0/33", None),
            ("::/129", None),
            ("10.0.0.0/", None),
            ("10.0.0.0/+8", None),
            ("10.0.0/8", None),
            ("localhost", None),
            ("", None),
        ] {
            assert_eq!(cidr(text).ok().map(|range| range.to_string()).as_deref(), expected, "{text:?}");
        }
    }
}
