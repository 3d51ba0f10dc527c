//! Failing disks: callers get an error, [`Store::failed`] returns it, and a restart finds every
//! acknowledged write.

use super::disk::Disk;
use super::*;

fn put(key: u64) -> impl Fn(&WriteTx<'_>) -> TestResult + Send + 'static {
    move |tx| Ok(tx.put(&LEFT, &(key,), &Blob(vec![1; 9_000]))?)
}

#[tokio::test]
async fn callers_get_the_error_of_a_full_disk_and_no_acknowledged_write_is_lost() {
    for healthy_ops in 0..12 {
        let disk = Disk::default();
        let store = disk.open_store().unwrap();
        store.write(put(1)).await.unwrap();
        assert!(is_pending(&mut Box::pin(store.failed())));

        disk.fill_after(healthy_ops);
        let mut acknowledged = 1;
        let refused = loop {
            match store.write(put(acknowledged + 1)).await {
                Ok(()) => acknowledged += 1,
                Err(refused) => break refused,
            }
        };
        let failure = store.failed().await;
        disk.mend();
        let later = store.write(put(500)).await;
        store.close().await;

        assert!(matches!(refused, TestError::Store(StoreError::Engine(_))), "{refused:?}");
        assert!(matches!(failure, StoreError::Engine(_)), "{failure:?}");
        assert!(matches!(later, Err(TestError::Store(StoreError::Engine(_)))), "{later:?}");
        // The failed write may be on the disk, but only completely.
        let keys = left_keys(&disk.open_store().unwrap());
        let least: Vec<u64> = (1..=acknowledged).collect();
        assert!(keys == least || keys == [least, vec![acknowledged + 1]].concat(), "{acknowledged}: {keys:?}");
    }
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
async fn a_failure_while_the_store_is_idle_is_reported() {
    let disk = Disk::default();
    let store = disk.open_store().unwrap();
    let blocked = BlockedWriter::block(&store);
    let answer = queued(store.write(put(1)));
    blocked.release().await;
    answer.await.unwrap();

    disk.fill_after(0);
    let failure = store.failed().await;

    assert!(matches!(failure, StoreError::Engine(_)), "{failure:?}");
    assert_eq!(left_keys(&Disk::holding(disk.image()).open_store().unwrap()), [1]);
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
