//! Reading of insights.

use super::rows::InsightRow;
use super::store;
use crate::base::id::{EmailId, TeamId};
use crate::context::Context;
use crate::emails;
use crate::store::{StoreError, from_store_error};

/// Failure to read the insights of an email.
#[derive(Debug)]
pub enum FindInsightsError {
    /// The team has no such email.
    EmailNotFound,
    /// The email was not checked yet, or its content was deleted before it was.
    NotComputed,
    Store(StoreError),
}

from_store_error!(FindInsightsError);

/// Reads the insights of an instance.
pub struct Insights {
    context: Context,
}

impl Insights {
    /// Returns the insights of an instance.
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    /// Returns the insights of an email. All emails of a broadcast have those of the broadcast.
    pub async fn find(&self, team: TeamId, id: EmailId) -> Result<InsightRow, FindInsightsError> {
        self.context
            .store
            .read(move |tx| {
                let row = emails::find_row(tx, team, id)?.filter(|row| !row.hidden);
                let row = row.ok_or(FindInsightsError::EmailNotFound)?;
                let found = match row.broadcast {
                    Some(send) => store::of_broadcast(tx, team, send.id)?,
                    None => store::of_email(tx, team, id)?,
                };
                found.ok_or(FindInsightsError::NotComputed)
            })
            .await
    }
}
