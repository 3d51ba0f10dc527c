//! Extractor of a request without fields, such as the cancellation of an email.

use salvo::extract::Metadata;
use salvo::oapi::{Components, EndpointArgRegister, Object, Operation, RefOr, Schema, ToSchema};
use salvo::{Depot, Extractible, Request};
use serde::Deserialize;

use super::{Body, BodySize, FromBody, parse_optional};
use crate::base::id::ContactId;
use crate::http::declared_errors::declare;
use crate::http::error::{ApiError, ErrorCode};

/// Extractor of a request without fields. Accepts an absent body, `null`, an empty object and an empty array. The object
/// can have the skipped fields of the route.
pub struct NoBody {
    echoed_contact: Option<ContactId>,
}

impl NoBody {
    /// Returns the same id as [`Body::echoed_contact`].
    pub(crate) fn echoed_contact(&self) -> Option<ContactId> {
        self.echoed_contact
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoFields {}

// The OpenAPI document declares no body, so that it does not contain this schema.
impl ToSchema for NoFields {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        Object::new().into()
    }
}

impl FromBody for NoFields {
    const SIZE: BodySize = BodySize::Other;

    fn from_body(raw: &[u8], tolerated: &[&str]) -> Result<Self, ApiError> {
        parse_optional(raw, tolerated)
    }
}

impl<'ex> Extractible<'ex> for NoBody {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("NoBody");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, depot: &'ex mut Depot) -> Result<Self, ApiError> {
        let body = Body::<NoFields>::extract(req, depot).await?;
        Ok(Self { echoed_contact: body.echoed_contact() })
    }
}

impl EndpointArgRegister for NoBody {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        declare(operation, &[ErrorCode::MalformedJson, ErrorCode::PayloadTooLarge, ErrorCode::Validation]);
    }
}
