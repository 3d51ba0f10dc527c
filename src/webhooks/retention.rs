//! Retention: deletes old deliveries, event messages and expired previous secrets.

use super::store::{self, DeliveryRow, WebhookDeliveryState, WebhookRow};
use crate::base::clock::TimestampMs;
use crate::base::id::{EventId, Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::context::Context;
use crate::store::{ReadTx, Reads as _, StoreError, WriteTx, match_page};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};
use crate::{events, teams};

/// Deliveries of one transaction, each with up to sixteen responses.
const PAGE_ROWS: usize = 500;

/// Deletes deliveries and event messages from before `before_ms`. Keeps queued deliveries and their messages,
/// independent of their age.
pub async fn purge(context: &Context, before_ms: TimestampMs) -> Result<(), StoreError> {
    for team in context.store.read::<_, StoreError>(teams::list).await? {
        let team = team.id;
        let mut oldest_event = EventId::first_at(before_ms);
        for webhook in context.store.read::<_, StoreError>(move |tx| store::ids(tx, team)).await? {
            delete_expired_secret(context, team, webhook).await?;
            let until = WebhookDeliveryId::first_at(before_ms);
            oldest_event = oldest_event.min(purge_deliveries(context, (team, webhook), until).await?);
        }
        // Messages are stored in the order of events. The oldest with a queued delivery and all later ones are kept.
        events::purge_messages(context, team, oldest_event).await?;
    }
    Ok(())
}

/// Deletes the previous secret of an endpoint if it has expired.
async fn delete_expired_secret(context: &Context, team: TeamId, webhook: WebhookId) -> Result<(), StoreError> {
    let is_expired = |row: &WebhookRow, now_ms| row.previous.as_ref().is_some_and(|secret| secret.expires_ms <= now_ms);
    let now_ms = context.now_ms();
    let find = move |tx: &ReadTx| tx.get_valid(&WEBHOOKS, &(team, webhook));
    if !context.store.read::<_, StoreError>(find).await?.is_some_and(|row| is_expired(&row, now_ms)) {
        return Ok(());
    }
    let delete = move |tx: &WriteTx<'_>| match store::find(tx, team, webhook)? {
        Some(row) if is_expired(&row, now_ms) => {
            tx.put(&WEBHOOKS, &(team, webhook), &WebhookRow { previous: None, ..row })
        }
        _ => Ok(()),
    };
    context.store.write_bulk::<_, StoreError>(delete).await
}

/// Deletes the deliveries before `until` that are complete, corrupt or missing from the queue. Returns the oldest
/// event of a delivery that remains, or `EventId::MAX` if none remains.
async fn purge_deliveries(
    context: &Context,
    (team, webhook): (TeamId, WebhookId),
    until: WebhookDeliveryId,
) -> Result<EventId, StoreError> {
    let (mut after, mut oldest_event) = (Id::MIN, Id::MAX);
    loop {
        let now_ms = context.now_ms();
        let purge = move |tx: &WriteTx<'_>| purge_page(tx, (team, webhook), (after, until), now_ms);
        let PurgedPage { last, oldest_kept } = context.store.write_bulk::<_, StoreError>(purge).await?;
        oldest_event = oldest_event.min(oldest_kept);
        match last {
            Some(last) => after = last,
            None => return Ok(oldest_event),
        }
    }
}

/// Result of one page of deliveries.
struct PurgedPage {
    /// Last delivery of the page; `None` if there is no further page.
    last: Option<WebhookDeliveryId>,
    /// Oldest event of a delivery that was kept.
    oldest_kept: EventId,
}

fn purge_page(
    tx: &WriteTx<'_>,
    (team, webhook): (TeamId, WebhookId),
    (after, until): (WebhookDeliveryId, WebhookDeliveryId),
    now_ms: TimestampMs,
) -> Result<PurgedPage, StoreError> {
    let (after, to) = ((team, webhook, after), (team, webhook, until));
    let mut oldest_kept = EventId::MAX;
    let is_obsolete = |(_, _, id): (TeamId, WebhookId, WebhookDeliveryId), row: Option<DeliveryRow>| match row {
        Some(DeliveryRow { state: WebhookDeliveryState::Queued { due_ms }, event, .. })
            if tx.contains(&WEBHOOK_QUEUE, &store::queue_key(webhook, due_ms, id))? =>
        {
            oldest_kept = oldest_kept.min(event);
            Ok(false)
        }
        // A corrupt delivery, or one without a queue row, can never be sent.
        Some(_) | None => Ok(true),
    };
    let page = match_page(tx, &WEBHOOK_DELIVERIES, after, to, PAGE_ROWS, is_obsolete)?;
    for key in &page.hits {
        tx.delete_listed(&WEBHOOK_DELIVERIES, key, now_ms)?;
    }
    Ok(PurgedPage { last: page.next.map(|(_, _, id)| id), oldest_kept })
}
