//! Pages in key order: the rows after a key, up to a bound. Also collected rows, and the first key.

use serde::{Deserialize, Serialize};

use super::*;

const NUMBERED: Table<(u64,), NumberedRow> = Table::new("numbered-1");

#[derive(Serialize, Deserialize)]
struct NumberedRow {
    number: u64,
}
impl Row for NumberedRow {}

/// Returns a store with the rows 1 to 5, of which 3 is corrupt.
async fn with_five_rows() -> (TempDir, Store) {
    let (directory, store) = fresh();
    let fill = |tx: &WriteTx<'_>| {
        for number in [1, 2, 4, 5] {
            tx.put(&NUMBERED, &(number,), &NumberedRow { number })?;
        }
        tx.put_encoded(&NUMBERED, &(3,), &Encoded::unreadable())
    };
    store.write::<_, StoreError>(fill).await.unwrap();
    (directory, store)
}

#[tokio::test]
async fn a_page_has_the_rows_after_a_key_and_counts_corrupt_ones() {
    let (_directory, store) = with_five_rows().await;
    for (after, to, rows_max, hits, next) in [
        (0, 9, 2, &[1, 2][..], Some(2)),
        (2, 9, 2, &[4], Some(4)),
        (4, 9, 1, &[5], Some(5)),
        (5, 9, 1, &[], None),
        (0, 4, 9, &[1, 2, 4], None),
        (0, 5, 5, &[1, 2, 4, 5], Some(5)),
        (0, 5, 6, &[1, 2, 4, 5], None),
    ] {
        let is_valid = |(key,), row: Option<NumberedRow>| Ok(row.is_some_and(|row| row.number == key));
        let read = move |tx: &ReadTx| match_page(tx, &NUMBERED, (after,), (to,), rows_max, is_valid);

        let page = store.read::<_, StoreError>(read).await.unwrap().map(|(key,)| key);

        assert_eq!((page.hits.as_slice(), page.next), (hits, next), "{rows_max} rows after {after} up to {to}");
    }
}

#[tokio::test]
async fn rows_after_a_key_are_decoded_and_keys_are_not() {
    let (_directory, store) = with_five_rows().await;
    let read = |tx: &ReadTx| {
        let rows = rows_after(tx, &NUMBERED, (1,), (4,), 9)?;
        Ok((rows, match_keys(tx, &NUMBERED, (0,), (9,), 3, |(key,)| key % 2 == 1)?))
    };

    let (rows, keys) = store.read::<_, StoreError>(read).await.unwrap();

    let rows: Vec<_> = rows.into_iter().map(|((key,), row)| (key, row.map(|row| row.number))).collect();
    assert_eq!(rows, [(2, Some(2)), (3, None), (4, Some(4))]);
    assert_eq!(keys, MatchPage { hits: vec![(1,), (3,)], next: Some((3,)) });
}

#[tokio::test]
async fn pages_are_written_in_turn_until_the_last() {
    let (_directory, store) = with_five_rows().await;
    let delete = |tx: &WriteTx<'_>, after| {
        let page = match_keys(tx, &NUMBERED, after, (9,), 2, |_| true)?;
        for key in &page.hits {
            tx.delete(&NUMBERED, key)?;
        }
        Ok(page.next)
    };

    store.write_pages((0,), delete).await.unwrap();

    let left = store.read::<_, StoreError>(|tx| match_keys(tx, &NUMBERED, (0,), (9,), 9, |_| true)).await.unwrap();
    assert_eq!(left, MatchPage { hits: Vec::new(), next: None });
}

#[tokio::test]
async fn the_picked_values_of_a_range_are_collected_in_order() {
    let (_directory, store) = with_five_rows().await;
    for (from, to, order, expected) in [
        (0, 9, Order::Ascending, &[1, 2, 4, 5][..]),
        (0, 9, Order::Descending, &[5, 4, 2, 1]),
        (2, 4, Order::Ascending, &[2, 4]),
        (3, 3, Order::Ascending, &[]),
        (6, 9, Order::Ascending, &[]),
        (5, 1, Order::Ascending, &[]),
    ] {
        let read = |tx: &ReadTx| {
            tx.collect(&NUMBERED, ((from,), (to,)), order, |_, row| Ok(row.valid().map(|row| row.number)))
        };

        let numbers = store.read_now::<_, StoreError>(read).unwrap();

        assert_eq!(numbers, expected, "{order:?}, {from} to {to}");
    }
}

#[tokio::test]
async fn a_collection_fails_at_a_corrupt_row_that_it_decodes() {
    let (_directory, store) = with_five_rows().await;
    let all = ((0,), (9,));
    let rows = |tx: &ReadTx| tx.collect(&NUMBERED, all, Order::Ascending, |_, row| Ok(Some(row.decode()?.number)));
    let keys = |tx: &ReadTx| tx.collect(&NUMBERED, all, Order::Ascending, |(key,), _| Ok(Some(key)));

    let rows = store.read_now::<_, StoreError>(rows);
    let keys = store.read_now::<_, StoreError>(keys);

    assert!(matches!(rows, Err(StoreError::Corrupt(_))), "{rows:?}");
    assert_eq!(keys.unwrap(), [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn the_first_key_of_a_range_is_found_without_decoding_its_row() {
    let (_directory, store) = with_five_rows().await;
    for (from, to, order, expected) in [
        (0, 9, Order::Ascending, Some((1,))),
        (0, 9, Order::Descending, Some((5,))),
        (3, 9, Order::Ascending, Some((3,))),
        (0, 3, Order::Descending, Some((3,))),
        (6, 9, Order::Ascending, None),
        (5, 1, Order::Ascending, None),
    ] {
        let read = |tx: &ReadTx| tx.first_key(&NUMBERED, ((from,), (to,)), order);

        let first = store.read_now::<_, StoreError>(read).unwrap();

        assert_eq!(first, expected, "{order:?}, {from} to {to}");
    }
}
