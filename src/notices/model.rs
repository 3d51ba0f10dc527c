//! What owners are told. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::WebhookId;

/// Something that the owners of a team should know. On disk as it is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The last ten deliveries to an endpoint ended in vain.
    WebhookFailing {
        /// The endpoint.
        webhook: WebhookId,
        /// Its URL.
        endpoint: String,
    },
    /// An endpoint was disabled: twenty deliveries in a row ended in vain.
    WebhookDisabled {
        /// The endpoint.
        webhook: WebhookId,
        /// Its URL.
        endpoint: String,
    },
    /// Deliveries to an endpoint have been waiting for more than six hours.
    WebhookBacklog {
        /// The endpoint.
        webhook: WebhookId,
        /// Its URL.
        endpoint: String,
        /// Since when the oldest of them has been waiting.
        oldest_ms: TimestampMs,
    },
}
