//! The use case: a report of one moment.

use super::model::{Sent, UsagePeriod, UsageReport};
use super::store;
use crate::base::id::TeamId;
use crate::context::Context;
use crate::store::{Reads, StoreError};
use crate::{contacts, domains, segments, teams};

/// What the teams of the instance have used.
pub struct Usage {
    context: Context,
    dashboard_url: String,
}

impl Usage {
    /// Returns the usage of the instance that `context` belongs to and whose dashboard is at `dashboard_url`.
    pub fn new(context: Context, dashboard_url: String) -> Self {
        Self { context, dashboard_url }
    }

    /// Returns where people look after the instance.
    pub fn dashboard_url(&self) -> &str {
        &self.dashboard_url
    }

    /// Returns what the team has used so far, all of it as of one moment.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn report(&self, team: TeamId) -> Result<UsageReport, StoreError> {
        let now_ms = self.context.now_ms();
        self.context
            .store
            .read(move |tx| {
                let sent = |span: UsagePeriod| {
                    let emails = store::emails(tx, team, &span.days)?;
                    Ok::<_, StoreError>(Sent { emails, resets_ms: span.resets_ms })
                };
                Ok(UsageReport {
                    team: named(tx, team)?,
                    today: sent(UsagePeriod::day(now_ms))?,
                    month: sent(UsagePeriod::month(now_ms))?,
                    contacts: contacts::audience(tx, team)?.contacts,
                    segments: segments::count(tx, team)?,
                    domains: domains::count(tx, team)?,
                })
            })
            .await
    }
}

fn named(tx: &impl Reads, team: TeamId) -> Result<teams::Team, StoreError> {
    teams::find(tx, team)?.ok_or_else(|| StoreError::Corrupt("a key belongs to a team that has no row".into()))
}
