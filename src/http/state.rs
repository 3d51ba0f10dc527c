//! Access of handlers to the services of the instance.
//!
//! `app/services.rs` lists the services and implements [`Service`] for each. A handler that takes a
//! [`State`] of any other type does not compile.

use std::ops::Deref;
use std::sync::Arc;

use salvo::extract::Metadata;
use salvo::oapi::{Components, EndpointArgRegister, Operation};
use salvo::{Depot, Extractible, Request};

use super::error::{ApiError, ErrorCode};

/// A service that handlers can take as an argument.
pub trait Service: Send + Sync + Sized + 'static {
    /// Returns the service from the depot of a request; `None` outside the routes of the server.
    fn find(depot: &Depot) -> Option<&Arc<Self>>;
}

/// Extractor of a service.
pub struct State<T>(Arc<T>);

impl<T> Deref for State<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

/// Returns a service of the instance.
///
/// # Errors
/// 500 outside the routes of the server, which put the services into the depot.
pub(crate) fn service<T: Service>(depot: &Depot) -> Result<Arc<T>, ApiError> {
    let missing = || ApiError::new(ErrorCode::InternalServerError, "This part of the server is not running.");
    T::find(depot).cloned().ok_or_else(missing)
}

impl<'ex, T: Service> Extractible<'ex> for State<T> {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("State");
        &METADATA
    }

    async fn extract(_req: &'ex mut Request, depot: &'ex mut Depot) -> Result<Self, ApiError> {
        service(depot).map(Self)
    }
}

impl<T> EndpointArgRegister for State<T> {
    fn register(_components: &mut Components, _operation: &mut Operation, _arg: &str) {}
}
