//! Comparison of an expected TXT record with the texts published at its name.

use std::collections::BTreeMap;

use super::error::LookupError;
use super::records::{RecordVerdict, quote};

/// Compares a TXT record. Runs of whitespace count as one space. Letter case matters, because keys are
/// case-sensitive. `seen` contains the texts at the name, each joined from its strings.
pub fn compare_txt(value: &str, seen: &Result<Vec<String>, LookupError>) -> RecordVerdict {
    let value = collapse(value);
    let purpose = Purpose::of(&value);
    let noun = purpose.noun();
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => return RecordVerdict::absent(noun, error),
    };
    let same_purpose: Vec<String> =
        seen.iter().map(|text| collapse(text)).filter(|text| Purpose::of(text) == purpose).collect();
    let equal = same_purpose.iter().filter(|text| **text == value || purpose.is_equivalent(text, &value)).count();
    match (equal, same_purpose.len()) {
        (0, 0) => RecordVerdict::missing(noun),
        (0, _) if purpose == Purpose::Other => RecordVerdict::missing(noun),
        (0, 1) if same_purpose[0].starts_with('"') => RecordVerdict::mismatch(
            format!("The {noun} contains quotation marks; enter it without them."),
            same_purpose,
        ),
        (0, _) => {
            let detail = format!("Another {noun} is published: {}", quote(&same_purpose[0]));
            RecordVerdict::mismatch(detail, same_purpose)
        }
        // RFC 7208 §4.5 and RFC 7489 §6.6.3: several records make all of them void. RFC 6376 §3.6.2.2 does not
        // define which of several keys a verifier uses.
        (_, 2..) if purpose != Purpose::Other => RecordVerdict::mismatch(
            format!("{} {noun}s are published and only one may be; remove the others.", same_purpose.len()),
            same_purpose,
        ),
        _ => RecordVerdict::found(),
    }
}

/// Purpose of a text. A name can have texts of several purposes, which do not conflict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Spf,
    Dkim,
    Dmarc,
    Other,
}

impl Purpose {
    fn of(text: &str) -> Self {
        // Some control panels publish the quotation marks as part of the text.
        let text = text.trim_start_matches('"');
        let starts = |version: &str| text.get(..version.len()).is_some_and(|head| head.eq_ignore_ascii_case(version));
        if starts("v=spf1") && !matches!(text.as_bytes().get(6), Some(next) if *next != b' ') {
            Self::Spf
        } else if starts("v=DMARC1") {
            Self::Dmarc
        } else if starts("v=DKIM1") || text.split(';').any(|tag| tag.trim_start().starts_with("p=")) {
            Self::Dkim
        } else {
            Self::Other
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Spf => "SPF record",
            Self::Dkim => "DKIM record",
            Self::Dmarc => "DMARC record",
            Self::Other => "TXT record",
        }
    }

    /// Returns whether two DKIM records have the same tags. RFC 6376 §3.2: the order of tags and the whitespace around
    /// them do not matter. Nor does whitespace inside the base64 of a key, which some control panels insert.
    fn is_equivalent(self, seen: &str, value: &str) -> bool {
        self == Self::Dkim && key_tags(seen).is_some_and(|tags| key_tags(value).as_ref() == Some(&tags))
    }
}

/// Parses the tags of a DKIM key record and adds the defaults of RFC 6376 §3.6.1. `None` if a tag has no `=` or
/// occurs twice.
fn key_tags(text: &str) -> Option<BTreeMap<&str, String>> {
    let mut tags = BTreeMap::new();
    for tag in text.split(';').map(str::trim).filter(|tag| !tag.is_empty()) {
        let (name, value) = tag.split_once('=')?;
        let value: String = value.split_ascii_whitespace().collect();
        if tags.insert(name.trim_end(), value).is_some() {
            return None;
        }
    }
    tags.entry("v").or_insert_with(|| "DKIM1".to_owned());
    tags.entry("k").or_insert_with(|| "rsa".to_owned());
    Some(tags)
}

fn collapse(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::DnsMatch;
    use proptest::prelude::*;

    const SPF: &str = "v=spf1 a:mail.example.com ~all";
    const KEY: &str = "v=DKIM1; k=rsa; p=MIGfMA0Gcs/Q+DQ";

    fn texts(list: &[&str]) -> Result<Vec<String>, LookupError> {
        Ok(list.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn texts_match_with_different_whitespace_and_equal_letter_case() {
        let cases: &[(&str, &[&str], DnsMatch)] = &[
            (SPF, &[SPF], DnsMatch::Found),
            (SPF, &["unrelated", "v=spf1  a:mail.example.com\t~all "], DnsMatch::Found),
            (SPF, &["v=spf1 a:MAIL.example.com ~all"], DnsMatch::Mismatch),
            (SPF, &["v=spf1 -all"], DnsMatch::Mismatch),
            (SPF, &[SPF, "v=spf1 -all"], DnsMatch::Mismatch),
            (SPF, &["unrelated"], DnsMatch::Missing),
            (SPF, &[], DnsMatch::Missing),
            (SPF, &["\"v=spf1 a:mail.example.com ~all\""], DnsMatch::Mismatch),
            (KEY, &[KEY], DnsMatch::Found),
            (KEY, &["k=rsa;p=MIGfMA0 Gcs/Q+DQ;"], DnsMatch::Found),
            (KEY, &["p=MIGfMA0Gcs/Q+DQ"], DnsMatch::Found),
            (KEY, &["v=DKIM1; k=rsa; p=migfma0gcs/q+dq"], DnsMatch::Mismatch),
            (KEY, &["v=DKIM1; k=ed25519; p=MIGfMA0Gcs/Q+DQ"], DnsMatch::Mismatch),
            (KEY, &["v=DKIM1; k=rsa; p="], DnsMatch::Mismatch),
            (KEY, &["v=DKIM1; p=MIGfMA0Gcs/Q+DQ; p=other"], DnsMatch::Mismatch),
            (KEY, &[KEY, "v=DKIM1; k=rsa; p=other"], DnsMatch::Mismatch),
            (KEY, &["v=spf1 -all"], DnsMatch::Missing),
            ("token-1", &["token-2"], DnsMatch::Missing),
            ("token-1", &["token-2", "token-1"], DnsMatch::Found),
        ];
        for (value, seen, want) in cases {
            let verdict = compare_txt(value, &texts(seen));
            assert_eq!(verdict.live, *want, "{value:?} against {seen:?}");
            assert_eq!(verdict.detail.is_none(), *want == DnsMatch::Found, "{verdict:?}");
            assert_eq!(!verdict.seen.is_empty(), *want == DnsMatch::Mismatch, "{verdict:?}");
        }
    }

    proptest! {
        #[test]
        fn a_text_always_matches_itself(value in "\\PC{1,80}") {
            prop_assert_eq!(compare_txt(&value, &Ok(vec![value.clone()])).live, DnsMatch::Found);
        }
    }
}
