//! The worker: deletes the data of removed teams, in rounds.

use tracing::{error, info};

use super::service::TeamRemovals;
use crate::base::id::{EmailId, TeamId};
use crate::base::sync;
use crate::delivery::{self, capture};
use crate::store::{StoreError, WriteTx};
use crate::teams::RemovedTeam;
use crate::{api_keys, broadcasts, domains, emails, tables, teams, users};

/// Rows that one commit deletes, in some milliseconds.
const ROWS_PER_COMMIT: usize = 500;
/// Time after which no request from before the removal is in progress.
const REQUESTS_END_MS: i64 = 10 * 60 * 1_000;

impl TeamRemovals {
    /// Deletes the data of each removed team. A failure is logged, and the next round repeats the pass. Cancel
    /// safe.
    ///
    /// # Errors
    /// [`StoreError`] if the list of removed teams cannot be read or the store is closed.
    pub async fn run_round(&self) -> Result<(), StoreError> {
        for removed in self.context.store.read(teams::removed).await? {
            match self.run_pass(removed).await {
                Ok(()) => {}
                Err(StoreError::Closed) => return Err(StoreError::Closed),
                Err(failure) => {
                    let team = removed.id;
                    error!(team.id = %team, "could not delete the data of the removed team {team}: {failure}");
                }
            }
        }
        Ok(())
    }

    async fn run_pass(&self, removed: RemovedTeam) -> Result<(), StoreError> {
        let RemovedTeam { id: team, removed_ms } = removed;
        // The lower bound ends the wait if the wall clock was set back.
        let is_final = !(removed_ms..removed_ms + REQUESTS_END_MS).contains(&self.context.now_ms());
        if !is_final && sync::lock(&self.empty).contains(&team) {
            return Ok(());
        }
        if self.delete_rows(team).await? > 0 {
            return Ok(());
        }
        sync::lock(&self.empty).insert(team);
        if is_final {
            capture::delete_orphans(&self.context).await?;
            self.context.store.write_bulk(move |tx| teams::forget_removed(tx, team)).await?;
            sync::lock(&self.empty).remove(&team);
            info!(team.id = %team, "deleted the data of the removed team {team}");
        }
        Ok(())
    }

    /// Deletes the rows of a team. Returns the number of rows that were found, including those that must stay
    /// until a delivery ends.
    async fn delete_rows(&self, team: TeamId) -> Result<usize, StoreError> {
        let mut found = 0;
        found += self.delete_keys(team).await?;
        found += self.webhooks.delete_of_team(team).await?;
        found += self.delete_emails(team).await?;
        found += self.repeat(move |tx| broadcasts::delete_page_of_team(tx, team)).await?;
        found += self.repeat(move |tx| delivery::forget_holds_of_team(tx, team)).await?;
        found += self.repeat(move |tx| domains::delete_page_of_team(tx, team, ROWS_PER_COMMIT)).await?;
        found += self.repeat(move |tx| users::remove_team(tx, team, ROWS_PER_COMMIT)).await?;
        found += self.repeat(move |tx| tables::delete_of_team(tx, team, ROWS_PER_COMMIT)).await?;
        Ok(found)
    }

    /// Repeats a command that deletes a bounded number of rows until it finds none.
    async fn repeat(
        &self,
        delete: impl Fn(&WriteTx<'_>) -> Result<usize, StoreError> + Copy + Send + 'static,
    ) -> Result<usize, StoreError> {
        let mut found = 0;
        loop {
            match self.context.store.write_bulk(delete).await? {
                0 => return Ok(found),
                rows => found += rows,
            }
        }
    }

    /// Deletes the keys, including those that a request in progress has created.
    async fn delete_keys(&self, team: TeamId) -> Result<usize, StoreError> {
        let mut found = 0;
        loop {
            let store = self.context.store.clone();
            let delete = move |tx: &WriteTx<'_>| api_keys::delete_of_team(tx, team, ROWS_PER_COMMIT);
            let commit = async move { store.write_bulk(delete).await };
            match self.api_keys.revoke_of_team::<_, StoreError>(team, commit).await? {
                0 => return Ok(found),
                rows => found += rows,
            }
        }
    }

    async fn delete_emails(&self, team: TeamId) -> Result<usize, StoreError> {
        let (mut found, mut after) = (0, EmailId::MIN);
        loop {
            let page = self.context.store.write_bulk(move |tx| emails::delete_page_of_team(tx, team, after)).await?;
            found += page.found;
            match page.last {
                Some(last) => after = last,
                None => break,
            }
        }
        after = EmailId::MIN;
        loop {
            let now_ms = self.context.now_ms();
            let delete = move |tx: &WriteTx<'_>| emails::delete_broadcast_emails_of_team(tx, team, after, now_ms);
            let page = self.context.store.write_bulk(delete).await?;
            found += page.found;
            match page.last {
                Some(last) => after = last,
                None => return Ok(found),
            }
        }
    }
}
