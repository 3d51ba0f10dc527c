//! Tables of the store itself: the schema version and kind of the file, and its boot epoch.

use serde::{Deserialize, Serialize};

use super::cursors::LIST_KEY_BYTES;
use super::key::{Key, KeyBytes};
use super::nodes::{NodeId, NodeRow};
use super::table::Table;
use super::value::Row;

/// Schema version and kind of the file. One row, written at creation and by migrations.
pub const META: Table<MetaKey, MetaRow> = Table::new("meta-1");
/// Boot epoch, and the number of its last commit. One row, written at each opening and by each commit.
pub const EPOCH: Table<MetaKey, EpochRow> = Table::new("epoch-1");
/// Nodes that hold leases, each with the time until which it is alive. Written by `nodes.rs` while the node holds leases.
/// One row for each node, deleted at an opening after its end.
pub const NODES: Table<(NodeId,), NodeRow> = Table::new("nodes-1");

/// Keys of deleted rows of lists, which stay valid cursors. The key has the UTC day of the deletion, the number of the
/// list, and the key of the row padded with zeros. Written with the deletion. One row for each deleted row, deleted
/// after one to two days.
pub const DELETED_CURSORS: Table<(u32, u8, [u8; LIST_KEY_BYTES]), ()> = Table::new("deleted_cursors-1");

/// Command that a store belongs to. The other command refuses to open it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// `ringmail serve`: real email.
    Serve,
    /// `ringmail dev`: development and tests.
    Dev,
}

impl std::fmt::Display for StoreKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Serve => "serve",
            Self::Dev => "dev",
        })
    }
}

/// Key of a row in the tables of the store. The numbers on disk must never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaKey(u8);

impl MetaKey {
    /// Key of the row in [`META`].
    pub const SCHEMA: Self = Self(0);
    /// Key of the row in [`EPOCH`].
    pub const EPOCH: Self = Self(1);
}

impl Key for MetaKey {
    fn to_bytes(&self) -> KeyBytes {
        (self.0,).to_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        <(u8,)>::from_bytes(bytes).map(|(number,)| Self(number))
    }
}

/// Schema version and kind of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MetaRow {
    /// Schema version of the rows.
    pub schema: u32,
    /// Command that the file belongs to.
    pub kind: StoreKind,
}
impl Row for MetaRow {}

/// Boot epoch, and the check of the master key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EpochRow {
    /// Number of times the store has been opened.
    pub epoch: u32,
    /// Value that is derived from the master key; `None` until the first opening with a key. Another key gives another
    /// value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_check: Option<[u8; 32]>,
    /// Number of the last commit since the epoch began. Each commit of commands writes it.
    #[serde(default)]
    pub commit: u64,
}
impl Row for EpochRow {}
