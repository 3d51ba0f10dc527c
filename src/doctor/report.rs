//! The results of the checks.

use serde::{Deserialize, Serialize};

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    /// Email is delivered, and can be delivered better.
    Warning,
    Failed,
    /// The check could not run.
    NotChecked,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupCheck {
    /// Name of the check, such as `smtp_port`.
    pub check: String,
    /// Domain or address that the check is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub status: CheckStatus,
    /// Observation, or the reason why the check could not run.
    pub seen: String,
    /// Expectation; absent if the check could not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Next step; absent if none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl SetupCheck {
    /// Returns a check that found what it expected.
    pub(super) fn ok(check: &str, seen: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            check: check.to_owned(),
            subject: None,
            status: CheckStatus::Ok,
            seen: seen.into(),
            expected: Some(expected.into()),
            fix: None,
        }
    }

    /// Returns a check that failed.
    pub(super) fn failed(
        check: &str,
        seen: impl Into<String>,
        expected: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { status: CheckStatus::Failed, fix: Some(fix.into()), ..Self::ok(check, seen, expected) }
    }

    /// Returns a check that could not run.
    pub(super) fn not_checked(check: &str, why: impl Into<String>) -> Self {
        Self { status: CheckStatus::NotChecked, expected: None, ..Self::ok(check, why, "") }
    }

    /// Returns the check about a domain or an address.
    #[must_use]
    pub(super) fn about(self, subject: impl Into<String>) -> Self {
        Self { subject: Some(subject.into()), ..self }
    }

    /// Returns a failed check as a warning.
    #[must_use]
    pub(super) fn into_warning(self) -> Self {
        Self { status: CheckStatus::Warning, ..self }
    }
}

/// The results of all checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// Whether no check failed.
    pub ok: bool,
    pub checks: Vec<SetupCheck>,
}

impl DoctorReport {
    pub(super) fn new(checks: Vec<SetupCheck>) -> Self {
        Self { ok: checks.iter().all(|check| check.status != CheckStatus::Failed), checks }
    }
}
