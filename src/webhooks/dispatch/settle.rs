//! Writing down what attempts came to: the deliveries, their places in the queue, how the endpoint
//! fares and what follows from it, in one transaction.

use super::page::ClaimedDelivery;
use crate::base::clock::TimestampMs;
use crate::base::id::{TeamId, WebhookId};
use crate::context::Context;
use crate::events;
use crate::notices::{self, Notice};
use crate::store::{Reads as _, StoreError, WriteTx, skip_corrupt};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_HEALTH, WEBHOOK_QUEUE, WEBHOOKS};
use crate::webhooks::health::{DeliveryResult, HealthAction};
use crate::webhooks::model::WebhookStatus;
use crate::webhooks::retry::{self, ResponseInfo, RetryDecision};
use crate::webhooks::store::{
    self, DeliveryRow, ExhaustedReason, HealthRow, WebhookAttemptRow, WebhookDeliveryState, WebhookRow,
};

/// Attempts kept with a delivery: one whose endpoint answers 429 again and again has many.
const ATTEMPTS_KEPT: usize = 16;
/// What is kept of an answer to a body that an erasure may have changed since: it can quote what was
/// erased.
const NOT_KEPT: &str = "[erased]";

/// What became of a delivery.
#[derive(Clone, Debug)]
pub(super) struct DeliveryOutcome {
    pub(super) taken: ClaimedDelivery,
    pub(super) fate: DeliveryDisposition,
}

/// How a delivery left the hands of its lane.
#[derive(Clone, Debug)]
pub(super) enum DeliveryDisposition {
    /// A request was made. Bodies had been erased `erasure_generation` times when its own was read.
    Attempted { attempt: WebhookAttemptRow, answered: ResponseInfo, erasures: u64 },
    /// It was given up untried.
    GivenUp(ExhaustedReason),
    /// Its place in the queue belongs to no delivery.
    Orphaned,
}

/// Whether anything more is sent to the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndpointChange {
    /// As before.
    Unchanged,
    /// It has been disabled.
    Disabled,
}

/// Writes outcomes of one endpoint down.
pub(super) fn settle(
    tx: &WriteTx<'_>,
    context: &Context,
    webhook: WebhookId,
    outcomes: &[DeliveryOutcome],
) -> Result<EndpointChange, StoreError> {
    // A place that did not read names no team.
    let named = outcomes.iter().map(|outcome| outcome.taken.team).find(|team| *team != TeamId::MIN);
    let team = named.unwrap_or(TeamId::MIN);
    // What does not read keeps no outcome from being written down: it would be made again without end.
    let what = format_args!("webhook {webhook} and how it fares");
    let endpoint = skip_corrupt(store::find(tx, team, webhook), what)?.flatten();
    let health = skip_corrupt(tx.get(&WEBHOOK_HEALTH, &(team, webhook)), what)?.flatten().unwrap_or_default();
    let now_ms = context.now_ms();
    let mut settling = Settling { tx, context, team, webhook, endpoint, health: health.clone(), now_ms };
    let mut standing = EndpointChange::Unchanged;
    for outcome in outcomes {
        if settling.settle(outcome)? == EndpointChange::Disabled {
            standing = EndpointChange::Disabled;
        }
    }
    // A row of an endpoint that has been deleted would stay for good.
    if settling.health != health && settling.endpoint.is_some() {
        tx.put(&WEBHOOK_HEALTH, &(team, webhook), &settling.health)?;
    }
    Ok(standing)
}

struct Settling<'a, 't> {
    tx: &'a WriteTx<'t>,
    context: &'a Context,
    team: TeamId,
    webhook: WebhookId,
    endpoint: Option<WebhookRow>,
    health: HealthRow,
    now_ms: TimestampMs,
}

impl Settling<'_, '_> {
    fn settle(&mut self, outcome: &DeliveryOutcome) -> Result<EndpointChange, StoreError> {
        let ClaimedDelivery { team, delivery, due_ms } = outcome.taken;
        let key = (team, self.webhook, delivery);
        let queue_key = store::queue_key(self.webhook, due_ms, delivery);
        let row = match &outcome.fate {
            DeliveryDisposition::Orphaned => None,
            DeliveryDisposition::Attempted { .. } | DeliveryDisposition::GivenUp(_) => {
                let row = self.tx.get(&WEBHOOK_DELIVERIES, &key);
                skip_corrupt(row, format_args!("webhook delivery {delivery}"))?.flatten()
            }
        };
        let Some(row) = row else {
            self.tx.delete(&WEBHOOK_QUEUE, &queue_key)?;
            return Ok(EndpointChange::Unchanged);
        };
        // Queued anew by a replay meanwhile, which has a place of its own: the request was made for all that.
        if row.state != (WebhookDeliveryState::Queued { due_ms }) {
            if let DeliveryDisposition::Attempted { attempt, answered, erasures } = &outcome.fate {
                let attempts = with_attempt(row.attempts, self.kept(attempt, *erasures));
                self.tx.put(&WEBHOOK_DELIVERIES, &key, &DeliveryRow { attempts, ..row })?;
                if answered.is_success() {
                    return self.apply_health(DeliveryResult::Delivered);
                }
            }
            return Ok(EndpointChange::Unchanged);
        }
        self.tx.delete(&WEBHOOK_QUEUE, &queue_key)?;
        let (row, end) = self.settled(row, &outcome.fate);
        store::put_queued(self.tx, key, &row)?;
        match end {
            Some(end) => self.apply_health(end),
            None => Ok(EndpointChange::Unchanged),
        }
    }

    /// Returns the row after its fate, and how the delivery ended when that says something of the
    /// endpoint.
    fn settled(&self, row: DeliveryRow, fate: &DeliveryDisposition) -> (DeliveryRow, Option<DeliveryResult>) {
        let at_ms = self.now_ms;
        let exhausted = |why| WebhookDeliveryState::Exhausted { at_ms, why };
        match fate {
            DeliveryDisposition::Attempted { attempt, answered, erasures } => {
                let attempts = with_attempt(row.attempts, self.kept(attempt, *erasures));
                let (state, counted, end) = match retry::decide(row.queued_ms, row.counted, *answered, at_ms) {
                    RetryDecision::Delivered => {
                        (WebhookDeliveryState::Delivered { at_ms }, row.counted, Some(DeliveryResult::Delivered))
                    }
                    RetryDecision::Retry { due_ms, counted } => {
                        (WebhookDeliveryState::Queued { due_ms }, counted, None)
                    }
                    RetryDecision::Exhausted(why) => (exhausted(why), row.counted, Some(DeliveryResult::Exhausted)),
                };
                (DeliveryRow { state, counted, attempts, ..row }, end)
            }
            DeliveryDisposition::GivenUp(why) => {
                // What was disabled or lost meanwhile says nothing of the endpoint, nor what was never tried.
                let is_in_vain = *why == ExhaustedReason::Expired && !row.attempts.is_empty();
                let end = is_in_vain.then_some(DeliveryResult::Exhausted);
                (DeliveryRow { state: exhausted(*why), ..row }, end)
            }
            DeliveryDisposition::Orphaned => (row, None),
        }
    }

    /// Returns an attempt as it is kept. An erasure goes through the answers once it has gone through the
    /// bodies. It finds those that are written down no later than the body they answer is changed; those
    /// that come after it meet the count here, on the writer's thread, where it is raised with the commit.
    fn kept(&self, attempt: &WebhookAttemptRow, erasures: u64) -> WebhookAttemptRow {
        let mut attempt = attempt.clone();
        if erasures != self.context.event_bus.erasure_generation() && !attempt.response.is_empty() {
            NOT_KEPT.clone_into(&mut attempt.response);
        }
        attempt
    }

    /// Draws the consequence of a delivery's end.
    fn apply_health(&mut self, end: DeliveryResult) -> Result<EndpointChange, StoreError> {
        let consequence = self.health.record(end, self.now_ms);
        let Some(endpoint) = &mut self.endpoint else { return Ok(EndpointChange::Unchanged) };
        if endpoint.status != WebhookStatus::Enabled {
            return Ok(EndpointChange::Unchanged);
        }
        let (webhook, url) = (self.webhook, endpoint.endpoint.clone());
        match consequence {
            HealthAction::Nothing => Ok(EndpointChange::Unchanged),
            HealthAction::Failing => {
                notices::record(self.tx, self.context, self.team, &Notice::WebhookFailing { webhook, endpoint: url })?;
                Ok(EndpointChange::Unchanged)
            }
            HealthAction::Disabled => {
                endpoint.status = WebhookStatus::AutoDisabled;
                self.tx.put(&WEBHOOKS, &(self.team, webhook), endpoint)?;
                events::unsubscribe(self.tx, self.team, webhook)?;
                notices::record(self.tx, self.context, self.team, &Notice::WebhookDisabled { webhook, endpoint: url })?;
                Ok(EndpointChange::Disabled)
            }
        }
    }
}

/// Returns the attempts with one more, without the oldest when there are too many.
fn with_attempt(mut attempts: Vec<WebhookAttemptRow>, attempt: WebhookAttemptRow) -> Vec<WebhookAttemptRow> {
    if attempts.len() >= ATTEMPTS_KEPT {
        attempts.remove(0);
    }
    attempts.push(attempt);
    attempts
}
