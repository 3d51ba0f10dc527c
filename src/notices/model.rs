//! The kinds of notices. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, DomainId, WebhookId};
use crate::domains::DomainRefusal;
use crate::events::RateMetric;

/// Message to the owners of a team. Stored in this form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The last ten deliveries to an endpoint failed.
    WebhookFailing {
        webhook: WebhookId,
        /// URL of the endpoint.
        endpoint: String,
    },
    /// An endpoint was disabled because twenty deliveries in a row failed.
    WebhookDisabled {
        webhook: WebhookId,
        /// URL of the endpoint.
        endpoint: String,
    },
    /// Deliveries to an endpoint have been waiting for more than six hours.
    WebhookBacklog {
        webhook: WebhookId,
        /// URL of the endpoint.
        endpoint: String,
        /// Time since which the oldest delivery has been waiting.
        oldest_ms: TimestampMs,
    },
    /// A rate of the team is high.
    DeliverabilityWarning(RateNotice),
    /// A rate of the team is so high that new sends are refused.
    DeliverabilityPaused(RateNotice),
    /// A broadcast waits, because sending is paused.
    BroadcastHeld {
        broadcast: BroadcastId,
        /// Page that shows the rates.
        dashboard_url: String,
    },
    /// A server refused mail of a domain, because it could not authenticate the sender.
    DomainRefused {
        domain: DomainId,
        /// Name of the domain.
        name: String,
        refusal: DomainRefusal,
    },
}

/// Figures of a rate that crossed a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateNotice {
    pub metric: RateMetric,
    pub count: u64,
    pub sent: u64,
    /// Limit in hundredths of a percent.
    pub limit_per_10_000: u64,
    pub window_days: u32,
    /// Whether the guardrail is off, so that nothing is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_observed: bool,
    /// Page that shows the rates.
    pub dashboard_url: String,
}
