//! Complaints about all teams, for the checks of the operator.

use super::days::last_days;
use super::episodes::PAGE_TEAMS;
use super::guardrail::WARNING_DAYS;
use super::service::TeamDeliverability;
use crate::base::clock::TimestampMs;
use crate::email_metrics::{DayTotals, day_totals};
use crate::store::{ReadTx, Reads, StoreError};
use crate::teams::{self, Team};

/// UTC days of the counts, including the current one: those of the guardrail.
pub const COMPLAINT_DAYS: u32 = WARNING_DAYS;

/// Complaints about the emails of a team in the last [`COMPLAINT_DAYS`] days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamComplaints {
    /// Name of the team.
    pub team: String,
    /// Recipients that email was delivered to.
    pub delivered: u64,
    /// Recipients that reported an email as spam. A complaint belongs to the day of the send.
    pub complained: u64,
}

impl TeamDeliverability {
    /// Returns the complaints about each team with at least `delivered_min` deliveries, in the order of their ids. Reads at
    /// most seven rows for each team.
    pub async fn complaints(&self, delivered_min: u64) -> Result<Vec<TeamComplaints>, StoreError> {
        let now_ms = self.context.now_ms();
        let teams = self.context.store.read::<_, StoreError>(teams::list).await?;
        let mut complaints = Vec::new();
        for page in teams.chunks(PAGE_TEAMS) {
            let page = page.to_vec();
            let read = move |tx: &ReadTx| {
                page.into_iter().map(|team| complaints_of(tx, team, now_ms)).collect::<Result<Vec<_>, StoreError>>()
            };
            let page = self.context.store.read::<_, StoreError>(read).await?;
            complaints.extend(page.into_iter().filter(|team| team.delivered >= delivered_min));
        }
        Ok(complaints)
    }
}

fn complaints_of(tx: &impl Reads, team: Team, now_ms: TimestampMs) -> Result<TeamComplaints, StoreError> {
    let totals = day_totals(tx, team.id, last_days(now_ms, COMPLAINT_DAYS))?;
    let DayTotals { delivered, sent_and_complained, .. } = totals;
    Ok(TeamComplaints { team: team.name, delivered, complained: sent_and_complained })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::clock::{DAY_MS, utc_day};
    use crate::context::Context;
    use crate::deliverability::GuardrailMode;
    use crate::store::WriteTx;
    use crate::tables::EMAIL_DAY_TOTALS;

    #[tokio::test]
    async fn the_complaints_of_seven_days_are_summed_for_each_team_with_enough_deliveries() {
        let (_directory, context) = Context::temporary();
        let deliverability = TeamDeliverability::new(context.clone(), GuardrailMode::Enforce, "https://mail.example/");
        for (name, days) in [("Shop", &[(0, 60, 1), (6, 40, 2), (7, 500, 50)][..]), ("Small", &[(0, 99, 99)])] {
            context.clock.advance(Duration::from_millis(1));
            let team = teams::create(&context, name).await.unwrap().unwrap().id;
            let (now_ms, days) = (context.now_ms(), days.to_vec());
            let put = move |tx: &WriteTx<'_>| {
                for &(days_ago, delivered, sent_and_complained) in &days {
                    let day = utc_day(now_ms - days_ago * DAY_MS);
                    let totals = DayTotals { delivered, sent_and_complained, ..DayTotals::default() };
                    tx.put(&EMAIL_DAY_TOTALS, &(team, day), &totals)?;
                }
                Ok(())
            };
            context.store.write::<_, StoreError>(put).await.unwrap();
        }
        let complaints =
            |team: &str, delivered, complained| TeamComplaints { team: team.into(), delivered, complained };
        let (shop, small) = (complaints("Shop", 100, 3), complaints("Small", 99, 99));

        assert_eq!(deliverability.complaints(100).await.unwrap(), std::slice::from_ref(&shop));
        assert_eq!(deliverability.complaints(0).await.unwrap(), [shop, small]);
    }
}
