//! The OpenAPI document, generated from the types of the handlers.
//!
//! [`describe`] collects the operations of the routes. [`OpenApiDocument`] completes what the generator cannot express:
//! - `error_responses.rs` joins the errors of each status;
//! - `examples.rs` adds examples;
//! - `fixed.rs` adds the value of fields that have only one;
//! - `names.rs` names the schemas and operations;
//! - `shorten.rs` shortens schemas;
//! - `document.rs` orders the sections.

mod document;
mod error_responses;
mod examples;
mod fixed;
mod names;
mod shorten;

use std::sync::{Arc, Once};

use salvo::http::header::CONTENT_TYPE;
use salvo::http::{HeaderValue, Method};
use salvo::oapi::naming;
use salvo::oapi::security::{Http, HttpAuthScheme, SecurityScheme};
use salvo::oapi::{
    Components, Content, EndpointOutRegister, Info, License, Object, OpenApi, Operation, PathItemType, RefOr,
    Response as ResponseDoc, SecurityRequirement, endpoint,
};
use salvo::{Depot, Request, Response, Router, Writer, async_trait};

pub(crate) use self::document::OpenApiDocument;
use self::names::ShortNames;
use super::auth;
use super::compression::StaticText;
use super::declared_errors::declare;
use super::error::ApiResult;
use super::state::State;

/// Version of the API, independent of the version of the program.
const API_VERSION: &str = "1.0.0";

/// The OpenAPI document, encoded as JSON.
pub(crate) struct OpenApiJson(Arc<StaticText>);

impl OpenApiJson {
    /// Renders a document.
    pub(crate) fn new(document: &OpenApiDocument) -> Self {
        Self(Arc::new(StaticText::new(serde_json::to_vec(document).expect("an OpenAPI document is plain data"))))
    }
}

/// Describes the routes of `router`.
pub(crate) fn describe(router: &Router) -> OpenApi {
    let about = "Transactional email with domains, API keys and templates; and the audience it is for: contacts with their \
                 properties, topics, segments and suppressions. The request and response shapes are those of a \
                 widely used hosted email API, whose official SDKs work against this server.";
    let info = Info::new("Ringmail", API_VERSION).description(about).license(License::new("Apache-2.0"));
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer).description("An API key: `rm_…`."));
    static NAMES: Once = Once::new();
    NAMES.call_once(|| naming::set_namer(ShortNames));
    let mut document = OpenApi::with_info(info).add_security_scheme("bearer", bearer).merge_router(router);
    let bearer = SecurityRequirement::new("bearer", Vec::<String>::new());
    for (path, item) in document.paths.iter_mut() {
        for (kind, operation) in &mut item.operations.0 {
            if operation.securities.as_ref().is_none_or(Vec::is_empty) {
                operation.securities = Some(vec![bearer.clone()]);
            }
            if operation.securities.as_ref().is_some_and(|securities| securities.contains(&bearer)) {
                declare(operation, &auth::errors_of(&method(kind), path));
            }
        }
    }
    document
}

/// Returns the method of an operation.
fn method(kind: &PathItemType) -> Method {
    match kind {
        PathItemType::Get => Method::GET,
        PathItemType::Post => Method::POST,
        PathItemType::Patch => Method::PATCH,
        PathItemType::Put => Method::PUT,
        PathItemType::Delete => Method::DELETE,
        _ => Method::OPTIONS,
    }
}

/// Response with the OpenAPI document.
pub(super) struct OpenApiResponse(Arc<OpenApiJson>);

#[async_trait]
impl Writer for OpenApiResponse {
    async fn write(self, _req: &mut Request, _depot: &mut Depot, res: &mut Response) {
        res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        self.0.0.write(res);
    }
}

impl EndpointOutRegister for OpenApiResponse {
    fn register(_components: &mut Components, operation: &mut Operation) {
        let schema = Object::new().description("An OpenAPI 3.1 document.");
        let response = ResponseDoc::new("The description").add_content("application/json", Content::new(schema));
        operation.responses.insert("200", RefOr::Type(response));
    }
}

/// Returns this description of the API.
///
/// The same document is at `/docs/openapi.json`, where it needs no key.
#[endpoint(tags("Description"))]
pub(crate) async fn get_description(rendered: State<OpenApiJson>) -> ApiResult<OpenApiResponse> {
    Ok(OpenApiResponse(Arc::clone(&rendered)))
}
