//! How long deliveries are kept, and what they delivered.

use super::store::{self, DeliveryRow, WebhookDeliveryState, WebhookRow};
use crate::base::clock::TimestampMs;
use crate::base::id::{EventId, Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::context::Context;
use crate::store::{NEXT, Order, ReadTx, Reads as _, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};
use crate::{events, teams};

/// Deliveries looked at in one transaction, each with up to sixteen answers.
const PAGE_ROWS: usize = 500;

/// Removes deliveries, and bodies of events, from before `before_ms`. What waits to be delivered is
/// kept with its body, however old it is.
///
/// # Errors
/// [`StoreError`].
pub async fn purge(context: &Context, before_ms: TimestampMs) -> Result<(), StoreError> {
    for team in context.store.read::<_, StoreError>(teams::list).await? {
        let team = team.id;
        let mut wanted = EventId::first_at(before_ms);
        for webhook in context.store.read::<_, StoreError>(move |tx| store::ids(tx, team)).await? {
            forget_previous_secret(context, team, webhook).await?;
            let until = WebhookDeliveryId::first_at(before_ms);
            wanted = wanted.min(purge_deliveries(context, (team, webhook), until).await?);
        }
        // Bodies lie in the order of their events: from the oldest that is wanted on, all are kept.
        events::purge_messages(context, team, wanted).await?;
    }
    Ok(())
}

/// Forgets the secret before the present one once it signs nothing any more.
async fn forget_previous_secret(context: &Context, team: TeamId, webhook: WebhookId) -> Result<(), StoreError> {
    let is_spent = |row: &WebhookRow, now_ms| row.previous.as_ref().is_some_and(|secret| secret.expires_ms <= now_ms);
    let now_ms = context.now_ms();
    let find = move |tx: &ReadTx| skip_corrupt(store::find(tx, team, webhook), format_args!("webhook {webhook}"));
    if !context.store.read(find).await?.flatten().is_some_and(|row| is_spent(&row, now_ms)) {
        return Ok(());
    }
    let forget = move |tx: &WriteTx<'_>| match store::find(tx, team, webhook)? {
        Some(row) if is_spent(&row, now_ms) => {
            tx.put(&WEBHOOKS, &(team, webhook), &WebhookRow { previous: None, ..row })
        }
        _ => Ok(()),
    };
    context.store.write_bulk::<_, StoreError>(forget).await
}

/// Removes the deliveries to an endpoint before `until` that have come to an end; returns the oldest
/// event that one of the others is about, or the highest id there can be.
async fn purge_deliveries(
    context: &Context,
    (team, webhook): (TeamId, WebhookId),
    until: WebhookDeliveryId,
) -> Result<EventId, StoreError> {
    let (mut after, mut wanted) = (Id::MIN, Id::MAX);
    loop {
        let purge = move |tx: &WriteTx<'_>| purge_page(tx, (team, webhook), (after, until));
        let PurgedPage { last, oldest_wanted } = context.store.write_bulk::<_, StoreError>(purge).await?;
        wanted = wanted.min(oldest_wanted);
        match last {
            Some(last) => after = last,
            None => return Ok(wanted),
        }
    }
}

/// What became of a page of deliveries.
struct PurgedPage {
    /// Where the next page begins; none at the end.
    last: Option<WebhookDeliveryId>,
    /// The oldest event that a delivery which was kept is about.
    oldest_wanted: EventId,
}

fn purge_page(
    tx: &WriteTx<'_>,
    (team, webhook): (TeamId, WebhookId),
    (after, until): (WebhookDeliveryId, WebhookDeliveryId),
) -> Result<PurgedPage, StoreError> {
    let mut page = PurgedPage { last: None, oldest_wanted: Id::MAX };
    let (mut ended, mut seen) = (Vec::new(), 0);
    let (from, to) = ((team, webhook, after), (team, webhook, until));
    tx.scan(&WEBHOOK_DELIVERIES, &from, &to, Order::Ascending, |(_, _, id), row| {
        if id == after {
            return NEXT;
        }
        let row = skip_corrupt::<DeliveryRow>(row.decode(), format_args!("delivery {id} to webhook {webhook}"))?;
        match row {
            Some(DeliveryRow { state: WebhookDeliveryState::Queued { due_ms }, event, .. })
                if tx.contains(&WEBHOOK_QUEUE, &store::queue_key(webhook, due_ms, id))? =>
            {
                page.oldest_wanted = page.oldest_wanted.min(event);
            }
            // What does not read can never be delivered, nor what has no place in the queue: it goes as what
            // has ended does, and keeps no body.
            Some(_) | None => ended.push(id),
        }
        seen += 1;
        if seen < PAGE_ROWS {
            return NEXT;
        }
        page.last = Some(id);
        STOP
    })?;
    for id in ended {
        tx.delete(&WEBHOOK_DELIVERIES, &(team, webhook, id))?;
    }
    Ok(page)
}
