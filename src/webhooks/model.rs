//! What an endpoint is. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{WebhookDeliveryId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::events::{EventType, EventTypes};
use crate::http_client::CustomerUrl;

/// Endpoints of one team.
pub const WEBHOOKS_MAX: usize = 200;
/// The longest time that a secret signs after it has been rotated out, in hours.
pub const OVERLAP_HOURS_MAX: u8 = 72;
/// How long it signs when the caller does not say, in hours.
pub const OVERLAP_HOURS_DEFAULT: u8 = 24;

/// What an endpoint hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscribedEvents {
    /// Every type but those that have to be named, those added later too.
    All,
    /// These types.
    Named(EventTypes),
}

impl SubscribedEvents {
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
    pub subscription: SubscribedEvents,
    /// Whether anything is delivered.
    pub status: WebhookStatus,
    /// When it was made.
    pub created_ms: TimestampMs,
    /// When the secret before the present one stops signing; none when there is one secret.
    pub previous_secret_expires_ms: Option<TimestampMs>,
}

/// What a new endpoint is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWebhook {
    /// Where events are posted to.
    pub endpoint: CustomerUrl,
    /// What it hears of.
    pub subscription: SubscribedEvents,
    /// What signs; one is generated when there is none.
    pub secret: Option<WebhookSecret>,
}

/// What an update changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookChanges {
    /// Where events are posted to.
    pub endpoint: Option<CustomerUrl>,
    /// What it hears of.
    pub subscription: Option<SubscribedEvents>,
    /// Whether anything is delivered.
    pub switch: Option<StatusChange>,
}

/// What a team does with an endpoint. Whether it was the team that disabled it makes no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusChange {
    /// Has events delivered.
    Enable,
    /// Has nothing delivered.
    Disable,
}

impl StatusChange {
    /// Reads the word the API uses.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "enabled" => Some(Self::Enable),
            "disabled" => Some(Self::Disable),
            _ => None,
        }
    }

    /// Returns what becomes of a status.
    pub(super) const fn applied_to(self, status: WebhookStatus) -> WebhookStatus {
        match (self, status) {
            (Self::Enable, _) => WebhookStatus::Enabled,
            (Self::Disable, WebhookStatus::Enabled) => WebhookStatus::Disabled,
            (Self::Disable, disabled) => disabled,
        }
    }
}

/// How a secret is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// How long the present secret goes on signing; not at all when 0.
    pub overlap_hours: u8,
    /// What signs from here on; it is generated when there is none.
    pub secret: Option<WebhookSecret>,
}

/// A secret that has been replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationResult {
    /// What signs from here on.
    pub secret: WebhookSecret,
    /// When the one before stops signing; none when it has.
    pub previous_expires_ms: Option<TimestampMs>,
}

/// How far a delivery has come, in the words of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// In the queue.
    Pending,
    /// A request that carries it is under way.
    Attempting,
    /// The endpoint answered 2xx.
    Success,
    /// Given up.
    Failed,
}

impl DeliveryStatus {
    /// Returns the word the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Attempting => "attempting",
            Self::Success => "success",
            Self::Failed => "failed",
        }
    }
}

/// The delivery of one event to one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its id, which the endpoint sees with every attempt.
    pub id: WebhookDeliveryId,
    /// The event's type.
    pub event_type: EventType,
    /// When the event happened.
    pub at_ms: TimestampMs,
    /// How far it has come.
    pub status: DeliveryStatus,
    /// When it is tried next; none when it is not, or is being tried.
    pub next_attempt_ms: Option<TimestampMs>,
}

/// A delivery with what is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryWithPayload {
    /// The delivery.
    pub delivery: Delivery,
    /// The body of its requests; none once retention has removed it.
    pub payload: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_does_not_change_who_disabled_an_endpoint() {
        use WebhookStatus::{AutoDisabled, Disabled, Enabled};

        for (switch, before, after) in [
            (StatusChange::Enable, Enabled, Enabled),
            (StatusChange::Enable, Disabled, Enabled),
            (StatusChange::Enable, AutoDisabled, Enabled),
            (StatusChange::Disable, Enabled, Disabled),
            (StatusChange::Disable, Disabled, Disabled),
            (StatusChange::Disable, AutoDisabled, AutoDisabled),
        ] {
            assert_eq!(switch.applied_to(before), after, "{switch:?} {before:?}");
        }
    }

    #[test]
    fn the_words_of_a_switch_are_those_of_a_status() {
        assert_eq!(StatusChange::parse(WebhookStatus::Enabled.as_str()), Some(StatusChange::Enable));
        assert_eq!(StatusChange::parse(WebhookStatus::AutoDisabled.as_str()), Some(StatusChange::Disable));
        for text in ["", "Enabled", "auto_disabled", " enabled", "paused"] {
            assert_eq!(StatusChange::parse(text), None, "{text:?}");
        }
    }
}
