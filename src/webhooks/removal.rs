//! Deliveries of endpoints that were deleted: a bounded part goes with the endpoint, the rest by a
//! worker. Nobody reads them in between, because every reader asks for the endpoint first.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::service::Webhooks;
use super::store::{self, QueueRow};
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, delete_orphans, skip_corrupt};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};
use crate::workers::after_each;

/// Rows of each table removed in one commit: some milliseconds.
pub(super) const ROWS_PER_COMMIT: usize = 500;

impl Webhooks {
    /// Removes what is left of deleted endpoints, at the start and whenever one leaves something.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        after_each(&self.deleted, stop, || self.remove_remains()).await
    }

    async fn remove_remains(&self) -> Result<(), StoreError> {
        delete_orphans(&self.context.store, &WEBHOOK_DELIVERIES, &WEBHOOKS, remove_rows).await?;
        let mut passed = None;
        loop {
            match self.context.store.read(move |tx| first_orphan_in_queue(tx, passed)).await? {
                Some(OrphanInQueue::Endpoint(team, webhook)) => {
                    self.remove_all(team, webhook).await?;
                    passed = Some(webhook);
                }
                Some(OrphanInQueue::Unreadable(place)) => {
                    let remove = move |tx: &WriteTx<'_>| tx.delete(&WEBHOOK_QUEUE, &place);
                    self.context.store.write_bulk::<_, StoreError>(remove).await?;
                }
                None => return Ok(()),
            }
        }
    }

    async fn remove_all(&self, team: TeamId, webhook: WebhookId) -> Result<(), StoreError> {
        let remove = move |tx: &WriteTx<'_>| remove_rows(tx, team, webhook);
        while self.context.store.write_bulk::<_, StoreError>(remove).await? {}
        Ok(())
    }
}

/// Removes up to [`ROWS_PER_COMMIT`] deliveries of an endpoint and places of its queue; returns whether
/// any may be left.
///
/// # Errors
/// [`StoreError`].
pub(super) fn remove_rows(tx: &WriteTx<'_>, team: TeamId, webhook: WebhookId) -> Result<bool, StoreError> {
    let (from, to) = ((webhook, 0, Id::MIN), (webhook, u64::MAX, Id::MAX));
    let queued = tx.delete_range(&WEBHOOK_QUEUE, &from, &to, ROWS_PER_COMMIT)?;
    let (from, to) = ((team, webhook, Id::MIN), (team, webhook, Id::MAX));
    let deliveries = tx.delete_range(&WEBHOOK_DELIVERIES, &from, &to, ROWS_PER_COMMIT)?;
    Ok(queued.max(deliveries) == ROWS_PER_COMMIT)
}

/// What a place in the queue is left of.
enum OrphanInQueue {
    /// An endpoint that is gone.
    Endpoint(TeamId, WebhookId),
    /// Nobody can tell: it does not read.
    Unreadable((WebhookId, u64, WebhookDeliveryId)),
}

/// Returns the first endpoint after `after` that has places in the queue and no row. The cost is a seek
/// for each endpoint that is passed over.
fn first_orphan_in_queue(tx: &impl Reads, after: Option<WebhookId>) -> Result<Option<OrphanInQueue>, StoreError> {
    let mut passed = after;
    loop {
        let from = passed.map_or((Id::MIN, 0, Id::MIN), |webhook| (webhook, u64::MAX, Id::MAX));
        let mut found = None;
        tx.scan(&WEBHOOK_QUEUE, &from, &(Id::MAX, u64::MAX, Id::MAX), Order::Ascending, |place, row| {
            let (webhook, due_ms, id) = place;
            if Some(webhook) == passed {
                return NEXT;
            }
            let what = format_args!("the place of delivery {id} to webhook {webhook}, due at {due_ms}");
            let row = skip_corrupt(row.decode(), what)?;
            let team = match row {
                Some(QueueRow { team, queued_ms: _ }) => Some(team),
                None => store::owner(tx, webhook)?,
            };
            found = Some(match team {
                Some(team) => OrphanInQueue::Endpoint(team, webhook),
                None => OrphanInQueue::Unreadable(place),
            });
            STOP
        })?;
        match found {
            Some(OrphanInQueue::Endpoint(team, webhook)) if tx.contains(&WEBHOOKS, &(team, webhook))? => {
                passed = Some(webhook);
            }
            found => return Ok(found),
        }
    }
}
