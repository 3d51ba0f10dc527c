//! The use cases: the score of a team, and the data of its page.

use super::days::{last_days, windows};
use super::guardrail::{GuardrailStatus, GuardrailWindows};
use super::regions;
use super::score::{DeliverabilityScore, SCORE_DAYS};
use crate::base::id::TeamId;
use crate::context::Context;
use crate::email_metrics::{DayTotals, day_totals};
use crate::insights::{FailingCheck, failing_checks};
use crate::store::{ReadTx, Reads, StoreError};

/// Page of the dashboard that shows the rates, below the URL of the dashboard.
const PAGE: &str = "metrics/deliverability";

/// Effect of the guardrail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardrailMode {
    /// A team with a rate that is too high cannot send.
    Enforce,
    /// Rates are shown and warned of, and nothing is refused. No status is higher than `warning`.
    Observe,
}

/// The score of a team with its figures.
#[derive(Clone, Debug)]
pub struct DeliverabilityReport {
    /// Sums of the last 30 UTC days, including the current one.
    pub totals: DayTotals,
    pub score: DeliverabilityScore,
    pub status: GuardrailStatus,
}

/// Figures of one UTC day.
#[derive(Clone, Copy, Debug)]
pub struct UtcDayTotals {
    /// Days since 1970.
    pub day: u32,
    pub totals: DayTotals,
}

/// Check that emails failed, with its cost.
#[derive(Clone, Debug)]
pub struct ScoreFactor {
    pub check: FailingCheck,
    /// Points of the score that are gained if no email had failed the check.
    pub gain: f64,
}

/// The data of the page about deliverability.
#[derive(Clone, Debug)]
pub struct DeliverabilityOverview {
    pub report: DeliverabilityReport,
    pub windows: GuardrailWindows,
    /// Whether the guardrail refuses sends and slows broadcasts down.
    pub is_enforced: bool,
    /// Whether broadcasts of a region of the team's domains are paused.
    pub is_region_paused: bool,
    /// The last 30 days, oldest first.
    pub days: Vec<UtcDayTotals>,
    /// Largest gain first.
    pub factors: Vec<ScoreFactor>,
}

/// Deliverability of all teams. Cheap to clone.
#[derive(Clone)]
pub struct TeamDeliverability {
    pub(super) context: Context,
    pub(super) mode: GuardrailMode,
    pub(super) page_url: String,
}

impl GuardrailMode {
    /// Returns the status of a team with these windows.
    pub fn status(self, windows: &GuardrailWindows) -> GuardrailStatus {
        match self {
            Self::Enforce => windows.status(),
            Self::Observe if windows.breach(GuardrailStatus::Warning).is_some() => GuardrailStatus::Warning,
            Self::Observe => GuardrailStatus::Ok,
        }
    }

    /// Returns whether the broadcasts of a team with these windows are slowed down.
    pub(super) fn slows_broadcasts(self, windows: &GuardrailWindows) -> bool {
        self == Self::Enforce && windows.status() != GuardrailStatus::Ok
    }
}

impl TeamDeliverability {
    /// Returns the deliverability in the store of `context`. The dashboard of the instance is at `dashboard_url`, which ends
    /// with a slash.
    pub fn new(context: Context, mode: GuardrailMode, dashboard_url: &str) -> Self {
        Self { context, mode, page_url: format!("{dashboard_url}{PAGE}") }
    }

    /// Returns the score of a team.
    pub async fn report(&self, team: TeamId) -> Result<DeliverabilityReport, StoreError> {
        let (now_ms, mode) = (self.context.now_ms(), self.mode);
        let read = move |tx: &ReadTx| {
            let totals = day_totals(tx, team, last_days(now_ms, SCORE_DAYS))?;
            Ok(DeliverabilityReport::of(totals, mode.status(&windows(tx, team, now_ms)?)))
        };
        self.context.store.read::<_, StoreError>(read).await
    }

    /// Returns the data of the page of a team.
    pub async fn overview(&self, team: TeamId) -> Result<DeliverabilityOverview, StoreError> {
        let (now_ms, mode) = (self.context.now_ms(), self.mode);
        let read = move |tx: &ReadTx| {
            let days = last_days(now_ms, SCORE_DAYS);
            let totals = day_totals(tx, team, days.clone())?;
            let windows = windows(tx, team, now_ms)?;
            let report = DeliverabilityReport::of(totals, mode.status(&windows));
            let factors = report.factors(failing_checks(tx, team, days.clone())?);
            let of_day = |day| Ok(UtcDayTotals { day, totals: day_totals(tx, team, day..=day)? });
            let days = days.map(of_day).collect::<Result<_, StoreError>>()?;
            let is_enforced = mode == GuardrailMode::Enforce;
            let is_region_paused = is_enforced && regions::is_paused_for(tx, team)?;
            Ok(DeliverabilityOverview { report, windows, is_enforced, is_region_paused, days, factors })
        };
        self.context.store.read::<_, StoreError>(read).await
    }

    /// Reads the windows of a team up to now.
    pub(super) fn windows(&self, tx: &impl Reads, team: TeamId) -> Result<GuardrailWindows, StoreError> {
        windows(tx, team, self.context.now_ms())
    }
}

impl DeliverabilityReport {
    fn of(totals: DayTotals, status: GuardrailStatus) -> Self {
        Self { totals, score: DeliverabilityScore::of(&totals, status), status }
    }

    /// Returns failing checks with the points that they cost, the largest gain first.
    fn factors(&self, failing: Vec<FailingCheck>) -> Vec<ScoreFactor> {
        let scored = self.totals.scored_recipients;
        let factor = |check: FailingCheck| ScoreFactor { gain: self.score.gain(&check, scored), check };
        let mut factors: Vec<ScoreFactor> = failing.into_iter().map(factor).collect();
        factors.sort_by(|one, other| {
            other
                .gain
                .total_cmp(&one.gain)
                .then_with(|| other.check.weight_hundredths.cmp(&one.check.weight_hundredths))
        });
        factors
    }
}
