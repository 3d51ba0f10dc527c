//! Numbers of clicks on the links of a broadcast, as its content has them.
//!
//! A link is stored with its merge fields, never with the values of a recipient. It is therefore the same for all
//! recipients, and no row has data of one of them.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, BroadcastLinkId, Id};
use crate::store::page::Cursor;
use crate::store::{KeyOf, NEXT, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::{BROADCAST_COUNTS, BROADCAST_LINKS};

/// Maximum number of links of a broadcast that have clicks. Clicks on further links count for the broadcast only.
pub(crate) const LINKS_MAX: usize = 500;
/// Maximum number of rows of a broadcast. A link whose clicks were all retracted keeps its row, which is a cursor.
const ROWS_MAX: usize = 2 * LINKS_MAX;
/// Length of the longest link that is counted, in bytes. A destination is shorter; merge fields can be longer than their
/// values.
const LINK_BYTES_MAX: usize = 2_000;

/// A link of a broadcast that people have clicked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroadcastLinkRow {
    /// The URL, with merge fields.
    pub url: String,
    /// Time of the first click, or of the first one after all clicks were retracted.
    pub first_ms: TimestampMs,
    /// Clicks of people. 0 if all clicks were retracted.
    pub clicks: u64,
    /// Recipients who clicked.
    pub unique_clicks: u64,
}
impl Row for BroadcastLinkRow {}

/// A clicked link with its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastLink {
    pub id: BroadcastLinkId,
    pub row: BroadcastLinkRow,
}

/// Change of the clicks of one recipient on one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkChange {
    clicks: i64,
    unique_clicks: i64,
}

impl LinkChange {
    /// Returns the change between two numbers of recorded clicks of the recipient.
    pub(crate) fn between(before: usize, after: usize) -> Self {
        let number = |clicks: usize| i64::try_from(clicks).unwrap_or(i64::MAX);
        let unique = |clicks: usize| i64::from(clicks > 0);
        Self { clicks: number(after) - number(before), unique_clicks: unique(after) - unique(before) }
    }
}

/// Counts clicks on a link, or takes them back. `url` is the link as the content of the broadcast has it. Clicks on a link
/// above [`LINKS_MAX`] or [`ROWS_MAX`], or longer than [`LINK_BYTES_MAX`], are not counted.
///
/// Reads up to [`ROWS_MAX`] small rows for the first click on a link.
pub(crate) fn count_link(
    tx: &WriteTx<'_>,
    broadcast: BroadcastId,
    url: &str,
    change: LinkChange,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    // The broadcast of a removed team has no counts any more.
    if change == LinkChange::default() || !tx.contains(&BROADCAST_COUNTS, &(broadcast,))? {
        return Ok(());
    }
    let key = (broadcast, id_of(url));
    let stored = tx.get_valid(&BROADCAST_LINKS, &key)?;
    let rows_max = if stored.is_some() { ROWS_MAX } else { ROWS_MAX - 1 };
    let mut row = match stored {
        Some(row) => row,
        // The retracted clicks were not counted.
        None if change.clicks <= 0 || url.len() > LINK_BYTES_MAX => return Ok(()),
        None => BroadcastLinkRow { url: url.to_owned(), first_ms: now_ms, clicks: 0, unique_clicks: 0 },
    };
    if row.clicks == 0 && change.clicks > 0 {
        let (rows, links) = sizes(tx, broadcast)?;
        if rows > rows_max || links >= LINKS_MAX {
            return Ok(());
        }
        // The link gets the place of a new one in the list.
        row.first_ms = now_ms;
    }
    row.clicks = row.clicks.saturating_add_signed(change.clicks);
    row.unique_clicks = row.unique_clicks.saturating_add_signed(change.unique_clicks);
    tx.put(&BROADCAST_LINKS, &key, &row)
}

/// Returns whether clicks on a link of a broadcast have been counted. `url` is the link as the content has it.
pub(crate) fn has_link(tx: &impl Reads, broadcast: BroadcastId, url: &str) -> Result<bool, StoreError> {
    tx.contains(&BROADCAST_LINKS, &(broadcast, id_of(url)))
}

/// Deletes the links of a broadcast; returns their number.
pub(super) fn delete_links(tx: &WriteTx<'_>, broadcast: BroadcastId) -> Result<usize, StoreError> {
    tx.delete_range(&BROADCAST_LINKS, &(broadcast, Id::MIN), &(broadcast, Id::MAX), usize::MAX)
}

/// Returns the links with clicks, with the newest first click first. A link whose clicks were all retracted remains
/// valid as a cursor. Reads up to [`ROWS_MAX`] small rows.
pub(crate) fn links_of(
    tx: &impl Reads,
    broadcast: BroadcastId,
    cursor: Cursor<BroadcastLinkId>,
) -> Result<Vec<BroadcastLink>, StoreError> {
    let mut links = tx.collect(&BROADCAST_LINKS, KeyOf::bounds(broadcast), Order::Ascending, |(_, id), row| {
        let is_cursor = match cursor {
            Cursor::Newest => false,
            Cursor::After(other) | Cursor::Before(other) => other == id,
        };
        Ok(row.valid().filter(|row| row.clicks > 0 || is_cursor).map(|row| BroadcastLink { id, row }))
    })?;
    links.sort_unstable_by_key(|link| Reverse((link.row.first_ms, link.id)));
    Ok(links)
}

/// Returns the number of rows of a broadcast, and of those with clicks.
fn sizes(tx: &impl Reads, broadcast: BroadcastId) -> Result<(usize, usize), StoreError> {
    let (mut rows, mut links) = (0, 0);
    let range = [(broadcast, Id::MIN), (broadcast, Id::MAX)];
    tx.scan_valid(&BROADCAST_LINKS, &range[0], &range[1], Order::Ascending, |_, row| {
        rows += 1;
        links += usize::from(row.clicks > 0);
        NEXT
    })?;
    Ok((rows, links))
}

/// Returns the id of a link: a UUID of version 8 (RFC 9562 §5.8) from the SHA-256 of the URL.
fn id_of(url: &str) -> BroadcastLinkId {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(url.as_bytes())[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Id::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broadcast_rows::BroadcastCountsRow;
    use crate::context::Context;
    use crate::store::page::{PageQuery, page_of};

    const URL: &str = "https://shop.example/?name={{{FIRST_NAME|you}}}";

    /// Returns a broadcast with counts.
    async fn broadcast(context: &Context) -> BroadcastId {
        let id = context.id();
        context.commit(move |tx| tx.put(&BROADCAST_COUNTS, &(id,), &BroadcastCountsRow::default())).await;
        id
    }

    async fn count(context: &Context, id: BroadcastId, url: &str, clicks: (usize, usize), now_ms: TimestampMs) {
        let (url, change) = (url.to_owned(), LinkChange::between(clicks.0, clicks.1));
        context.commit(move |tx| count_link(tx, id, &url, change, now_ms)).await;
    }

    /// Returns the URL, the clicks and the recipients of each link.
    fn links(context: &Context, id: BroadcastId) -> Vec<(String, u64, u64)> {
        let links = context.read(|tx| links_of(tx, id, Cursor::Newest));
        links.into_iter().map(|link| (link.row.url, link.row.clicks, link.row.unique_clicks)).collect()
    }

    #[tokio::test]
    async fn the_clicks_and_the_recipients_of_a_link_are_counted_and_taken_back() {
        let (_directory, context) = Context::temporary();
        let id = broadcast(&context).await;

        count(&context, id, URL, (0, 1), 1).await;
        count(&context, id, URL, (1, 2), 2).await;
        count(&context, id, URL, (0, 1), 3).await;
        count(&context, id, "https://a.example", (0, 1), 4).await;
        assert_eq!(links(&context, id), [("https://a.example".to_owned(), 1, 1), (URL.to_owned(), 3, 2)]);

        count(&context, id, URL, (2, 0), 5).await;
        count(&context, id, "https://a.example", (1, 0), 6).await;
        count(&context, id, "https://b.example", (1, 0), 7).await;
        assert_eq!(links(&context, id), [(URL.to_owned(), 1, 1)]);
    }

    #[tokio::test]
    async fn a_retracted_link_remains_a_cursor() {
        let (_directory, context) = Context::temporary();
        let id = broadcast(&context).await;
        for (url, now_ms) in [("https://a.example", 1), ("https://b.example", 2), ("https://c.example", 3)] {
            count(&context, id, url, (0, 1), now_ms).await;
        }
        count(&context, id, "https://b.example", (1, 0), 4).await;

        let cursor = Cursor::After(id_of("https://b.example"));
        let listed = context.read(|tx| links_of(tx, id, cursor));
        let page = page_of(listed, PageQuery { cursor, limit: 10 }, |link| link.id, |_| Ok(false)).unwrap();

        let urls: Vec<&str> = page.rows.iter().map(|link| link.row.url.as_str()).collect();
        assert_eq!(urls, ["https://a.example"]);
    }

    #[tokio::test]
    async fn the_number_and_the_length_of_links_are_bounded() {
        let (_directory, context) = Context::temporary();
        let id = broadcast(&context).await;
        let url = |number: usize| format!("https://a.example/{number}");
        let fill = move |tx: &WriteTx<'_>| {
            for number in 0..ROWS_MAX - 2 {
                let clicks = u64::from(number >= LINKS_MAX);
                let row = BroadcastLinkRow { url: url(number), first_ms: 1, clicks, unique_clicks: clicks };
                tx.put(&BROADCAST_LINKS, &(id, id_of(&row.url)), &row)?;
            }
            let click = |number| count_link(tx, id, &url(number), LinkChange::between(0, 1), 2);
            // The first link had a row. The second one gets the last place, and the third one gets none.
            [0, ROWS_MAX, 1].into_iter().try_for_each(click)?;
            assert_eq!(sizes(tx, id)?, (ROWS_MAX - 1, LINKS_MAX));
            count_link(tx, id, &url(0), LinkChange::between(1, 0), 3)?;
            // A new link gets the last row, and the next one gets none.
            click(ROWS_MAX + 1)?;
            count_link(tx, id, &url(ROWS_MAX), LinkChange::between(1, 0), 3)?;
            click(ROWS_MAX + 2)?;
            assert_eq!(sizes(tx, id)?, (ROWS_MAX, LINKS_MAX - 1));
            click(1)?;
            assert_eq!(sizes(tx, id)?, (ROWS_MAX, LINKS_MAX));
            Ok(())
        };
        context.commit(fill).await;
    }

    #[tokio::test]
    async fn the_links_of_a_broadcast_without_counts_are_not_counted() {
        let (_directory, context) = Context::temporary();
        let (id, other) = (context.id(), broadcast(&context).await);

        count(&context, id, URL, (0, 1), 1).await;
        count(&context, other, URL, (0, 1), 1).await;
        assert_eq!((links(&context, id).len(), links(&context, other).len()), (0, 1));

        assert_eq!(context.commit(move |tx| delete_links(tx, other)).await, 1);
        assert_eq!(links(&context, other), []);
    }
}
