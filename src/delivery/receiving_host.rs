//! The stored state of receiving hosts: whether STARTTLS fails there.

use tracing::error;

use super::rows::ReceivingHostRow;
use crate::base::clock::DAY_MS;
use crate::context::Context;
use crate::store::{Reads as _, StoreError, name_hash};
use crate::tables::RECEIVING_HOSTS;

/// Time for which STARTTLS is not tried after a failure.
const BROKEN_TLS_MS: i64 = 3 * DAY_MS;

/// Returns whether STARTTLS failed with a host less than three days ago. Logs a store error and
/// returns `false`.
pub(super) async fn has_broken_tls(context: &Context, host: &str) -> bool {
    let (key, now_ms) = ((name_hash(host),), context.now_ms());
    let known = context.store.read::<_, StoreError>(move |tx| tx.get(&RECEIVING_HOSTS, &key)).await;
    match known {
        Ok(known) => known.is_some_and(|row| row.broken_tls_until_ms > now_ms),
        Err(error) => {
            error!(%error, "could not read the state of a receiving host: {error}");
            false
        }
    }
}

/// Stores that STARTTLS fails with a host. Logs a store error: the cost is one more failed handshake.
pub(super) async fn store_broken_tls(context: &Context, host: &str) {
    let key = (name_hash(host),);
    let row = ReceivingHostRow { name: host.to_owned(), broken_tls_until_ms: context.now_ms() + BROKEN_TLS_MS };
    let stored = context.store.write_bulk::<_, StoreError>(move |tx| tx.put(&RECEIVING_HOSTS, &key, &row)).await;
    if let Err(error) = stored {
        error!(%error, "could not store a broken STARTTLS: {error}");
    }
}
