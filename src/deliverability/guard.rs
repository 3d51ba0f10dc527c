//! Refusals of sends: the guard of `emails` and `broadcasts`.

use super::days::{pause_window, resumes_ms};
use super::guardrail::{PAUSE_DAYS, RateLimitLine};
use super::regions;
use super::service::{GuardrailMode, TeamDeliverability};
use crate::base::id::{BroadcastId, DomainId, EmailId, TeamId};
use crate::emails::{EmailRow, RegionPause, SendingGuard, SendingPause};
use crate::insights;
use crate::notices::{self, Notice};
use crate::store::{ReadTx, Reads, StoreError, WriteTx};

impl TeamDeliverability {
    /// Returns the pause of a team. Reads two rows if the team is not paused.
    fn pause_of(&self, tx: &impl Reads, team: TeamId) -> Result<Option<SendingPause>, StoreError> {
        if self.mode == GuardrailMode::Observe {
            return Ok(None);
        }
        let now_ms = self.context.now_ms();
        let counts = pause_window(tx, team, now_ms)?;
        let Some(metric) = counts.paused_by() else { return Ok(None) };
        Ok(Some(SendingPause {
            metric,
            count: counts.count(metric),
            sent: counts.sent,
            limit_per_10_000: RateLimitLine::of_pause(metric).per_10_000,
            window_days: PAUSE_DAYS,
            resumes_ms: resumes_ms(tx, team, now_ms)?,
            dashboard_url: self.page_url.clone(),
        }))
    }
}

impl SendingGuard for TeamDeliverability {
    fn sending_pause(&self, tx: &WriteTx<'_>, team: TeamId) -> Result<Option<SendingPause>, StoreError> {
        self.pause_of(tx, team)
    }

    fn find_sending_pause(&self, tx: &ReadTx, team: TeamId) -> Result<Option<SendingPause>, StoreError> {
        self.pause_of(tx, team)
    }

    fn region_pause(
        &self,
        tx: &WriteTx<'_>,
        team: TeamId,
        domain: DomainId,
    ) -> Result<Option<RegionPause>, StoreError> {
        match self.mode {
            GuardrailMode::Enforce => regions::pause_of(tx, team, domain),
            GuardrailMode::Observe => Ok(None),
        }
    }

    fn is_fan_out_held(&self, tx: &ReadTx, team: TeamId, domain: Option<DomainId>) -> Result<bool, StoreError> {
        match (self.mode, domain) {
            (GuardrailMode::Enforce, Some(domain)) => Ok(regions::pause_of(tx, team, domain)?.is_some()),
            (GuardrailMode::Enforce, None) | (GuardrailMode::Observe, _) => Ok(false),
        }
    }

    fn broadcast_held(&self, tx: &WriteTx<'_>, team: TeamId, broadcast: BroadcastId) -> Result<(), StoreError> {
        let notice = Notice::BroadcastHeld { broadcast, dashboard_url: self.page_url.clone() };
        notices::record(tx, &self.context, team, &notice)
    }

    fn recipients_canceled(
        &self,
        tx: &WriteTx<'_>,
        team: TeamId,
        id: EmailId,
        before: &EmailRow,
        after: &EmailRow,
    ) -> Result<(), StoreError> {
        insights::take_back_canceled(tx, team, id, before, after)
    }
}
