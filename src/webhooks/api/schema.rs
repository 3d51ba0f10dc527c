//! Fields of webhooks in the OpenAPI document.

use salvo::oapi::{BasicType, Components, Object, RefOr, Schema, ToSchema};

use crate::events::EventType;
use crate::http::schema::{formatted, text, words_schema};
use crate::http_client::URL_CHARS_MAX;
use crate::webhooks::{DeliveryStatus, OVERLAP_HOURS_DEFAULT, OVERLAP_HOURS_MAX, WebhookStatus};

/// `whsec_` and standard base64 of 24 to 64 bytes, with padding: `base::signature` has the rule.
const SECRET: &str = concat!(
    "^whsec_([A-Za-z0-9+/]{4}){8,20}",
    "([A-Za-z0-9+/]{4}|([A-Za-z0-9+/]{4})?[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$",
);

words_schema!(
    /// An event type.
    pub(super) EventTypeWord = EventType::all().map(EventType::as_str)
);
words_schema!(
    /// The status of an endpoint.
    pub(super) StatusWord = [WebhookStatus::Enabled, WebhookStatus::Disabled].map(WebhookStatus::as_str)
);
words_schema!(
    /// The state of a delivery.
    pub(super) DeliveryStatusWord = DeliveryStatus::ALL.map(DeliveryStatus::as_str)
);

/// The URL of an endpoint.
pub(super) struct EndpointText;

impl ToSchema for EndpointText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        // A host follows. It can have characters outside ASCII (RFC 3987).
        formatted("iri").pattern("^https?://[^ /?#:@]").max_length(URL_CHARS_MAX).into()
    }
}

/// A signing secret.
pub(super) struct SigningSecretText;

impl ToSchema for SigningSecretText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        text().pattern(SECRET).into()
    }
}

/// The hours that two secrets sign.
pub(super) struct OverlapHours;

impl ToSchema for OverlapHours {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        Object::with_type(BasicType::Integer)
            .minimum(0)
            .maximum(u32::from(OVERLAP_HOURS_MAX))
            .default_value(OVERLAP_HOURS_DEFAULT.into())
            .into()
    }
}
