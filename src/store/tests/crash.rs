//! Kills at every operation on the disk. The operations since the last sync are kept, dropped or
//! applied in part. The reopened store must contain every acknowledged write and no partial command.

use super::disk::{Cuts, Disk, Op, Unsynced};
use super::*;

/// Number of rows that remain after each command.
const REMAINING: u64 = 12;

/// Applies command `number`: inserts a row and its index entry, and deletes an older pair.
fn step(tx: &WriteTx<'_>, number: u64) -> TestResult {
    tx.put(&LEFT, &(number,), &row(number))?;
    tx.put(&RIGHT, &((number % 5) as u16, number), &blob("index"))?;
    if let Some(old) = number.checked_sub(REMAINING) {
        tx.delete(&LEFT, &(old,))?;
        tx.delete_range(&RIGHT, &((old % 5) as u16, old), &((old % 5) as u16, old), 1)?;
    }
    Ok(())
}

/// Returns a row of a few bytes to several pages, so that the file grows during the test.
fn row(number: u64) -> Blob {
    Blob(vec![number as u8; (number as usize * 7_919) % 30_000])
}

/// Returns the number of the last command in the store. Asserts that the store has all effects of the
/// commands up to it and no others.
fn last_step(store: &Store) -> u64 {
    let (rows, entries) = store
        .read_now::<_, StoreError>(|tx| {
            let (mut rows, mut entries) = (Vec::new(), Vec::new());
            tx.scan(&LEFT, &(0,), &(u64::MAX,), Order::Ascending, |(key,), stored| {
                rows.push((key, stored.decode()?));
                NEXT
            })?;
            tx.scan(&RIGHT, &(0, 0), &(u16::MAX, u64::MAX), Order::Ascending, |(shelf, key), _| {
                entries.push((key, shelf));
                NEXT
            })?;
            entries.sort_unstable();
            Ok((rows, entries))
        })
        .unwrap();
    let last = rows.last().map_or(0, |(key, _)| *key);
    let remaining = (last + 1).saturating_sub(REMAINING).max(1)..=last;
    assert!(rows.iter().map(|(key, _)| *key).eq(remaining.clone()), "rows up to {last} are missing");
    assert!(rows.iter().all(|(key, stored)| *stored == row(*key)), "a row up to {last} is damaged");
    assert!(entries.into_iter().eq(remaining.map(|key| (key, (key % 5) as u16))), "the index differs from the rows");
    last
}

/// Recorded operations of a store, with the acknowledged commands.
struct Life {
    start: Vec<u8>,
    log: Vec<Op>,
    /// Positions in the log with the number of commands acknowledged by then.
    acknowledged: Vec<(usize, u64)>,
    /// Numbers of the commands that are last in their commits.
    ends: Vec<u64>,
}

impl Life {
    fn acknowledged_at(&self, place: usize) -> u64 {
        self.acknowledged.iter().rev().find(|(at, _)| *at <= place).map_or(0, |(_, number)| *number)
    }
}

/// Runs groups of commands, including rejected ones and ones that fail after a write, then closes the
/// store.
async fn live(disk: &Disk) -> Life {
    let start = disk.image();
    let store = disk.open_store().unwrap();
    let mut number = last_step(&store);
    let (mut acknowledged, mut ends) = (vec![(0, number)], vec![number]);
    for group in [1_u64, 1, 6, 2, 1, 9, 1, 3] {
        let blocked = BlockedWriter::block(&store);
        let mut calls = Vec::new();
        for _ in 0..group {
            number += 1;
            let this = number;
            calls.push(queued(store.write(move |tx| step(tx, this))));
        }
        let refused = queued(store.write::<(), _>(|_| Err(TestError::Refused)));
        let late = queued(store.write_bulk(move |tx| step(tx, 1_000_000).and(Err::<(), _>(TestError::Refused))));
        blocked.release().await;
        for call in calls {
            call.await.unwrap();
        }
        acknowledged.push((disk.ops(), number));
        ends.push(number);
        assert!(refused.await.is_err() && late.await.is_err());
        if group == 2 {
            let before = disk.syncs();
            until("the commit that makes the next open quick", || (disk.syncs() > before).then_some(()));
        }
    }
    store.close().await;
    drop(store);
    Life { start, log: disk.take_log(), acknowledged, ends }
}

fn check_cut(life: &Life, cuts: &Cuts<'_>, place: usize, unsynced: Unsynced) -> Disk {
    let disk = Disk::holding(cuts.image(unsynced));
    let store = match disk.open_store() {
        Ok(store) => store,
        Err(error) => panic!("cut before operation {place}, {unsynced:?}: {error}"),
    };
    let last = last_step(&store);
    let least = life.acknowledged_at(place);
    assert!(last >= least, "cut before operation {place}, {unsynced:?}: {last} of {least} acknowledged");
    assert!(life.ends.contains(&last), "cut before operation {place}, {unsynced:?}: {last} is inside a commit");
    disk
}

fn ways(place: usize) -> [Unsynced; 4] {
    let seed = place as u64 * 2_654_435_761 + 1;
    [Unsynced::Dropped, Unsynced::Kept, Unsynced::Some(seed), Unsynced::Some(seed << 7)]
}

#[tokio::test]
async fn every_acknowledged_write_survives_a_kill_at_each_operation() {
    let disk = Disk::default();
    let first = live(&disk).await;
    let second = live(&disk).await;

    for life in [&first, &second] {
        let mut cuts = Cuts::new(life.start.clone(), &life.log);
        for place in 0..=life.log.len() {
            cuts.go_to(place);
            for unsynced in ways(place) {
                check_cut(life, &cuts, place, unsynced);
            }
        }
    }
}

#[tokio::test]
async fn a_kill_during_a_repair_loses_no_acknowledged_write() {
    let disk = Disk::default();
    live(&disk).await;
    let life = live(&disk).await;

    let mut cuts = Cuts::new(life.start.clone(), &life.log);
    for place in (0..=life.log.len()).step_by(23) {
        cuts.go_to(place);
        let killed = cuts.image(Unsynced::Some(place as u64 + 9));
        let repaired = check_cut(&life, &cuts, place, Unsynced::Some(place as u64 + 9));
        let log = repaired.take_log();
        let mut again = Cuts::new(killed, &log);
        for second in 0..=log.len() {
            again.go_to(second);
            for unsynced in ways(second) {
                check_cut(&life, &again, place, unsynced);
            }
        }
    }
}
