//! Taking addresses out of what endpoints answered.

use super::store::DeliveryRow;
use crate::base::address::AddressSet;
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::events::ERASED;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, WriteTx, skip_corrupt};
use crate::tables::WEBHOOK_DELIVERIES;

/// Where a delivery of a team lies.
pub(crate) type DeliveryPlace = (WebhookId, WebhookDeliveryId);

/// Reads up to `rows_max` deliveries of the team after a place; returns those with an answer that
/// mentions one of the addresses, and where the next page begins unless this is the last.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn delivery_page(
    tx: &impl Reads,
    team: TeamId,
    after: DeliveryPlace,
    addresses: &AddressSet,
    rows_max: usize,
) -> Result<(Vec<DeliveryPlace>, Option<DeliveryPlace>), StoreError> {
    let (mut hits, mut seen, mut next) = (Vec::new(), 0, None);
    let (from, to) = ((team, after.0, after.1), (team, Id::MAX, Id::MAX));
    tx.scan(&WEBHOOK_DELIVERIES, &from, &to, Order::Ascending, |(_, webhook, id), row| {
        let place = (webhook, id);
        if place == after {
            return NEXT;
        }
        let row = skip_corrupt(row.decode(), format_args!("delivery {id} to webhook {webhook}"))?;
        if row.is_some_and(|mut row| erase_row(&mut row, addresses)) {
            hits.push(place);
        }
        seen += 1;
        if seen < rows_max {
            return NEXT;
        }
        next = Some(place);
        STOP
    })?;
    Ok((hits, next))
}

/// Takes addresses out of the answers to a delivery.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn erase_delivery(
    tx: &WriteTx<'_>,
    team: TeamId,
    (webhook, id): DeliveryPlace,
    addresses: &AddressSet,
) -> Result<(), StoreError> {
    let key = (team, webhook, id);
    let Some(mut row) = tx.get(&WEBHOOK_DELIVERIES, &key)? else { return Ok(()) };
    if erase_row(&mut row, addresses) {
        tx.put(&WEBHOOK_DELIVERIES, &key, &row)?;
    }
    Ok(())
}

/// Returns whether there was anything to take out.
fn erase_row(row: &mut DeliveryRow, addresses: &AddressSet) -> bool {
    let mut found = false;
    for attempt in &mut row.attempts {
        if addresses.is_mentioned_in(&attempt.response) {
            ERASED.clone_into(&mut attempt.response);
            found = true;
        }
    }
    found
}
