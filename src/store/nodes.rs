//! Nodes: the processes that have opened the store. A lease names the node of its holder and ends with it.
//!
//! A node is one opening of the store by one process. While it holds leases, it renews one row, in which the end of all
//! its leases is explicit. [`is_alive`] decides by this row alone.
//!
//! The file admits one process at a time. Therefore an opening proves that every other node has ended, and deletes
//! their rows. The leases of a killed process end at the next start, without a wait. An engine that several processes
//! share keeps these rows, and the leases of a killed process end when its row expires.

use serde::{Deserialize, Serialize};

use super::StoreError;
use super::key::KeyPart;
use super::meta::NODES;
use super::reads::{NEXT, Order, Reads, STOP};
use super::transaction::WriteTx;
use super::value::Row;
use crate::base::clock::TimestampMs;

/// Time after its last renewal for which a node is alive.
const NODE_TTL_MS: i64 = 60_000;
/// Remaining time below which a node renews its row. With a renewal every 10 seconds, more than the 30 seconds are left
/// in which a shutdown finishes the deliveries.
const RENEW_BELOW_MS: i64 = 45_000;

/// A process that has opened the store: the boot epoch of the opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(u32);

impl NodeId {
    pub const MIN: Self = Self(u32::MIN);
    pub const MAX: Self = Self(u32::MAX);

    /// Returns the node of a boot epoch.
    pub(crate) const fn new(epoch: u32) -> Self {
        Self(epoch)
    }
}

impl KeyPart for NodeId {
    const WIDTH: usize = u32::WIDTH;

    fn write(&self, out: &mut [u8]) {
        self.0.write(out);
    }

    fn read(bytes: &[u8]) -> Self {
        Self(u32::read(bytes))
    }
}

/// A node that holds leases.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NodeRow {
    /// Time at which the node counts as ended, and its leases with it, unless it renews the row.
    pub expires_ms: TimestampMs,
}
impl Row for NodeRow {}

/// Returns whether a node has a row: one that has ended while it held leases, or shortly after.
pub(super) fn has_rows(tx: &impl Reads) -> Result<bool, StoreError> {
    Ok(tx.first_key(&NODES, ((NodeId::MIN,), (NodeId::MAX,)), Order::Ascending)?.is_some())
}

/// Records at an opening that every other node has ended.
pub(super) fn end_others(tx: &WriteTx<'_>) -> Result<(), StoreError> {
    tx.delete_range(&NODES, &(NodeId::MIN,), &(NodeId::MAX,), usize::MAX)?;
    Ok(())
}

/// Returns whether a node can still hold leases. Every use of a lease of another node asks this function.
pub fn is_alive(tx: &impl Reads, node: NodeId, now_ms: TimestampMs) -> Result<bool, StoreError> {
    Ok(tx.get_valid(&NODES, &(node,))?.is_some_and(|row| row.expires_ms > now_ms))
}

/// Returns whether any node except `own` can still hold leases.
pub fn has_other_alive(tx: &impl Reads, own: NodeId, now_ms: TimestampMs) -> Result<bool, StoreError> {
    let mut found = false;
    tx.scan_valid(&NODES, &(NodeId::MIN,), &(NodeId::MAX,), Order::Ascending, |(node,), row| {
        found = node != own && row.expires_ms > now_ms;
        if found { STOP } else { NEXT }
    })?;
    Ok(found)
}

/// Renews the row of a node if it expires soon. A transaction that stores a lease must call it, and so must the node
/// every 10 seconds while it holds leases.
pub fn renew(tx: &WriteTx<'_>, node: NodeId, now_ms: TimestampMs) -> Result<(), StoreError> {
    let left_ms = tx.get_valid(&NODES, &(node,))?.map(|row| row.expires_ms.saturating_sub(now_ms));
    // After the clock was set back, more than the whole time is left.
    if left_ms.is_some_and(|left_ms| (RENEW_BELOW_MS..=NODE_TTL_MS).contains(&left_ms)) {
        return Ok(());
    }
    tx.put(&NODES, &(node,), &NodeRow { expires_ms: now_ms.saturating_add(NODE_TTL_MS) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::store::{OpenOptions, Store, StoreKind};

    /// Renews a node, and returns the end that its row has then.
    async fn renewed(store: &Store, node: NodeId, now_ms: TimestampMs) -> TimestampMs {
        let renewing = move |tx: &WriteTx<'_>| {
            renew(tx, node, now_ms)?;
            Ok::<_, StoreError>(tx.get(&NODES, &(node,))?.expect("the node has a row").expires_ms)
        };
        store.write(renewing).await.unwrap()
    }

    fn is_alive_at(store: &Store, node: NodeId, now_ms: TimestampMs) -> bool {
        store.read_now(|tx| is_alive(tx, node, now_ms)).unwrap()
    }

    #[tokio::test]
    async fn a_node_is_alive_until_its_row_expires_and_renews_it_before() {
        let (_directory, context) = Context::temporary();
        let (store, node) = (&context.store, NodeId::new(7));
        assert!(!is_alive_at(store, node, 0));

        for (now_ms, expires_ms) in [
            (1_000, 61_000),
            // Most of the time is left, so that nothing is written.
            (16_000, 61_000),
            (16_001, 76_001),
            // The clock was set back.
            (2_000, 62_000),
        ] {
            assert_eq!(renewed(store, node, now_ms).await, expires_ms, "at {now_ms}");
        }

        assert!(is_alive_at(store, node, 61_999));
        assert!(!is_alive_at(store, node, 62_000));
    }

    #[tokio::test]
    async fn an_opening_ends_the_nodes_before_it() {
        let directory = tempfile::tempdir().unwrap();
        let options = OpenOptions { directory: directory.path().into(), kind: StoreKind::Dev, cache_bytes: 1 << 20 };
        let store = Store::open(&options).unwrap();
        let first = store.node();
        renewed(&store, first, 0).await;
        assert!(is_alive_at(&store, first, 0));
        store.close().await;

        let store = Store::open(&options).unwrap();

        assert!(!is_alive_at(&store, first, 0));
        assert_ne!(store.node(), first);
    }
}
