//! From the outbox of events to the queues of endpoints.

use std::collections::{BTreeSet, HashMap};

use crate::base::id::{TeamId, WebhookId};
use crate::context::Context;
use crate::events::{self, OutboxEntry};
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::WEBHOOKS;
use crate::webhooks::store::{self, DeliveryRow, ExhaustedReason, WebhookDeliveryState};

/// How much is queued in one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchSize {
    /// As much as an accept can wait for: somebody can take it up.
    Full,
    /// So little that no accept notices: nobody can take it up yet.
    Small,
}

impl BatchSize {
    /// Returns the deliveries of a step, about.
    const fn deliveries_max(self) -> usize {
        match self {
            Self::Full => 1_000,
            Self::Small => 125,
        }
    }
}

/// Bytes that a step writes, about: the writer takes it alone, so that no accept waits for two.
const STEP_BYTES: usize = 1 << 20;

/// What a step brought.
#[derive(Debug)]
pub(super) struct FanOutResult {
    /// The endpoints that something was queued for.
    pub(super) webhooks: BTreeSet<WebhookId>,
    /// Every endpoint of the teams that had a turn: what is behind in their outbox may be for any of them.
    pub(super) subscribers: BTreeSet<WebhookId>,
    /// The team that had its turn last.
    pub(super) last: TeamId,
    /// Whether the outbox is empty.
    pub(super) is_all: bool,
}

/// Queues a delivery for each endpoint that hears of the oldest events in the outbox, of the team after
/// `last_team` and of those after it.
pub(super) async fn fan_out_batch(
    context: &Context,
    last: TeamId,
    stride: BatchSize,
) -> Result<FanOutResult, StoreError> {
    let fanning = context.clone();
    context.store.write_bulk_sized(STEP_BYTES, move |tx| fan_out(tx, &fanning, last, stride)).await
}

fn fan_out(tx: &WriteTx<'_>, context: &Context, last: TeamId, stride: BatchSize) -> Result<FanOutResult, StoreError> {
    let departed = events::take_batch(tx, last, stride.deliveries_max())?;
    let (mut webhooks, mut present) = (BTreeSet::new(), HashMap::new());
    let teams: BTreeSet<TeamId> = departed.events.iter().map(|outgoing| outgoing.team).collect();
    for team in teams {
        present.extend(events::enabled_endpoints(tx, team)?);
    }
    for OutboxEntry { team, event, row } in departed.events {
        for (webhook, term) in row.endpoints {
            let hears = present.get(&webhook) == Some(&term);
            if !hears && !tx.contains(&WEBHOOKS, &(team, webhook))? {
                // It has been deleted.
                continue;
            }
            let state = if hears {
                webhooks.insert(webhook);
                WebhookDeliveryState::Queued { due_ms: row.queued_ms }
            } else {
                WebhookDeliveryState::Exhausted { at_ms: context.now_ms(), why: ExhaustedReason::Disabled }
            };
            let delivery = DeliveryRow {
                event,
                event_type: row.event_type,
                at_ms: row.at_ms,
                queued_ms: row.queued_ms,
                activation: term,
                state,
                counted: 0,
                attempts: Vec::new(),
            };
            store::put_queued(tx, (team, webhook, context.id()), &delivery)?;
        }
    }
    Ok(FanOutResult {
        webhooks,
        subscribers: present.into_keys().collect(),
        last: departed.last_team,
        is_all: departed.is_outbox_empty,
    })
}
