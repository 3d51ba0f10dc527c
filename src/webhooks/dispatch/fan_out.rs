//! From the outbox of events to the queues of endpoints.

use std::collections::{BTreeSet, HashMap};

use crate::context::Context;
use crate::events::{self, Outgoing};
use crate::id::{TeamId, WebhookId};
use crate::store::{Reads, StoreError, WriteTx};
use crate::webhooks::model::WebhookStatus;
use crate::webhooks::store::{self, DeliveryRow, DeliveryState, Exhaustion};

/// Deliveries queued in one commit, about.
const DELIVERIES_MAX: usize = 1_000;

/// Bytes that a step writes, about: the writer takes it alone, so that no accept waits for two.
const STEP_BYTES: usize = 1 << 20;

/// What a step brought.
#[derive(Debug)]
pub(super) struct FannedOut {
    /// The endpoints that something was queued for.
    pub(super) webhooks: BTreeSet<WebhookId>,
    /// Events taken out of the outbox; none left when this is 0.
    pub(super) events: usize,
    /// The team that had its turn last.
    pub(super) last: TeamId,
}

/// Queues a delivery for each endpoint that hears of the oldest events in the outbox, of the team after
/// `last` and of those after it.
pub(super) async fn step(context: &Context, last: TeamId) -> Result<FannedOut, StoreError> {
    let fanning = context.clone();
    context.store.write_bulk_sized(STEP_BYTES, move |tx| fan_out(tx, &fanning, last)).await
}

fn fan_out(tx: &WriteTx<'_>, context: &Context, last: TeamId) -> Result<FannedOut, StoreError> {
    let taken = events::take_outgoing(tx, last, DELIVERIES_MAX)?;
    let mut fanned = FannedOut { webhooks: BTreeSet::new(), events: taken.events.len(), last: taken.last };
    let mut known = HashMap::new();
    for Outgoing { team, event, row } in taken.events {
        for webhook in row.endpoints {
            let Some(status) = status(tx, &mut known, (team, webhook))? else { continue };
            let state = match status {
                WebhookStatus::Enabled => {
                    fanned.webhooks.insert(webhook);
                    DeliveryState::Queued { due_ms: row.queued_ms }
                }
                WebhookStatus::Disabled | WebhookStatus::AutoDisabled => {
                    DeliveryState::Exhausted { at_ms: context.now_ms(), why: Exhaustion::Disabled }
                }
            };
            let delivery = DeliveryRow {
                event,
                event_type: row.event_type,
                at_ms: row.at_ms,
                queued_ms: row.queued_ms,
                state,
                counted: 0,
                attempts: Vec::new(),
            };
            store::put_queued(tx, (team, webhook, context.id()), &delivery)?;
        }
    }
    Ok(fanned)
}

/// Returns the status of an endpoint; none of one that is gone.
fn status(
    tx: &impl Reads,
    known: &mut HashMap<WebhookId, Option<WebhookStatus>>,
    (team, webhook): (TeamId, WebhookId),
) -> Result<Option<WebhookStatus>, StoreError> {
    if let Some(status) = known.get(&webhook) {
        return Ok(*status);
    }
    let status = store::find(tx, team, webhook)?.map(|row| row.status);
    known.insert(webhook, status);
    Ok(status)
}
