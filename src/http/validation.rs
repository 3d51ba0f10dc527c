//! Validation mode of batches.

use salvo::Request;
use salvo::oapi::{BasicType, Object, Operation, Parameter, ParameterIn, Required};

use super::error::{ApiError, ApiResult};
use super::parameters::FromParameters;

/// The `x-batch-validation` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchValidation {
    /// One invalid item rejects the batch.
    Strict,
    /// Valid items are accepted.
    Permissive,
}

impl FromParameters for BatchValidation {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        match req.headers().get("x-batch-validation").map(|value| value.as_bytes()) {
            None | Some(b"strict") => Ok(Self::Strict),
            Some(b"permissive") => Ok(Self::Permissive),
            Some(_) => Err(ApiError::validation("The `x-batch-validation` header must be `strict` or `permissive`.")),
        }
    }

    fn declare(operation: &mut Operation) {
        let schema = Object::with_type(BasicType::String).enum_values(["strict", "permissive"]);
        let parameter = Parameter::new("x-batch-validation")
            .location(ParameterIn::Header)
            .required(Required::False)
            .description("Whether one invalid item refuses the whole batch. `strict` unless given.")
            .schema(schema);
        operation.parameters.insert(parameter);
    }
}
