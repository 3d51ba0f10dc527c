//! Episodes: the events about a team whose rates are too high, one for each limit that a rate crosses, and the notices to
//! its owners. The same worker slows the broadcasts of the team down.
//!
//! An episode begins with a warning or a pause, and ends when the rates are well below the limits again. Until then, a
//! limit that is crossed again has no further event. The owners receive no notice of a warning during a pause or after one.

use super::guardrail::{GuardrailStatus, GuardrailWindows, RateBreach};
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
pub(super) const PAGE_TEAMS: usize = 100;

/// State of a team that the worker stores.
struct TeamRound {
    step: EpisodeStep,
    row: Option<EpisodeRow>,
    /// Whether its broadcasts must be slowed down.
    is_slow: bool,
    /// Whether they are.
    is_slowed: bool,
}

/// Change of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EpisodeStep {
    Keep,
    /// Send an event for each limit that was crossed. At least one was.
    Publish {
        warning: Option<RateBreach>,
        pause: Option<RateBreach>,
    },
    End,
}

impl EpisodeStep {
    fn of(episode: Option<&EpisodeRow>, status: GuardrailStatus, windows: &GuardrailWindows) -> Self {
        if status == GuardrailStatus::Ok {
            return if episode.is_some() && windows.has_recovered() { Self::End } else { Self::Keep };
        }
        let is_warned = episode.is_some_and(EpisodeRow::has_warning);
        let is_paused = episode.is_some_and(|row| row.level == EpisodeLevel::Paused);
        let warning = windows.breach(GuardrailStatus::Warning).filter(|_| !is_warned);
        let pause = windows.breach(status).filter(|_| status == GuardrailStatus::Paused && !is_paused);
        if warning.or(pause).is_some() { Self::Publish { warning, pause } } else { Self::Keep }
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
        let step = EpisodeStep::of(row.as_ref(), self.mode.status(&windows), &windows);
        let is_slow = self.mode.slows_broadcasts(&windows);
        Ok(TeamRound { step, row, is_slow, is_slowed: delivery::is_slowed(tx, team)? })
    }

    /// Changes the episode of a team and the pace of its broadcasts. Reads its state again: another process can have
    /// changed it.
    fn change_team(&self, tx: &WriteTx<'_>, team: TeamId) -> Result<(), StoreError> {
        if teams::find(tx, team)?.is_none() {
            return Ok(());
        }
        let TeamRound { step, row, is_slow, .. } = self.team_round(tx, team)?;
        delivery::set_slowed(tx, team, is_slow, self.context.now_ms())?;
        let (warning, pause) = match step {
            EpisodeStep::Keep => return Ok(()),
            EpisodeStep::End => return tx.delete(&GUARDRAIL_EPISODES, &(team,)).map(drop),
            EpisodeStep::Publish { warning, pause } => (warning, pause),
        };
        let was_paused = row.as_ref().is_some_and(|row| row.level == EpisodeLevel::Paused);
        let is_warned = warning.is_some() || row.as_ref().is_some_and(EpisodeRow::has_warning);
        let level = if pause.is_some() || was_paused { EpisodeLevel::Paused } else { EpisodeLevel::Warning };
        let since_ms = row.map_or_else(|| self.context.now_ms(), |row| row.since_ms);
        tx.put(&GUARDRAIL_EPISODES, &(team,), &EpisodeRow { level, is_warned, since_ms })?;
        if let Some(breach) = warning {
            let event = TeamEvent::DeliverabilityWarning(self.event_data(&breach));
            events::record_team(tx, &self.context, team, &event)?;
            if level == EpisodeLevel::Warning {
                let notice = Notice::DeliverabilityWarning(self.figures(&breach));
                notices::record(tx, &self.context, team, &notice)?;
            }
        }
        if let Some(breach) = pause {
            let event = TeamEvent::DeliverabilityPaused(self.event_data(&breach));
            events::record_team(tx, &self.context, team, &event)?;
            notices::record(tx, &self.context, team, &Notice::DeliverabilityPaused(self.figures(&breach)))?;
        }
        Ok(())
    }

    fn event_data(&self, breach: &RateBreach) -> events::DeliverabilityDetail {
        events::DeliverabilityDetail {
            metric: breach.metric,
            rate: super::fraction(breach.count, breach.sent),
            limit: breach.line.fraction(),
            window_days: breach.line.window_days,
            dashboard_url: self.page_url.clone(),
        }
    }

    fn figures(&self, breach: &RateBreach) -> RateNotice {
        RateNotice {
            metric: breach.metric,
            count: breach.count,
            sent: breach.sent,
            limit_per_10_000: breach.line.per_10_000,
            window_days: breach.line.window_days,
            is_observed: self.mode == GuardrailMode::Observe,
            dashboard_url: self.page_url.clone(),
        }
    }
}
