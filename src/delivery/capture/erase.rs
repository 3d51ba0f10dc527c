//! Deletion of the captured messages that an erasure covers, and of those without an email.

use crate::base::clock::TimestampMs;
use crate::base::id::{CapturedId, Id};
use crate::context::Context;
use crate::delivery::rows::CapturedRow;
use crate::store::{MatchPage, Reads, StoreError, WriteTx, match_page};
use crate::tables::{CAPTURED, CAPTURED_MESSAGES, EMAILS};
use crate::teams;

/// Envelopes in one scan.
const PAGE_ROWS: usize = 1_000;
/// Chunks that one commit deletes: 3.75 MiB.
const CHUNKS_MAX: usize = 64;

/// Deletes the messages that were composed from an email that no team has. Each page reads the teams in its own
/// snapshot, because a team can be created during the scan.
///
/// # Errors
/// [`StoreError`].
pub(crate) async fn delete_orphans(context: &Context) -> Result<(), StoreError> {
    let mut after = CapturedId::MIN;
    loop {
        let page = context.store.read(move |tx| {
            let teams = teams::list(tx)?;
            match_messages(tx, after, PAGE_ROWS, |_, row| {
                let Some(email) = row.email else { return Ok(false) };
                for team in &teams {
                    if tx.contains(&EMAILS, &(team.id, email))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            })
        });
        let page = page.await?;
        let now_ms = context.now_ms();
        for id in page.hits {
            while !context.store.write_bulk(move |tx| delete_message(tx, id, &mut CHUNKS_MAX.clone(), now_ms)).await? {}
        }
        match page.next {
            Some(next) => after = next,
            None => return Ok(()),
        }
    }
}

/// Scans up to `rows_max` envelopes after `after` for those that satisfy `matches`.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn match_messages(
    tx: &impl Reads,
    after: CapturedId,
    rows_max: usize,
    mut matches: impl FnMut(CapturedId, &CapturedRow) -> Result<bool, StoreError>,
) -> Result<MatchPage<CapturedId>, StoreError> {
    let page = match_page(tx, &CAPTURED, (after,), (Id::MAX,), rows_max, |(id,), row: Option<CapturedRow>| {
        row.map_or(Ok(false), |row| matches(id, &row))
    })?;
    Ok(page.map(|(id,)| id))
}

/// Deletes a captured message and returns whether all of it is deleted. Subtracts the deleted chunks
/// from `chunks_left`, which limits them. The envelope is deleted last: until then a scan finds the rest.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn delete_message(
    tx: &WriteTx<'_>,
    id: CapturedId,
    chunks_left: &mut usize,
    now_ms: TimestampMs,
) -> Result<bool, StoreError> {
    let deleted = tx.delete_range(&CAPTURED_MESSAGES, &(id, 0), &(id, u32::MAX), *chunks_left)?;
    *chunks_left -= deleted;
    if *chunks_left == 0 {
        return Ok(false);
    }
    tx.delete_listed(&CAPTURED, &(id,), now_ms)?;
    Ok(true)
}
