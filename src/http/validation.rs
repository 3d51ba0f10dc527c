//! Validation mode of batches.

use salvo::extract::Metadata;
use salvo::oapi::{BasicType, Components, EndpointArgRegister, Object, Operation, Parameter, ParameterIn, Required};
use salvo::{Depot, Extractible, Request};

use super::error::ApiError;

/// The `x-batch-validation` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchValidation {
    /// One invalid item rejects the batch.
    Strict,
    /// Valid items are accepted.
    Permissive,
}

impl<'ex> Extractible<'ex> for BatchValidation {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("BatchValidation");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, _depot: &'ex mut Depot) -> Result<Self, ApiError> {
        match req.headers().get("x-batch-validation").map(|value| value.as_bytes()) {
            None | Some(b"strict") => Ok(Self::Strict),
            Some(b"permissive") => Ok(Self::Permissive),
            Some(_) => Err(ApiError::validation("The `x-batch-validation` header must be `strict` or `permissive`.")),
        }
    }
}

impl EndpointArgRegister for BatchValidation {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let schema = Object::with_type(BasicType::String).enum_values(["strict", "permissive"]);
        let parameter = Parameter::new("x-batch-validation")
            .location(ParameterIn::Header)
            .required(Required::False)
            .description("Whether one invalid item refuses the whole batch. `strict` unless given.")
            .schema(schema);
        operation.parameters.insert(parameter);
    }
}
