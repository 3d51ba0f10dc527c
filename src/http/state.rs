//! How handlers reach the services that `app.rs` wires.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use salvo::extract::Metadata;
use salvo::oapi::{Components, EndpointArgRegister, Operation};
use salvo::{Depot, Extractible, Request};

use super::error::{ApiError, ErrorCode};

/// The services of the instance by their type. Built once, shared by every request.
#[derive(Clone, Default)]
pub struct Services(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Services {
    /// Adds a service.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, service: Arc<T>) -> Self {
        self.0.insert(TypeId::of::<T>(), service);
        self
    }

    /// Returns the service of that type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let service = Arc::clone(self.0.get(&TypeId::of::<T>())?);
        service.downcast().ok()
    }
}

/// A service as a handler's argument.
pub struct State<T>(Arc<T>);

impl<T> Deref for State<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

/// Returns the service of that type from the request's services.
pub(crate) fn service<T: Send + Sync + 'static>(depot: &Depot) -> Result<Arc<T>, ApiError> {
    depot
        .get_typed::<Arc<Services>>()
        .ok()
        .and_then(|services| services.get::<T>())
        .ok_or_else(|| ApiError::new(ErrorCode::InternalServerError, "This part of the server is not running."))
}

impl<'ex, T: Send + Sync + 'static> Extractible<'ex> for State<T> {
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
