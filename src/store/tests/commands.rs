//! One command at a time: its result, and calls whose futures are dropped.

use serde::{Deserialize, Serialize};

use super::disk::Disk;
use super::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TextRow {
    text: String,
}
impl Row for TextRow {}

fn put(key: u64) -> impl Fn(&WriteTx<'_>) -> TestResult + Send + 'static {
    move |tx| Ok(tx.put(&LEFT, &(key,), &blob("row"))?)
}

#[tokio::test]
async fn a_write_is_visible_after_its_call_returns() {
    let (_directory, store) = fresh();

    store.write(put(1)).await.unwrap();
    store.write_bulk(put(2)).await.unwrap();

    assert_eq!(left_keys(&store), [1, 2]);
    let read = store.read::<_, TestError>(|tx| Ok(tx.get(&LEFT, &(1,))?)).await.unwrap();
    assert_eq!(read, Some(blob("row")));
}

#[tokio::test]
async fn a_taken_row_is_deleted_even_if_it_is_corrupt() {
    const TEXTS: Table<(u64,), TextRow> = Table::new("texts-1");
    let (_directory, store) = fresh();
    let put = |tx: &WriteTx<'_>| {
        tx.put(&TEXTS, &(1,), &TextRow { text: "row".into() })?;
        tx.put_encoded(&TEXTS, &(2,), &Encoded::unreadable())
    };
    store.write::<_, StoreError>(put).await.unwrap();

    let take = |tx: &WriteTx<'_>| [1, 2, 3, 1].into_iter().map(|key| tx.take(&TEXTS, &(key,))).collect();
    let taken: Vec<_> = store.write::<_, StoreError>(take).await.unwrap();

    let row = TextRow { text: "row".into() };
    assert_eq!(taken, [Some(Ok(row)), Some(Err(Encoded::<TextRow>::unreadable().bytes)), None, None]);
    assert!(!store.read_now::<_, StoreError>(|tx| tx.contains(&TEXTS, &(2,))).unwrap());
}

#[tokio::test]
async fn a_view_does_not_change_during_a_read() {
    let (_directory, store) = fresh();
    store.write(put(1)).await.unwrap();
    let (viewing, is_viewing) = mpsc::channel();
    let (written, is_written) = mpsc::channel::<()>();

    let (before, after) = tokio::join!(
        store.read::<_, TestError>(move |tx| {
            viewing.send(()).unwrap();
            is_written.recv().unwrap();
            Ok(tx.contains(&LEFT, &(2,))?)
        }),
        async {
            crate::base::blocking::run(move || is_viewing.recv().unwrap()).await;
            store.write(put(2)).await.unwrap();
            written.send(()).unwrap();
            store.read::<_, TestError>(|tx| Ok(tx.contains(&LEFT, &(2,))?)).await
        }
    );

    assert!(!before.unwrap());
    assert!(after.unwrap());
}

#[tokio::test]
async fn a_rejected_command_writes_nothing() {
    let (_directory, store) = fresh();

    let before = store.write::<(), _>(|_| Err(TestError::Refused)).await;
    let after = store
        .write::<(), _>(|tx| {
            put(1)(tx)?;
            tx.delete(&LEFT, &(2,))?;
            Err(TestError::Refused)
        })
        .await;

    assert!(matches!(before, Err(TestError::Refused)));
    assert!(matches!(after, Err(TestError::Refused)));
    assert!(left_keys(&store).is_empty());
}

#[tokio::test]
async fn commands_without_writes_make_no_commit() {
    let disk = Disk::default();
    let store = disk.open_store().unwrap();
    store.write(put(1)).await.unwrap();
    let before = disk.syncs();
    until("the commit with quick repair", || (disk.syncs() > before).then_some(()));
    let before = until("the end of that commit", || {
        let ops = store.read_now::<_, StoreError>(|_| Ok(disk.ops())).unwrap();
        (disk.ops() == ops).then_some(disk.syncs())
    });

    let found = store.write(|tx| Ok::<_, TestError>(tx.contains(&LEFT, &(1,))?)).await.unwrap();
    let refused = store.write::<(), _>(|_| Err(TestError::Refused)).await;

    assert!(found);
    assert!(matches!(refused, Err(TestError::Refused)));
    assert_eq!(disk.syncs(), before);
}

#[tokio::test]
async fn a_command_reads_its_own_writes_and_earlier_ones() {
    let (_directory, store) = fresh();
    let blocked = BlockedWriter::block(&store);

    let first = queued(store.write(put(1)));
    let second = queued(store.write(|tx| {
        put(2)(tx)?;
        Ok((tx.contains(&LEFT, &(1,))?, tx.contains(&LEFT, &(2,))?, tx.contains(&LEFT, &(3,))?))
    }));
    blocked.release().await;

    first.await.unwrap();
    assert_eq!(second.await.unwrap(), (true, true, false));
}

#[tokio::test]
async fn a_visitor_of_a_scan_reads_every_table_and_writes_to_the_others() {
    let (_directory, store) = fresh();
    for key in 1..=3 {
        store.write(put(key)).await.unwrap();
    }

    let seen = store
        .write(|tx| {
            let mut seen = Vec::new();
            tx.scan(&LEFT, &(0,), &(u64::MAX,), Order::Ascending, |(key,), _| {
                seen.push(tx.contains(&LEFT, &(key + 1,))?);
                tx.put(&RIGHT, &(0, key), &blob("index"))?;
                NEXT
            })?;
            tx.scan(&RIGHT, &(0, 0), &(0, u64::MAX), Order::Ascending, |_, _| {
                seen.push(true);
                NEXT
            })?;
            Ok::<_, TestError>(seen)
        })
        .await
        .unwrap();

    assert_eq!(seen, [true, true, false, true, true, true]);
}

#[tokio::test]
async fn a_visitor_that_writes_to_the_scanned_table_fails_alone() {
    let (_directory, store) = fresh();
    store.write(put(1)).await.unwrap();

    let wrong = store
        .write::<_, TestError>(|tx| {
            tx.scan(&LEFT, &(0,), &(9,), Order::Ascending, |_, _| {
                tx.put(&LEFT, &(2,), &blob("row"))?;
                NEXT
            })?;
            Ok(())
        })
        .await;
    store.write(put(3)).await.unwrap();

    assert!(matches!(wrong, Err(TestError::Store(StoreError::Panicked))));
    assert_eq!(left_keys(&store), [1, 3]);
}

#[tokio::test]
async fn a_range_that_ends_before_it_begins_is_empty() {
    let (_directory, store) = fresh();
    store.write(put(5)).await.unwrap();

    let removed = store
        .write::<_, TestError>(|tx| {
            Ok(tx.delete_range(&LEFT, &(9,), &(1,), 10)? + tx.delete_range(&LEFT, &(1,), &(9,), 0)?)
        })
        .await
        .unwrap();

    assert_eq!(removed, 0);
    assert_eq!(left_keys(&store), [5]);
}

#[tokio::test]
async fn a_command_is_committed_after_its_call_is_dropped() {
    let (directory, store) = fresh();
    let blocked = BlockedWriter::block(&store);

    drop(queued(store.write(put(1))));
    drop(queued(store.write_bulk(put(2))));
    blocked.release().await;
    store.close().await;

    let store = Store::open(&options(directory.path())).unwrap();
    assert_eq!(left_keys(&store), [1, 2]);
}

#[tokio::test]
async fn every_call_of_a_closed_store_returns_closed() {
    let (_directory, store) = fresh();

    store.close().await;
    store.close().await;

    assert!(matches!(store.write(put(1)).await, Err(TestError::Store(StoreError::Closed))));
    assert!(matches!(store.write_sized(9, put(1)).await, Err(TestError::Store(StoreError::Closed))));
    assert!(matches!(store.write_bulk(put(1)).await, Err(TestError::Store(StoreError::Closed))));
    assert!(matches!(store.read(|_| Ok(())).await, Err(TestError::Store(StoreError::Closed))));
    assert!(matches!(store.read_now(|_| Ok(())), Err(TestError::Store(StoreError::Closed))));
}

#[tokio::test]
async fn closing_commits_queued_commands_and_rejects_later_ones() {
    let (directory, store) = fresh();
    let blocked = BlockedWriter::block(&store);
    let earlier = queued(store.write(put(1)));

    let mut closing = Box::pin(store.close());
    assert!(is_pending(&mut closing));
    let late = until("the rejection of a later command", || {
        let mut late: Answer<'_, ()> = call(store.write(|_| Ok(())));
        match pin!(&mut late).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    });
    blocked.release().await;
    closing.await;

    earlier.await.unwrap();
    assert!(matches!(late, Err(TestError::Store(StoreError::Closed))));
    assert_eq!(left_keys(&Store::open(&options(directory.path())).unwrap()), [1]);
}

#[tokio::test]
async fn closing_releases_the_file_during_a_read() {
    let (directory, store) = fresh();
    store.write(put(1)).await.unwrap();
    let (viewing, is_viewing) = mpsc::channel();
    let (resume, resumed) = mpsc::channel::<()>();

    let (late, keys) = tokio::join!(
        store.read::<_, TestError>(move |tx| {
            viewing.send(()).unwrap();
            resumed.recv().unwrap();
            Ok(tx.get(&LEFT, &(1,))?)
        }),
        async {
            crate::base::blocking::run(move || is_viewing.recv().unwrap()).await;
            store.close().await;
            let again = Store::open(&options(directory.path())).unwrap();
            resume.send(()).unwrap();
            left_keys(&again)
        }
    );

    // The read can use cached pages; it cannot access the file.
    assert!(matches!(late, Ok(Some(_)) | Err(TestError::Store(StoreError::Unavailable))));
    assert_eq!(keys, [1]);
}

#[tokio::test]
async fn the_last_handle_may_be_dropped_inside_a_command() {
    let (directory, store) = fresh();
    let blocked = BlockedWriter::block(&store);
    let owned = store.clone();

    drop(queued(store.write(move |tx| {
        let _ = owned.path();
        put(1)(tx)
    })));
    let open = blocked.abandon();
    drop(store);
    drop(open);

    let store = until("the writer to end", || Store::open(&options(directory.path())).ok());
    assert_eq!(left_keys(&store), [1]);
}

#[tokio::test]
async fn a_read_keeps_its_permit_after_its_call_is_dropped() {
    let (_directory, store) = fresh();
    let (resume, resumed) = mpsc::channel::<()>();
    let resumed = Arc::new(Mutex::new(resumed));
    let (reading, is_reading) = mpsc::channel();
    for _ in 0..READS_MAX {
        let (reading, resumed) = (reading.clone(), Arc::clone(&resumed));
        drop(queued(store.read(move |_| {
            reading.send(()).unwrap();
            let _ = resumed.lock().unwrap().recv();
            Ok(())
        })));
    }
    crate::base::blocking::run(move || (0..READS_MAX).for_each(|_| is_reading.recv().unwrap())).await;

    let mut another = queued(store.read(|_| Ok(())));
    let waits = store.0.reads.available_permits() == 0 && is_pending(&mut another);
    drop(resume);

    assert!(waits);
    another.await.unwrap();
}
