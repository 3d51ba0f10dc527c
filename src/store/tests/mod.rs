//! Tests of the store: commands, rejected commands, failing disks and kills.
//!
//! Reading order:
//! - `disk.rs`: a simulated disk that records operations, fails and loses power;
//! - `commands.rs`: one command;
//! - `queues.rs`: many commands;
//! - `model.rs`: random commands;
//! - `crash.rs`: kills at every operation;
//! - `failures.rs`: a failing disk;
//! - `match_pages.rs`, `pages.rs`, `opening.rs`, `migrating.rs`, `fixture/`.

mod commands;
mod crash;
pub(crate) mod disk;
mod failures;
mod fixture;
mod match_pages;
mod migrating;
mod model;
mod opening;
mod pages;
mod queues;

use std::future::Future;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};

use tempfile::TempDir;

use super::*;
use crate::base::sync;

/// Error of a command in these tests.
#[derive(Debug)]
enum TestError {
    Refused,
    Store(StoreError),
}

from_store_error!(TestError);

type TestResult<T = ()> = Result<T, TestError>;

const LEFT: Table<(u64,), Blob> = Table::new("left-1");
const RIGHT: Table<(u16, u64), Blob> = Table::new("right-1");

fn blob(text: &str) -> Blob {
    Blob(text.as_bytes().to_vec())
}

fn options(directory: &Path) -> OpenOptions {
    OpenOptions { directory: directory.into(), kind: StoreKind::Dev, cache_bytes: 4 << 20 }
}

/// Opens a store in a temporary directory.
fn fresh() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&options(directory.path())).unwrap();
    (directory, store)
}

/// Returns the keys of [`LEFT`], lowest first.
fn left_keys(store: &Store) -> Vec<u64> {
    read_left_keys(store).unwrap()
}

fn read_left_keys(store: &Store) -> Result<Vec<u64>, StoreError> {
    store.read_now(|tx| {
        let mut keys = Vec::new();
        tx.scan(&LEFT, &(0,), &(u64::MAX,), Order::Ascending, |(key,), _| {
            keys.push(key);
            NEXT
        })?;
        Ok(keys)
    })
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = TestResult<T>> + 'a>>;

/// Returns a call that has not been polled. The call has no Tokio budget: with it, a test that polls
/// hundreds of calls would get `Pending` where a separate task would not.
fn call<'a, T>(call: impl Future<Output = TestResult<T>> + 'a) -> Answer<'a, T> {
    Box::pin(tokio::task::unconstrained(call))
}

/// Polls a call once, so that its command is queued, or waits for a permit, in the order of the test.
fn queued<'a, T>(unpolled: impl Future<Output = TestResult<T>> + 'a) -> Answer<'a, T> {
    let mut call = call(unpolled);
    assert!(is_pending(&mut call), "a call returns before its commit");
    call
}

fn is_pending<T>(call: &mut (impl Future<Output = T> + Unpin)) -> bool {
    matches!(pin!(call).poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

/// The writer thread, blocked inside a command. Later commands are applied in later groups.
struct BlockedWriter<'a> {
    open: mpsc::Sender<()>,
    answer: Answer<'a, ()>,
}

impl<'a> BlockedWriter<'a> {
    fn block(store: &'a Store) -> Self {
        let (entered, has_entered) = mpsc::channel();
        let (open, opened) = mpsc::channel();
        let opened = Mutex::new(opened);
        let answer = queued(store.write(move |_| {
            entered.send(()).unwrap();
            // If a failing test drops the sender, `recv` returns as well.
            let _ = sync::lock(&opened).recv();
            Ok(())
        }));
        has_entered.recv().unwrap();
        Self { open, answer }
    }

    /// Drops the call. Dropping the returned sender unblocks the writer.
    fn abandon(self) -> mpsc::Sender<()> {
        self.open
    }

    async fn release(self) {
        drop(self.open);
        self.answer.await.unwrap();
    }
}

/// Log of the actions of commands and tests, in order.
#[derive(Clone, Default)]
struct Notes<T>(Arc<Mutex<Vec<T>>>);

impl<T: Clone> Notes<T> {
    fn add(&self, note: T) {
        self.0.lock().unwrap().push(note);
    }

    fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

/// Waits up to 30 s until `met` returns a value.
fn until<T>(what: &str, mut met: impl FnMut() -> Option<T>) -> T {
    let started = crate::base::clock::monotonic();
    loop {
        if let Some(met) = met() {
            return met;
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "timed out waiting for {what}");
        std::thread::yield_now();
    }
}
