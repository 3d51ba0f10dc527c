//! What a sending domain is, and the words for its state. Pure.

use serde::{Deserialize, Serialize};

use super::records::RecordView;
use crate::base::address::DomainName;
use crate::base::clock::TimestampMs;
use crate::base::id::DomainId;
use crate::base::patch::Patch;
use crate::dns::DnsMatch;

/// The shortest name, in characters: `a.co`.
pub(super) const NAME_CHARS_MIN: usize = 4;
/// RFC 1035 §2.3.4: 255 octets on the wire, which leaves 253 for the dotted text.
pub(super) const NAME_CHARS_MAX: usize = 253;
/// RFC 1035 §2.3.4.
const LABEL_CHARS_MAX: usize = 63;

/// Whether a domain may be sent from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DomainStatus {
    /// Its records have not been looked for.
    NotStarted,
    /// They are being looked for.
    Pending,
    /// Every record that sending needs is there.
    Verified,
    /// A record that sending needs is wrong, has gone, or was not found in time.
    Failed,
}

impl DomainStatus {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Pending => "pending",
            Self::Verified => "verified",
            Self::Failed => "failed",
        }
    }
}

/// Which record of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// The return path's MX.
    ReturnPathMx,
    /// The return path's SPF.
    ReturnPathSpf,
    /// The RSA-2048 key.
    DkimRsa,
    /// The Ed25519 key.
    DkimEd25519,
    /// The tracking host.
    Tracking,
    /// The DMARC policy, which is advice.
    Dmarc,
}

impl RecordKind {
    /// Returns whether the domain cannot be sent from without the record.
    pub const fn is_required(self) -> bool {
        match self {
            Self::ReturnPathMx | Self::ReturnPathSpf | Self::DkimRsa => true,
            Self::DkimEd25519 | Self::Tracking | Self::Dmarc => false,
        }
    }
}

/// What a record's row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordStatus {
    /// Not looked for, or not there.
    NotStarted,
    /// Being looked for.
    Pending,
    /// There, and right.
    Verified,
    /// There, and wrong.
    Failed,
    /// It was there and right when the name servers last answered; they do not answer.
    TemporaryFailure,
}

impl RecordStatus {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Pending => "pending",
            Self::Verified => "verified",
            Self::Failed => "failed",
            Self::TemporaryFailure => "temporary_failure",
        }
    }

    /// Returns whether the record was there and right in the last answer there was.
    pub const fn counts_as_found(self) -> bool {
        match self {
            Self::Verified | Self::TemporaryFailure => true,
            Self::NotStarted | Self::Pending | Self::Failed => false,
        }
    }
}

/// What the last check saw of one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordState {
    /// Which record.
    pub kind: RecordKind,
    /// What its row says.
    pub status: RecordStatus,
    /// What the name servers answered; none before the first check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<DnsMatch>,
    /// One line that says what is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The parent domain a DMARC policy comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<String>,
    /// The DMARC policy that is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

impl RecordState {
    /// Returns the state of a record of which nothing is known.
    pub(super) const fn unseen(kind: RecordKind, status: RecordStatus) -> Self {
        Self { kind, status, live: None, detail: None, inherited_from: None, policy: None }
    }
}

/// One label of a host name: letters, digits and inner hyphens, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(String);

impl Label {
    /// Reads a label in either letter case; `None` when the text is not one (RFC 1123 §2.1).
    pub fn parse(text: &str) -> Option<Self> {
        let formed = (1..=LABEL_CHARS_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !text.starts_with('-')
            && !text.ends_with('-');
        formed.then(|| Self(text.to_ascii_lowercase()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text as rows hold it.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// What a new domain is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDomain {
    /// The name.
    pub name: DomainName,
    /// The region; the first that is offered when none is given.
    pub region: Option<String>,
    /// The label of the return path; `send` when none is given.
    pub return_path: Option<Label>,
    /// Whether opens are recorded.
    pub open_tracking: bool,
    /// Whether clicks are recorded.
    pub click_tracking: bool,
    /// The label of the tracking host.
    pub tracking_subdomain: Option<Label>,
}

impl NewDomain {
    /// Returns a domain of that name with every choice left to its default.
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

/// What an update changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainChanges {
    /// Whether opens are recorded.
    pub open_tracking: Option<bool>,
    /// Whether clicks are recorded.
    pub click_tracking: Option<bool>,
    /// The label of the tracking host.
    pub tracking_subdomain: Patch<Label>,
}

/// A domain as its team sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Its id.
    pub id: DomainId,
    /// Its name, an A-label in lower case.
    pub name: String,
    /// Whether it may be sent from.
    pub status: DomainStatus,
    /// When it was added.
    pub created_ms: TimestampMs,
    /// The region it was added under.
    pub region: String,
    /// Whether opens are recorded.
    pub open_tracking: bool,
    /// Whether clicks are recorded.
    pub click_tracking: bool,
    /// The label of the tracking host.
    pub tracking_subdomain: Option<String>,
}

/// A domain with the records it should publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainWithRecords {
    /// The domain.
    pub domain: Domain,
    /// The records that sending, signing and tracking use.
    pub records: Vec<RecordView>,
    /// The records that are advice.
    pub recommended: Vec<RecordView>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_label_is_letters_digits_and_inner_hyphens() {
        for (text, kept) in [
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
            assert_eq!(Label::parse(text).as_ref().map(Label::as_str), kept, "{text:?}");
        }
        assert!(Label::parse(&"a".repeat(63)).is_some());
        assert!(Label::parse(&"a".repeat(64)).is_none());
    }

    proptest! {
        #[test]
        fn a_label_reads_back_as_itself(text in ".{0,70}") {
            if let Some(label) = Label::parse(&text) {
                prop_assert_eq!(Label::parse(label.as_str()), Some(label));
            }
        }
    }
}
