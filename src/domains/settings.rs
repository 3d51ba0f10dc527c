//! Settings of the operator for domains: the hosts in their records, the regions, and the public address.

use crate::base::address::DomainName;

/// Longest SPF text: one string of a TXT record (RFC 1035 §3.3).
const SPF_CHARS_MAX: usize = 255;
/// Default preference of the MX record of the return path.
const MX_PRIORITY: u16 = 10;
/// End of each message of [`RelayRecordsError`]: the accepted form.
const ACCEPTED_FORM: &str = "; write `mx=10 feedback.example.net; spf=include:example.net`";

/// Settings of the instance for domains.
#[derive(Clone, Debug)]
pub struct DomainSettings {
    /// Host that sends email and receives bounces.
    pub hostname: String,
    /// Offered regions. The first one is the default. Never empty.
    pub regions: Vec<String>,
    /// Records of the return path, if a relay sends the email and receives the bounces.
    pub relay_records: Option<RelayRecords>,
    /// Base URL of all generated links.
    pub public_url: String,
    /// Whether recipients can open links to the public address. Required for tracking.
    pub links_allowed: bool,
}

/// Values of the records of the return path. `RINGMAIL_RELAY_RECORDS` sets them for a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayRecords {
    /// Preference of the MX record.
    pub mx_priority: u16,
    /// Host that receives bounces.
    pub mx_host: String,
    /// SPF text.
    pub spf: String,
}

/// Reason why a text is not a valid setting of [`RelayRecords`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayRecordsError {
    /// A part has no `=`, has another name than `mx` or `spf`, or is repeated.
    #[error("`{0}` is neither one `mx=…` nor one `spf=…`{ACCEPTED_FORM}")]
    Part(String),
    /// `mx` is missing, or is not a host name.
    #[error("`mx` must be a host name, with or without a priority before it{ACCEPTED_FORM}")]
    Mx,
    /// `spf` is missing, or is not an SPF text.
    #[error("`spf` must be SPF terms of at most {SPF_CHARS_MAX} printable characters{ACCEPTED_FORM}")]
    Spf,
}

impl RelayRecords {
    /// Returns the records of an instance that sends email and receives bounces itself.
    pub(super) fn own(hostname: &str) -> Self {
        Self { mx_priority: MX_PRIORITY, mx_host: hostname.to_owned(), spf: format!("v=spf1 a:{hostname} ~all") }
    }

    /// Parses `mx=10 feedback.example.net; spf=include:example.net`. The priority is optional. `spf` can be a complete
    /// text that starts with `v=spf1`.
    ///
    /// # Errors
    /// Returns [`RelayRecordsError`]. Its text shows the accepted form.
    pub fn parse(text: &str) -> Result<Self, RelayRecordsError> {
        let (mut mx, mut spf) = (None, None);
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let refuse = || RelayRecordsError::Part(part.chars().filter(|c| !c.is_control()).take(60).collect());
            let (name, value) = part.split_once('=').ok_or_else(refuse)?;
            let slot = match name.trim() {
                "mx" => &mut mx,
                "spf" => &mut spf,
                _ => return Err(refuse()),
            };
            if slot.replace(value.trim()).is_some() {
                return Err(refuse());
            }
        }
        let (mx_priority, mx_host) = parse_mx(mx.unwrap_or_default()).ok_or(RelayRecordsError::Mx)?;
        let spf = parse_spf(spf.unwrap_or_default()).ok_or(RelayRecordsError::Spf)?;
        Ok(Self { mx_priority, mx_host, spf })
    }
}

fn parse_mx(text: &str) -> Option<(u16, String)> {
    let (priority, host) = match text.split_once(char::is_whitespace) {
        Some((priority, host)) => (priority.parse().ok()?, host.trim()),
        None => (MX_PRIORITY, text),
    };
    Some((priority, DomainName::parse(host).ok()?.as_str().to_owned()))
}

fn parse_spf(text: &str) -> Option<String> {
    let printable = text.bytes().all(|byte| byte == b' ' || (byte.is_ascii_graphic() && byte != b'"'));
    if text.is_empty() || !printable {
        return None;
    }
    let whole = text.get(..6).is_some_and(|version| version.eq_ignore_ascii_case("v=spf1"));
    let spf = if whole { text.to_owned() } else { format!("v=spf1 {text} ~all") };
    (spf.len() <= SPF_CHARS_MAX).then_some(spf)
}

impl DomainSettings {
    /// Returns the values of the records of the return path.
    pub(super) fn return_path(&self) -> RelayRecords {
        self.relay_records.clone().unwrap_or_else(|| RelayRecords::own(&self.hostname))
    }

    /// Returns the CNAME target of a tracking host. It is the host of the public URL if that is a name, or else the
    /// host name of this server.
    pub(super) fn tracking_target(&self) -> String {
        host_of(&self.public_url).unwrap_or_else(|| self.hostname.clone())
    }
}

/// Returns the host of a URL; `None` if it is not a domain name.
fn host_of(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    DomainName::parse(host).ok().map(|name| name.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(mx_priority: u16, mx_host: &str, spf: &str) -> RelayRecords {
        RelayRecords { mx_priority, mx_host: mx_host.into(), spf: spf.into() }
    }

    #[test]
    fn the_records_of_a_relay_are_parsed_from_one_line() {
        for (text, expected) in [
            (
                "mx=feedback.example.net;spf=include:example.net",
                Ok(records(10, "feedback.example.net", "v=spf1 include:example.net ~all")),
            ),
            (
                " spf = v=spf1 include:example.net -all ; mx = 20  Feedback.Example.net. ;",
                Ok(records(20, "feedback.example.net", "v=spf1 include:example.net -all")),
            ),
            ("", Err(RelayRecordsError::Mx)),
            ("mx=feedback.example.net", Err(RelayRecordsError::Spf)),
            ("mx=ten feedback.example.net; spf=a", Err(RelayRecordsError::Mx)),
            ("mx=not a host; spf=a", Err(RelayRecordsError::Mx)),
            ("mx=a.example; spf=\"a\"", Err(RelayRecordsError::Spf)),
            ("mx=a.example; spf=a; spf=b", Err(RelayRecordsError::Part("spf=b".into()))),
            ("mx=a.example; txt=b", Err(RelayRecordsError::Part("txt=b".into()))),
            ("mx", Err(RelayRecordsError::Part("mx".into()))),
        ] {
            assert_eq!(RelayRecords::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_tracking_host_points_at_the_host_of_the_public_url_if_it_is_a_name() {
        for (public_url, target) in [
            ("https://mail.example.org", "mail.example.org"),
            ("https://Mail.Example.org:8443/base?x#y", "mail.example.org"),
            ("http://127.0.0.1:8787", "mx.example.net"),
            ("http://[::1]:8787", "mx.example.net"),
            ("http://localhost:8787", "mx.example.net"),
            ("", "mx.example.net"),
        ] {
            let settings = DomainSettings {
                hostname: "mx.example.net".into(),
                regions: vec!["us-east-1".into()],
                relay_records: None,
                public_url: public_url.into(),
                links_allowed: true,
            };
            assert_eq!(settings.tracking_target(), target, "{public_url}");
        }
    }
}
