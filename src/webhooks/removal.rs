//! Deletes the deliveries of deleted endpoints: a bounded number with the endpoint, the rest in a worker. No
//! reader finds them in between, because every reader checks the endpoint first.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::service::Webhooks;
use super::store::{self, QueueRow};
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, delete_orphans};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};
use crate::workers::repeat;

/// Rows of each table that one commit deletes, in some milliseconds.
pub(super) const ROWS_PER_COMMIT: usize = 500;

impl Webhooks {
    /// Deletes the rest of deleted endpoints, at the start and after each deletion that leaves rows.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<(), StoreError> {
        repeat(stop, || self.delete_all_orphans(), || self.deleted.notified()).await
    }

    pub(super) async fn delete_all_orphans(&self) -> Result<(), StoreError> {
        delete_orphans(&self.context.store, &WEBHOOK_DELIVERIES, &WEBHOOKS, delete_rows).await?;
        let mut after = None;
        loop {
            match self.context.store.read(move |tx| first_orphan_in_queue(tx, after)).await? {
                Some(OrphanInQueue::Endpoint(team, webhook)) => {
                    self.delete_rows(team, webhook).await?;
                    after = Some(webhook);
                }
                Some(OrphanInQueue::Corrupt(key)) => {
                    let delete = move |tx: &WriteTx<'_>| tx.delete(&WEBHOOK_QUEUE, &key);
                    self.context.store.write_bulk::<_, StoreError>(delete).await?;
                }
                None => return Ok(()),
            }
        }
    }

    async fn delete_rows(&self, team: TeamId, webhook: WebhookId) -> Result<(), StoreError> {
        let delete = move |tx: &WriteTx<'_>| delete_rows(tx, team, webhook);
        while self.context.store.write_bulk::<_, StoreError>(delete).await? {}
        Ok(())
    }
}

/// Deletes up to [`ROWS_PER_COMMIT`] deliveries and as many queue rows of an endpoint. Returns whether more may be
/// left.
pub(super) fn delete_rows(tx: &WriteTx<'_>, team: TeamId, webhook: WebhookId) -> Result<bool, StoreError> {
    let (from, to) = ((webhook, 0, Id::MIN), (webhook, u64::MAX, Id::MAX));
    let queued = tx.delete_range(&WEBHOOK_QUEUE, &from, &to, ROWS_PER_COMMIT)?;
    let (from, to) = ((team, webhook, Id::MIN), (team, webhook, Id::MAX));
    let deliveries = tx.delete_range(&WEBHOOK_DELIVERIES, &from, &to, ROWS_PER_COMMIT)?;
    Ok(queued.max(deliveries) == ROWS_PER_COMMIT)
}

/// Owner of a queue row without an endpoint.
enum OrphanInQueue {
    /// A deleted endpoint.
    Endpoint(TeamId, WebhookId),
    /// Unknown, because the row is corrupt; the key of the row.
    Corrupt((WebhookId, u64, WebhookDeliveryId)),
}

/// Returns the first queue row after those of `after` that has no endpoint. Costs one seek for each endpoint that is
/// skipped.
fn first_orphan_in_queue(tx: &impl Reads, after: Option<WebhookId>) -> Result<Option<OrphanInQueue>, StoreError> {
    let mut last = after;
    loop {
        let from = last.map_or((Id::MIN, 0, Id::MIN), |webhook| (webhook, u64::MAX, Id::MAX));
        let mut found = None;
        tx.scan(&WEBHOOK_QUEUE, &from, &(Id::MAX, u64::MAX, Id::MAX), Order::Ascending, |key, row| {
            let (webhook, ..) = key;
            if Some(webhook) == last {
                return NEXT;
            }
            let team = match row.valid() {
                Some(QueueRow { team, queued_ms: _ }) => Some(team),
                None => store::owner(tx, webhook)?,
            };
            found = Some(match team {
                Some(team) => OrphanInQueue::Endpoint(team, webhook),
                None => OrphanInQueue::Corrupt(key),
            });
            STOP
        })?;
        match found {
            Some(OrphanInQueue::Endpoint(team, webhook)) if tx.contains(&WEBHOOKS, &(team, webhook))? => {
                last = Some(webhook);
            }
            found => return Ok(found),
        }
    }
}
