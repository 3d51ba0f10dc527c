//! Comparison of the expected records of a domain with the published ones.
//!
//! The comparisons are pure. Host names are compared in lowercase without a final dot. `txt.rs` has the rules for
//! texts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::LookupError;
use super::host;
use super::resolver::Resolver;
use super::txt::compare_txt;
use crate::base::printable::printable;
use crate::base::words::words;

/// Timeout of one record check. Short, because an API caller can wait for the check and the next sweep repeats it.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of characters of a published record that a detail quotes.
const QUOTED_CHARS_MAX: usize = 100;
/// Maximum number of published values in a verdict.
const SEEN_MAX: usize = 5;
/// Characters of a published value in a verdict. A DKIM record of an RSA-2048 key has about 410.
const SEEN_CHARS_MAX: usize = 500;

words! {
    /// Result of the lookup of one expected record. Stored rows contain these words too.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DnsMatch {
        /// The expected record is published.
        Found = "found",
        /// No record of its type is published.
        Missing = "missing",
        /// Another record of its type is published.
        Mismatch = "mismatch",
        /// The lookup failed.
        Unknown = "unknown",
    } with ALL
}

/// Result of the check of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordVerdict {
    pub live: DnsMatch,
    /// One line that explains the problem. `None` if the record is [`DnsMatch::Found`].
    pub detail: Option<String>,
    /// Published values if they are a [`DnsMatch::Mismatch`], at most [`SEEN_MAX`], each on one line.
    pub seen: Vec<String>,
}

/// A DNS record that a domain should publish, with the fields that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsRecord {
    /// A TXT record: SPF, DKIM or any other text.
    Txt {
        /// Complete name of the record.
        name: String,
        value: String,
    },
    /// An MX record.
    Mx {
        /// Complete name of the record.
        name: String,
        /// Must equal the published priority.
        priority: u16,
        /// The exchange.
        host: String,
    },
    /// A CNAME record.
    Cname {
        /// Complete name of the record.
        name: String,
        target: String,
    },
}

impl Resolver {
    /// Looks up an expected record without the cache and compares it. A timeout is [`DnsMatch::Unknown`].
    pub async fn check(&self, expected: &DnsRecord) -> RecordVerdict {
        let verdict = async {
            match expected {
                DnsRecord::Txt { name, value } => compare_txt(value, &self.txt(name).await),
                DnsRecord::Mx { name, priority, host } => compare_mx(*priority, host, &self.mx(name).await),
                DnsRecord::Cname { name, target } => compare_cname(target, &self.cname(name).await),
            }
        };
        let timed_out = || {
            RecordVerdict::new(
                DnsMatch::Unknown,
                format!("No answer from the DNS within {} s.", CHECK_TIMEOUT.as_secs()),
            )
        };
        tokio::time::timeout(CHECK_TIMEOUT, verdict).await.unwrap_or_else(|_| timed_out())
    }
}

/// Compares an MX record. Other MX records at the same name do not matter.
pub fn compare_mx(priority: u16, host: &str, seen: &Result<Vec<(u16, String)>, LookupError>) -> RecordVerdict {
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => return RecordVerdict::absent("MX record", error),
    };
    let host = comparable(host);
    if seen.iter().any(|(preference, exchange)| *preference == priority && comparable(exchange) == host) {
        return RecordVerdict::found();
    }
    let published = || seen.iter().map(|(preference, exchange)| format!("{preference} {exchange}"));
    match (seen.iter().find(|(_, exchange)| comparable(exchange) == host), seen.iter().min()) {
        (Some((preference, _)), _) => RecordVerdict::mismatch(
            format!("The MX record has priority {preference}; set it to {priority}."),
            published(),
        ),
        (None, Some((preference, exchange))) => RecordVerdict::mismatch(
            format!("Another MX record is published: {}", quote(&format!("{preference} {exchange}"))),
            published(),
        ),
        (None, None) => RecordVerdict::missing("MX record"),
    }
}

/// Compares a CNAME record.
pub fn compare_cname(target: &str, seen: &Result<String, LookupError>) -> RecordVerdict {
    match seen {
        Ok(seen) if comparable(seen) == comparable(target) => RecordVerdict::found(),
        Ok(seen) => RecordVerdict::mismatch(format!("The CNAME record points to {}", quote(seen)), [seen.clone()]),
        Err(error) => RecordVerdict::absent("CNAME record", error),
    }
}

impl RecordVerdict {
    pub(super) fn found() -> Self {
        Self { live: DnsMatch::Found, detail: None, seen: Vec::new() }
    }

    pub(super) fn missing(noun: &str) -> Self {
        Self::new(DnsMatch::Missing, format!("No {noun} is published at this name."))
    }

    /// Returns the verdict of a lookup that returned no records.
    pub(super) fn absent(noun: &str, error: &LookupError) -> Self {
        match error {
            LookupError::NoSuchName | LookupError::NoRecords => Self::missing(noun),
            LookupError::Temporary(reason) => {
                Self::new(DnsMatch::Unknown, format!("The DNS did not answer: {}", quote(reason)))
            }
        }
    }

    pub(super) fn mismatch(detail: String, published: impl IntoIterator<Item = String>) -> Self {
        let seen = published.into_iter().take(SEEN_MAX).map(|text| printable(&text, SEEN_CHARS_MAX)).collect();
        Self { live: DnsMatch::Mismatch, detail: Some(detail), seen }
    }

    pub(super) fn new(live: DnsMatch, detail: String) -> Self {
        Self { live, detail: Some(detail), seen: Vec::new() }
    }
}

/// Returns a host name in the form for comparison, also if it is not a valid name.
fn comparable(name: &str) -> String {
    host::normalize(name).unwrap_or_else(|| name.trim_end_matches('.').to_ascii_lowercase())
}

/// Returns published text on one line of at most [`QUOTED_CHARS_MAX`] characters.
pub(super) fn quote(text: &str) -> String {
    printable(text, QUOTED_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Answer = &'static [(u16, &'static str)];

    #[test]
    fn an_mx_record_matches_by_host_and_priority() {
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
        let many = Ok((0..20).map(|number| (number, "a".repeat(1_000))).collect());
        let seen = compare_mx(10, "mail.example.com", &many).seen;
        assert_eq!(seen.len(), SEEN_MAX);
        assert!(seen[1].starts_with("1 aaa") && seen[1].chars().count() <= SEEN_CHARS_MAX + 1, "{seen:?}");
    }

    #[test]
    fn a_cname_record_matches_by_target() {
        assert_eq!(compare_cname("track.example.com", &Ok("Track.Example.com.".to_owned())).live, DnsMatch::Found);
        let parked = compare_cname("track.example.com", &Ok("parked.example".to_owned()));
        assert_eq!((parked.live, parked.seen), (DnsMatch::Mismatch, vec!["parked.example".to_owned()]));
    }

    #[test]
    fn a_failed_lookup_is_unknown_and_never_missing() {
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
        fn a_detail_is_one_short_line_for_any_published_text(value in "\\PC{0,40}", seen in proptest::collection::vec(".{0,400}", 0..4)) {
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
