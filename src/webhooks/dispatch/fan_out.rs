//! From the outbox of events to the queues of endpoints.

use std::collections::{BTreeSet, HashMap};

use crate::context::Context;
use crate::events::{self, Outgoing, Term};
use crate::id::{TeamId, WebhookId};
use crate::store::{Reads, StoreError, WriteTx, skip_corrupt};
use crate::webhooks::model::WebhookStatus;
use crate::webhooks::store::{self, DeliveryRow, DeliveryState, Exhaustion};

/// How much is queued in one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stride {
    /// As much as an accept can wait for: somebody can take it up.
    Brisk,
    /// So little that no accept notices: nobody can take it up yet.
    Leisurely,
}

impl Stride {
    /// Returns the deliveries of a step, about.
    const fn deliveries_max(self) -> usize {
        match self {
            Self::Brisk => 1_000,
            Self::Leisurely => 125,
        }
    }
}

/// Bytes that a step writes, about: the writer takes it alone, so that no accept waits for two.
const STEP_BYTES: usize = 1 << 20;

/// What a step brought.
#[derive(Debug)]
pub(super) struct FannedOut {
    /// The endpoints that something was queued for.
    pub(super) webhooks: BTreeSet<WebhookId>,
    /// Every endpoint of the teams that had a turn: what is behind in their outbox may be for any of them.
    pub(super) listeners: BTreeSet<WebhookId>,
    /// The team that had its turn last.
    pub(super) last: TeamId,
    /// Whether the outbox is empty.
    pub(super) is_all: bool,
}

/// Queues a delivery for each endpoint that hears of the oldest events in the outbox, of the team after
/// `last` and of those after it.
pub(super) async fn step(context: &Context, last: TeamId, stride: Stride) -> Result<FannedOut, StoreError> {
    let fanning = context.clone();
    context.store.write_bulk_sized(STEP_BYTES, move |tx| fan_out(tx, &fanning, last, stride)).await
}

fn fan_out(tx: &WriteTx<'_>, context: &Context, last: TeamId, stride: Stride) -> Result<FannedOut, StoreError> {
    let departed = events::take_outgoing(tx, last, stride.deliveries_max())?;
    let (mut webhooks, mut listeners) = (BTreeSet::new(), BTreeSet::new());
    let teams: BTreeSet<TeamId> = departed.events.iter().map(|outgoing| outgoing.team).collect();
    for team in teams {
        listeners.extend(events::listeners(tx, team)?);
    }
    let mut known = HashMap::new();
    for Outgoing { team, event, row } in departed.events {
        for (webhook, term) in row.endpoints {
            let hears = match hearing(tx, &mut known, (team, webhook))? {
                Hearing::Gone => continue,
                Hearing::Nothing => false,
                Hearing::Term(present) => present == term,
                Hearing::Unknown => true,
            };
            let state = if hears {
                webhooks.insert(webhook);
                DeliveryState::Queued { due_ms: row.queued_ms }
            } else {
                DeliveryState::Exhausted { at_ms: context.now_ms(), why: Exhaustion::Disabled }
            };
            let delivery = DeliveryRow {
                event,
                event_type: row.event_type,
                at_ms: row.at_ms,
                queued_ms: row.queued_ms,
                term,
                state,
                counted: 0,
                attempts: Vec::new(),
            };
            store::put_queued(tx, (team, webhook, context.id()), &delivery)?;
        }
    }
    Ok(FannedOut { webhooks, listeners, last: departed.last, is_all: departed.is_all })
}

/// What an endpoint hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hearing {
    /// What happens in its present term.
    Term(Term),
    /// Nothing: it is disabled.
    Nothing,
    /// Nobody can tell: its row does not read. What is queued for it waits for somebody to mend it.
    Unknown,
    /// It has been deleted.
    Gone,
}

fn hearing(
    tx: &impl Reads,
    known: &mut HashMap<WebhookId, Hearing>,
    (team, webhook): (TeamId, WebhookId),
) -> Result<Hearing, StoreError> {
    if let Some(hearing) = known.get(&webhook) {
        return Ok(*hearing);
    }
    let hearing = match skip_corrupt(store::find(tx, team, webhook), format_args!("webhook {webhook}"))? {
        Some(Some(row)) if row.status == WebhookStatus::Enabled => Hearing::Term(row.term),
        Some(Some(_)) => Hearing::Nothing,
        Some(None) => Hearing::Gone,
        None => Hearing::Unknown,
    };
    known.insert(webhook, hearing);
    Ok(hearing)
}
