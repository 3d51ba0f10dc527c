//! Declarations of tables. No redb type is public.

use std::marker::PhantomData;

use redb::TableDefinition;

/// Keys and values of redb.
pub(super) type Bytes = &'static [u8];

/// A table: its name on disk and the types of its keys and values.
pub struct Table<K, V> {
    name: &'static str,
    /// Number of the list that shows the rows; 0 if no list with cursors does.
    list: u8,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Table<K, V> {
    /// Declares a table. All declarations are in `tables/mod.rs`.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, list: 0, types: PhantomData }
    }

    /// Declares a table whose rows a list with cursors shows. The number is stored with the cursors of deleted rows: no
    /// two tables share one, and it never changes.
    pub(crate) const fn listed(name: &'static str, list: u8) -> Self {
        assert!(list > 0, "0 stands for no list");
        Self { name, list, types: PhantomData }
    }

    /// Returns the number of the list that shows the rows; 0 if no list with cursors does.
    pub const fn list_number(&self) -> u8 {
        self.list
    }

    /// Returns the name of the table on disk.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// Returns the definition of the table of a name.
pub(super) const fn definition(name: &'static str) -> TableDefinition<'static, Bytes, Bytes> {
    TableDefinition::new(name)
}
