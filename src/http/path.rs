//! Ids in paths.

use salvo::extract::Metadata;
use salvo::oapi::{BasicType, Object};
use salvo::oapi::{
    Components, EndpointArgRegister, KnownFormat, Operation, Parameter, ParameterIn, Required, SchemaFormat,
};
use salvo::{Depot, Extractible, Request};

use super::error::ApiError;
use crate::id::Id;

/// An id from the path, named as the handler's argument is.
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
        let schema = Object::with_type(BasicType::String).format(SchemaFormat::KnownFormat(KnownFormat::Uuid));
        let parameter = Parameter::new(arg).location(ParameterIn::Path).required(Required::True).schema(schema);
        operation.parameters.insert(parameter);
    }
}
