//! Reads of the log.

use std::sync::Arc;

use super::recorder::RequestLog;
use super::store::{self, LogBodies, LogRow};
use crate::base::id::{LogId, TeamId};
use crate::context::Context;
use crate::store::page::{Page, PageError, PageQuery, page};
use crate::store::{Keyring, Reads as _, Store, StoreError};
use crate::tables::REQUEST_LOGS;

/// The request logs of the teams.
pub struct Logs {
    context: Context,
    log: Arc<RequestLog>,
}

impl Logs {
    /// Creates the logs of the instance of `context`.
    pub fn new(context: Context, log: Arc<RequestLog>) -> Self {
        Self { context, log }
    }

    /// Writes the requests that are in memory.
    pub(super) async fn flush(&self) {
        self.log.flush().await;
    }

    pub(super) fn store(&self) -> &Store {
        &self.context.store
    }

    pub(super) fn keyring(&self) -> Keyring {
        self.context.keyring.clone()
    }

    /// Returns a page of the team's requests, newest first. Includes each request whose response was sent
    /// before the call.
    pub async fn list(&self, team: TeamId, query: PageQuery<LogId>) -> Result<Page<(LogId, LogRow)>, PageError> {
        self.log.flush().await;
        self.context.store.read(move |tx| page(tx, &REQUEST_LOGS, team, query, |id, row| Ok(Some((id, row))))).await
    }

    /// Returns a request of the team with the copies of its bodies. Includes each request whose response
    /// was sent before the call.
    pub async fn find(&self, team: TeamId, id: LogId) -> Result<Option<(LogRow, LogBodies)>, StoreError> {
        self.log.flush().await;
        let keyring = self.context.keyring.clone();
        self.context
            .store
            .read(move |tx| {
                let Some(row) = tx.get(&REQUEST_LOGS, &(team, id))? else { return Ok(None) };
                Ok(Some((row, store::bodies(tx, &keyring, team, id)?)))
            })
            .await
    }
}
