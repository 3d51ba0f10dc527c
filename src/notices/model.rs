//! The kinds of notices. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::WebhookId;

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
}
