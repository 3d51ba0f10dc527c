//! The store under ordinary use, refusals, failing disks and kills.
//!
//! Reading order: `disk.rs` (a disk in memory that records, fails and is cut off), `doors.rs` (one
//! command), `lanes.rs` (many), `model.rs` (any), `crash.rs` (kills at every operation),
//! `failures.rs` (a disk that fails), `pages.rs`, `opening.rs`, `migrating.rs`, `fixture.rs`.

mod crash;
mod disk;
mod doors;
mod failures;
mod fixture;
mod lanes;
mod migrating;
mod model;
mod opening;
mod pages;

use std::future::Future;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};

use tempfile::TempDir;

use super::*;

use crate::base::sync;

/// A command of these tests refuses, or the store fails.
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

/// A store in a directory of its own.
fn fresh() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&options(directory.path())).unwrap();
    (directory, store)
}

/// Returns the keys of [`LEFT`], lowest first.
fn left_keys(store: &Store) -> Vec<u64> {
    store
        .read_now::<_, StoreError>(|tx| {
            let mut keys = Vec::new();
            tx.scan(&LEFT, &(0,), &(u64::MAX,), Order::Ascending, |(key,), _| {
                keys.push(key);
                NEXT
            })?;
            Ok(keys)
        })
        .unwrap()
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = TestResult<T>> + 'a>>;

/// Returns a call that has not been polled. Tokio's budget is lifted: without that, a test that
/// polls hundreds of calls by hand would be told to wait where a caller of its own would not.
fn call<'a, T>(call: impl Future<Output = TestResult<T>> + 'a) -> Answer<'a, T> {
    Box::pin(tokio::task::unconstrained(call))
}

/// Polls a call once, so that its command is queued, or waits for a place, in the order of the test.
fn queued<'a, T>(unpolled: impl Future<Output = TestResult<T>> + 'a) -> Answer<'a, T> {
    let mut call = call(unpolled);
    assert!(is_pending(&mut call), "a call answers before its commit");
    call
}

fn is_pending<T>(call: &mut (impl Future<Output = T> + Unpin)) -> bool {
    matches!(pin!(call).poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

/// The writer, held inside a command: what is queued meanwhile goes into the groups after it.
struct Held<'a> {
    open: mpsc::Sender<()>,
    answer: Answer<'a, ()>,
}

impl<'a> Held<'a> {
    fn hold(store: &'a Store) -> Self {
        let (entered, has_entered) = mpsc::channel();
        let (open, opened) = mpsc::channel();
        let opened = Mutex::new(opened);
        let answer = queued(store.write(move |_| {
            entered.send(()).unwrap();
            // A sender dropped by a failing test opens too.
            let _ = sync::lock(&opened).recv();
            Ok(())
        }));
        has_entered.recv().unwrap();
        Self { open, answer }
    }

    /// Gives up the answer; what is returned releases the writer when it is dropped.
    fn forget(self) -> mpsc::Sender<()> {
        self.open
    }

    async fn release(self) {
        drop(self.open);
        self.answer.await.unwrap();
    }
}

/// What happened, in order, as commands and tests noted it.
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

/// Waits for a condition that another thread brings about.
fn until<T>(what: &str, mut met: impl FnMut() -> Option<T>) -> T {
    let started = crate::base::clock::monotonic();
    loop {
        if let Some(met) = met() {
            return met;
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "waited in vain for {what}");
        std::thread::yield_now();
    }
}
