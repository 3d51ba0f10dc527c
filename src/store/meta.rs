//! The store's own tables: the schema version and kind of the file, and its boot epoch.

use serde::{Deserialize, Serialize};

use super::StoreKind;
use super::key::{Key, KeyBytes};
use super::transaction::Table;
use super::value::Row;

/// The schema version and kind of the file. One row, written at creation and by migrations.
pub const META: Table<MetaKey, MetaRow> = Table::new("meta-1");
/// The boot epoch. One row, raised at every start.
pub const EPOCH: Table<MetaKey, EpochRow> = Table::new("epoch-1");

/// Names a row of the store's own tables. The numbers can never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaKey(u8);

impl MetaKey {
    /// The schema version and kind.
    pub const SCHEMA: Self = Self(0);
    /// The boot epoch.
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

/// The schema version and kind of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MetaRow {
    /// The schema the rows follow.
    pub schema: u32,
    /// Which command the file belongs to.
    pub kind: StoreKind,
}
impl Row for MetaRow {}

/// The boot epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EpochRow {
    /// How many times the store has been opened.
    pub epoch: u32,
}
impl Row for EpochRow {}
