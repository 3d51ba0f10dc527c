//! Writing down what attempts came to: the deliveries, their places in the queue, how the endpoint
//! fares and what follows from it, in one transaction.

use super::page::Taken;
use crate::clock::TimestampMs;
use crate::context::Context;
use crate::events;
use crate::id::{TeamId, WebhookId};
use crate::notices::{self, Notice};
use crate::store::tables::{WEBHOOK_DELIVERIES, WEBHOOK_HEALTH, WEBHOOK_QUEUE, WEBHOOKS};
use crate::store::{Reads as _, StoreError, WriteTx, skip_corrupt};
use crate::webhooks::health::{Consequence, End};
use crate::webhooks::ladder::{self, Answered, Verdict};
use crate::webhooks::model::WebhookStatus;
use crate::webhooks::store::{self, AttemptRow, DeliveryRow, DeliveryState, Exhaustion, HealthRow, WebhookRow};

/// Attempts kept with a delivery: one whose endpoint answers 429 again and again has many.
const ATTEMPTS_KEPT: usize = 16;
/// What is kept of an answer to a body that an erasure may have changed since: it can quote what was
/// erased.
const NOT_KEPT: &str = "[erased]";

/// What became of a delivery.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) taken: Taken,
    pub(super) fate: Fate,
}

/// How a delivery left the hands of its lane.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    /// A request was made. Bodies had been erased `erasures` times when its own was read.
    Tried { attempt: AttemptRow, answered: Answered, erasures: u64 },
    /// It was given up untried.
    GivenUp(Exhaustion),
    /// Its place in the queue belongs to no delivery.
    Stray,
}

/// Whether anything more is sent to the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
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
    outcomes: &[Outcome],
) -> Result<Standing, StoreError> {
    // A place that did not read names no team.
    let named = outcomes.iter().map(|outcome| outcome.taken.team).find(|team| *team != TeamId::MIN);
    let team = named.unwrap_or(TeamId::MIN);
    // What does not read keeps no outcome from being written down: it would be made again without end.
    let what = format_args!("webhook {webhook} and how it fares");
    let endpoint = skip_corrupt(store::find(tx, team, webhook), what)?.flatten();
    let health = skip_corrupt(tx.get(&WEBHOOK_HEALTH, &(team, webhook)), what)?.flatten().unwrap_or_default();
    let now_ms = context.now_ms();
    let mut settling = Settling { tx, context, team, webhook, endpoint, health: health.clone(), now_ms };
    let mut standing = Standing::Unchanged;
    for outcome in outcomes {
        if settling.settle(outcome)? == Standing::Disabled {
            standing = Standing::Disabled;
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
    fn settle(&mut self, outcome: &Outcome) -> Result<Standing, StoreError> {
        let Taken { team, delivery, due_ms } = outcome.taken;
        let key = (team, self.webhook, delivery);
        let queue_key = store::queue_key(self.webhook, due_ms, delivery);
        let row = match &outcome.fate {
            Fate::Stray => None,
            Fate::Tried { .. } | Fate::GivenUp(_) => {
                let row = self.tx.get(&WEBHOOK_DELIVERIES, &key);
                skip_corrupt(row, format_args!("webhook delivery {delivery}"))?.flatten()
            }
        };
        let Some(row) = row else {
            self.tx.delete(&WEBHOOK_QUEUE, &queue_key)?;
            return Ok(Standing::Unchanged);
        };
        // Queued anew by a replay meanwhile, which has a place of its own: the request was made for all that.
        if row.state != (DeliveryState::Queued { due_ms }) {
            if let Fate::Tried { attempt, answered, erasures } = &outcome.fate {
                let attempts = with_attempt(row.attempts, self.kept(attempt, *erasures));
                self.tx.put(&WEBHOOK_DELIVERIES, &key, &DeliveryRow { attempts, ..row })?;
                if answered.is_success() {
                    return self.follow(End::Delivered);
                }
            }
            return Ok(Standing::Unchanged);
        }
        self.tx.delete(&WEBHOOK_QUEUE, &queue_key)?;
        let (row, end) = self.settled(row, &outcome.fate);
        store::put_queued(self.tx, key, &row)?;
        match end {
            Some(end) => self.follow(end),
            None => Ok(Standing::Unchanged),
        }
    }

    /// Returns the row after its fate, and how the delivery ended when that says something of the
    /// endpoint.
    fn settled(&self, row: DeliveryRow, fate: &Fate) -> (DeliveryRow, Option<End>) {
        let at_ms = self.now_ms;
        let exhausted = |why| DeliveryState::Exhausted { at_ms, why };
        match fate {
            Fate::Tried { attempt, answered, erasures } => {
                let attempts = with_attempt(row.attempts, self.kept(attempt, *erasures));
                let (state, counted, end) = match ladder::judge(row.queued_ms, row.counted, *answered, at_ms) {
                    Verdict::Delivered => (DeliveryState::Delivered { at_ms }, row.counted, Some(End::Delivered)),
                    Verdict::Again { due_ms, counted } => (DeliveryState::Queued { due_ms }, counted, None),
                    Verdict::Exhausted(why) => (exhausted(why), row.counted, Some(End::Exhausted)),
                };
                (DeliveryRow { state, counted, attempts, ..row }, end)
            }
            Fate::GivenUp(why) => {
                // What was disabled or lost meanwhile says nothing of the endpoint, nor what was never tried.
                let is_in_vain = *why == Exhaustion::Expired && !row.attempts.is_empty();
                let end = is_in_vain.then_some(End::Exhausted);
                (DeliveryRow { state: exhausted(*why), ..row }, end)
            }
            Fate::Stray => (row, None),
        }
    }

    /// Returns an attempt as it is kept. An erasure goes through the answers once it has gone through the
    /// bodies. It finds those that are written down no later than the body they answer is changed; those
    /// that come after it meet the count here, on the writer's thread, where it is raised with the commit.
    fn kept(&self, attempt: &AttemptRow, erasures: u64) -> AttemptRow {
        let mut attempt = attempt.clone();
        if erasures != self.context.announcer.erasures() && !attempt.response.is_empty() {
            NOT_KEPT.clone_into(&mut attempt.response);
        }
        attempt
    }

    /// Draws the consequence of a delivery's end.
    fn follow(&mut self, end: End) -> Result<Standing, StoreError> {
        let consequence = self.health.take(end, self.now_ms);
        let Some(endpoint) = &mut self.endpoint else { return Ok(Standing::Unchanged) };
        if endpoint.status != WebhookStatus::Enabled {
            return Ok(Standing::Unchanged);
        }
        let (webhook, url) = (self.webhook, endpoint.endpoint.clone());
        match consequence {
            Consequence::Nothing => Ok(Standing::Unchanged),
            Consequence::Failing => {
                notices::tell(self.tx, self.context, self.team, &Notice::WebhookFailing { webhook, endpoint: url })?;
                Ok(Standing::Unchanged)
            }
            Consequence::Disabled => {
                endpoint.status = WebhookStatus::AutoDisabled;
                self.tx.put(&WEBHOOKS, &(self.team, webhook), endpoint)?;
                events::unsubscribe(self.tx, self.team, webhook)?;
                notices::tell(self.tx, self.context, self.team, &Notice::WebhookDisabled { webhook, endpoint: url })?;
                Ok(Standing::Disabled)
            }
        }
    }
}

/// Returns the attempts with one more, without the oldest when there are too many.
fn with_attempt(mut attempts: Vec<AttemptRow>, attempt: AttemptRow) -> Vec<AttemptRow> {
    if attempts.len() >= ATTEMPTS_KEPT {
        attempts.remove(0);
    }
    attempts.push(attempt);
    attempts
}
