//! Endpoints and deliveries as values. Pure.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{WebhookDeliveryId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::base::words::words;
use crate::events::{EventType, EventTypes};
use crate::http_client::CustomerUrl;

/// Maximum number of endpoints of a team.
pub const WEBHOOKS_MAX: usize = 200;
/// Longest overlap, in hours: the time that the previous secret signs after a rotation.
pub const OVERLAP_HOURS_MAX: u8 = 72;
/// Overlap in hours if the request contains none.
pub const OVERLAP_HOURS_DEFAULT: u8 = 24;

/// Event types that an endpoint subscribes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscribedEvents {
    /// Every type of [`EventTypes::all`], including types of later versions.
    All,
    Named(EventTypes),
}

impl SubscribedEvents {
    pub fn types(self) -> EventTypes {
        match self {
            Self::All => EventTypes::all(),
            Self::Named(types) => types,
        }
    }
}

/// Status of an endpoint. Events are delivered to enabled endpoints only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    Enabled,
    /// Disabled by the team.
    Disabled,
    /// Disabled after too many exhausted deliveries.
    AutoDisabled,
}

impl WebhookStatus {
    /// Returns the value of the API field.
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
    pub id: WebhookId,
    /// URL that receives the events.
    pub endpoint: String,
    pub subscription: SubscribedEvents,
    pub status: WebhookStatus,
    pub created_ms: TimestampMs,
    /// Time at which the previous secret stops signing; `None` if only the current secret signs.
    pub previous_secret_expires_ms: Option<TimestampMs>,
}

/// An endpoint whose last attempts all failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailingEndpoint {
    pub webhook: WebhookId,
    /// Time of the first failed attempt after the last success.
    pub since_ms: TimestampMs,
    /// HTTP status of the last attempt; `None` if there was no response.
    pub status: Option<u16>,
    /// Exhausted deliveries since the last success.
    pub exhausted: u32,
}

/// An endpoint to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWebhook {
    pub endpoint: CustomerUrl,
    pub subscription: SubscribedEvents,
    /// Whether the endpoint receives events from the start.
    pub status: WebhookStatus,
    /// Signing secret; `None` to generate it.
    pub secret: Option<WebhookSecret>,
}

/// Changes of an endpoint; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookChanges {
    pub endpoint: Option<CustomerUrl>,
    pub subscription: Option<SubscribedEvents>,
    pub status: Option<StatusChange>,
}

/// A change of the status by the team. It does not depend on who disabled the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusChange {
    Enable,
    Disable,
}

impl StatusChange {
    /// Parses the value of the API field.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "enabled" => Some(Self::Enable),
            "disabled" => Some(Self::Disable),
            _ => None,
        }
    }

    /// Returns the status after the change.
    pub(super) const fn applied_to(self, status: WebhookStatus) -> WebhookStatus {
        match (self, status) {
            (Self::Enable, _) => WebhookStatus::Enabled,
            (Self::Disable, WebhookStatus::Enabled) => WebhookStatus::Disabled,
            (Self::Disable, disabled) => disabled,
        }
    }
}

/// A replacement of the signing secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRotation {
    /// Time that the current secret continues to sign; 0 for none.
    pub overlap_hours: u8,
    /// New signing secret; `None` to generate it.
    pub secret: Option<WebhookSecret>,
}

/// The result of a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationResult {
    /// New signing secret.
    pub secret: WebhookSecret,
    /// Time at which the previous secret stops signing; `None` if it has stopped.
    pub previous_expires_ms: Option<TimestampMs>,
}

words! {
    /// Status of a delivery, as the API shows it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DeliveryStatus {
        /// Queued.
        Pending = "pending",
        /// A request is in flight.
        Attempting = "attempting",
        /// The endpoint answered 2xx.
        Success = "success",
        /// Exhausted.
        Failed = "failed",
    } with ALL
}

/// The delivery of one event to one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Id in the `webhook-id` header of every attempt.
    pub id: WebhookDeliveryId,
    pub event_type: EventType,
    /// Time of the event.
    pub at_ms: TimestampMs,
    pub status: DeliveryStatus,
    /// Time of the next attempt; `None` if none is planned or a request is in flight.
    pub next_attempt_ms: Option<TimestampMs>,
}

/// A delivery with its event message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryWithPayload {
    pub delivery: Delivery,
    /// Body of its requests; `None` if retention has deleted it.
    pub payload: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_change_keeps_the_reason_of_a_disabled_endpoint() {
        use WebhookStatus::{AutoDisabled, Disabled, Enabled};

        for (change, before, after) in [
            (StatusChange::Enable, Enabled, Enabled),
            (StatusChange::Enable, Disabled, Enabled),
            (StatusChange::Enable, AutoDisabled, Enabled),
            (StatusChange::Disable, Enabled, Disabled),
            (StatusChange::Disable, Disabled, Disabled),
            (StatusChange::Disable, AutoDisabled, AutoDisabled),
        ] {
            assert_eq!(change.applied_to(before), after, "{change:?} {before:?}");
        }
    }

    #[test]
    fn a_status_change_is_parsed_from_the_status_in_the_api() {
        assert_eq!(StatusChange::parse(WebhookStatus::Enabled.as_str()), Some(StatusChange::Enable));
        assert_eq!(StatusChange::parse(WebhookStatus::AutoDisabled.as_str()), Some(StatusChange::Disable));
        for text in ["", "Enabled", "auto_disabled", " enabled", "paused"] {
            assert_eq!(StatusChange::parse(text), None, "{text:?}");
        }
    }
}
