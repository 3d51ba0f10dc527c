//! The use case: a report.

use super::model::{SentEmails, UsagePeriod, UsageReport};
use super::store;
use crate::base::id::TeamId;
use crate::context::Context;
use crate::store::{ReadTx, StoreError};
use crate::{domains, teams};

/// The usage of all teams.
pub struct Usage {
    context: Context,
    dashboard_url: String,
}

impl Usage {
    /// Returns the usage in the store of `context`. The dashboard of the instance is at `dashboard_url`.
    pub fn new(context: Context, dashboard_url: String) -> Self {
        Self { context, dashboard_url }
    }

    /// Returns the URL of the dashboard.
    pub fn dashboard_url(&self) -> &str {
        &self.dashboard_url
    }

    /// Returns the usage of the team, and the result of `read_more`; `None` if the team has just been removed.
    /// Both read the same transaction, so that all numbers are of one moment.
    pub async fn report<T: Send + 'static>(
        &self,
        team: TeamId,
        read_more: impl FnOnce(&ReadTx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Option<(UsageReport, T)>, StoreError> {
        let now_ms = self.context.now_ms();
        self.context
            .store
            .read(move |tx| {
                let sum = |period: &UsagePeriod| store::sum(tx, team, &period.days);
                let (today, month) = (UsagePeriod::day(now_ms), UsagePeriod::month(now_ms));
                let (of_day, of_month) = (sum(&today)?, sum(&month)?);
                let Some(found) = teams::find(tx, team)? else { return Ok(None) };
                let report = UsageReport {
                    team: found,
                    today: SentEmails { emails: of_day.emails, resets_ms: today.resets_ms },
                    month: SentEmails { emails: of_month.emails, resets_ms: month.resets_ms },
                    broadcasts: of_month.broadcasts,
                    domains: domains::count(tx, team)?,
                };
                Ok(Some((report, read_more(tx)?)))
            })
            .await
    }
}
