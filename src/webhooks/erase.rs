//! Erasure of addresses from the stored responses of endpoints.

use super::store::DeliveryRow;
use crate::base::address::{AddressSet, ERASED};
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::store::{MatchPage, Reads, StoreError, WriteTx, match_page};
use crate::tables::WEBHOOK_DELIVERIES;

/// Key of a delivery within its team.
pub(crate) type DeliveryKey = (WebhookId, WebhookDeliveryId);

/// Scans up to `rows_max` deliveries of the team after `after` for a response that contains an address.
pub(crate) fn match_deliveries(
    tx: &impl Reads,
    team: TeamId,
    (webhook, id): DeliveryKey,
    addresses: &AddressSet,
    rows_max: usize,
) -> Result<MatchPage<DeliveryKey>, StoreError> {
    let matches = |_, row: Option<DeliveryRow>| Ok(row.is_some_and(|mut row| erase_row(&mut row, addresses)));
    let page = match_page(tx, &WEBHOOK_DELIVERIES, (team, webhook, id), (team, Id::MAX, Id::MAX), rows_max, matches)?;
    Ok(page.map(|(_, webhook, id)| (webhook, id)))
}

/// Erases addresses from the responses to a delivery. A response that contains one becomes [`ERASED`] as
/// a whole.
pub(crate) fn erase_delivery(
    tx: &WriteTx<'_>,
    team: TeamId,
    (webhook, id): DeliveryKey,
    addresses: &AddressSet,
) -> Result<(), StoreError> {
    let key = (team, webhook, id);
    let Some(mut row) = tx.get_valid(&WEBHOOK_DELIVERIES, &key)? else { return Ok(()) };
    if erase_row(&mut row, addresses) {
        tx.put(&WEBHOOK_DELIVERIES, &key, &row)?;
    }
    Ok(())
}

/// Returns whether the row contained an address.
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
