//! Many commands: groups, the two queues, their capacity and their order.

use super::*;

/// A command that adds `key` to `notes` and writes a row.
fn noting(notes: &Notes<u64>, key: u64) -> impl Fn(&WriteTx<'_>) -> TestResult + Send + 'static {
    let notes = notes.clone();
    move |tx| {
        notes.add(key);
        Ok(tx.put(&LEFT, &(key,), &blob("row"))?)
    }
}

#[tokio::test]
async fn a_command_that_fails_after_a_write_does_not_affect_others() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let blocked = BlockedWriter::block(&store);

    let first = queued(store.write(noting(&notes, 1)));
    let wrong = noting(&notes, 2);
    let wrong = queued(store.write::<(), _>(move |tx| wrong(tx).and(Err(TestError::Refused))));
    let middle = queued(store.write(noting(&notes, 3)));
    let panicking = noting(&notes, 4);
    let panicking = queued(store.write::<(), TestError>(move |tx| {
        panicking(tx)?;
        panic!("a command of a test panics");
    }));
    let last = queued(store.write_bulk(noting(&notes, 5)));
    blocked.release().await;

    first.await.unwrap();
    assert!(matches!(wrong.await, Err(TestError::Refused)));
    middle.await.unwrap();
    assert!(matches!(panicking.await, Err(TestError::Store(StoreError::Panicked))));
    last.await.unwrap();
    assert_eq!(left_keys(&store), [1, 3, 5]);
    // First run up to the first failure, second run without that command, third run without both.
    assert_eq!(notes.all(), [1, 2, 1, 3, 4, 1, 3, 5]);
}

#[tokio::test]
async fn a_command_that_panics_before_it_writes_fails_alone() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let blocked = BlockedWriter::block(&store);

    let first = queued(store.write(noting(&notes, 1)));
    let panicking = queued(store.write::<(), TestError>(|_| panic!("a command of a test panics")));
    let last = queued(store.write(noting(&notes, 2)));
    blocked.release().await;

    first.await.unwrap();
    assert!(matches!(panicking.await, Err(TestError::Store(StoreError::Panicked))));
    last.await.unwrap();
    assert_eq!(left_keys(&store), [1, 2]);
}

#[tokio::test]
async fn a_rejection_without_writes_causes_no_second_run() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let blocked = BlockedWriter::block(&store);

    let first = queued(store.write(noting(&notes, 1)));
    let refused = queued(store.write::<(), _>(|_| Err(TestError::Refused)));
    let last = queued(store.write(noting(&notes, 2)));
    blocked.release().await;

    first.await.unwrap();
    assert!(matches!(refused.await, Err(TestError::Refused)));
    last.await.unwrap();
    assert_eq!(notes.all(), [1, 2]);
}

#[tokio::test]
async fn a_group_of_failed_commands_leaves_the_store_unchanged() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let blocked = BlockedWriter::block(&store);

    let failing: Vec<_> = (0..3)
        .map(|key| {
            let wrong = noting(&notes, key);
            queued(store.write::<(), _>(move |tx| wrong(tx).and(Err(TestError::Refused))))
        })
        .collect();
    blocked.release().await;
    for failed in failing {
        assert!(matches!(failed.await, Err(TestError::Refused)));
    }
    store.write(noting(&notes, 9)).await.unwrap();

    assert_eq!(left_keys(&store), [9]);
}

#[tokio::test]
async fn commands_of_a_queue_keep_their_order() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let blocked = BlockedWriter::block(&store);

    // More than one group of each queue.
    let calls: Vec<_> = (0..1_200)
        .map(|key| {
            let command = noting(&notes, key);
            if key % 10 == 0 { queued(store.write_bulk(command)) } else { queued(store.write(command)) }
        })
        .collect();
    blocked.release().await;
    for call in calls {
        call.await.unwrap();
    }

    let (bulk, foreground): (Vec<u64>, Vec<u64>) = notes.all().into_iter().partition(|key| key % 10 == 0);
    assert_eq!((bulk.len(), foreground.len()), (120, 1_080));
    assert!(bulk.is_sorted() && foreground.is_sorted());
}

#[tokio::test]
async fn large_accepts_do_not_starve_bulk_work() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let blocked = BlockedWriter::block(&store);

    let large: Vec<_> = (0..20).map(|key| queued(store.write_sized(8 << 20, noting(&notes, key)))).collect();
    let bulk = queued(store.write_bulk(noting(&notes, 100)));
    blocked.release().await;
    bulk.await.unwrap();
    for call in large {
        call.await.unwrap();
    }

    // Each large command fills a group. The first group also contains the bulk command.
    assert_eq!(notes.all()[..3], [0, 100, 1]);
}

#[tokio::test]
async fn a_bulk_command_expects_a_request_after_a_request() {
    let (_directory, store) = fresh();
    let expects_one = || store.write_bulk(|tx| Ok::<_, TestError>(tx.waiting_requests() == 1));
    assert!(!expects_one().await.unwrap());
    assert_eq!(store.write_bulk(|tx| Ok::<_, TestError>(tx.page_items(500))).await.unwrap(), 500);

    let mut found = false;
    // A busy machine can take longer from one command to the next than a request is expected.
    for _ in 0..100 {
        store.write::<(), TestError>(|_| Ok(())).await.unwrap();
        found |= expects_one().await.unwrap();
    }

    assert!(found);
}

#[tokio::test]
async fn a_bulk_command_gets_the_number_of_waiting_requests() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let blocked = BlockedWriter::block(&store);

    let requests: Vec<_> = (0..5).map(|key| queued(store.write(noting(&notes, key)))).collect();
    let bulk =
        queued(store.write_bulk(|tx| {
            Ok::<_, TestError>((tx.waiting_requests(), [500, 100, 10].map(|max| tx.page_items(max))))
        }));
    blocked.release().await;

    // An eighth, four for each request, and no more than the page.
    assert_eq!(bulk.await.unwrap(), (5, [63, 20, 10]));
    for request in requests {
        request.await.unwrap();
    }
}

#[tokio::test]
async fn an_accept_waits_for_at_most_one_small_group_of_bulk_commands() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let blocked = BlockedWriter::block(&store);
    let (entered, has_entered) = mpsc::channel();
    let (open, opened) = mpsc::channel::<()>();
    let opened = Mutex::new(opened);
    let slow = noting(&notes, 0);
    let slow = queued(store.write_bulk(move |tx| {
        entered.send(()).unwrap();
        let _ = opened.lock().unwrap().recv();
        slow(tx)
    }));
    let pile: Vec<_> = (1..1_000).map(|key| queued(store.write_bulk(noting(&notes, key)))).collect();

    blocked.release().await;
    has_entered.recv().unwrap();
    let accept = queued(store.write(noting(&notes, 5_000)));
    drop(open);
    accept.await.unwrap();
    slow.await.unwrap();
    for call in pile {
        call.await.unwrap();
    }

    let waited = notes.all().iter().position(|key| *key == 5_000).unwrap();
    assert!(waited <= 64, "the accept came after {waited} bulk commands");
}

#[tokio::test]
async fn callers_wait_for_a_full_queue_and_no_command_is_lost() {
    let (directory, store) = fresh();
    let blocked = BlockedWriter::block(&store);
    let put = |key: u64| move |tx: &WriteTx<'_>| Ok::<_, TestError>(tx.put(&LEFT, &(key,), &blob("row"))?);

    // The command that blocks the writer has a permit too.
    let mut calls: Vec<_> = (1..WAITING_MAX as u64).map(|key| queued(store.write(put(key)))).collect();
    let waits = queued(store.write(put(10_000)));
    let gives_up = queued(store.write(put(10_001)));
    let bulk = queued(store.write_bulk(put(20_000)));
    drop(gives_up);
    drop(calls.pop());
    blocked.release().await;
    for call in calls {
        call.await.unwrap();
    }
    waits.await.unwrap();
    bulk.await.unwrap();
    store.close().await;

    let keys = left_keys(&Store::open(&options(directory.path())).unwrap());
    // `gives_up` had no permit when it was dropped. The call from `calls` had one.
    let expected: Vec<u64> = (1..WAITING_MAX as u64).chain([10_000, 20_000]).collect();
    assert_eq!(keys, expected);
}

#[tokio::test]
async fn a_caller_that_waits_for_a_permit_gets_closed_when_the_store_closes() {
    let (_directory, store) = fresh();
    let blocked = BlockedWriter::block(&store);
    let calls: Vec<_> = (1..WAITING_MAX).map(|_| queued(store.write(|_| Ok(())))).collect();
    let waits = queued(store.write(|_| Ok(())));

    let mut closing = Box::pin(store.close());
    assert!(is_pending(&mut closing));
    until("the store to reject commands", || {
        let mut late: Answer<'_, ()> = call(store.write_bulk(|_| Ok(())));
        (!is_pending(&mut late)).then_some(())
    });
    blocked.release().await;
    closing.await;

    for call in calls {
        call.await.unwrap();
    }
    assert!(matches!(waits.await, Err(TestError::Store(StoreError::Closed))));
}
