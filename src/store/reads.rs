//! Reads: typed get and scan over redb, in read and in write transactions.
//!
//! A scan passes keys and values as bytes to its visitor. Its access to the engine is therefore compiled once for each
//! kind of transaction, and not for each visitor.

use std::cell::Cell;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ops::ControlFlow;

use redb::{ReadableDatabase, ReadableTable, TableError};

use super::error::{StoreError, log_corrupt, skip_corrupt};
use super::fields::RowFields;
use super::key::Key;
use super::table::{Bytes, Table, definition};
use super::value::{Blob, Row, Value, after_version};

/// Direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Lowest key first.
    Ascending,
    /// Highest key first: the newest row, for keys that end in an id.
    Descending,
}

/// A value that a scan has read and not decoded.
pub struct Stored<'a, V> {
    table: &'static str,
    key: &'a [u8],
    bytes: &'a [u8],
    value: PhantomData<fn() -> V>,
}

impl<'a, V> Stored<'a, V> {
    pub(super) fn new(table: &'static str, key: &'a [u8], bytes: &'a [u8]) -> Self {
        Self { table, key, bytes, value: PhantomData }
    }
}

impl<V: Value> Stored<'_, V> {
    /// Decodes the value.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub fn decode(&self) -> Result<V, StoreError> {
        V::from_bytes(self.bytes)
    }

    /// Decodes the value; `None` if it is corrupt, which is logged.
    pub fn valid(&self) -> Option<V> {
        self.decode().inspect_err(|failure| log_corrupt(self.name(), failure)).ok()
    }

    /// Names the row in the log.
    pub(super) fn name(&self) -> impl Display {
        row_name(self.table, self.key)
    }
}

impl<'a, V: Row> Stored<'a, V> {
    /// Returns the fields of the row without decoding it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the row is of another version.
    pub fn fields(&self) -> Result<RowFields<'a>, StoreError> {
        RowFields::of_map(after_version::<V>(self.bytes)?)
    }
}

impl<'a> Stored<'a, Blob> {
    /// Returns the bytes of a blob without copying them.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Result of visiting a row: whether the scan continues.
pub type ScanStep = Result<ControlFlow<()>, StoreError>;

/// Continues a scan with the next row.
pub const NEXT: ScanStep = Ok(ControlFlow::Continue(()));
/// Ends a scan.
pub const STOP: ScanStep = Ok(ControlFlow::Break(()));

/// Read operations of both transaction types.
pub trait Reads {
    /// Returns the value under `key`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read or the value is corrupt.
    fn get<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, StoreError>;

    /// Calls `visit` with the rows whose keys are in `from..=to`, until it stops.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read, a key is corrupt, or `visit` fails.
    fn scan<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
        from: &K,
        to: &K,
        order: Order,
        visit: impl FnMut(K, Stored<'_, V>) -> ScanStep,
    ) -> Result<(), StoreError>;

    /// Calls `visit` with the decoded rows whose keys are in `from..=to`, until it stops. Logs and skips a
    /// corrupt row, so that one of them does not end work over many.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read, a key is corrupt, or `visit` fails.
    fn scan_valid<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
        from: &K,
        to: &K,
        order: Order,
        mut visit: impl FnMut(K, V) -> ScanStep,
    ) -> Result<(), StoreError> {
        self.scan(table, from, to, order, |key, stored| stored.valid().map_or(NEXT, |row| visit(key, row)))
    }

    /// Calls `pick` with all rows whose keys are in `from..=to`, and returns the values that are not `None`. Use it where
    /// the number of rows has a bound. `pick` skips a corrupt row with [`Stored::valid`], or fails with [`Stored::decode`].
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read, a key is corrupt, or `pick` fails.
    fn collect<K: Key, V: Value, T>(
        &self,
        table: &Table<K, V>,
        (from, to): (K, K),
        order: Order,
        mut pick: impl FnMut(K, Stored<'_, V>) -> Result<Option<T>, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut picked = Vec::new();
        self.scan(table, &from, &to, order, |key, row| {
            picked.extend(pick(key, row)?);
            NEXT
        })?;
        Ok(picked)
    }

    /// Returns the first key in `from..=to`, in the given order; `None` if there is no row. Decodes no value.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read or the key is corrupt.
    fn first_key<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
        (from, to): (K, K),
        order: Order,
    ) -> Result<Option<K>, StoreError> {
        let mut first = None;
        self.scan(table, &from, &to, order, |key, _| {
            first = Some(key);
            STOP
        })?;
        Ok(first)
    }

    /// Returns the value under `key`; `None` if it does not exist, or if it is corrupt, which is logged.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    fn get_valid<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, StoreError> {
        Ok(skip_corrupt(self.get(table, key), row_name(table.name(), key.to_bytes().as_ref()))?.flatten())
    }

    /// Returns whether there is a value under `key`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    fn contains<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError>;

    /// Returns the keys of all rows of a table, in their order.
    #[cfg(test)]
    fn keys<K: Key, V>(&self, table: &Table<K, V>) -> Result<Vec<K>, StoreError>;

    /// Returns all rows of a table, in the order of their keys.
    #[cfg(test)]
    fn rows<K: Key, V: Value>(&self, table: &Table<K, V>) -> Result<Vec<(K, V)>, StoreError> {
        let keys = self.keys(table)?.into_iter();
        keys.map(|key| self.get(table, &key).map(|row| (key, row.unwrap()))).collect()
    }
}

/// Names a row in the log: its table, and its key in hexadecimal.
fn row_name(table: &'static str, key: &[u8]) -> impl Display {
    fmt::from_fn(move |f| {
        write!(f, "row {table} ")?;
        key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    })
}

/// A consistent view of the store as of one commit.
pub struct ReadTx {
    transaction: redb::ReadTransaction,
    /// Whether an access to the file failed.
    has_failed: Cell<bool>,
}

impl ReadTx {
    pub(super) fn begin(database: &impl ReadableDatabase) -> Result<Self, StoreError> {
        Ok(Self { transaction: database.begin_read()?, has_failed: Cell::new(false) })
    }

    /// Returns whether an access to the file failed, so that it must be opened again.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    /// Records a failure of the engine.
    fn checked<T>(&self, read: Result<T, StoreError>) -> Result<T, StoreError> {
        if read.as_ref().is_err_and(StoreError::is_io) {
            self.has_failed.set(true);
        }
        read
    }

    /// Opens the table of a name; `None` if no row was ever written to it.
    fn open(&self, table: &'static str) -> Result<Option<redb::ReadOnlyTable<Bytes, Bytes>>, StoreError> {
        let opened = match self.transaction.open_table(definition(table)) {
            Ok(open) => Ok(Some(open)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        };
        self.checked(opened)
    }
}

impl Reads for ReadTx {
    fn get<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, StoreError> {
        let Some(open) = self.open(table.name())? else { return Ok(None) };
        self.checked(get_in(&open, key))
    }

    fn scan<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
        from: &K,
        to: &K,
        order: Order,
        visit: impl FnMut(K, Stored<'_, V>) -> ScanStep,
    ) -> Result<(), StoreError> {
        let Some(open) = self.open(table.name())? else { return Ok(()) };
        self.checked(scan_in(table.name(), &open, from, to, order, visit))
    }

    fn contains<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError> {
        let Some(open) = self.open(table.name())? else { return Ok(false) };
        self.checked(open.get(key.to_bytes().as_ref()).map(|found| found.is_some()).map_err(StoreError::from))
    }

    #[cfg(test)]
    fn keys<K: Key, V>(&self, table: &Table<K, V>) -> Result<Vec<K>, StoreError> {
        let Some(open) = self.open(table.name())? else { return Ok(Vec::new()) };
        self.checked(keys_in(&open))
    }
}

/// Returns the value under `key` of an open table.
///
/// # Errors
/// As [`Reads::get`].
pub(super) fn get_in<K: Key, V: Value>(
    table: &impl ReadableTable<Bytes, Bytes>,
    key: &K,
) -> Result<Option<V>, StoreError> {
    match table.get(key.to_bytes().as_ref())? {
        Some(value) => V::from_bytes(value.value()).map(Some),
        None => Ok(None),
    }
}

/// Returns the keys of an open table, in their order.
#[cfg(test)]
pub(super) fn keys_in<K: Key>(table: &impl ReadableTable<Bytes, Bytes>) -> Result<Vec<K>, StoreError> {
    table.iter()?.map(|row| decode_key(row?.0.value())).collect()
}

/// Scans an open table.
///
/// # Errors
/// As [`Reads::scan`].
pub(super) fn scan_in<K: Key, V: Value>(
    table: &'static str,
    open: &impl ReadableTable<Bytes, Bytes>,
    from: &K,
    to: &K,
    order: Order,
    mut visit: impl FnMut(K, Stored<'_, V>) -> ScanStep,
) -> Result<(), StoreError> {
    let mut decode = |key: &[u8], bytes: &[u8]| visit(decode_key(key)?, Stored::new(table, key, bytes));
    scan_bytes(open, from.to_bytes().as_ref(), to.to_bytes().as_ref(), order, &mut decode)
}

fn decode_key<K: Key>(bytes: &[u8]) -> Result<K, StoreError> {
    K::from_bytes(bytes).ok_or_else(|| StoreError::Corrupt("key has another length".into()))
}

fn scan_bytes(
    table: &impl ReadableTable<Bytes, Bytes>,
    from: &[u8],
    to: &[u8],
    order: Order,
    visit: &mut dyn FnMut(&[u8], &[u8]) -> ScanStep,
) -> Result<(), StoreError> {
    if from > to {
        return Ok(());
    }
    let mut rows = table.range::<&[u8]>(from..=to)?;
    loop {
        let row = match order {
            Order::Ascending => rows.next(),
            Order::Descending => rows.next_back(),
        };
        let Some(row) = row else { return Ok(()) };
        let (key, value) = row?;
        if visit(key.value(), value.value())?.is_break() {
            return Ok(());
        }
    }
}
