//! Why a use case of webhooks cannot be done.

use crate::events::EventType;
use crate::store::page::PageError;
use crate::store::{StoreError, from_store_error};

/// Why an endpoint cannot be added.
#[derive(Debug)]
pub enum CreateWebhookError {
    /// The team has as many as a team can have.
    TooMany,
    /// The store failed.
    Store(StoreError),
}

/// Why an endpoint cannot be changed.
#[derive(Debug)]
pub enum UpdateWebhookError {
    /// The team has no endpoint of that id.
    NotFound,
    /// The store failed.
    Store(StoreError),
}

/// Why a secret cannot be replaced.
#[derive(Debug)]
pub enum RotateSecretError {
    /// The team has no endpoint of that id.
    NotFound,
    /// The store failed.
    Store(StoreError),
}

/// Why deliveries cannot be shown.
#[derive(Debug)]
pub enum DeliveryError {
    /// The team has no endpoint of that id.
    UnknownWebhook,
    /// The endpoint has no delivery of that id.
    UnknownDelivery,
    /// The cursor is no item of the list.
    UnknownCursor,
    /// The store failed.
    Store(StoreError),
}

/// Why a delivery cannot be made again.
#[derive(Debug)]
pub enum ReplayError {
    /// The team has no endpoint of that id.
    UnknownWebhook,
    /// The endpoint has no delivery of that id.
    UnknownDelivery,
    /// Nothing is delivered to the endpoint.
    Disabled,
    /// Retention has removed what was delivered.
    PayloadGone,
    /// The store failed.
    Store(StoreError),
}

/// Why an endpoint cannot be sent a test.
#[derive(Debug)]
pub enum TestWebhookError {
    /// The team has no endpoint of that id.
    NotFound,
    /// Nothing is delivered to the endpoint.
    Disabled,
    /// The endpoint does not hear of the type.
    NotSubscribed(EventType),
    /// The store failed.
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
