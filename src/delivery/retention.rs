//! Retention of receiving hosts.

use crate::base::clock::TimestampMs;
use crate::context::Context;
use crate::store::{NEXT, NameHash, Order, Reads, STOP, StoreError, WriteTx};
use crate::tables::RECEIVING_HOSTS;

/// Maximum number of rows scanned or deleted in one transaction.
const PAGE_ROWS: usize = 1_000;

const FIRST: NameHash = [0; 32];
const LAST: NameHash = [0xff; 32];

/// Deletes receiving hosts whose TLS history has expired, one page a transaction.
///
/// # Errors
/// [`StoreError`].
pub async fn purge(context: &Context) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    let mut from = Some(FIRST);
    while let Some(after) = from {
        let purge = move |tx: &WriteTx<'_>| purge_page(tx, after, now_ms);
        from = context.store.write_bulk::<_, StoreError>(purge).await?;
    }
    Ok(())
}

/// Deletes the old rows of one page. Returns the key at which the next page starts; `None` at the end. Skips corrupt
/// rows.
fn purge_page(tx: &WriteTx<'_>, from: NameHash, now_ms: TimestampMs) -> Result<Option<NameHash>, StoreError> {
    let (mut old, mut seen, mut last) = (Vec::new(), 0, None);
    tx.scan_valid(&RECEIVING_HOSTS, &(from,), &(LAST,), Order::Ascending, |(key,), row| {
        if row.is_expired(now_ms) {
            old.push(key);
        }
        (seen, last) = (seen + 1, Some(key));
        if seen == PAGE_ROWS { STOP } else { NEXT }
    })?;
    for key in old {
        tx.delete(&RECEIVING_HOSTS, &(key,))?;
    }
    Ok(last.filter(|last| seen == PAGE_ROWS && *last != from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::DAY_MS;
    use crate::delivery::ReceivingHostRow;

    fn key(number: u32) -> (NameHash,) {
        let mut key = FIRST;
        key[..4].copy_from_slice(&number.to_be_bytes());
        (key,)
    }

    fn host(tls_ms: TimestampMs) -> ReceivingHostRow {
        ReceivingHostRow { name: "mx".into(), tls_ms: Some(tls_ms), tls_failures: None, broken_tls_until_ms: None }
    }

    #[tokio::test]
    async fn old_rows_are_deleted_from_all_pages() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let total = u32::try_from(2 * PAGE_ROWS).unwrap() + 7;
        context
            .store
            .write::<_, StoreError>(move |tx| {
                for number in 0..total {
                    let at_ms = if number % 3 == 0 { now_ms } else { now_ms - 31 * DAY_MS };
                    tx.put(&RECEIVING_HOSTS, &key(number), &host(at_ms))?;
                }
                Ok(())
            })
            .await
            .unwrap();

        purge(&context).await.unwrap();

        let is_left =
            |number: u32| context.store.read_now::<_, StoreError>(|tx| tx.contains(&RECEIVING_HOSTS, &key(number)));
        for number in 0..total {
            assert_eq!(is_left(number).unwrap(), number % 3 == 0, "{number}");
        }
    }
}
