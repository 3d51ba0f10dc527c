//! Failing disks: callers get an error, the store opens its file again, and finds every acknowledged write.

use super::disk::Disk;
use super::*;

fn put(key: u64) -> impl Fn(&WriteTx<'_>) -> TestResult + Send + 'static {
    move |tx| Ok(tx.put(&LEFT, &(key,), &Blob(vec![1; 9_000]))?)
}

/// Returns whether a call failed because of the disk. Such a call stored nothing.
fn is_outage<T>(answer: &TestResult<T>) -> bool {
    matches!(answer, Err(TestError::Store(error)) if error.is_outage())
}

#[tokio::test]
async fn a_store_on_a_full_disk_rejects_calls_and_accepts_them_again_when_there_is_space() {
    for healthy_ops in 0..12 {
        let disk = Disk::default();
        let store = disk.open_store().unwrap();
        let epoch = store.epoch();
        store.write(put(1)).await.unwrap();

        disk.fill_after(healthy_ops);
        let mut acknowledged = 1;
        let refused = loop {
            match store.write(put(acknowledged + 1)).await {
                Ok(()) => acknowledged += 1,
                refused => break refused,
            }
        };
        assert!(is_outage(&refused), "{refused:?}");
        until("the suspension of the store", || (!store.is_available()).then_some(()));
        assert!(is_outage(&store.write(put(500)).await));
        assert!(is_outage(&store.write_bulk(put(500)).await));
        assert!(is_outage(&store.read(|_| Ok(())).await));
        assert!(store.is_failing());
        assert!(is_pending(&mut Box::pin(store.failed())));
        disk.mend();
        store.available().await;
        let openings = disk.openings();
        store.write(put(1_000)).await.unwrap();

        let expected: Vec<u64> = (1..=acknowledged).chain([1_000]).collect();
        assert_eq!(left_keys(&store), expected, "full after {healthy_ops} operations");
        // One outage: the file was opened again until the disk had space, and not after that.
        assert!(openings > 1 && disk.openings() == openings, "{openings} and {} openings", disk.openings());
        assert_eq!(store.epoch(), epoch);
        store.close().await;
        let again = disk.open_store().unwrap();
        assert_eq!((left_keys(&again), again.epoch()), (expected, epoch + 1));
    }
}

#[tokio::test]
async fn a_commit_that_is_on_the_disk_despite_its_error_is_acknowledged() {
    let mut acknowledged = 0;
    for syncs in 0..4 {
        let disk = Disk::default();
        let store = disk.open_store().unwrap();
        store.write(put(1)).await.unwrap();
        let called = Notes::default();
        let calling = called.clone();

        disk.fail_sync_after(syncs);
        let written = store
            .write(move |tx| {
                let calling = calling.clone();
                tx.after_commit(move || calling.add("called"));
                put(2)(tx)
            })
            .await;
        let has_failed = disk.openings() == 2;
        // The next commit, while the store is idle, may fail instead.
        disk.fail_sync_after(usize::MAX);
        let keys = until("the next opening", || read_left_keys(&store).ok());

        assert!(written.is_ok() || is_outage(&written), "{written:?}");
        let expected = if written.is_ok() { vec![1, 2] } else { vec![1] };
        assert_eq!(keys, expected, "failed after {syncs} syncs");
        assert_eq!(called.all().len(), expected.len() - 1);
        acknowledged += usize::from(has_failed && written.is_ok());
    }
    assert!(acknowledged > 0, "no failed sync followed the last write of a commit");
}

#[tokio::test]
async fn a_failed_read_reopens_the_file() {
    let disk = Disk::default();
    let store = disk.open_store().unwrap();
    // More rows than fit into the cache, so that a scan reads the disk.
    store.write(|tx| (1..1_000).try_for_each(|key| put(key)(tx))).await.unwrap();

    disk.fail_next_read();
    let failed = read_left_keys(&store);
    assert!(failed.as_ref().is_err_and(StoreError::is_outage), "{failed:?}");
    until("the next opening", || (disk.openings() == 2).then_some(()));
    store.available().await;

    assert_eq!(left_keys(&store).len(), 999);
    store.write(put(1_000)).await.unwrap();
}

#[tokio::test]
async fn a_store_that_another_process_opened_in_the_meantime_fails_permanently() {
    let disk = Disk::default();
    let store = disk.open_store().unwrap();
    store.write(put(1)).await.unwrap();
    disk.fill_after(0);
    assert!(is_outage(&store.write(put(2)).await));
    until("the suspension of the store", || (!store.is_available()).then_some(()));

    let others = Disk::holding(disk.image());
    others.open_store().unwrap().close().await;
    disk.replace(others.image());
    // An attempt that has read the old bytes must not continue.
    let refused = disk.refused();
    until("the end of that attempt", || (disk.refused() > refused + 1).then_some(()));
    disk.mend();

    assert!(matches!(store.failed().await, StoreError::Lost(_)));
    assert!(matches!(store.write(put(3)).await, Err(TestError::Store(StoreError::Lost(_)))));
}

#[tokio::test]
async fn a_store_closes_while_its_disk_is_full() {
    let disk = Disk::default();
    let store = disk.open_store().unwrap();
    store.write(put(1)).await.unwrap();
    disk.fill_after(0);
    assert!(is_outage(&store.write(put(2)).await));

    store.close().await;

    assert!(matches!(store.write(put(3)).await, Err(TestError::Store(StoreError::Closed))));
    assert!(matches!(store.read(|_| Ok(())).await, Err(TestError::Store(StoreError::Closed))));
    disk.mend();
    assert_eq!(left_keys(&disk.open_store().unwrap()), [1]);
}

#[tokio::test]
async fn opening_fails_on_a_full_disk_and_changes_nothing() {
    for is_fresh in [true, false] {
        let image = if is_fresh {
            Vec::new()
        } else {
            let disk = Disk::default();
            let store = disk.open_store().unwrap();
            store.write(put(1)).await.unwrap();
            // The state after a kill, so that the opening writes as much as possible.
            disk.image()
        };
        let mut starts = 0;
        loop {
            let disk = Disk::holding(image.clone());
            disk.fill_after(starts);
            let opened = disk.open_store();
            disk.mend();
            if opened.is_ok() {
                break;
            }
            drop(opened);
            starts += 1;
            let keys = left_keys(&disk.open_store().unwrap());
            assert_eq!(keys.len(), usize::from(!is_fresh), "full after {starts} operations");
        }
        assert!(starts > 3);
    }
}

#[tokio::test]
async fn a_failure_while_the_store_is_idle_reopens_the_file() {
    let disk = Disk::default();
    let store = disk.open_store().unwrap();
    let blocked = BlockedWriter::block(&store);
    let answer = queued(store.write(put(1)));
    blocked.release().await;
    answer.await.unwrap();

    disk.fill_after(0);
    until("the suspension of the store", || (!store.is_available()).then_some(()));
    disk.mend();
    store.available().await;

    assert_eq!(left_keys(&store), [1]);
}

#[tokio::test]
async fn all_callers_get_an_error_if_the_engine_panics() {
    let disk = Disk::default();
    let store = disk.open_store().unwrap();
    let blocked = BlockedWriter::block(&store);
    let in_the_group = queued(store.write(put(1)));
    let later_calls: Vec<_> = (2..2_000).map(|key| queued(store.write_sized(1 << 20, put(key)))).collect();

    disk.panic_at_sync();
    blocked.release().await;

    assert!(matches!(in_the_group.await, Err(TestError::Store(StoreError::Closed | StoreError::Panicked))));
    for call in later_calls {
        assert!(matches!(call.await, Err(TestError::Store(StoreError::Closed | StoreError::Panicked))));
    }
    assert!(matches!(store.failed().await, StoreError::Panicked));
    assert!(matches!(store.write(put(9)).await, Err(TestError::Store(StoreError::Panicked))));
    store.close().await;
}
