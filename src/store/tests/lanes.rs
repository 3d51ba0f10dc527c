//! Many commands: groups, the two lanes, their capacity and their order.

use super::*;

/// A command that notes that it was applied and writes a row.
fn noting(notes: &Notes<u64>, key: u64) -> impl Fn(&WriteTx<'_>) -> TestResult + Send + 'static {
    let notes = notes.clone();
    move |tx| {
        notes.add(key);
        Ok(tx.put(&LEFT, &(key,), &blob("row"))?)
    }
}

#[tokio::test]
async fn a_command_that_fails_after_it_has_written_spoils_no_other() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let held = Held::hold(&store);

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
    held.release().await;

    first.await.unwrap();
    assert!(matches!(wrong.await, Err(TestError::Refused)));
    middle.await.unwrap();
    assert!(matches!(panicking.await, Err(TestError::Store(StoreError::Panicked))));
    last.await.unwrap();
    assert_eq!(left_keys(&store), [1, 3, 5]);
    // Up to the first failure, then without it up to the second, then without both.
    assert_eq!(notes.all(), [1, 2, 1, 3, 4, 1, 3, 5]);
}

#[tokio::test]
async fn a_command_that_panics_before_it_writes_fails_alone() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let held = Held::hold(&store);

    let first = queued(store.write(noting(&notes, 1)));
    let panicking = queued(store.write::<(), TestError>(|_| panic!("a command of a test panics")));
    let last = queued(store.write(noting(&notes, 2)));
    held.release().await;

    first.await.unwrap();
    assert!(matches!(panicking.await, Err(TestError::Store(StoreError::Panicked))));
    last.await.unwrap();
    assert_eq!(left_keys(&store), [1, 2]);
}

#[tokio::test]
async fn a_refusal_costs_the_group_no_second_run() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let held = Held::hold(&store);

    let first = queued(store.write(noting(&notes, 1)));
    let refused = queued(store.write::<(), _>(|_| Err(TestError::Refused)));
    let last = queued(store.write(noting(&notes, 2)));
    held.release().await;

    first.await.unwrap();
    assert!(matches!(refused.await, Err(TestError::Refused)));
    last.await.unwrap();
    assert_eq!(notes.all(), [1, 2]);
}

#[tokio::test]
async fn a_group_of_failures_alone_leaves_the_store_as_it_was() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let held = Held::hold(&store);

    let failing: Vec<_> = (0..3)
        .map(|key| {
            let wrong = noting(&notes, key);
            queued(store.write::<(), _>(move |tx| wrong(tx).and(Err(TestError::Refused))))
        })
        .collect();
    held.release().await;
    for failed in failing {
        assert!(matches!(failed.await, Err(TestError::Refused)));
    }
    store.write(noting(&notes, 9)).await.unwrap();

    assert_eq!(left_keys(&store), [9]);
}

#[tokio::test]
async fn commands_of_a_lane_keep_their_order() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let held = Held::hold(&store);

    // More than one group of either lane.
    let calls: Vec<_> = (0..1_200)
        .map(|key| {
            let command = noting(&notes, key);
            if key % 10 == 0 { queued(store.write_bulk(command)) } else { queued(store.write(command)) }
        })
        .collect();
    held.release().await;
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
    let held = Held::hold(&store);

    let large: Vec<_> = (0..20).map(|key| queued(store.write_sized(8 << 20, noting(&notes, key)))).collect();
    let bulk = queued(store.write_bulk(noting(&notes, 100)));
    held.release().await;
    bulk.await.unwrap();
    for call in large {
        call.await.unwrap();
    }

    // Each large command fills a group by itself; the first group takes the bulk command along.
    assert_eq!(notes.all()[..3], [0, 100, 1]);
}

#[tokio::test]
async fn a_pile_of_bulk_work_keeps_an_accept_waiting_for_one_small_group_at_most() {
    let (_directory, store) = fresh();
    let notes = Notes::default();
    let held = Held::hold(&store);
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

    held.release().await;
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
async fn a_full_lane_makes_callers_wait_and_loses_nothing() {
    let (directory, store) = fresh();
    let held = Held::hold(&store);
    let put = |key: u64| move |tx: &WriteTx<'_>| Ok::<_, TestError>(tx.put(&LEFT, &(key,), &blob("row"))?);

    // The command that holds the writer has a place too.
    let mut calls: Vec<_> = (1..WAITING_MAX as u64).map(|key| queued(store.write(put(key)))).collect();
    let waits = queued(store.write(put(10_000)));
    let gives_up = queued(store.write(put(10_001)));
    let bulk = queued(store.write_bulk(put(20_000)));
    drop(gives_up);
    drop(calls.pop());
    held.release().await;
    for call in calls {
        call.await.unwrap();
    }
    waits.await.unwrap();
    bulk.await.unwrap();
    store.close().await;

    let keys = left_keys(&Store::open(&options(directory.path())).unwrap());
    // The caller that gave up had not been given a place; the one dropped later had one.
    let expected: Vec<u64> = (1..WAITING_MAX as u64).chain([10_000, 20_000]).collect();
    assert_eq!(keys, expected);
}

#[tokio::test]
async fn a_caller_who_waits_for_a_place_when_the_store_closes_is_told_so() {
    let (_directory, store) = fresh();
    let held = Held::hold(&store);
    let calls: Vec<_> = (1..WAITING_MAX).map(|_| queued(store.write(|_| Ok(())))).collect();
    let waits = queued(store.write(|_| Ok(())));

    let mut closing = Box::pin(store.close());
    assert!(is_pending(&mut closing));
    until("the store to refuse commands", || {
        let mut late: Answer<'_, ()> = call(store.write_bulk(|_| Ok(())));
        (!is_pending(&mut late)).then_some(())
    });
    held.release().await;
    closing.await;

    for call in calls {
        call.await.unwrap();
    }
    assert!(matches!(waits.await, Err(TestError::Store(StoreError::Closed))));
}
