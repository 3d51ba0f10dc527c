//! Deletion of the captured messages without an email.

use super::erase::{delete_message, match_messages};
use crate::base::id::CapturedId;
use crate::context::Context;
use crate::emails;
use crate::store::StoreError;
use crate::teams;

/// Envelopes in one scan.
const PAGE_ROWS: usize = 1_000;
/// Chunks that one commit deletes: 3.75 MiB.
const CHUNKS_MAX: usize = 64;

/// Deletes the messages that were composed from an email that no team has. Each page reads the teams in its own
/// snapshot, because a team can be created during the scan.
pub(crate) async fn delete_orphans(context: &Context) -> Result<(), StoreError> {
    let mut after = CapturedId::MIN;
    loop {
        let page = context.store.read(move |tx| {
            let teams = teams::list(tx)?;
            match_messages(tx, after, PAGE_ROWS, |_, row| {
                let Some(email) = row.email else { return Ok(false) };
                for team in &teams {
                    if emails::has_row(tx, team.id, email)? {
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
