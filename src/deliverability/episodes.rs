//! Episodes: the events and notices about a team whose rates are too high, once for each status. The same worker slows
//! the broadcasts of the team down.
//!
//! An episode begins with a warning or a pause, and ends when the rates are well below the limits again. Until then, a
//! status that ends and begins again notifies the owners only once.

use super::guardrail::{GuardrailStatus, GuardrailWindows};
use super::service::{GuardrailMode, TeamDeliverability};
use super::store::{EpisodeLevel, EpisodeRow};
use crate::base::id::TeamId;
use crate::delivery;
use crate::events::{self, TeamEvent};
use crate::notices::{self, Notice, RateNotice};
use crate::store::{ReadTx, Reads, StoreError, WriteTx};
use crate::tables::GUARDRAIL_EPISODES;
use crate::teams;

/// Teams that one transaction reads.
const PAGE_TEAMS: usize = 100;

/// State of a team that the worker stores.
struct TeamRound {
    step: EpisodeStep,
    /// Row of its episode.
    row: Option<EpisodeRow>,
    windows: GuardrailWindows,
    /// Whether its broadcasts must be slowed down.
    is_slow: bool,
    /// Whether they are.
    is_slowed: bool,
}

/// Change of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EpisodeStep {
    Keep,
    /// Store the level, and publish it.
    Publish(EpisodeLevel),
    End,
}

impl EpisodeStep {
    fn of(level: Option<EpisodeLevel>, status: GuardrailStatus, windows: &GuardrailWindows) -> Self {
        match (level, status) {
            (None, GuardrailStatus::Ok) => Self::Keep,
            (None, GuardrailStatus::Warning) => Self::Publish(EpisodeLevel::Warning),
            (None | Some(EpisodeLevel::Warning), GuardrailStatus::Paused) => Self::Publish(EpisodeLevel::Paused),
            (Some(_), GuardrailStatus::Ok) if windows.has_recovered() => Self::End,
            (Some(_), _) => Self::Keep,
        }
    }
}

impl TeamDeliverability {
    /// Compares the status of every team with its episode and the pace of its broadcasts. Stores and publishes the changes.
    ///
    /// # Errors
    /// [`StoreError`]. The changes before it are stored.
    pub async fn run_round(&self) -> Result<(), StoreError> {
        let teams = self.context.store.read(teams::ids).await?;
        for page in teams.chunks(PAGE_TEAMS) {
            let (page, this) = (page.to_vec(), self.clone());
            let changed = move |tx: &ReadTx| {
                let mut changed = Vec::new();
                for team in page {
                    let TeamRound { step, is_slow, is_slowed, .. } = this.team_round(tx, team)?;
                    if step != EpisodeStep::Keep || is_slow != is_slowed {
                        changed.push(team);
                    }
                }
                Ok(changed)
            };
            for team in self.context.store.read::<_, StoreError>(changed).await? {
                let this = self.clone();
                self.context.store.write_bulk::<_, StoreError>(move |tx| this.change_team(tx, team)).await?;
            }
        }
        Ok(())
    }

    fn team_round(&self, tx: &impl Reads, team: TeamId) -> Result<TeamRound, StoreError> {
        let windows = self.windows(tx, team)?;
        let row = tx.get_valid(&GUARDRAIL_EPISODES, &(team,))?;
        let level = row.as_ref().map(|row| row.level);
        let step = EpisodeStep::of(level, self.mode.status(&windows), &windows);
        let is_slow = self.mode.slows_broadcasts(&windows);
        Ok(TeamRound { step, row, windows, is_slow, is_slowed: delivery::is_slowed(tx, team)? })
    }

    /// Changes the episode of a team and the pace of its broadcasts. Reads its state again: another process can have
    /// changed it.
    fn change_team(&self, tx: &WriteTx<'_>, team: TeamId) -> Result<(), StoreError> {
        if teams::find(tx, team)?.is_none() {
            return Ok(());
        }
        let TeamRound { step, row, windows, is_slow, .. } = self.team_round(tx, team)?;
        delivery::set_slowed(tx, team, is_slow, self.context.now_ms())?;
        let level = match step {
            EpisodeStep::Keep => return Ok(()),
            EpisodeStep::End => return tx.delete(&GUARDRAIL_EPISODES, &(team,)).map(drop),
            EpisodeStep::Publish(level) => level,
        };
        let since_ms = row.as_ref().map_or_else(|| self.context.now_ms(), |row| row.since_ms);
        tx.put(&GUARDRAIL_EPISODES, &(team,), &EpisodeRow { level, since_ms })?;
        // A rate that jumps over both limits crosses the lower one too. The owners receive one notice, about the pause.
        if level == EpisodeLevel::Paused && row.is_none() {
            self.publish(tx, team, EpisodeLevel::Warning, &windows)?;
        }
        let Some(figures) = self.publish(tx, team, level, &windows)? else { return Ok(()) };
        let notice = match level {
            EpisodeLevel::Warning => Notice::DeliverabilityWarning(figures),
            EpisodeLevel::Paused => Notice::DeliverabilityPaused(figures),
        };
        notices::record(tx, &self.context, team, &notice)
    }

    /// Records the event of a level. Returns its figures, or `None` if no rate reaches the limit of the level.
    fn publish(
        &self,
        tx: &WriteTx<'_>,
        team: TeamId,
        level: EpisodeLevel,
        windows: &GuardrailWindows,
    ) -> Result<Option<RateNotice>, StoreError> {
        let (status, event): (_, fn(events::Deliverability) -> TeamEvent) = match level {
            EpisodeLevel::Warning => (GuardrailStatus::Warning, TeamEvent::DeliverabilityWarning),
            EpisodeLevel::Paused => (GuardrailStatus::Paused, TeamEvent::DeliverabilityPaused),
        };
        let Some(breach) = windows.breach(status) else { return Ok(None) };
        let data = events::Deliverability {
            metric: breach.metric,
            rate: super::fraction(breach.count, breach.sent),
            limit: breach.line.fraction(),
            window_days: breach.line.window_days,
            dashboard_url: self.page_url.clone(),
        };
        events::record_team(tx, &self.context, team, &event(data))?;
        Ok(Some(RateNotice {
            metric: breach.metric,
            count: breach.count,
            sent: breach.sent,
            limit_per_10_000: breach.line.per_10_000,
            window_days: breach.line.window_days,
            is_observed: self.mode == GuardrailMode::Observe,
            dashboard_url: self.page_url.clone(),
        }))
    }
}
