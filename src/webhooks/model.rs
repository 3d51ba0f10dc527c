//! What an endpoint is. Pure.

use serde::{Deserialize, Serialize};

use crate::clock::TimestampMs;
use crate::events::EventTypes;
use crate::id::WebhookId;

/// What an endpoint hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subscription {
    /// Every type but those that have to be named, those added later too.
    All,
    /// These types.
    Named(EventTypes),
}

impl Subscription {
    /// Returns the types.
    pub fn types(self) -> EventTypes {
        match self {
            Self::All => EventTypes::all(),
            Self::Named(types) => types,
        }
    }
}

/// Whether anything is delivered to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// Events are delivered.
    Enabled,
    /// Nothing is delivered: the team said so.
    Disabled,
    /// Nothing is delivered: too many deliveries ended in vain.
    AutoDisabled,
}

impl WebhookStatus {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled | Self::AutoDisabled => "disabled",
        }
    }
}

/// An endpoint, without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// Where events are posted to.
    pub endpoint: String,
    /// What it hears of.
    pub subscription: Subscription,
    /// Whether anything is delivered.
    pub status: WebhookStatus,
    /// When it was made.
    pub created_ms: TimestampMs,
    /// When the secret before the present one stops signing; none when there is one secret.
    pub previous_secret_expires_ms: Option<TimestampMs>,
}
