//! Rows of insights.

use serde::{Deserialize, Serialize};

use super::model::{InsightCheck, InsightDetail, InsightResult, InsightStatus, SCORE_VERSION, score_tenths};
use crate::base::clock::TimestampMs;
use crate::base::id::EmailId;
use crate::store::Row;

/// Results of the checks of an email or a broadcast. There is one for each email, so that the names have one letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsightRow {
    /// Version of the checks.
    #[serde(rename = "v")]
    pub version: u8,
    /// Time of the checks.
    #[serde(rename = "t")]
    pub created_ms: TimestampMs,
    /// Score in tenths of a point.
    #[serde(rename = "s")]
    pub score_tenths: u8,
    /// Number of the status of each check, by the number of the check.
    #[serde(rename = "c", with = "serde_bytes")]
    statuses: Vec<u8>,
    /// Facts of the checks that have any, with the number of the check.
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    details: Vec<(u8, InsightDetail)>,
}
impl Row for InsightRow {}

impl InsightRow {
    /// Returns the row of results in the order of [`InsightCheck::ALL`].
    pub(super) fn new(results: Vec<InsightResult>, now_ms: TimestampMs) -> Self {
        let failing = results.iter().filter(|it| it.status == InsightStatus::Fail).map(|it| it.check);
        Self {
            version: SCORE_VERSION,
            created_ms: now_ms,
            score_tenths: score_tenths(failing),
            statuses: results.iter().map(|result| result.status.number()).collect(),
            details: results
                .into_iter()
                .filter(|result| result.detail != InsightDetail::default())
                .map(|result| (result.check.number(), result.detail))
                .collect(),
        }
    }

    /// Returns the row of a message that cannot be checked. Its recipients do not count.
    pub(super) fn unknown(now_ms: TimestampMs) -> Self {
        let unknown = |check| InsightResult { check, status: InsightStatus::Unknown, detail: InsightDetail::default() };
        Self::new(InsightCheck::ALL.map(unknown).into(), now_ms)
    }

    /// Returns whether no check has a result.
    pub(super) fn is_unknown(&self) -> bool {
        self.statuses.iter().all(|status| *status == InsightStatus::Unknown.number())
    }

    /// Returns the results, in the order of the checks.
    pub fn results(&self) -> impl Iterator<Item = InsightResult> + '_ {
        InsightCheck::ALL.into_iter().zip(&self.statuses).map(|(check, status)| {
            let detail = self.details.iter().find(|(number, _)| *number == check.number());
            InsightResult {
                check,
                status: InsightStatus::ALL.get(usize::from(*status)).copied().unwrap_or(InsightStatus::Unknown),
                detail: detail.map(|(_, detail)| detail.clone()).unwrap_or_default(),
            }
        })
    }

    /// Returns the checks that fail and have a weight.
    pub(super) fn failing(&self) -> impl Iterator<Item = InsightCheck> + '_ {
        let failing = InsightCheck::ALL.into_iter().zip(&self.statuses);
        failing
            .filter(|(check, status)| **status == InsightStatus::Fail.number() && check.weight_hundredths() > 0)
            .map(|(check, _)| check)
    }

    /// Returns by how many tenths the score would be higher if the email had not failed `check` alone. It can be less than
    /// the weight, because the minor checks subtract a limited sum and no score is below 0.
    pub(super) fn lost_tenths(&self, check: InsightCheck) -> u8 {
        score_tenths(self.failing().filter(|other| *other != check)).saturating_sub(self.score_tenths)
    }
}

/// Position of the checks of a team's emails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsightPositionRow {
    /// Last email that was checked.
    pub done: EmailId,
    /// Email up to which emails that were committed late were looked for.
    pub verified: EmailId,
}
impl Row for InsightPositionRow {}

impl Default for InsightPositionRow {
    fn default() -> Self {
        Self { done: EmailId::MIN, verified: EmailId::MIN }
    }
}

/// Recipients of a day whose email failed a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsightDayRow {
    pub recipients: u64,
    /// Sum of the tenths of a point by which the score of each of them would be higher without the check.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_tenths: u64,
}
impl Row for InsightDayRow {}

impl InsightDayRow {
    pub(super) fn add(&mut self, other: Self) {
        self.recipients = self.recipients.saturating_add(other.recipients);
        self.lost_tenths = self.lost_tenths.saturating_add(other.lost_tenths);
    }

    pub(super) const fn take_back(&mut self, other: Self) {
        self.recipients = self.recipients.saturating_sub(other.recipients);
        self.lost_tenths = self.lost_tenths.saturating_sub(other.lost_tenths);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
