//! Types of sending domains and their statuses. Pure.

use serde::{Deserialize, Serialize};

use super::records::RecordView;
use super::refusal::DomainRefusal;
use crate::base::address::DomainName;
use crate::base::clock::TimestampMs;
use crate::base::id::DomainId;
use crate::base::patch::Patch;
use crate::base::words::words;
use crate::dns::DnsMatch;

/// Shortest name: `a.co`.
pub(super) const NAME_CHARS_MIN: usize = 4;
/// Longest name. RFC 1035 §2.3.4: 255 octets in a message leave 253 characters of dotted text.
pub(super) const NAME_CHARS_MAX: usize = 253;
/// Longest label (RFC 1035 §2.3.4).
pub(super) const LABEL_CHARS_MAX: usize = 63;

words! {
    /// Verification status of a domain. Only a verified domain can be used as a sender.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DomainStatus {
        /// No verification has been requested.
        NotStarted = "not_started",
        /// Verification is in progress.
        Pending = "pending",
        /// All required records are published.
        Verified = "verified",
        /// A required record is wrong, has been removed, or was not found within 72 hours.
        Failed = "failed",
    } with ALL
}

/// A record of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// MX record of the return path.
    ReturnPathMx,
    /// SPF record of the return path.
    ReturnPathSpf,
    /// DKIM record of the RSA-2048 key.
    DkimRsa,
    /// DKIM record of the Ed25519 key.
    DkimEd25519,
    /// CNAME record of the tracking host.
    Tracking,
    /// DMARC record. Recommended only.
    Dmarc,
}

impl RecordKind {
    /// Returns whether sending requires the record.
    pub const fn is_required(self) -> bool {
        match self {
            Self::ReturnPathMx | Self::ReturnPathSpf | Self::DkimRsa => true,
            Self::DkimEd25519 | Self::Tracking | Self::Dmarc => false,
        }
    }
}

words! {
    /// Status of a record in the API.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RecordStatus {
        /// Not checked, or not published.
        NotStarted = "not_started",
        /// Not found yet: the lookup failed, or verification has been requested.
        Pending = "pending",
        /// The expected record is published.
        Verified = "verified",
        /// Another record is published in its place.
        Failed = "failed",
        /// The record was verified before. The last lookup failed, or the record was missing once.
        TemporaryFailure = "temporary_failure",
    } with ALL
}

impl RecordStatus {
    /// Returns whether the record counts as published: it is verified, or was until a temporary failure.
    pub const fn counts_as_found(self) -> bool {
        match self {
            Self::Verified | Self::TemporaryFailure => true,
            Self::NotStarted | Self::Pending | Self::Failed => false,
        }
    }
}

/// Result of the last check of one record, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordState {
    pub kind: RecordKind,
    pub status: RecordStatus,
    /// Result of the last lookup; `None` before the first check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<DnsMatch>,
    /// One line that explains the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Published values that differ from the expected one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<String>,
    /// Parent domain that publishes the DMARC policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<String>,
    /// DMARC policy that applies to the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

impl RecordState {
    /// Returns the state of a record without a lookup result.
    pub(super) const fn unchecked(kind: RecordKind, status: RecordStatus) -> Self {
        Self { kind, status, live: None, detail: None, seen: Vec::new(), inherited_from: None, policy: None }
    }
}

/// One label of a host name: letters, digits and inner hyphens, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsLabel(String);

impl DnsLabel {
    /// Parses a label in any letter case; `None` if the text is not a label (RFC 1123 §2.1).
    pub fn parse(text: &str) -> Option<Self> {
        let is_valid = (1..=LABEL_CHARS_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !text.starts_with('-')
            && !text.ends_with('-');
        is_valid.then(|| Self(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Fields of a domain to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDomain {
    pub name: DomainName,
    /// Default: the first region of the settings.
    pub region: Option<String>,
    /// Label of the return path. Default: `send`.
    pub return_path: Option<DnsLabel>,
    pub open_tracking: bool,
    pub click_tracking: bool,
    /// Label of the tracking host.
    pub tracking_subdomain: Option<DnsLabel>,
}

impl NewDomain {
    /// Returns the fields of a domain with default values for all but the name.
    pub fn named(name: DomainName) -> Self {
        Self {
            name,
            region: None,
            return_path: None,
            open_tracking: false,
            click_tracking: false,
            tracking_subdomain: None,
        }
    }
}

/// Changes to the tracking settings of a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainChanges {
    pub open_tracking: Option<bool>,
    pub click_tracking: Option<bool>,
    /// Label of the tracking host.
    pub tracking_subdomain: Patch<DnsLabel>,
}

/// A domain without its keys and records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    pub id: DomainId,
    /// Name in lower-case A-labels.
    pub name: String,
    pub status: DomainStatus,
    pub created_ms: TimestampMs,
    pub region: String,
    pub open_tracking: bool,
    pub click_tracking: bool,
    /// Label of the tracking host.
    pub tracking_subdomain: Option<String>,
    /// Refusal of its mail in the last two days, because a server could not authenticate the sender.
    pub refusal: Option<DomainRefusal>,
}

/// A domain with the records it should publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainWithRecords {
    pub domain: Domain,
    /// Records for sending, signing and tracking.
    pub records: Vec<RecordView>,
    /// Recommended records that are not required.
    pub recommended: Vec<RecordView>,
    /// Time of the last check; `None` before the first one.
    pub checked_ms: Option<TimestampMs>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_label_is_letters_digits_and_inner_hyphens() {
        for (text, expected) in [
            ("send", Some("send")),
            ("Send", Some("send")),
            ("a-1", Some("a-1")),
            ("", None),
            ("-a", None),
            ("a-", None),
            ("a.b", None),
            ("_dmarc", None),
            ("a b", None),
            ("bücher", None),
            ("a\r\n", None),
        ] {
            assert_eq!(DnsLabel::parse(text).as_ref().map(DnsLabel::as_str), expected, "{text:?}");
        }
        assert!(DnsLabel::parse(&"a".repeat(63)).is_some());
        assert!(DnsLabel::parse(&"a".repeat(64)).is_none());
    }

    proptest! {
        #[test]
        fn a_label_parses_to_itself(text in ".{0,70}") {
            if let Some(label) = DnsLabel::parse(&text) {
                prop_assert_eq!(DnsLabel::parse(label.as_str()), Some(label));
            }
        }
    }
}
