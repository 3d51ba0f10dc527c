//! Fan-out: moves events from the outbox to the delivery queues of their endpoints.
//!
//! `LaneCapacity` limits it. While no enabled endpoint of the teams in the batch has free capacity, batches are small
//! and have pauses between them. Other commands then get the writer.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::dispatcher::RECONCILE_EVERY;
use super::lane::LaneContext;
use crate::base::id::{TeamId, WebhookId};
use crate::context::Context;
use crate::events::{self, OutboxEntry};
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::WEBHOOKS;
use crate::webhooks::store::{self, DeliveryRow, ExhaustedReason, WebhookDeliveryState};

/// Bytes that a batch writes, about. The writer commits a batch alone, so that no accept waits for two.
const BATCH_BYTES: usize = 1 << 20;
/// Pause between batches while every enabled endpoint of their teams is saturated.
const SATURATED_PAUSE: Duration = Duration::from_millis(50);

/// Number of deliveries of one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchSize {
    /// 1,000 deliveries: the longest commit that accepts can wait for.
    Full,
    /// 125 deliveries: a commit short enough not to delay accepts. Used while all endpoints are saturated.
    Small,
}

impl BatchSize {
    /// Returns the number of deliveries, about: the last event may exceed it.
    const fn deliveries_max(self) -> usize {
        match self {
            Self::Full => 1_000,
            Self::Small => 125,
        }
    }
}

/// Result of a batch.
#[derive(Debug)]
pub(super) struct FanOutResult {
    /// Endpoints with new deliveries.
    pub(super) webhooks: BTreeSet<WebhookId>,
    /// All enabled endpoints of the teams in the batch: their later events can be for any of them.
    pub(super) subscribers: BTreeSet<WebhookId>,
    /// Last team of the batch. The next batch starts with the team after it.
    pub(super) last_team: TeamId,
    pub(super) is_outbox_empty: bool,
}

/// Moves events to the delivery queues until the stop. Runs without pause while any enabled endpoint of their teams
/// has free capacity.
///
/// # Errors
/// [`StoreError`] if the outbox cannot be read or a batch cannot be stored.
pub(super) async fn run(lanes: &LaneContext, stop: CancellationToken) -> Result<(), StoreError> {
    let run = async {
        let (mut last_team, mut size) = (TeamId::MIN, BatchSize::Full);
        loop {
            let result = fan_out_batch(&lanes.context, last_team, size).await?;
            last_team = result.last_team;
            let is_saturated = !result.subscribers.is_empty() && lanes.capacity.free(&result.subscribers) == 0;
            lanes.notifier.deliveries_queued(result.webhooks);
            // Under a low rate of events, the outbox is empty after every batch, and the pause gathers events.
            let has_capacity = !is_saturated || lanes.capacity.freed().notified_within(SATURATED_PAUSE).await;
            size = if has_capacity { BatchSize::Full } else { BatchSize::Small };
            if result.is_outbox_empty {
                lanes.context.event_bus.outbox().notified_within(RECONCILE_EVERY).await;
            }
        }
    };
    stop.run_until_cancelled(run).await.unwrap_or(Ok(()))
}

/// Queues a delivery for each subscribed endpoint of the oldest events in the outbox, round-robin over the teams
/// from the one after `last_team`.
pub(super) async fn fan_out_batch(
    context: &Context,
    last_team: TeamId,
    size: BatchSize,
) -> Result<FanOutResult, StoreError> {
    let writing = context.clone();
    context.store.write_bulk_sized(BATCH_BYTES, move |tx| fan_out(tx, &writing, last_team, size)).await
}

fn fan_out(
    tx: &WriteTx<'_>,
    context: &Context,
    last_team: TeamId,
    size: BatchSize,
) -> Result<FanOutResult, StoreError> {
    let batch = events::take_batch(tx, last_team, size.deliveries_max())?;
    let (mut webhooks, mut enabled) = (BTreeSet::new(), HashMap::new());
    let teams: BTreeSet<TeamId> = batch.events.iter().map(|entry| entry.team).collect();
    for team in teams {
        enabled.extend(events::enabled_endpoints(tx, team)?);
    }
    for OutboxEntry { team, event, row } in batch.events {
        for (webhook, activation) in row.endpoints {
            let is_enabled = enabled.get(&webhook) == Some(&activation);
            let is_deleted = !is_enabled && !tx.contains(&WEBHOOKS, &(team, webhook))?;
            if is_deleted {
                continue;
            }
            let state = if is_enabled {
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
                activation,
                state,
                counted: 0,
                attempts: Vec::new(),
            };
            store::put_queued(tx, (team, webhook, context.id()), &delivery)?;
        }
    }
    Ok(FanOutResult {
        webhooks,
        subscribers: enabled.into_keys().collect(),
        last_team: batch.last_team,
        is_outbox_empty: batch.is_outbox_empty,
    })
}
