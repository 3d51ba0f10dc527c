//! The description of the API, made from the handlers' own types.

use salvo::http::{HeaderValue, StatusCode};
use salvo::http::header::CONTENT_TYPE;
use salvo::oapi::security::{Http, HttpAuthScheme, SecurityScheme};
use salvo::oapi::{Info, License, OpenApi};
use salvo::{Depot, Response, Router, handler};

use super::state::service;

/// The version of the described API, whatever the program's own.
const API_VERSION: &str = "1.0.0";

/// The description as it is served.
pub(super) struct Rendered(Vec<u8>);

/// Describes the routes of `router`.
pub(super) fn describe(router: &Router) -> OpenApi {
    let about = "Transactional email, domains and API keys. The request and response shapes are those of a widely \
                 used hosted email API, whose official SDKs work against this server.";
    let info = Info::new("Ringmail", API_VERSION).description(about).license(License::new("Apache-2.0"));
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer).description("An API key: `rm_…`."));
    OpenApi::with_info(info).add_security_scheme("bearer", bearer).merge_router(router)
}

/// Returns the description as pretty JSON.
pub fn document() -> String {
    let document = super::router::document();
    serde_json::to_string_pretty(&document).expect("a description is plain data")
}

/// Returns the description ready to be served.
pub(super) fn rendered() -> Rendered {
    let document = super::router::document();
    Rendered(serde_json::to_vec(&document).expect("a description is plain data"))
}

/// Serves the description.
#[handler]
pub(super) async fn serve_document(depot: &mut Depot, res: &mut Response) {
    if let Ok(rendered) = service::<Rendered>(depot) {
        res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        res.body(rendered.0.clone());
    }
}

/// Answers that the server takes requests.
#[handler]
pub(super) async fn health(res: &mut Response) {
    res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    res.body(r#"{"ok":true}"#);
}

/// Answers as for any path that does not exist.
#[handler]
pub(super) async fn unknown(res: &mut Response) {
    res.status_code(StatusCode::NOT_FOUND);
}
