//! Reads of broadcasts with their numbers, without their content.

use super::estimates::SendEstimates;
use super::forecast::LazyForecast;
use super::service::{Broadcast, Broadcasts};
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, BroadcastLinkId, TeamId};
use crate::broadcast_rows::{self, BroadcastLink, BroadcastRow, RecipientDomains, domains_of, links_of, read_counts};
use crate::store::page::{Page, PageError, PageQuery, page_of};
use crate::store::{ReadTx, Reads, StoreError};

impl Broadcasts {
    /// Returns a page of the team's broadcasts with their progress, newest first.
    pub async fn list_with_counts(
        &self,
        team: TeamId,
        query: PageQuery<BroadcastId>,
    ) -> Result<Page<Broadcast>, PageError> {
        let (estimates, now_ms) = (self.estimates.clone(), self.now_ms());
        let read = move |tx: &ReadTx| {
            let forecast = LazyForecast::default();
            broadcast_rows::list(tx, team, query, |id, row| with_progress(tx, &estimates, &forecast, now_ms, id, row))
        };
        self.context.store.read(read).await
    }

    /// Returns the team's broadcast of that id with its progress.
    pub async fn find_without_content(&self, team: TeamId, id: BroadcastId) -> Result<Option<Broadcast>, StoreError> {
        let (estimates, now_ms) = (self.estimates.clone(), self.now_ms());
        let read = move |tx: &ReadTx| {
            let Some(row) = broadcast_rows::find(tx, team, id)? else { return Ok(None) };
            with_progress(tx, &estimates, &LazyForecast::default(), now_ms, id, row).map(Some)
        };
        self.context.store.read(read).await
    }

    /// Returns a page of the links of a broadcast that people have clicked, with the newest first click first; `None` if
    /// the team has no such broadcast.
    pub async fn clicked_links(
        &self,
        team: TeamId,
        id: BroadcastId,
        query: PageQuery<BroadcastLinkId>,
    ) -> Result<Option<Page<BroadcastLink>>, PageError> {
        let read = move |tx: &ReadTx| {
            if !broadcast_rows::exists(tx, team, id)? {
                return Ok(None);
            }
            let links = links_of(tx, id, query.cursor)?;
            page_of(links, query, |link| link.id, |_| Ok(false)).map(Some)
        };
        self.context.store.read(read).await
    }

    /// Returns the claimed emails of a broadcast by domain, as [`domains_of`]. Empty if the team has no such broadcast.
    pub async fn domains(
        &self,
        team: TeamId,
        id: BroadcastId,
        domains_max: usize,
    ) -> Result<RecipientDomains, StoreError> {
        let read = move |tx: &ReadTx| match broadcast_rows::exists(tx, team, id)? {
            true => domains_of(tx, id, domains_max),
            false => Ok(RecipientDomains::default()),
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
