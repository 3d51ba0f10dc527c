//! Errors of the use cases.

use crate::events::EventType;
use crate::store::page::PageError;
use crate::store::{StoreError, from_store_error};

/// Error of creating an endpoint.
#[derive(Debug)]
pub enum CreateWebhookError {
    /// The team has [`WEBHOOKS_MAX`](super::WEBHOOKS_MAX) endpoints.
    TooMany,
    Store(StoreError),
}

/// Error of updating an endpoint.
#[derive(Debug)]
pub enum UpdateWebhookError {
    /// The team has no such endpoint.
    NotFound,
    Store(StoreError),
}

/// Error of rotating a secret.
#[derive(Debug)]
pub enum RotateSecretError {
    /// The team has no such endpoint.
    NotFound,
    Store(StoreError),
}

/// Error of reading deliveries.
#[derive(Debug)]
pub enum DeliveryError {
    /// The team has no such endpoint.
    UnknownWebhook,
    /// The endpoint has no such delivery.
    UnknownDelivery,
    /// The cursor is not an item of the list.
    UnknownCursor,
    Store(StoreError),
}

/// Error of replaying a delivery.
#[derive(Debug)]
pub enum ReplayError {
    /// The team has no such endpoint.
    UnknownWebhook,
    /// The endpoint has no such delivery.
    UnknownDelivery,
    /// The endpoint is disabled.
    Disabled,
    /// Retention has deleted the event message.
    PayloadDeleted,
    /// The event was retracted, and the delivery has no stored attempt.
    Retracted,
    Store(StoreError),
}

/// Error of sending a test.
#[derive(Debug)]
pub enum TestWebhookError {
    /// The team has no such endpoint.
    NotFound,
    /// The endpoint is disabled.
    Disabled,
    /// The endpoint is not subscribed to the type.
    NotSubscribed(EventType),
    Store(StoreError),
}

from_store_error!(
    CreateWebhookError,
    UpdateWebhookError,
    RotateSecretError,
    DeliveryError,
    ReplayError,
    TestWebhookError
);

impl From<PageError> for DeliveryError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::UnknownCursor => Self::UnknownCursor,
            PageError::Store(error) => Self::Store(error),
        }
    }
}
