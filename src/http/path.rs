//! Path parameters: ids, and ids or addresses.
//!
//! The router has decoded the percent escapes of each segment once. A `+` stays a plus sign.

use salvo::extract::Metadata;
use salvo::oapi::schema::AnyOf;
use salvo::oapi::{Components, EndpointArgRegister, Operation, Parameter, ParameterIn, Required, Schema};
use salvo::{Depot, Extractible, Request};

use super::error::ApiError;
use super::schema;
use crate::base::id::Id;
use crate::base::id_or_email::{IdOrEmail, IdOrEmailError};

/// Path before the routes of the API that the dashboard calls with a session.
const DASHBOARD_API: &str = "dashboard/api/";

/// Returns the matched path of a request as a route of the API: below the dashboard too.
pub(crate) fn api_route(req: &Request) -> &str {
    let matched = req.matched_path();
    matched.strip_prefix(DASHBOARD_API).unwrap_or(matched)
}

/// Extractor of an id from the path. The name of the parameter is that of the handler's argument.
pub struct PathId<R>(pub Id<R>);

impl<'ex, R: 'static> Extractible<'ex> for PathId<R> {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("PathId");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, depot: &'ex mut Depot) -> Result<Self, ApiError> {
        Self::extract_with_arg(req, depot, "id").await
    }

    async fn extract_with_arg(req: &'ex mut Request, _depot: &'ex mut Depot, arg: &str) -> Result<Self, ApiError> {
        req.params()
            .get(arg)
            .and_then(|text| Id::parse(text))
            .map(Self)
            .ok_or_else(|| ApiError::validation(format!("The `{arg}` must be a valid UUID.")))
    }
}

impl<R> EndpointArgRegister for PathId<R> {
    fn register(_components: &mut Components, operation: &mut Operation, arg: &str) {
        let parameter = Parameter::new(arg).location(ParameterIn::Path).required(Required::True).schema(schema::uuid());
        operation.parameters.insert(parameter);
    }
}

/// Extractor of an id or an email address from the path. The name of the parameter is that of the
/// handler's argument.
pub struct PathIdOrEmail<R>(pub IdOrEmail<R>);

impl<'ex, R: 'static> Extractible<'ex> for PathIdOrEmail<R> {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("PathIdOrEmail");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, depot: &'ex mut Depot) -> Result<Self, ApiError> {
        Self::extract_with_arg(req, depot, "id").await
    }

    async fn extract_with_arg(req: &'ex mut Request, _depot: &'ex mut Depot, arg: &str) -> Result<Self, ApiError> {
        let text = req.params().get(arg).map(String::as_str).unwrap_or_default();
        IdOrEmail::parse(text).map(Self).map_err(|error| {
            ApiError::validation(match error {
                IdOrEmailError::InvalidId => {
                    format!("The `{arg}` must be a valid UUID. An email address is accepted in its place.")
                }
                IdOrEmailError::InvalidAddress(error) => format!("The `{arg}` is not a valid email address: {error}."),
            })
        })
    }
}

impl<R> EndpointArgRegister for PathIdOrEmail<R> {
    fn register(_components: &mut Components, operation: &mut Operation, arg: &str) {
        let parameter = Parameter::new(arg)
            .location(ParameterIn::Path)
            .required(Required::True)
            .description("The id, or the email address.")
            .schema(Schema::AnyOf(AnyOf::new().item(schema::uuid()).item(schema::formatted("email"))));
        operation.parameters.insert(parameter);
    }
}
