//! Pages over generated rows: each row that is not hidden once, in both directions.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::disk::Disk;
use super::page::{Cursor, Page, PageError, PageQuery, page};
use super::*;
use crate::base::id::{EmailId, TeamId};

const LIST: Table<(TeamId, EmailId), Blob> = Table::new("list-1");
const NUMBERS: Table<(TeamId, EmailId), NumberRow> = Table::new("numbers-1");
const OURS: TeamId = TeamId::from_bytes([7; 16]);

/// Teams whose rows are before and after those of the tested team.
const THEIRS: [TeamId; 2] = [TeamId::from_bytes([6; 16]), TeamId::from_bytes([8; 16])];

#[derive(Serialize, Deserialize)]
struct NumberRow {
    number: u8,
}
impl Row for NumberRow {}

/// Returns an id of a millisecond. Ids share a few milliseconds.
fn id(ms: u8, tail: u8) -> EmailId {
    let mut bytes = [0; 16];
    bytes[5] = ms;
    bytes[15] = tail;
    EmailId::from_bytes(bytes)
}

fn is_hidden(row: &Blob) -> bool {
    row.0 == [0]
}

fn read(tx: &impl Reads, limit: usize, cursor: Cursor<EmailId>) -> Result<Page<EmailId>, PageError> {
    page(tx, &LIST, OURS, PageQuery { limit, cursor }, |id, row| Ok((!is_hidden(&row)).then_some(id)))
}

/// Reads all pages from the newest row to the oldest.
fn walk_after(tx: &impl Reads, limit: usize, pages_max: usize) -> Vec<Page<EmailId>> {
    let mut pages = vec![read(tx, limit, Cursor::Newest).unwrap()];
    while pages.len() < pages_max
        && let Some(last) = pages[pages.len() - 1].rows.last()
    {
        let page = read(tx, limit, Cursor::After(*last)).unwrap();
        pages.push(page);
    }
    pages
}

/// Reads all pages from a row to the newest.
fn walk_before(tx: &impl Reads, from: EmailId, limit: usize, pages_max: usize) -> Vec<Page<EmailId>> {
    let mut pages = vec![read(tx, limit, Cursor::Before(from)).unwrap()];
    while pages.len() < pages_max
        && let Some(first) = pages[pages.len() - 1].rows.first()
    {
        let page = read(tx, limit, Cursor::Before(*first)).unwrap();
        pages.push(page);
    }
    pages
}

proptest! {
    #[test]
    fn every_row_is_on_one_page_in_either_direction(
        rows in btree_set((0_u8..6, any::<u8>()), 0..60),
        hidden in vec(any::<bool>(), 60),
        limit in 1_usize..12,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let store = Disk::default().open_store().unwrap();
        let rows: Vec<(EmailId, bool)> =
            rows.into_iter().zip(hidden).map(|((ms, tail), hidden)| (id(ms, tail), hidden)).collect();
        let written = rows.clone();
        runtime.block_on(store.write::<_, StoreError>(move |tx| {
            for (id, hidden) in &written {
                tx.put(&LIST, &(OURS, *id), &Blob(vec![u8::from(!hidden)]))?;
            }
            for theirs in THEIRS {
                tx.put(&LIST, &(theirs, id(3, 1)), &Blob(vec![1]))?;
                tx.put(&LIST, &(theirs, EmailId::MIN), &Blob(vec![1]))?;
                tx.put(&LIST, &(theirs, EmailId::MAX), &Blob(vec![1]))?;
            }
            Ok(())
        })).unwrap();
        let newest_first: Vec<EmailId> = rows.iter().rev().filter(|(_, hidden)| !hidden).map(|(id, _)| *id).collect();

        store.read_now::<_, StoreError>(|tx| {
            let pages = walk_after(tx, limit, 70);
            let mut left = newest_first.len();
            for page in &pages {
                left -= page.rows.len();
                assert_eq!(page.has_more, left > 0);
                assert!(page.rows.len() == limit || left == 0, "a page ends early");
            }
            let walked: Vec<EmailId> = pages.into_iter().flat_map(|page| page.rows).collect();
            assert_eq!(walked, newest_first);

            for (from, hidden) in &rows {
                if *hidden {
                    assert!(matches!(read(tx, limit, Cursor::After(*from)), Err(PageError::UnknownCursor)));
                    assert!(matches!(read(tx, limit, Cursor::Before(*from)), Err(PageError::UnknownCursor)));
                    continue;
                }
                let newer: Vec<EmailId> = newest_first.iter().copied().filter(|id| id > from).collect();
                let pages = walk_before(tx, *from, limit, 70);
                let mut left = newer.len();
                for page in &pages {
                    left -= page.rows.len();
                    assert_eq!(page.has_more, left > 0);
                    assert!(page.rows.len() == limit || left == 0, "a page ends early");
                }
                let walked: Vec<EmailId> = pages.into_iter().rev().flat_map(|page| page.rows).collect();
                assert_eq!(walked, newer);

                let older = read(tx, limit, Cursor::After(*from)).unwrap();
                let expected: Vec<EmailId> = newest_first.iter().copied().filter(|id| id < from).take(limit).collect();
                assert_eq!(older.rows, expected);
            }
            Ok(())
        }).unwrap();
    }
}

#[tokio::test]
async fn a_cursor_of_another_team_or_of_no_row_is_unknown() {
    let store = Disk::default().open_store().unwrap();
    store
        .write::<_, StoreError>(|tx| {
            tx.put(&LIST, &(OURS, id(1, 1)), &Blob(vec![1]))?;
            tx.put(&LIST, &(THEIRS[0], id(2, 2)), &Blob(vec![1]))
        })
        .await
        .unwrap();

    store
        .read_now::<_, StoreError>(|tx| {
            for unknown in [id(2, 2), id(3, 3), EmailId::MIN, EmailId::MAX] {
                assert!(matches!(read(tx, 5, Cursor::After(unknown)), Err(PageError::UnknownCursor)));
                assert!(matches!(read(tx, 5, Cursor::Before(unknown)), Err(PageError::UnknownCursor)));
            }
            assert_eq!(read(tx, 5, Cursor::Newest).unwrap(), Page { rows: vec![id(1, 1)], has_more: false });
            assert_eq!(read(tx, 5, Cursor::After(id(1, 1))).unwrap(), Page { rows: vec![], has_more: false });
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn a_corrupt_row_is_omitted_and_a_page_starts_at_it() {
    let store = Disk::default().open_store().unwrap();
    store
        .write::<_, StoreError>(|tx| {
            for number in [1, 3, 5] {
                tx.put(&NUMBERS, &(OURS, id(number, 0)), &NumberRow { number })?;
            }
            tx.put_encoded(&NUMBERS, &(OURS, id(4, 0)), &Encoded::unreadable())
        })
        .await
        .unwrap();
    let listed = |limit, cursor| {
        // A row to which the third one refers is corrupt.
        let show = |_, NumberRow { number }| match number {
            3 => Err(StoreError::Corrupt("the row of another table".into())),
            number => Ok(Some(number)),
        };
        let page = store.read_now(|tx| page(tx, &NUMBERS, OURS, PageQuery { limit, cursor }, show)).unwrap();
        (page.rows, page.has_more)
    };

    assert_eq!(listed(5, Cursor::Newest), (vec![5, 1], false));
    assert_eq!(listed(1, Cursor::Newest), (vec![5], true));
    for corrupt in [id(4, 0), id(3, 0)] {
        assert_eq!(listed(5, Cursor::After(corrupt)), (vec![1], false));
        assert_eq!(listed(5, Cursor::Before(corrupt)), (vec![5], false));
    }
}
