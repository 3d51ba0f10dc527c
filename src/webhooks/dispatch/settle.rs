//! Stores the outcomes of deliveries: their rows, the queue, the health of the endpoint and its
//! consequences, in one transaction.

use super::page::ClaimedDelivery;
use crate::audit::{self, Actor, AuditAction, AuditEntry, AuditTargetKind, audit_host};
use crate::base::address::ERASED;
use crate::base::clock::TimestampMs;
use crate::base::id::{TeamId, WebhookId};
use crate::context::Context;
use crate::events;
use crate::notices::{self, Notice};
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_HEALTH, WEBHOOK_QUEUE, WEBHOOKS};
use crate::webhooks::health::{DeliveryResult, HealthAction};
use crate::webhooks::model::WebhookStatus;
use crate::webhooks::retry::{self, ResponseInfo, RetryDecision};
use crate::webhooks::store::{
    self, ATTEMPTS_KEPT, DeliveryRow, ExhaustedReason, HealthRow, WebhookAttemptRow, WebhookDeliveryState, WebhookRow,
};

#[derive(Clone, Debug)]
pub(super) struct DeliveryOutcome {
    pub(super) claimed: ClaimedDelivery,
    pub(super) disposition: DeliveryDisposition,
}

#[derive(Clone, Debug)]
pub(super) enum DeliveryDisposition {
    /// A request was made. `erasure_generation` is that of its body.
    Attempted { attempt: WebhookAttemptRow, info: ResponseInfo, erasure_generation: u64 },
    /// An attempt that failed before its request.
    NotSent { at_ms: TimestampMs, reason: String },
    /// Exhausted without an attempt.
    GivenUp(ExhaustedReason),
    /// The event was retracted, and no attempt was made. The delivery is deleted.
    Retracted,
    /// The queue row does not match a delivery row.
    Orphaned,
}

/// Effect of a commit on the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndpointChange {
    Unchanged,
    Disabled,
}

impl DeliveryOutcome {
    pub(super) fn not_sent(claimed: ClaimedDelivery, at_ms: TimestampMs, reason: &str) -> Self {
        Self { claimed, disposition: DeliveryDisposition::NotSent { at_ms, reason: reason.to_owned() } }
    }

    /// Returns the cooldown that the endpoint asked for.
    pub(super) fn retry_after_ms(&self) -> Option<i64> {
        match &self.disposition {
            DeliveryDisposition::Attempted { info, .. } => info.retry_after_ms(),
            DeliveryDisposition::NotSent { .. }
            | DeliveryDisposition::GivenUp(_)
            | DeliveryDisposition::Retracted
            | DeliveryDisposition::Orphaned => None,
        }
    }
}

/// Stores outcomes of one endpoint. Skips corrupt rows, so that they do not block the other outcomes.
pub(super) fn settle(
    tx: &WriteTx<'_>,
    context: &Context,
    webhook: WebhookId,
    outcomes: &[DeliveryOutcome],
) -> Result<EndpointChange, StoreError> {
    let known = outcomes.iter().map(|outcome| outcome.claimed.team).find(|team| *team != TeamId::MIN);
    let team = known.unwrap_or(TeamId::MIN);
    let endpoint = tx.get_valid(&WEBHOOKS, &(team, webhook))?;
    let health = tx.get_valid(&WEBHOOK_HEALTH, &(team, webhook))?.unwrap_or_default();
    let now_ms = context.now_ms();
    let mut settler = OutcomeSettler { tx, context, team, webhook, endpoint, health: health.clone(), now_ms };
    let mut change = EndpointChange::Unchanged;
    for outcome in outcomes {
        if settler.settle(outcome)? == EndpointChange::Disabled {
            change = EndpointChange::Disabled;
        }
    }
    // Nothing would delete the health row of a deleted endpoint.
    if settler.health != health && settler.endpoint.is_some() {
        tx.put(&WEBHOOK_HEALTH, &(team, webhook), &settler.health)?;
    }
    Ok(change)
}

struct OutcomeSettler<'a, 't> {
    tx: &'a WriteTx<'t>,
    context: &'a Context,
    team: TeamId,
    webhook: WebhookId,
    /// `None` if the endpoint is deleted or corrupt.
    endpoint: Option<WebhookRow>,
    health: HealthRow,
    now_ms: TimestampMs,
}

impl OutcomeSettler<'_, '_> {
    fn settle(&mut self, outcome: &DeliveryOutcome) -> Result<EndpointChange, StoreError> {
        let ClaimedDelivery { team, delivery, due_ms } = outcome.claimed;
        let key = (team, self.webhook, delivery);
        let queue_key = store::queue_key(self.webhook, due_ms, delivery);
        let row = match &outcome.disposition {
            DeliveryDisposition::Orphaned => None,
            DeliveryDisposition::Attempted { .. }
            | DeliveryDisposition::NotSent { .. }
            | DeliveryDisposition::GivenUp(_)
            | DeliveryDisposition::Retracted => self.tx.get_valid(&WEBHOOK_DELIVERIES, &key)?,
        };
        let Some(row) = row else {
            self.tx.delete(&WEBHOOK_QUEUE, &queue_key)?;
            return Ok(EndpointChange::Unchanged);
        };
        let attempt = self.attempt(&outcome.disposition);
        if let Some((attempt, info)) = &attempt
            && self.endpoint.as_ref().is_some_and(|endpoint| endpoint.activation == row.activation)
        {
            self.health.record_attempt(*info, attempt.sent_ms);
        }
        if row.state != (WebhookDeliveryState::Queued { due_ms }) {
            // A replay has queued the delivery again, with another queue row. The attempt is stored anyway.
            let Some((attempt, info)) = attempt else { return Ok(EndpointChange::Unchanged) };
            let attempts = with_attempt(row.attempts, attempt);
            self.tx.put(&WEBHOOK_DELIVERIES, &key, &DeliveryRow { attempts, ..row })?;
            if info.is_success() {
                return self.apply_health(DeliveryResult::Delivered);
            }
            return Ok(EndpointChange::Unchanged);
        }
        self.tx.delete(&WEBHOOK_QUEUE, &queue_key)?;
        if matches!(outcome.disposition, DeliveryDisposition::Retracted) {
            self.tx.delete_listed(&WEBHOOK_DELIVERIES, &key, self.now_ms)?;
            return Ok(EndpointChange::Unchanged);
        }
        let (row, result) = match attempt {
            Some((attempt, info)) => self.after_attempt(row, attempt, info),
            None => self.given_up(row, &outcome.disposition),
        };
        store::put_queued(self.tx, key, &row)?;
        result.map_or(Ok(EndpointChange::Unchanged), |result| self.apply_health(result))
    }

    /// Returns the attempt to store, if one was made. Replaces the response if an erasure has changed bodies
    /// since the body was read: the response can quote it. The erasure itself changes the responses that are
    /// stored before its last commit to the bodies. A later response is compared here, on the writer's thread,
    /// on which that commit increments the generation.
    fn attempt(&self, disposition: &DeliveryDisposition) -> Option<(WebhookAttemptRow, ResponseInfo)> {
        match disposition {
            DeliveryDisposition::Attempted { attempt, info, erasure_generation } => {
                let mut attempt = attempt.clone();
                let is_erased = *erasure_generation != self.context.event_bus.erasure_generation();
                if is_erased && !attempt.response.is_empty() {
                    ERASED.clone_into(&mut attempt.response);
                }
                Some((attempt, *info))
            }
            DeliveryDisposition::NotSent { at_ms, reason } => {
                let (id, response) = (self.context.id(), reason.clone());
                let attempt = WebhookAttemptRow { id, sent_ms: *at_ms, took_ms: 0, status: None, response };
                Some((attempt, ResponseInfo { status: None, retry_after: None }))
            }
            DeliveryDisposition::GivenUp(_) | DeliveryDisposition::Retracted | DeliveryDisposition::Orphaned => None,
        }
    }

    /// Returns the row after an attempt, and the result of the delivery if it is complete.
    fn after_attempt(
        &self,
        row: DeliveryRow,
        attempt: WebhookAttemptRow,
        info: ResponseInfo,
    ) -> (DeliveryRow, Option<DeliveryResult>) {
        let at_ms = self.now_ms;
        let (state, counted, result) = match retry::decide(row.queued_ms, row.counted, info, at_ms) {
            RetryDecision::Delivered => {
                (WebhookDeliveryState::Delivered { at_ms }, row.counted, Some(DeliveryResult::Delivered))
            }
            RetryDecision::Retry { due_ms, counted } => (WebhookDeliveryState::Queued { due_ms }, counted, None),
            RetryDecision::Exhausted(why) => {
                (WebhookDeliveryState::Exhausted { at_ms, why }, row.counted, Some(DeliveryResult::Exhausted))
            }
        };
        let attempts = with_attempt(row.attempts, attempt);
        (DeliveryRow { state, counted, attempts, ..row }, result)
    }

    /// Returns the row of an exhausted delivery, and the result if it counts for the health of the endpoint. Only an
    /// expiry after an attempt counts.
    fn given_up(&self, row: DeliveryRow, disposition: &DeliveryDisposition) -> (DeliveryRow, Option<DeliveryResult>) {
        let DeliveryDisposition::GivenUp(why) = *disposition else { return (row, None) };
        let counts = why == ExhaustedReason::Expired && !row.attempts.is_empty();
        let state = WebhookDeliveryState::Exhausted { at_ms: self.now_ms, why };
        (DeliveryRow { state, ..row }, counts.then_some(DeliveryResult::Exhausted))
    }

    /// Records the result of a delivery in the health of the endpoint. Notifies the owners or disables the
    /// endpoint if the health requires it.
    fn apply_health(&mut self, result: DeliveryResult) -> Result<EndpointChange, StoreError> {
        let action = self.health.record(result, self.now_ms);
        let Some(endpoint) = &mut self.endpoint else { return Ok(EndpointChange::Unchanged) };
        if endpoint.status != WebhookStatus::Enabled {
            return Ok(EndpointChange::Unchanged);
        }
        let (webhook, url) = (self.webhook, endpoint.endpoint.clone());
        match action {
            HealthAction::Nothing => Ok(EndpointChange::Unchanged),
            HealthAction::Failing => {
                notices::record(self.tx, self.context, self.team, &Notice::WebhookFailing { webhook, endpoint: url })?;
                Ok(EndpointChange::Unchanged)
            }
            HealthAction::Disabled => {
                endpoint.status = WebhookStatus::AutoDisabled;
                self.tx.put(&WEBHOOKS, &(self.team, webhook), endpoint)?;
                let entry = AuditEntry::new(AuditAction::WebhookUpdated)
                    .of(AuditTargetKind::Webhook, webhook)
                    .named(&audit_host(&url))
                    .with("status", endpoint.status.as_str());
                audit::record(self.tx, self.context, Actor::Server.in_team(self.team), entry)?;
                events::unsubscribe(self.tx, self.team, webhook)?;
                notices::record(self.tx, self.context, self.team, &Notice::WebhookDisabled { webhook, endpoint: url })?;
                Ok(EndpointChange::Disabled)
            }
        }
    }
}

/// Appends an attempt. Removes the oldest if there are more than [`ATTEMPTS_KEPT`].
fn with_attempt(mut attempts: Vec<WebhookAttemptRow>, attempt: WebhookAttemptRow) -> Vec<WebhookAttemptRow> {
    if attempts.len() >= ATTEMPTS_KEPT {
        attempts.remove(0);
    }
    attempts.push(attempt);
    attempts
}
