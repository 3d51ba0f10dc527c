//! Events about a team as a whole.

use serde::{Deserialize, Serialize};

use super::outbox::{EventHeader, publish};
use super::payload::EventBody;
use super::types::EventType;
use crate::base::clock::{TimestampMs, to_iso};
use crate::base::id::TeamId;
use crate::context::Context;
use crate::store::{StoreError, WriteTx};

/// Rate that deliverability is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateMetric {
    /// Permanent bounces.
    Bounce,
    Complaint,
}

impl RateMetric {
    /// Returns the verb of a sentence about the emails that count.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Bounce => "bounced permanently",
            Self::Complaint => "were reported as spam",
        }
    }
}

/// Rate that exceeds a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeliverabilityDetail {
    pub metric: RateMetric,
    /// Between 0 and 1.
    pub rate: f64,
    /// Between 0 and 1.
    pub limit: f64,
    /// Days over which the rate was measured.
    pub window_days: u32,
    /// Page that shows it.
    pub dashboard_url: String,
}

/// Period of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaPeriod {
    /// A UTC day. Above `ceiling`, new emails are held until the next day.
    Day {
        /// Emails after which new emails are held.
        ceiling: u64,
    },
    /// A billing period.
    Month {
        /// Whether emails above the limit are billed; otherwise they are rejected.
        overage: bool,
    },
}

/// Quota that is used up or nearly used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaDetail {
    /// Emails sent in the period.
    pub used: u64,
    /// Emails allowed in the period.
    pub limit: u64,
    pub period: QuotaPeriod,
    /// Start of the next period.
    pub resets_ms: TimestampMs,
    /// Page that shows it.
    pub dashboard_url: String,
}

/// Event about a team.
#[derive(Clone, Debug, PartialEq)]
pub enum TeamEvent {
    /// The rate exceeds the warning limit.
    DeliverabilityWarning(DeliverabilityDetail),
    /// The rate exceeds the limit at which sending stops.
    DeliverabilityPaused(DeliverabilityDetail),
    /// 80 % of a quota are used.
    QuotaWarning(QuotaDetail),
    /// A quota is used up.
    QuotaReached(QuotaDetail),
    /// New emails are held until the next day.
    QuotaPaused(QuotaDetail),
}

#[derive(Serialize)]
struct QuotaData<'a> {
    used: u64,
    limit: u64,
    period: &'static str,
    resets_at: String,
    dashboard_url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ceiling: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overage: Option<bool>,
}

impl TeamEvent {
    fn event_type(&self) -> EventType {
        match self {
            Self::DeliverabilityWarning(_) => EventType::DeliverabilityWarning,
            Self::DeliverabilityPaused(_) => EventType::DeliverabilityPaused,
            Self::QuotaWarning(_) => EventType::QuotaWarning,
            Self::QuotaReached(_) => EventType::QuotaReached,
            Self::QuotaPaused(_) => EventType::QuotaPaused,
        }
    }

    pub(super) fn body(&self, at_ms: TimestampMs) -> String {
        match self {
            Self::DeliverabilityWarning(data) | Self::DeliverabilityPaused(data) => {
                EventBody::new(self.event_type(), at_ms, data).to_json()
            }
            Self::QuotaWarning(quota) | Self::QuotaReached(quota) | Self::QuotaPaused(quota) => {
                EventBody::new(self.event_type(), at_ms, QuotaData::of(quota)).to_json()
            }
        }
    }
}

impl<'a> QuotaData<'a> {
    fn of(quota: &'a QuotaDetail) -> Self {
        let QuotaDetail { used, limit, period, resets_ms, dashboard_url } = quota;
        let (period, ceiling, overage) = match period {
            QuotaPeriod::Day { ceiling } => ("day", Some(*ceiling), None),
            QuotaPeriod::Month { overage } => ("month", None, Some(*overage)),
        };
        Self { used: *used, limit: *limit, period, resets_at: to_iso(*resets_ms), dashboard_url, ceiling, overage }
    }
}

/// Publishes an event about a team in the transaction of its cause.
pub fn record_team(tx: &WriteTx<'_>, context: &Context, team: TeamId, event: &TeamEvent) -> Result<(), StoreError> {
    let header = EventHeader { team, id: context.id(), event_type: event.event_type(), at_ms: context.now_ms() };
    publish(tx, context, header, || Ok(event.body(header.at_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_every_team_event_matches_the_specification() {
        let rate = DeliverabilityDetail {
            metric: RateMetric::Complaint,
            rate: 0.0012,
            limit: 0.001,
            window_days: 7,
            dashboard_url: "https://mail.example.com/dashboard/".into(),
        };
        let quota = |period| QuotaDetail {
            used: 80,
            limit: 100,
            period,
            resets_ms: 1_767_657_600_000,
            dashboard_url: "https://mail.example.com/dashboard/".into(),
        };
        for (name, event) in [
            ("deliverability_warning", TeamEvent::DeliverabilityWarning(rate.clone())),
            (
                "deliverability_paused",
                TeamEvent::DeliverabilityPaused(DeliverabilityDetail { metric: RateMetric::Bounce, ..rate }),
            ),
            ("quota_warning", TeamEvent::QuotaWarning(quota(QuotaPeriod::Day { ceiling: 150 }))),
            ("quota_reached", TeamEvent::QuotaReached(quota(QuotaPeriod::Month { overage: true }))),
            ("quota_paused", TeamEvent::QuotaPaused(quota(QuotaPeriod::Day { ceiling: 150 }))),
        ] {
            let body: serde_json::Value = serde_json::from_str(&event.body(1_767_604_353_456)).unwrap();
            insta::assert_json_snapshot!(format!("team_{name}"), body);
        }
    }
}
