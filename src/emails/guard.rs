//! Pauses of sending, which another module decides.

use std::fmt;

use super::store::EmailRow;
use crate::base::clock::{TimestampMs, to_iso};
use crate::base::id::{BroadcastId, DomainId, EmailId, TeamId};
use crate::events::RateMetric;
use crate::store::{ReadTx, StoreError, WriteTx};

/// Pause of all new sends of a team, because one of its rates crossed a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendingPause {
    pub metric: RateMetric,
    /// Recipients whose email bounced permanently or was reported as spam in the window.
    pub count: u64,
    /// Recipients that email was sent to in the window.
    pub sent: u64,
    /// Limit of the rate, in hundredths of a percent.
    pub limit_per_10_000: u64,
    /// UTC days of the window, including the current one.
    pub window_days: u32,
    /// Earliest time at which sends are accepted again.
    pub resumes_ms: TimestampMs,
    /// Page that shows the rates.
    pub dashboard_url: String,
}

#[cfg(test)]
impl SendingPause {
    /// Returns the pause of a team with a bounce rate of 10 %.
    pub(crate) fn example() -> Self {
        Self {
            metric: RateMetric::Bounce,
            count: 10,
            sent: 100,
            limit_per_10_000: 500,
            window_days: 2,
            resumes_ms: 0,
            dashboard_url: String::new(),
        }
    }
}

impl fmt::Display for SendingPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, count, sent, limit_per_10_000, window_days, resumes_ms, dashboard_url } = self;
        let rate = Percent(count.saturating_mul(10_000) / (*sent).max(1));
        write!(
            f,
            "Sending is paused for this team: {count} of {sent} emails of the last {window_days} days (UTC) {}, \
             which is {rate}, and the limit is {}. New emails are accepted again at {} at the earliest, when fewer of \
             them are in these days. Remove the addresses that caused this from your lists. {dashboard_url} shows the \
             rates.",
            metric.verb(),
            Percent(*limit_per_10_000),
            to_iso(*resumes_ms)
        )
    }
}

/// Pause of broadcasts in a region, because the rates of all its teams together crossed a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionPause {
    pub region: String,
    /// Start of the pause.
    pub since_ms: TimestampMs,
}

impl fmt::Display for RegionPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region, since_ms } = self;
        write!(
            f,
            "Broadcasts from the region {region} are paused since {}, because too many emails of this server bounced or \
             were reported as spam. The server checks the rates every 15 minutes. Try again later. Other emails are not \
             affected.",
            to_iso(*since_ms)
        )
    }
}

/// Reason why a broadcast does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BroadcastPause {
    Team(SendingPause),
    Region(RegionPause),
}

/// Decides whether a team can send now. The default methods never pause.
pub trait SendingGuard: Send + Sync {
    /// Returns the pause of a team; `None` if it can send.
    fn sending_pause(&self, _tx: &WriteTx<'_>, _team: TeamId) -> Result<Option<SendingPause>, StoreError> {
        Ok(None)
    }

    /// Returns the same as [`SendingGuard::sending_pause`], in a read transaction.
    fn find_sending_pause(&self, _tx: &ReadTx, _team: TeamId) -> Result<Option<SendingPause>, StoreError> {
        Ok(None)
    }

    /// Returns the pause of the region of a domain; `None` if broadcasts from it can be sent.
    fn region_pause(
        &self,
        _tx: &WriteTx<'_>,
        _team: TeamId,
        _domain: DomainId,
    ) -> Result<Option<RegionPause>, StoreError> {
        Ok(None)
    }

    /// Returns whether a broadcast in progress queues no recipients now, because broadcasts of its region are paused.
    fn is_fan_out_held(&self, _tx: &ReadTx, _team: TeamId, _domain: Option<DomainId>) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Notifies the owners of the team that a broadcast is held, in the transaction that first holds it.
    fn broadcast_held(&self, _tx: &WriteTx<'_>, _team: TeamId, _broadcast: BroadcastId) -> Result<(), StoreError> {
        Ok(())
    }

    /// Takes canceled recipients of an email out of the score of the team, in the transaction that cancels them. `before`
    /// and `after` are the rows of the email around it.
    fn recipients_canceled(
        &self,
        _tx: &WriteTx<'_>,
        _team: TeamId,
        _id: EmailId,
        _before: &EmailRow,
        _after: &EmailRow,
    ) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Guard without a pause.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeverPaused;

impl SendingGuard for NeverPaused {}

/// A rate in hundredths of a percent.
struct Percent(u64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}%", self.0 / 100, self.0 % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_names_its_figures_its_end_and_the_page() {
        let pause = SendingPause {
            metric: RateMetric::Bounce,
            count: 12,
            sent: 160,
            limit_per_10_000: 500,
            window_days: 2,
            resumes_ms: 1_767_657_600_000,
            dashboard_url: "https://mail.example.com/dashboard/metrics/deliverability".into(),
        };

        assert_eq!(
            pause.to_string(),
            "Sending is paused for this team: 12 of 160 emails of the last 2 days (UTC) bounced permanently, which is \
             7.50%, and the limit is 5.00%. New emails are accepted again at 2026-01-06T00:00:00.000Z at the earliest, \
             when fewer of them are in these days. Remove the addresses that caused this from your lists. \
             https://mail.example.com/dashboard/metrics/deliverability shows the rates."
        );
        let complaint =
            SendingPause { metric: RateMetric::Complaint, count: 3, sent: 2_000, limit_per_10_000: 10, ..pause };
        assert!(complaint.to_string().contains("were reported as spam, which is 0.15%, and the limit is 0.10%"));
    }
}
