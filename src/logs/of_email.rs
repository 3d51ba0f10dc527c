//! The request that created an email.

use super::service::Logs;
use super::store::{self, LogBodies, LogRow};
use crate::base::id::{ApiKeyId, EmailId, LogId, TeamId};
use crate::store::{NEXT, Order, ReadTx, Reads as _, STOP, StoreError};
use crate::tables::REQUEST_LOGS;

/// Longest time from the start of a request to the acceptance of its emails. Remote attachments take the most of it.
const REQUEST_MS_MAX: i64 = 120_000;
/// Maximum number of requests that are read.
const ROWS_MAX: usize = 5_000;
/// Maximum number of requests whose bodies are opened.
const BODIES_MAX: usize = 300;
/// Paths that create emails.
const PATHS: [&str; 3] = ["/emails", "/emails/batch", "/email"];

impl Logs {
    /// Returns the request of an API key whose response has the id of an email. `None` if it is too old, its bodies
    /// were not stored, or none of the requests before the email has the id.
    pub async fn find_of_email(
        &self,
        team: TeamId,
        key: ApiKeyId,
        email: EmailId,
    ) -> Result<Option<(LogId, LogRow, LogBodies)>, StoreError> {
        self.flush().await;
        let keyring = self.keyring();
        let accepted_ms = email.created_ms();
        let read = move |tx: &ReadTx| {
            let (from, to) = (LogId::first_at(accepted_ms - REQUEST_MS_MAX), LogId::first_at(accepted_ms + 1));
            let (text, mut rows, mut opened, mut found) = (email.to_string(), 0, 0, None);
            tx.scan(&REQUEST_LOGS, &(team, from), &(team, to), Order::Descending, |(_, id), row| {
                rows += 1;
                if rows > ROWS_MAX || opened == BODIES_MAX {
                    return STOP;
                }
                let Some(row): Option<LogRow> = row.valid() else { return NEXT };
                let path = row.endpoint.trim_end_matches('/');
                if row.key != key || row.method != "POST" || row.status >= 300 || !PATHS.contains(&path) {
                    return NEXT;
                }
                opened += 1;
                let Some(bodies) = store::valid_bodies(tx, &keyring, team, id)? else { return NEXT };
                if bodies.response.as_ref().is_some_and(|response| response.contains(&text)) {
                    found = Some((id, row, bodies));
                    return STOP;
                }
                NEXT
            })?;
            Ok(found)
        };
        self.store().read::<_, StoreError>(read).await
    }
}
