//! The score of a team over 30 days, from the content of its emails and their outcomes. Pure.

use super::guardrail::GuardrailStatus;
use crate::base::words::words;
use crate::email_metrics::DayTotals;
use crate::insights::FailingCheck;

/// UTC days of the score, including the current one.
pub const SCORE_DAYS: u32 = 30;
/// Version of the formula.
pub const SCORE_VERSION: u32 = 1;
/// Recipients below which outcomes give no score.
const OUTCOME_SENT_MIN: u64 = 100;
/// Best score.
const SCORE_MAX: f64 = 10.0;
/// Weight of the content in the score; that of the outcomes is the rest.
const CONTENT_WEIGHT: f64 = 0.4;
/// Points by which the content can raise the score above that of the outcomes.
const CONTENT_LEAD_MAX: f64 = 1.5;
/// Highest score with a warning.
const WARNING_SCORE_MAX: f64 = 6.9;
/// Highest score while sending is paused.
const PAUSED_SCORE_MAX: f64 = 4.9;

/// Points that are lost between two rates.
struct Ramp {
    from: f64,
    to: f64,
    points: f64,
}

const COMPLAINT_RAMPS: [Ramp; 2] =
    [Ramp { from: 0.001, to: 0.003, points: 6.0 }, Ramp { from: 0.003, to: 0.01, points: 4.0 }];
const BOUNCE_RAMPS: [Ramp; 2] = [Ramp { from: 0.02, to: 0.05, points: 4.0 }, Ramp { from: 0.05, to: 0.1, points: 2.0 }];

impl Ramp {
    fn lost(&self, rate: f64) -> f64 {
        ((rate - self.from) / (self.to - self.from)).clamp(0.0, 1.0) * self.points
    }
}

words! {
    /// Band of a score.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ScoreBand {
        Excellent = "excellent",
        Good = "good",
        NeedsAttention = "needs_attention",
        AtRisk = "at_risk",
    }
}

impl ScoreBand {
    /// Returns the band of a score that is rounded to tenths.
    pub fn of(score: f64) -> Self {
        match score {
            score if score >= 9.0 => Self::Excellent,
            score if score >= 7.0 => Self::Good,
            score if score >= 5.0 => Self::NeedsAttention,
            _ => Self::AtRisk,
        }
    }
}

/// The score of a team. All scores are from 0 to 10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeliverabilityScore {
    /// `None` if neither part has a score.
    pub headline: Option<f64>,
    /// `None` if no email has a score.
    pub content: Option<f64>,
    /// `None` with fewer than 100 recipients.
    pub outcome: Option<f64>,
    status: GuardrailStatus,
}

impl DeliverabilityScore {
    /// Returns the score of the sums of 30 days. The scores are not rounded.
    pub fn of(totals: &DayTotals, status: GuardrailStatus) -> Self {
        let content = (totals.scored_recipients > 0)
            .then(|| ratio(totals.score_sum, totals.scored_recipients) / 10.0)
            .map(|score| score.clamp(0.0, SCORE_MAX));
        let outcome = (totals.sent >= OUTCOME_SENT_MIN).then(|| {
            let (complaints, bounces) =
                (ratio(totals.complained, totals.sent), ratio(totals.bounced_permanent, totals.sent));
            let lost: f64 = COMPLAINT_RAMPS.iter().map(|ramp| ramp.lost(complaints)).sum();
            let lost = lost + BOUNCE_RAMPS.iter().map(|ramp| ramp.lost(bounces)).sum::<f64>();
            (SCORE_MAX - lost).max(0.0)
        });
        Self { headline: headline(content, outcome, status), content, outcome, status }
    }

    /// Returns the band of the rounded score.
    pub fn band(&self) -> Option<ScoreBand> {
        self.headline.map(|score| ScoreBand::of(tenths(score)))
    }

    /// Returns the points of the score that are gained if no email had failed a check.
    pub fn gain(&self, check: &FailingCheck, scored_recipients: u64) -> f64 {
        let (Some(content), Some(score)) = (self.content, self.headline) else { return 0.0 };
        let better = (content + ratio(check.lost_tenths, scored_recipients.max(1)) / 10.0).min(SCORE_MAX);
        headline(Some(better), self.outcome, self.status).map_or(0.0, |better| better - score)
    }
}

fn headline(content: Option<f64>, outcome: Option<f64>, status: GuardrailStatus) -> Option<f64> {
    let score = match (content, outcome) {
        (Some(content), Some(outcome)) => {
            let both = CONTENT_WEIGHT * content + (1.0 - CONTENT_WEIGHT) * outcome;
            Some(both.min(outcome + CONTENT_LEAD_MAX))
        }
        (content, outcome) => content.or(outcome),
    };
    let score_max = match status {
        GuardrailStatus::Ok => SCORE_MAX,
        GuardrailStatus::Warning => WARNING_SCORE_MAX,
        GuardrailStatus::Paused => PAUSED_SCORE_MAX,
    };
    score.map(|score| score.min(score_max))
}

/// Rounds a score to tenths.
pub fn tenths(score: f64) -> f64 {
    (score * 10.0).round() / 10.0
}

#[expect(clippy::cast_precision_loss, reason = "counts of emails are far below 2^52")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(sent: u64, bounced_permanent: u64, complained: u64) -> DayTotals {
        DayTotals { sent, bounced_permanent, complained, ..DayTotals::default() }
    }

    fn outcome(sent: u64, bounced: u64, complained: u64) -> Option<f64> {
        DeliverabilityScore::of(&totals(sent, bounced, complained), GuardrailStatus::Ok).outcome.map(tenths)
    }

    #[track_caller]
    fn assert_score(found: Option<f64>, expected: Option<f64>) {
        let is_equal = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(is_equal, "{found:?} is not {expected:?}");
    }

    #[test]
    fn outcomes_lose_points_by_their_rates() {
        for (bounced, complained, expected) in [
            (0, 0, 10.0),
            // 0.1 % complaints are the start of the first ramp, and 0.2 % its middle.
            (0, 10, 10.0),
            (0, 20, 7.0),
            (0, 30, 4.0),
            // 0.65 % are the middle of the second ramp.
            (0, 65, 2.0),
            (0, 100, 0.0),
            (0, 1_000, 0.0),
            (200, 0, 10.0),
            (350, 0, 8.0),
            (500, 0, 6.0),
            (750, 0, 5.0),
            (1_000, 0, 4.0),
            (10_000, 0, 4.0),
            (350, 20, 5.0),
            (10_000, 10_000, 0.0),
        ] {
            assert_score(outcome(10_000, bounced, complained), Some(expected));
        }
        assert_score(outcome(99, 0, 0), None);
        assert_score(outcome(100, 0, 0), Some(10.0));
    }

    #[test]
    fn the_score_weighs_content_and_outcomes_and_limits_the_lead_of_the_content() {
        let of = |sent, complained, scored_recipients, score_sum| {
            let totals = DayTotals { scored_recipients, score_sum, ..totals(sent, 0, complained) };
            DeliverabilityScore::of(&totals, GuardrailStatus::Ok)
        };
        // 8.0 x 0.4 + 10.0 x 0.6.
        assert_score(of(1_000, 0, 500, 40_000).headline, Some(9.2));
        // 10.0 x 0.4 + 2.0 x 0.6 is 5.2, and 2.0 + 1.5 is less.
        assert_score(of(10_000, 65, 1, 100).headline, Some(3.5));
        assert_score(of(10, 0, 4, 300).headline, Some(7.5));
        assert_score(of(1_000, 0, 0, 0).headline, Some(10.0));
        let none = of(10, 0, 0, 0);
        assert_score(none.headline, None);
        assert_eq!(none.band(), None);
        // Two emails: 9.5 for 100 recipients and 6.0 for 300.
        assert_score(of(10, 0, 400, 95 * 100 + 60 * 300).content, Some(6.875));
    }

    #[test]
    fn the_guardrail_limits_the_score() {
        for (status, expected) in
            [(GuardrailStatus::Ok, 10.0), (GuardrailStatus::Warning, 6.9), (GuardrailStatus::Paused, 4.9)]
        {
            assert_score(DeliverabilityScore::of(&totals(1_000, 0, 0), status).headline, Some(expected));
        }
        let low = DeliverabilityScore::of(&totals(10_000, 0, 65), GuardrailStatus::Paused);
        assert_score(low.headline, Some(2.0));
    }

    #[test]
    fn a_band_begins_at_its_score() {
        for (score, band) in [
            (10.0, "excellent"),
            (9.0, "excellent"),
            (8.9, "good"),
            (7.0, "good"),
            (6.9, "needs_attention"),
            (5.0, "needs_attention"),
            (4.9, "at_risk"),
            (0.0, "at_risk"),
        ] {
            assert_eq!(ScoreBand::of(score).as_str(), band, "{score}");
        }
        let rounded = DayTotals { scored_recipients: 100, score_sum: 8_996, ..DayTotals::default() };
        let score = DeliverabilityScore::of(&rounded, GuardrailStatus::Ok);
        assert_eq!(score.band(), Some(ScoreBand::Excellent), "8.996 is shown as 9.0");
    }

    #[test]
    fn a_gain_replays_the_formula() {
        let check = |lost_tenths| FailingCheck {
            check: "plain_text",
            severity: "major",
            weight_hundredths: 100,
            recipients: 50,
            lost_tenths,
        };
        let gain = |sent, complained, status, failing: &FailingCheck| {
            let totals = DayTotals { scored_recipients: 100, score_sum: 8_000, ..totals(sent, 0, complained) };
            tenths(DeliverabilityScore::of(&totals, status).gain(failing, 100) * 10.0) / 10.0
        };
        // One point of half of the recipients raises the content by 0.5, of which the score has 40 %.
        assert_score(Some(gain(1_000, 0, GuardrailStatus::Ok, &check(500))), Some(0.2));
        // Without outcomes, the content is the score.
        assert_score(Some(gain(10, 0, GuardrailStatus::Ok, &check(500))), Some(0.5));
        assert_score(Some(gain(10, 0, GuardrailStatus::Ok, &check(3_500))), Some(2.0));
        assert_score(Some(gain(1_000, 0, GuardrailStatus::Paused, &check(1_000))), Some(0.0));
        // Other failing checks take the points away too: the weight is not gained.
        assert_score(Some(gain(10, 0, GuardrailStatus::Ok, &check(0))), Some(0.0));
    }
}
