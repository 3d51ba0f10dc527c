//! What is remembered of a receiving host: that its STARTTLS does not work.

use tracing::error;

use super::rows::ReceivingHostRow;
use crate::base::clock::DAY_MS;
use crate::context::Context;
use crate::store::{Reads as _, StoreError, name_hash};
use crate::tables::RECEIVING_HOSTS;

/// How long a broken STARTTLS is remembered.
const BROKEN_TLS_MS: i64 = 3 * DAY_MS;

/// Returns whether STARTTLS is better not tried with a host.
pub(super) async fn has_broken_tls(context: &Context, host: &str) -> bool {
    let (key, now_ms) = ((name_hash(host),), context.now_ms());
    let known = context.store.read::<_, StoreError>(move |tx| tx.get(&RECEIVING_HOSTS, &key)).await;
    match known {
        Ok(known) => known.is_some_and(|row| row.broken_tls_until_ms > now_ms),
        Err(error) => {
            error!(%error, "what is known of a receiving host could not be read: {error}");
            false
        }
    }
}

/// Remembers that the STARTTLS of a host does not work. Losing this costs one failed handshake.
pub(super) async fn remember_broken_tls(context: &Context, host: &str) {
    let key = (name_hash(host),);
    let row = ReceivingHostRow { name: host.to_owned(), broken_tls_until_ms: context.now_ms() + BROKEN_TLS_MS };
    let stored = context.store.write_bulk::<_, StoreError>(move |tx| tx.put(&RECEIVING_HOSTS, &key, &row)).await;
    if let Err(error) = stored {
        error!(%error, "a broken STARTTLS could not be remembered: {error}");
    }
}
