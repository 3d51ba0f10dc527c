//! Whether a domain's records are in place: what was expected against what was seen.
//!
//! The comparisons are pure. Host names are compared in lowercase without a final dot; texts have
//! rules of their own in `txt.rs`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::LookupError;
use super::host;
use super::resolver::Resolver;
use super::txt::compare_txt;

/// A person waits for this check; the next sweep repeats it anyway.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// Characters of a foreign record that a detail repeats.
const QUOTED_CHARS_MAX: usize = 100;

/// What the DNS says about one expected record. Stored rows hold the words too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DnsMatch {
    /// It is there.
    Found,
    /// Nothing of its kind is there.
    Missing,
    /// Something else stands in its place.
    Mismatch,
    /// The DNS did not answer.
    Unknown,
}

impl DnsMatch {
    /// Returns the word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Missing => "missing",
            Self::Mismatch => "mismatch",
            Self::Unknown => "unknown",
        }
    }
}

/// The state of one record, and one line for whoever has to repair it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordVerdict {
    /// What the DNS says.
    pub live: DnsMatch,
    /// Present unless the record is [`DnsMatch::Found`].
    pub detail: Option<String>,
}

/// A record that a domain should publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A TXT record: SPF, DKIM or any other text.
    Txt {
        /// The complete name.
        name: String,
        /// The text.
        value: String,
    },
    /// An MX record.
    Mx {
        /// The complete name.
        name: String,
        /// Must be equal.
        priority: u16,
        /// The exchange.
        host: String,
    },
    /// An alias.
    Cname {
        /// The complete name.
        name: String,
        /// What it points to.
        target: String,
    },
}

impl Resolver {
    /// Looks an expected record up, afresh, and compares.
    pub async fn check(&self, expected: &Expected) -> RecordVerdict {
        let verdict = async {
            match expected {
                Expected::Txt { name, value } => compare_txt(value, &self.txt(name).await),
                Expected::Mx { name, priority, host } => compare_mx(*priority, host, &self.mx(name).await),
                Expected::Cname { name, target } => compare_cname(target, &self.cname(name).await),
            }
        };
        let late = || {
            RecordVerdict::new(
                DnsMatch::Unknown,
                format!("No answer from the DNS within {} s.", CHECK_TIMEOUT.as_secs()),
            )
        };
        tokio::time::timeout(CHECK_TIMEOUT, verdict).await.unwrap_or_else(|_| late())
    }
}

/// Compares an MX record; others beside it do no harm to the verdict.
pub fn compare_mx(priority: u16, host: &str, seen: &Result<Vec<(u16, String)>, LookupError>) -> RecordVerdict {
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => return RecordVerdict::absent("MX record", error),
    };
    let host = bare(host);
    if seen.iter().any(|(preference, exchange)| *preference == priority && bare(exchange) == host) {
        return RecordVerdict::found();
    }
    match (seen.iter().find(|(_, exchange)| bare(exchange) == host), seen.iter().min()) {
        (Some((preference, _)), _) => RecordVerdict::new(
            DnsMatch::Mismatch,
            format!("The MX record has priority {preference}; set it to {priority}."),
        ),
        (None, Some((preference, exchange))) => RecordVerdict::new(
            DnsMatch::Mismatch,
            format!("Another MX record is published: {}", quote(&format!("{preference} {exchange}"))),
        ),
        (None, None) => RecordVerdict::missing("MX record"),
    }
}

/// Compares an alias.
pub fn compare_cname(target: &str, seen: &Result<String, LookupError>) -> RecordVerdict {
    match seen {
        Ok(seen) if bare(seen) == bare(target) => RecordVerdict::found(),
        Ok(seen) => RecordVerdict::new(DnsMatch::Mismatch, format!("The CNAME record points to {}", quote(seen))),
        Err(error) => RecordVerdict::absent("CNAME record", error),
    }
}

impl RecordVerdict {
    pub(super) fn found() -> Self {
        Self { live: DnsMatch::Found, detail: None }
    }

    pub(super) fn missing(noun: &str) -> Self {
        Self::new(DnsMatch::Missing, format!("No {noun} is published at this name."))
    }

    pub(super) fn absent(noun: &str, error: &LookupError) -> Self {
        match error {
            LookupError::NoSuchName | LookupError::NoRecords => Self::missing(noun),
            LookupError::Temporary(reason) => {
                Self::new(DnsMatch::Unknown, format!("The DNS did not answer: {}", quote(reason)))
            }
        }
    }

    pub(super) fn new(live: DnsMatch, detail: String) -> Self {
        Self { live, detail: Some(detail) }
    }
}

fn bare(name: &str) -> String {
    host::normalize(name).unwrap_or_else(|| name.trim_end_matches('.').to_ascii_lowercase())
}

/// Repeats foreign text on one line of bounded length.
pub(super) fn quote(text: &str) -> String {
    let mut quoted: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(QUOTED_CHARS_MAX).collect();
    if text.chars().nth(QUOTED_CHARS_MAX).is_some() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Answer = &'static [(u16, &'static str)];

    #[test]
    fn an_mx_record_needs_its_host_and_its_priority() {
        let cases: &[(Answer, DnsMatch, Option<&str>)] = &[
            (&[(10, "Mail.Example.COM.")], DnsMatch::Found, None),
            (&[(5, "other.example"), (10, "mail.example.com")], DnsMatch::Found, None),
            (&[(20, "mail.example.com")], DnsMatch::Mismatch, Some("The MX record has priority 20; set it to 10.")),
            (&[(10, "mx.example.net")], DnsMatch::Mismatch, Some("Another MX record is published: 10 mx.example.net")),
            (&[(0, ".")], DnsMatch::Mismatch, Some("Another MX record is published: 0 .")),
            (&[], DnsMatch::Missing, Some("No MX record is published at this name.")),
        ];
        for (seen, live, detail) in cases {
            let seen = Ok(seen.iter().map(|(preference, host)| (*preference, (*host).to_owned())).collect());
            let verdict = compare_mx(10, "mail.example.com", &seen);
            assert_eq!((verdict.live, verdict.detail.as_deref()), (*live, *detail), "{seen:?}");
        }
    }

    #[test]
    fn an_alias_points_where_it_should() {
        assert_eq!(compare_cname("track.example.com", &Ok("Track.Example.com.".to_owned())).live, DnsMatch::Found);
        assert_eq!(compare_cname("track.example.com", &Ok("parked.example".to_owned())).live, DnsMatch::Mismatch);
    }

    #[test]
    fn silence_is_unknown_and_never_missing() {
        let failed = LookupError::Temporary("SERVFAIL".to_owned());
        assert_eq!(compare_txt("token", &Err(failed.clone())).live, DnsMatch::Unknown);
        assert_eq!(compare_mx(10, "a.example", &Err(failed.clone())).live, DnsMatch::Unknown);
        assert_eq!(compare_cname("a.example", &Err(failed)).live, DnsMatch::Unknown);
        for empty in [LookupError::NoSuchName, LookupError::NoRecords] {
            assert_eq!(compare_txt("token", &Err(empty.clone())).live, DnsMatch::Missing);
            assert_eq!(compare_mx(10, "a.example", &Err(empty.clone())).live, DnsMatch::Missing);
            assert_eq!(compare_cname("a.example", &Err(empty)).live, DnsMatch::Missing);
        }
    }

    proptest! {
        #[test]
        fn a_detail_is_one_short_line_whatever_is_published(value in "\\PC{0,40}", seen in proptest::collection::vec(".{0,400}", 0..4)) {
            let seen: Vec<String> = seen;
            for verdict in [
                compare_txt(&value, &Ok(seen.clone())),
                compare_txt("v=spf1 -all", &Ok(seen.iter().map(|text| format!("v=spf1 {text}")).collect())),
                compare_mx(10, &value, &Ok(seen.iter().map(|host| (10, host.clone())).collect())),
                compare_cname(&value, &Ok(seen.concat())),
            ] {
                if let Some(detail) = verdict.detail {
                    prop_assert!(detail.chars().count() < 200);
                    prop_assert!(!detail.chars().any(char::is_control));
                }
            }
        }
    }
}
