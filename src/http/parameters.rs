//! Values from the query parameters and headers of a request.

use salvo::extract::Metadata;
use salvo::oapi::{Components, EndpointArgRegister, Operation};
use salvo::{Depot, Extractible, Request};

use super::error::{ApiError, ApiResult};

/// Type that is read from the query parameters or headers of a request.
pub(crate) trait FromParameters: Send + Sized + 'static {
    /// Reads the value.
    ///
    /// # Errors
    /// 400 or 422 if a parameter is invalid.
    fn from_parameters(req: &Request) -> ApiResult<Self>;

    /// Declares the parameters in the OpenAPI document.
    fn declare(operation: &mut Operation);
}

/// Extractor of a value from the query parameters or headers.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<'ex, T: FromParameters> Extractible<'ex> for Parameters<T> {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("Parameters");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, _depot: &'ex mut Depot) -> Result<Self, ApiError> {
        T::from_parameters(req).map(Self)
    }
}

impl<T: FromParameters> EndpointArgRegister for Parameters<T> {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        T::declare(operation);
    }
}
