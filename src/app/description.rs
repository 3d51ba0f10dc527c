//! The OpenAPI document, generated from the routes.

use std::sync::{Arc, LazyLock};

use salvo::oapi::OpenApi;

use super::examples;
use super::router::{api, reports};
use crate::http::openapi::OpenApiDocument;
use crate::http::{OpenApiJson, QueryParameters, openapi};
use crate::webhooks;

/// The description of the API, which depends on no setting: all servers of a process share it.
#[derive(Clone)]
pub(super) struct ApiDescription {
    pub(super) openapi: Arc<OpenApiJson>,
    pub(super) query_parameters: Arc<QueryParameters>,
}

/// Returns the description of the API. The first call generates it, which takes longer than the rest of a start.
pub(super) fn of_api() -> ApiDescription {
    static DESCRIPTION: LazyLock<ApiDescription> = LazyLock::new(|| {
        let operations = openapi_document();
        let query_parameters = Arc::new(QueryParameters::of(&operations));
        ApiDescription { openapi: Arc::new(OpenApiJson::new(&complete(operations))), query_parameters }
    });
    DESCRIPTION.clone()
}

/// Returns the description of the operations. It is generated from the routes and the types of their handlers.
pub(super) fn openapi_document() -> OpenApi {
    openapi::describe(&api().push(reports()))
}

/// Returns the OpenAPI document, completed with the events of webhooks.
fn complete(mut operations: OpenApi) -> OpenApiDocument {
    let events = webhooks::api::describe_events(&mut operations.components);
    OpenApiDocument::of(&operations, events, &examples::of_operations())
}

/// Returns the OpenAPI document as indented JSON.
pub fn openapi_json() -> String {
    serde_json::to_string_pretty(&complete(openapi_document())).expect("an OpenAPI document is plain data")
}
