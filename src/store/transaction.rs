//! Write transactions: typed put and delete over redb. No redb type is public, so that another ordered key-value engine
//! can replace it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use redb::{ReadableTable as _, ReadableTableMetadata as _};
use tokio::sync::Semaphore;

use super::error::StoreError;
use super::key::Key;
use super::queue::waiting;
use super::reads::{Order, Reads, ScanStep, Stored, get_in, scan_in};
use super::table::{Bytes, Table, definition};
use super::value::{Encoded, Value};

/// Divisor of the size of a page while requests wait.
const AWAITED_PART: usize = 8;
/// Number of items of a page for each request that waits.
const ITEMS_PER_REQUEST: usize = 4;

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

    /// Returns the number of items of a page of a bulk command. It is `items_max`, or fewer while requests wait for
    /// this transaction or are expected, because their answers follow its commit. The lower number is an eighth, or
    /// four items for each request if that is more. A deletion is therefore not slower than the requests that store.
    pub fn page_items(&self, items_max: usize) -> usize {
        match self.waiting_requests() {
            0 => items_max,
            waiting => items_max.div_ceil(AWAITED_PART).max(ITEMS_PER_REQUEST * waiting).min(items_max),
        }
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

    /// Opens the table of a name, or returns the open one.
    fn table(&self, table: &'static str) -> Result<OpenTable<'t>, StoreError> {
        let mut open = self.open.borrow_mut();
        if let Some((_, found)) = open.iter().find(|(name, _)| *name == table) {
            return Ok(Rc::clone(found));
        }
        let opened = Rc::new(RefCell::new(self.transaction.open_table(definition(table))?));
        open.push((table, Rc::clone(&opened)));
        Ok(opened)
    }

    /// Changes the table of a name. Counts the change even if it fails.
    fn table_to_change<T>(
        &self,
        table: &'static str,
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
        self.put_bytes(table.name(), key.to_bytes().as_ref(), &value.to_bytes())
    }

    /// Stores a value that was encoded before the transaction.
    ///
    /// # Errors
    /// As [`WriteTx::put`].
    pub fn put_encoded<K: Key, V>(&self, table: &Table<K, V>, key: &K, value: &Encoded<V>) -> Result<(), StoreError> {
        self.put_bytes(table.name(), key.to_bytes().as_ref(), &value.bytes)
    }

    fn put_bytes(&self, table: &'static str, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.table_to_change(table, |open| {
            open.insert(key, value)?;
            Ok(())
        })
    }

    /// Deletes the value under `key`; returns whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn delete<K: Key, V>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError> {
        self.delete_bytes(table.name(), key.to_bytes().as_ref())
    }

    fn delete_bytes(&self, table: &'static str, key: &[u8]) -> Result<bool, StoreError> {
        self.table_to_change(table, |open| Ok(open.remove(key)?.is_some()))
    }

    /// Deletes the value under `key` and returns it: `None` without a row, its bytes if it is corrupt, which is logged.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn take<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
        key: &K,
    ) -> Result<Option<Result<V, Vec<u8>>>, StoreError> {
        let key = key.to_bytes();
        self.table_to_change(table.name(), |open| {
            let Some(removed) = open.remove(key.as_ref())? else { return Ok(None) };
            let value = Stored::<V>::new(table.name(), key.as_ref(), removed.value()).valid();
            Ok(Some(value.ok_or_else(|| removed.value().to_vec())))
        })
    }

    /// Returns the number of rows of a table. Costs one read, because this engine stores the number.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn row_count<K, V>(&self, table: &Table<K, V>) -> Result<u64, StoreError> {
        Ok(self.table(table.name())?.borrow().len()?)
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
        self.delete_bytes_range(table.name(), from.to_bytes().as_ref(), to.to_bytes().as_ref(), rows_max)
    }

    fn delete_bytes_range(
        &self,
        table: &'static str,
        from: &[u8],
        to: &[u8],
        rows_max: usize,
    ) -> Result<usize, StoreError> {
        if from > to {
            return Ok(0);
        }
        self.table_to_change(table, |open| {
            let mut removed = 0;
            let mut rows = open.extract_from_if::<&[u8], _>(from..=to, |_, _| true)?;
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
        get_in(&*self.table(table.name())?.borrow(), key)
    }

    fn scan<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
        from: &K,
        to: &K,
        order: Order,
        visit: impl FnMut(K, Stored<'_, V>) -> ScanStep,
    ) -> Result<(), StoreError> {
        scan_in(table.name(), &*self.table(table.name())?.borrow(), from, to, order, visit)
    }

    fn contains<K: Key, V: Value>(&self, table: &Table<K, V>, key: &K) -> Result<bool, StoreError> {
        Ok(self.table(table.name())?.borrow().get(key.to_bytes().as_ref())?.is_some())
    }

    #[cfg(test)]
    fn keys<K: Key, V>(&self, table: &Table<K, V>) -> Result<Vec<K>, StoreError> {
        super::reads::keys_in(&*self.table(table.name())?.borrow())
    }
}
