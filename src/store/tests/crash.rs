//! Kills at every operation on the disk, with the operations since the last sync kept, dropped or
//! scattered: what is opened afterwards holds every acknowledged write and no half of another.

use super::disk::{Cuts, Disk, Op, Unsynced};
use super::*;

/// How many rows the commands of these tests leave standing.
const STANDING: u64 = 12;

/// The `number`th command: a row, its index entry, and the removal of an older pair.
fn step(tx: &WriteTx<'_>, number: u64) -> TestResult {
    tx.put(&LEFT, &(number,), &row(number))?;
    tx.put(&RIGHT, &((number % 5) as u16, number), &blob("index"))?;
    if let Some(old) = number.checked_sub(STANDING) {
        tx.delete(&LEFT, &(old,))?;
        tx.delete_range(&RIGHT, &((old % 5) as u16, old), &((old % 5) as u16, old), 1)?;
    }
    Ok(())
}

/// Rows of every size from a few bytes to several pages, so that the file grows on the way.
fn row(number: u64) -> Blob {
    Blob(vec![number as u8; (number as usize * 7_919) % 30_000])
}

/// Returns the number of the last command whose effects are there, having checked that they are
/// there whole and alone.
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
    let standing = (last + 1).saturating_sub(STANDING).max(1)..=last;
    assert!(rows.iter().map(|(key, _)| *key).eq(standing.clone()), "rows up to {last} have holes");
    assert!(rows.iter().all(|(key, stored)| *stored == row(*key)), "a row up to {last} is damaged");
    assert!(entries.into_iter().eq(standing.map(|key| (key, (key % 5) as u16))), "the index differs from the rows");
    last
}

/// A life of the store and what was promised during it.
struct Life {
    start: Vec<u8>,
    log: Vec<Op>,
    /// At each place of the log: how many commands had been acknowledged.
    acknowledged: Vec<(usize, u64)>,
    /// The numbers at which a commit ended.
    ends: Vec<u64>,
}

impl Life {
    fn acknowledged_at(&self, place: usize) -> u64 {
        self.acknowledged.iter().rev().find(|(at, _)| *at <= place).map_or(0, |(_, number)| *number)
    }
}

/// Runs groups of commands, with refused and late-failing ones between, until the store is closed.
async fn live(disk: &Disk) -> Life {
    let start = disk.image();
    let store = disk.open_store().unwrap();
    let mut number = last_step(&store);
    let (mut acknowledged, mut ends) = (vec![(0, number)], vec![number]);
    for group in [1_u64, 1, 6, 2, 1, 9, 1, 3] {
        let held = Held::hold(&store);
        let mut calls = Vec::new();
        for _ in 0..group {
            number += 1;
            let this = number;
            calls.push(queued(store.write(move |tx| step(tx, this))));
        }
        let refused = queued(store.write::<(), _>(|_| Err(TestError::Refused)));
        let late = queued(store.write_bulk(move |tx| step(tx, 1_000_000).and(Err::<(), _>(TestError::Refused))));
        held.release().await;
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
    assert!(life.ends.contains(&last), "cut before operation {place}, {unsynced:?}: {last} is half a commit");
    disk
}

fn ways(place: usize) -> [Unsynced; 4] {
    let seed = place as u64 * 2_654_435_761 + 1;
    [Unsynced::Dropped, Unsynced::Kept, Unsynced::Some(seed), Unsynced::Some(seed << 7)]
}

#[tokio::test]
async fn every_acknowledged_write_survives_a_kill_at_any_operation() {
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
async fn a_kill_during_the_repair_after_a_kill_loses_nothing_either() {
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
