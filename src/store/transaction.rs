//! Transactions: typed get, scan, put and delete over the engine. The engine is redb; none of its
//! types leave this folder, so that another ordered key-value engine can stand behind the same
//! two types.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::rc::Rc;

use redb::{ReadableDatabase, ReadableTable as _, TableDefinition, TableError};

use super::error::{StoreError, skip_corrupt};
use super::fields::RowFields;
use super::key::Key;
use super::value::{Blob, Encoded, Row, Value, after_version};

type Bytes = &'static [u8];

/// A table: its name on disk and the types of its keys and values.
pub struct Table<K, V> {
    name: &'static str,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Table<K, V> {
    /// Declares a table. Every declaration stands in `tables.rs`.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, types: PhantomData }
    }

    /// Returns the table's name on disk.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    fn definition(&self) -> TableDefinition<'static, Bytes, Bytes> {
        TableDefinition::new(self.name)
    }
}

/// Which end of a range a scan begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Lowest key first.
    Ascending,
    /// Highest key first: the newest, for keys that end in an id.
    Descending,
}

/// A value a scan has reached and not yet decoded.
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
    /// Reads the row's fields without decoding it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the row is of another version.
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

/// What a scan does after a row.
pub type Step = Result<ControlFlow<()>, StoreError>;

/// Goes on to the next row of a scan.
pub const NEXT: Step = Ok(ControlFlow::Continue(()));
/// Ends a scan.
pub const STOP: Step = Ok(ControlFlow::Break(()));

/// Reading, which both kinds of transaction can do.
pub trait Reads {
    /// Returns the value under `key`.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be read or the value is corrupt.
    fn get<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, StoreError>;

    /// Calls `visit` with the rows whose keys lie in `from..=to`, until it stops.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be read, a key is corrupt, or `visit` fails.
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

    /// Returns the value under `key`; `None` if there is none or it is corrupt, which is logged.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    fn get_valid<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, StoreError> {
        Ok(skip_corrupt(self.get(table, key), row_name(table, key))?.flatten())
    }

    /// Returns whether there is a value under `key`.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be read.
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
}

impl ReadTx {
    pub(super) fn begin(database: &impl ReadableDatabase) -> Result<Self, StoreError> {
        Ok(Self { transaction: database.begin_read()? })
    }

    /// Opens a table; `None` when nothing was ever written to it.
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
        let Some(open) = self.open(table)? else { return Ok(None) };
        get_in(&open, key)
    }

    fn scan<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
        from: &K,
        to: &K,
        order: Order,
        visit: impl FnMut(K, Stored<'_, V>) -> Step,
    ) -> Result<(), StoreError> {
        let Some(open) = self.open(table)? else { return Ok(()) };
        scan_in(&open, from, to, order, visit)
    }

    fn contains<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError> {
        let Some(open) = self.open(table)? else { return Ok(false) };
        Ok(open.get(key.to_bytes().as_ref())?.is_some())
    }
}

type OpenTable<'t> = Rc<RefCell<redb::Table<'t, Bytes, Bytes>>>;

/// The one write transaction, shared by the commands of a group.
///
/// Tables stay open for the whole group: opening one costs more than a put. While a scan runs, its
/// visitor may read every table and write every other one.
pub struct WriteTx<'t> {
    transaction: &'t redb::WriteTransaction,
    open: RefCell<Vec<(&'static str, OpenTable<'t>)>>,
    writes: Cell<u64>,
    after_commit: RefCell<Vec<AfterCommit>>,
}

/// What is done once the group has been committed.
pub(super) type AfterCommit = Box<dyn FnOnce()>;

impl<'t> WriteTx<'t> {
    pub(super) fn new(transaction: &'t redb::WriteTransaction) -> Self {
        Self {
            transaction,
            open: RefCell::new(Vec::with_capacity(16)),
            writes: Cell::new(0),
            after_commit: RefCell::default(),
        }
    }

    /// Has something done on the writer's thread once the commit is durable, before the command is
    /// answered: telling those who wait in memory. It is forgotten when the command fails. It may not
    /// block, and nothing may depend on it: a kill can come between the commit and it.
    pub fn after_commit(&self, act: impl FnOnce() + 'static) {
        self.after_commit.borrow_mut().push(Box::new(act));
    }

    /// Returns how much is to be done after the commit: the mark of a command.
    pub(super) fn acts(&self) -> usize {
        self.after_commit.borrow().len()
    }

    /// Forgets what commands after the mark wanted done.
    pub(super) fn forget_acts(&self, mark: usize) {
        self.after_commit.borrow_mut().truncate(mark);
    }

    /// Takes what is to be done after the commit.
    pub(super) fn take_acts(&self) -> Vec<AfterCommit> {
        self.after_commit.take()
    }

    /// Returns how many puts and deletes have been made: the mark of a command that failed late.
    pub(super) fn writes(&self) -> u64 {
        self.writes.get()
    }

    fn table<K, V>(&self, table: &Table<K, V>) -> Result<OpenTable<'t>, StoreError> {
        let mut open = self.open.borrow_mut();
        if let Some((_, found)) = open.iter().find(|(name, _)| *name == table.name) {
            return Ok(Rc::clone(found));
        }
        let opened = Rc::new(RefCell::new(self.transaction.open_table(table.definition())?));
        open.push((table.name, Rc::clone(&opened)));
        Ok(opened)
    }

    /// Opens a table for a change, which is counted whether or not it succeeds.
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

    /// Stores `value` under `key`, in place of what was there.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be written.
    pub fn put<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K, value: &V) -> Result<(), StoreError> {
        self.put_bytes(table, key, &value.to_bytes())
    }

    /// Stores a value that was encoded ahead of the transaction.
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

    /// Removes what is under `key`; returns whether there was anything.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be written.
    pub fn delete<K: Key, V>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError> {
        self.table_to_change(table, |open| Ok(open.remove(key.to_bytes().as_ref())?.is_some()))
    }

    /// Removes up to `rows_max` rows whose keys lie in `from..=to`; returns how many there were.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be written.
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
