//! Retention of destinations and receiving hosts.

use crate::base::clock::DAY_MS;
use crate::context::Context;
use crate::store::{NEXT, NameHash, Order, Reads, Row, STOP, StoreError, Table, WriteTx};
use crate::tables::{DESTINATIONS, RECEIVING_HOSTS};

/// Retention of a destination after its last delivery.
const DESTINATION_MS: i64 = 30 * DAY_MS;
/// Maximum number of rows scanned or deleted in one transaction.
const PAGE_ROWS: usize = 1_000;

const FIRST: NameHash = [0; 32];
const LAST: NameHash = [0xff; 32];

/// Deletes destinations without a delivery in the last 30 days, and receiving hosts whose TLS history has expired, one
/// page a transaction.
///
/// # Errors
/// [`StoreError`].
pub async fn purge(context: &Context) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    purge_table(context, &DESTINATIONS, move |row| row.delivered_ms < now_ms - DESTINATION_MS).await?;
    purge_table(context, &RECEIVING_HOSTS, move |row| row.is_expired(now_ms)).await
}

async fn purge_table<R: Row>(
    context: &Context,
    table: &'static Table<(NameHash,), R>,
    is_old: impl Fn(&R) -> bool + Copy + Send + 'static,
) -> Result<(), StoreError> {
    let mut from = Some(FIRST);
    while let Some(after) = from {
        let purge = move |tx: &WriteTx<'_>| purge_page(tx, table, after, is_old);
        from = context.store.write_bulk::<_, StoreError>(purge).await?;
    }
    Ok(())
}

/// Deletes the old rows of one page. Returns the key at which the next page starts; `None` at the end. Skips corrupt
/// rows.
fn purge_page<R: Row>(
    tx: &WriteTx<'_>,
    table: &Table<(NameHash,), R>,
    from: NameHash,
    is_old: impl Fn(&R) -> bool,
) -> Result<Option<NameHash>, StoreError> {
    let (mut old, mut seen, mut last) = (Vec::new(), 0, None);
    tx.scan_valid(table, &(from,), &(LAST,), Order::Ascending, |(key,), row| {
        if is_old(&row) {
            old.push(key);
        }
        (seen, last) = (seen + 1, Some(key));
        if seen == PAGE_ROWS { STOP } else { NEXT }
    })?;
    for key in old {
        tx.delete(table, &(key,))?;
    }
    Ok(last.filter(|last| seen == PAGE_ROWS && *last != from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::TimestampMs;
    use crate::delivery::{DestinationRow, ReceivingHostRow};

    fn key(number: u32) -> (NameHash,) {
        let mut key = FIRST;
        key[..4].copy_from_slice(&number.to_be_bytes());
        (key,)
    }

    fn host(tls_ms: TimestampMs) -> ReceivingHostRow {
        ReceivingHostRow { name: "mx".into(), tls_ms: Some(tls_ms), tls_failures: None, broken_tls_until_ms: None }
    }

    #[tokio::test]
    async fn old_rows_are_deleted_from_all_pages_of_both_tables() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let total = u32::try_from(2 * PAGE_ROWS).unwrap() + 7;
        context
            .store
            .write::<_, StoreError>(move |tx| {
                for number in 0..total {
                    let at_ms = if number % 3 == 0 { now_ms } else { now_ms - 31 * DAY_MS };
                    tx.put(&RECEIVING_HOSTS, &key(number), &host(at_ms))?;
                    tx.put(&DESTINATIONS, &key(number), &DestinationRow { name: "x".into(), delivered_ms: at_ms })?;
                }
                Ok(())
            })
            .await
            .unwrap();

        purge(&context).await.unwrap();

        let left = |number: u32| {
            context.store.read_now::<_, StoreError>(|tx| {
                Ok((tx.contains(&RECEIVING_HOSTS, &key(number))?, tx.contains(&DESTINATIONS, &key(number))?))
            })
        };
        for number in 0..total {
            assert_eq!(left(number).unwrap(), (number % 3 == 0, number % 3 == 0), "{number}");
        }
    }
}
