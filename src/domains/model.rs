//! What a sending domain is and the words for its state. Pure.

use serde::{Deserialize, Serialize};

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
    /// A record that sending needs is wrong or has gone.
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
    /// The name servers did not answer.
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
}

/// What the name servers answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Live {
    /// The expected value.
    Found,
    /// Nothing.
    Missing,
    /// Another value.
    Mismatch,
    /// No answer.
    Unknown,
}

impl Live {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Missing => "missing",
            Self::Mismatch => "mismatch",
            Self::Unknown => "unknown",
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
    pub live: Option<Live>,
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
