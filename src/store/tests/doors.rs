//! One command at a time: what an answer means, and what becomes of a call nobody waits for.

use super::disk::Disk;
use super::*;

fn put(key: u64) -> impl Fn(&WriteTx<'_>) -> TestResult + Send + 'static {
    move |tx| Ok(tx.put(&LEFT, &(key,), &blob("row"))?)
}

#[tokio::test]
async fn a_write_is_visible_after_its_answer() {
    let (_directory, store) = fresh();

    store.write(put(1)).await.unwrap();
    store.write_bulk(put(2)).await.unwrap();

    assert_eq!(left_keys(&store), [1, 2]);
    let read = store.read::<_, TestError>(|tx| Ok(tx.get(&LEFT, &(1,))?)).await.unwrap();
    assert_eq!(read, Some(blob("row")));
}

#[tokio::test]
async fn a_view_does_not_move_while_it_is_read() {
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
async fn a_refused_command_writes_nothing() {
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
async fn commands_that_write_nothing_cost_no_commit() {
    let disk = Disk::default();
    let store = disk.open_store().unwrap();
    store.write(put(1)).await.unwrap();
    let before = disk.syncs();
    until("the commit that makes the next open quick", || (disk.syncs() > before).then_some(()));
    let before = until("the end of that commit", || {
        let held = store.read_now::<_, StoreError>(|_| Ok(disk.ops())).unwrap();
        (disk.ops() == held).then_some(disk.syncs())
    });

    let found = store.write(|tx| Ok::<_, TestError>(tx.contains(&LEFT, &(1,))?)).await.unwrap();
    let refused = store.write::<(), _>(|_| Err(TestError::Refused)).await;

    assert!(found);
    assert!(matches!(refused, Err(TestError::Refused)));
    assert_eq!(disk.syncs(), before);
}

#[tokio::test]
async fn a_command_reads_what_it_and_those_before_it_wrote() {
    let (_directory, store) = fresh();
    let held = Held::hold(&store);

    let first = queued(store.write(put(1)));
    let second = queued(store.write(|tx| {
        put(2)(tx)?;
        Ok((tx.contains(&LEFT, &(1,))?, tx.contains(&LEFT, &(2,))?, tx.contains(&LEFT, &(3,))?))
    }));
    held.release().await;

    first.await.unwrap();
    assert_eq!(second.await.unwrap(), (true, true, false));
}

#[tokio::test]
async fn a_visitor_of_a_scan_reads_every_table_and_writes_the_others() {
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
async fn a_command_is_committed_though_its_caller_has_gone() {
    let (directory, store) = fresh();
    let held = Held::hold(&store);

    drop(queued(store.write(put(1))));
    drop(queued(store.write_bulk(put(2))));
    held.release().await;
    store.close().await;

    let store = Store::open(&options(directory.path())).unwrap();
    assert_eq!(left_keys(&store), [1, 2]);
}

#[tokio::test]
async fn a_closed_store_answers_closed_at_every_door() {
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
async fn closing_commits_what_waits_and_refuses_what_comes_later() {
    let (directory, store) = fresh();
    let held = Held::hold(&store);
    let waiting = queued(store.write(put(1)));

    let mut closing = Box::pin(store.close());
    assert!(is_pending(&mut closing));
    let late = until("the refusal of a later command", || {
        let mut late: Answer<'_, ()> = call(store.write(|_| Ok(())));
        match pin!(&mut late).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    });
    held.release().await;
    closing.await;

    waiting.await.unwrap();
    assert!(matches!(late, Err(TestError::Store(StoreError::Closed))));
    assert_eq!(left_keys(&Store::open(&options(directory.path())).unwrap()), [1]);
}

#[tokio::test]
async fn closing_frees_the_file_though_a_read_is_under_way() {
    let (directory, store) = fresh();
    store.write(put(1)).await.unwrap();
    let (viewing, is_viewing) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel::<()>();

    let (late, keys) = tokio::join!(
        store.read::<_, TestError>(move |tx| {
            viewing.send(()).unwrap();
            goes_on.recv().unwrap();
            Ok(tx.get(&LEFT, &(1,))?)
        }),
        async {
            crate::base::blocking::run(move || is_viewing.recv().unwrap()).await;
            store.close().await;
            let again = Store::open(&options(directory.path())).unwrap();
            go_on.send(()).unwrap();
            left_keys(&again)
        }
    );

    // What lies in memory may still be read; the file may not.
    assert!(matches!(late, Ok(Some(_)) | Err(TestError::Store(StoreError::Closed))));
    assert_eq!(keys, [1]);
}

#[tokio::test]
async fn the_last_handle_may_be_dropped_inside_a_command() {
    let (directory, store) = fresh();
    let held = Held::hold(&store);
    let owned = store.clone();

    drop(queued(store.write(move |tx| {
        let _ = owned.path();
        put(1)(tx)
    })));
    let open = held.forget();
    drop(store);
    drop(open);

    let store = until("the writer to end", || Store::open(&options(directory.path())).ok());
    assert_eq!(left_keys(&store), [1]);
}

#[tokio::test]
async fn a_read_keeps_its_place_though_its_caller_has_gone() {
    let (_directory, store) = fresh();
    let (go_on, goes_on) = mpsc::channel::<()>();
    let goes_on = Arc::new(Mutex::new(goes_on));
    let (reading, is_reading) = mpsc::channel();
    for _ in 0..READS_MAX {
        let (reading, goes_on) = (reading.clone(), Arc::clone(&goes_on));
        drop(queued(store.read(move |_| {
            reading.send(()).unwrap();
            let _ = goes_on.lock().unwrap().recv();
            Ok(())
        })));
    }
    crate::base::blocking::run(move || (0..READS_MAX).for_each(|_| is_reading.recv().unwrap())).await;

    let mut another = queued(store.read(|_| Ok(())));
    let waits = store.0.reads.available_permits() == 0 && is_pending(&mut another);
    drop(go_on);

    assert!(waits);
    another.await.unwrap();
}
