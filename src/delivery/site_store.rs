//! The stored throttles of sites, so that they survive a restart.
//!
//! A row is written in the transaction of the outcome that changes it. If the process is killed before that commit, the
//! next message gets the same reply. It is read with the first lookup of a site.

use tracing::error;

use super::rows::SiteRow;
use crate::context::Context;
use crate::store::{Reads as _, StoreError, WriteTx, name_hash};
use crate::tables::SITES;

/// Returns the stored throttle of a site; `None` if it has no row. Logs a store error.
pub(super) async fn stored_site(context: &Context, site: &str) -> Option<SiteRow> {
    let key = (name_hash(site),);
    let stored = context.store.read::<_, StoreError>(move |tx| tx.get_valid(&SITES, &key)).await;
    stored.unwrap_or_else(|error| {
        error!(%error, "could not read the throttle of a site: {error}");
        None
    })
}

/// Stores the throttle of a site.
pub(super) fn put_site(tx: &WriteTx<'_>, row: &SiteRow) -> Result<(), StoreError> {
    tx.put(&SITES, &(name_hash(&row.name),), row)
}
