//! Transactions: typed get, scan, put and delete over redb. No redb type is public, so that another
//! ordered key-value engine can replace it.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::rc::Rc;

use redb::{ReadableDatabase, ReadableTable as _, TableError};
use tokio::sync::Semaphore;

use super::error::{StoreError, skip_corrupt};
use super::fields::RowFields;
use super::key::Key;
use super::queue::waiting;
use super::table::{Bytes, Table};
use super::value::{Blob, Encoded, Row, Value, after_version};

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
    bytes: &'a [u8],
    value: PhantomData<fn() -> V>,
}

impl<V: Value> Stored<'_, V> {
    /// Decodes the value.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub fn decode(&self) -> Result<V, StoreError> {
        V::from_bytes(self.bytes)
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
pub type Step = Result<ControlFlow<()>, StoreError>;

/// Continues a scan with the next row.
pub const NEXT: Step = Ok(ControlFlow::Continue(()));
/// Ends a scan.
pub const STOP: Step = Ok(ControlFlow::Break(()));

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
        visit: impl FnMut(K, Stored<'_, V>) -> Step,
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
        mut visit: impl FnMut(K, V) -> Step,
    ) -> Result<(), StoreError> {
        self.scan(table, from, to, order, |key, stored| match skip_corrupt(stored.decode(), row_name(table, &key))? {
            Some(row) => visit(key, row),
            None => NEXT,
        })
    }

    /// Returns the value under `key`; `None` if it does not exist, or if it is corrupt, which is logged.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    fn get_valid<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, StoreError> {
        Ok(skip_corrupt(self.get(table, key), row_name(table, key))?.flatten())
    }

    /// Returns whether there is a value under `key`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    fn contains<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError>;
}

/// Names a row in the log: its table, and its key in hexadecimal.
pub(super) fn row_name<K: Key, V>(table: &Table<K, V>, key: &K) -> impl Display {
    fmt::from_fn(move |f| {
        write!(f, "row {} ", table.name())?;
        key.to_bytes().as_ref().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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

    /// Opens a table; `None` if no row was ever written to it.
    fn open<K, V>(&self, table: &Table<K, V>) -> Result<Option<redb::ReadOnlyTable<Bytes, Bytes>>, StoreError> {
        match self.transaction.open_table(table.definition()) {
            Ok(open) => Ok(Some(open)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Reads for ReadTx {
    fn get<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, StoreError> {
        self.checked(self.open(table).and_then(|open| open.map_or(Ok(None), |open| get_in(&open, key))))
    }

    fn scan<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
        from: &K,
        to: &K,
        order: Order,
        visit: impl FnMut(K, Stored<'_, V>) -> Step,
    ) -> Result<(), StoreError> {
        let Some(open) = self.checked(self.open(table))? else { return Ok(()) };
        self.checked(scan_in(&open, from, to, order, visit))
    }

    fn contains<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError> {
        let Some(open) = self.checked(self.open(table))? else { return Ok(false) };
        self.checked(open.get(key.to_bytes().as_ref()).map(|found| found.is_some()).map_err(StoreError::from))
    }
}

type OpenTable<'t> = Rc<RefCell<redb::Table<'t, Bytes, Bytes>>>;

/// The write transaction of a group of commands.
///
/// Tables stay open for the whole group, because opening a table costs more than a put. The visitor of
/// a scan may read every table and write to every table except the scanned one.
pub struct WriteTx<'t> {
    transaction: &'t redb::WriteTransaction,
    open: RefCell<Vec<(&'static str, OpenTable<'t>)>>,
    writes: Cell<u64>,
    after_commit: RefCell<Vec<AfterCommit>>,
    /// Permits of the foreground queue.
    foreground: Option<&'t Semaphore>,
    /// Whether foreground commands are expected soon.
    expects_foreground: bool,
}

/// Callback that runs after the commit of a group.
pub(super) type AfterCommit = Box<dyn FnOnce()>;

impl<'t> WriteTx<'t> {
    pub(super) fn new(transaction: &'t redb::WriteTransaction) -> Self {
        Self {
            transaction,
            open: RefCell::new(Vec::with_capacity(16)),
            writes: Cell::new(0),
            after_commit: RefCell::default(),
            foreground: None,
            expects_foreground: false,
        }
    }

    /// Sets the permits of the foreground queue, which its commands hold until they are answered, and whether such commands
    /// are expected soon.
    pub(super) fn with_foreground(self, permits: &'t Semaphore, expects_foreground: bool) -> Self {
        Self { foreground: Some(permits), expects_foreground, ..self }
    }

    /// Returns the number of foreground commands that wait for this transaction or a later one; at least 1 if one is expected.
    /// Beside them, background work of many rows ends its transaction early.
    pub fn waiting_requests(&self) -> usize {
        self.foreground.map_or(0, waiting).max(self.expects_foreground.into())
    }

    /// Registers a callback, such as an in-memory notification. It runs on the writer thread after the
    /// commit and before the result of the command is sent. If the command fails, it does not run. It
    /// must not block. A kill can prevent it, so that nothing may depend on it.
    pub fn after_commit(&self, callback: impl FnOnce() + 'static) {
        self.after_commit.borrow_mut().push(Box::new(callback));
    }

    /// Returns the number of registered callbacks.
    pub(super) fn callbacks(&self) -> usize {
        self.after_commit.borrow().len()
    }

    /// Removes all callbacks except the first `count`.
    pub(super) fn truncate_callbacks(&self, count: usize) {
        self.after_commit.borrow_mut().truncate(count);
    }

    /// Removes and returns all callbacks.
    pub(super) fn take_callbacks(&self) -> Vec<AfterCommit> {
        self.after_commit.take()
    }

    /// Returns the number of puts and deletes so far, including failed ones.
    pub(super) fn writes(&self) -> u64 {
        self.writes.get()
    }

    fn table<K, V>(&self, table: &Table<K, V>) -> Result<OpenTable<'t>, StoreError> {
        let mut open = self.open.borrow_mut();
        if let Some((_, found)) = open.iter().find(|(name, _)| *name == table.name()) {
            return Ok(Rc::clone(found));
        }
        let opened = Rc::new(RefCell::new(self.transaction.open_table(table.definition())?));
        open.push((table.name(), Rc::clone(&opened)));
        Ok(opened)
    }

    /// Changes a table. Counts the change even if it fails.
    fn table_to_change<T>(
        &self,
        table: &Table<impl Sized, impl Sized>,
        change: impl FnOnce(&mut redb::Table<'t, Bytes, Bytes>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.writes.set(self.writes.get() + 1);
        let open = self.table(table)?;
        let mut open = open.try_borrow_mut().expect("no command writes to the table it is scanning");
        change(&mut open)
    }

    /// Stores `value` under `key`, and replaces an existing value.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn put<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K, value: &V) -> Result<(), StoreError> {
        self.put_bytes(table, key, &value.to_bytes())
    }

    /// Stores a value that was encoded before the transaction.
    ///
    /// # Errors
    /// As [`WriteTx::put`].
    pub fn put_encoded<K: Key, V>(&self, table: &Table<K, V>, key: &K, value: &Encoded<V>) -> Result<(), StoreError> {
        self.put_bytes(table, key, &value.bytes)
    }

    fn put_bytes<K: Key, V>(&self, table: &Table<K, V>, key: &K, value: &[u8]) -> Result<(), StoreError> {
        self.table_to_change(table, |open| {
            open.insert(key.to_bytes().as_ref(), value)?;
            Ok(())
        })
    }

    /// Deletes the value under `key`; returns whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn delete<K: Key, V>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError> {
        self.table_to_change(table, |open| Ok(open.remove(key.to_bytes().as_ref())?.is_some()))
    }

    /// Deletes up to `rows_max` rows whose keys are in `from..=to`; returns their number.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn delete_range<K: Key, V>(
        &self,
        table: &Table<K, V>,
        from: &K,
        to: &K,
        rows_max: usize,
    ) -> Result<usize, StoreError> {
        let (from, to) = (from.to_bytes(), to.to_bytes());
        if from.as_ref() > to.as_ref() {
            return Ok(0);
        }
        self.table_to_change(table, |open| {
            let mut removed = 0;
            let range = from.as_ref()..=to.as_ref();
            let mut rows = open.extract_from_if::<&[u8], _>(range, |_, _| true)?;
            while removed < rows_max {
                match rows.next() {
                    Some(row) => {
                        row?;
                        removed += 1;
                    }
                    None => break,
                }
            }
            Ok(removed)
        })
    }
}

impl Reads for WriteTx<'_> {
    fn get<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, StoreError> {
        get_in(&*self.table(table)?.borrow(), key)
    }

    fn scan<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
        from: &K,
        to: &K,
        order: Order,
        visit: impl FnMut(K, Stored<'_, V>) -> Step,
    ) -> Result<(), StoreError> {
        scan_in(&*self.table(table)?.borrow(), from, to, order, visit)
    }

    fn contains<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError> {
        Ok(self.table(table)?.borrow().get(key.to_bytes().as_ref())?.is_some())
    }
}

fn get_in<K: Key, V: Value>(table: &impl redb::ReadableTable<Bytes, Bytes>, key: &K) -> Result<Option<V>, StoreError> {
    match table.get(key.to_bytes().as_ref())? {
        Some(value) => V::from_bytes(value.value()).map(Some),
        None => Ok(None),
    }
}

fn scan_in<K: Key, V: Value>(
    table: &impl redb::ReadableTable<Bytes, Bytes>,
    from: &K,
    to: &K,
    order: Order,
    mut visit: impl FnMut(K, Stored<'_, V>) -> Step,
) -> Result<(), StoreError> {
    let (from, to) = (from.to_bytes(), to.to_bytes());
    if from.as_ref() > to.as_ref() {
        return Ok(());
    }
    let mut rows = table.range::<&[u8]>(from.as_ref()..=to.as_ref())?;
    loop {
        let row = match order {
            Order::Ascending => rows.next(),
            Order::Descending => rows.next_back(),
        };
        let Some(row) = row else { return Ok(()) };
        let (key, value) = row?;
        let key = K::from_bytes(key.value()).ok_or_else(|| StoreError::Corrupt("key has another length".into()))?;
        if visit(key, Stored { bytes: value.value(), value: PhantomData })?.is_break() {
            return Ok(());
        }
    }
}
