//! Reads of broadcasts with the number of their recipients by state, without their content.

use super::counts::read_counts;
use super::estimates::SendEstimates;
use super::forecast::LazyForecast;
use super::rows::BroadcastRow;
use super::service::{Broadcast, Broadcasts};
use super::store;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, TeamId};
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{ReadTx, Reads, StoreError};
use crate::tables::BROADCASTS;

impl Broadcasts {
    /// Returns a page of the team's broadcasts with their progress, newest first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list_with_counts(
        &self,
        team: TeamId,
        query: PageQuery<BroadcastId>,
    ) -> Result<Page<Broadcast>, PageError> {
        let (estimates, now_ms) = (self.estimates.clone(), self.now_ms());
        let read = move |tx: &ReadTx| {
            let forecast = LazyForecast::default();
            page(tx, &BROADCASTS, team, query, |id, row| {
                with_progress(tx, &estimates, &forecast, now_ms, id, row.decode()?).map(Some)
            })
        };
        self.context.store.read(read).await
    }

    /// Returns the team's broadcast of that id with its progress.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn find_without_content(&self, team: TeamId, id: BroadcastId) -> Result<Option<Broadcast>, StoreError> {
        let (estimates, now_ms) = (self.estimates.clone(), self.now_ms());
        let read = move |tx: &ReadTx| {
            let Some(row) = store::find(tx, team, id)? else { return Ok(None) };
            with_progress(tx, &estimates, &LazyForecast::default(), now_ms, id, row).map(Some)
        };
        self.context.store.read(read).await
    }
}

fn with_progress(
    tx: &impl Reads,
    estimates: &SendEstimates,
    forecast: &LazyForecast,
    now_ms: TimestampMs,
    id: BroadcastId,
    row: BroadcastRow,
) -> Result<Broadcast, StoreError> {
    let counts = read_counts(tx, id)?;
    let finishes_ms = estimates.finishes_ms(tx, forecast, now_ms, id, &row, &counts)?;
    Ok(Broadcast { id, row, counts, finishes_ms })
}
