//! Retention of destinations and receiving hosts.

use crate::base::clock::DAY_MS;
use crate::context::Context;
use crate::store::{NEXT, Order, Reads, STOP, StoreError};
use crate::tables::{DESTINATIONS, RECEIVING_HOSTS};

/// Retention of a destination after its last delivery.
const DESTINATION_MS: i64 = 30 * DAY_MS;
/// Maximum number of rows scanned or deleted in one transaction.
const PAGE_ROWS: usize = 1_000;
const FIRST: [u8; 32] = [0; 32];
const LAST: [u8; 32] = [0xff; 32];

/// Deletes destinations without a delivery in the last 30 days, one page a transaction. Then deletes
/// up to 1,000 receiving hosts whose broken STARTTLS has expired.
///
/// # Errors
/// [`StoreError`].
pub async fn purge(context: &Context) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    let mut from = Some(FIRST);
    while let Some(after) = from {
        from = context
            .store
            .write_bulk::<_, StoreError>(move |tx| {
                let (mut old, mut seen, mut last) = (Vec::new(), 0, None);
                tx.scan(&DESTINATIONS, &(after,), &(LAST,), Order::Ascending, |(key,), row| {
                    if row.decode()?.delivered_ms < now_ms - DESTINATION_MS {
                        old.push(key);
                    }
                    (seen, last) = (seen + 1, Some(key));
                    if seen == PAGE_ROWS { STOP } else { NEXT }
                })?;
                for key in old {
                    tx.delete(&DESTINATIONS, &(key,))?;
                }
                Ok(last.filter(|last| seen == PAGE_ROWS && *last != after))
            })
            .await?;
    }
    context
        .store
        .write_bulk::<_, StoreError>(move |tx| {
            let mut old = Vec::new();
            tx.scan(&RECEIVING_HOSTS, &(FIRST,), &(LAST,), Order::Ascending, |(key,), row| {
                if row.decode()?.broken_tls_until_ms < now_ms {
                    old.push(key);
                }
                if old.len() == PAGE_ROWS { STOP } else { NEXT }
            })?;
            for key in old {
                tx.delete(&RECEIVING_HOSTS, &(key,))?;
            }
            Ok(())
        })
        .await
}
