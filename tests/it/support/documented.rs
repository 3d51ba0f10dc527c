//! Checks every response that a test receives against the OpenAPI document.

use std::sync::OnceLock;

use serde_json::Value;

use super::{ApiResponse, violations};

/// Panics if the operation of the document does not list the status of the response or the name of its error. Also
/// panics if the body does not match its schema. A request without an operation in the document is not checked.
pub(super) fn check(method: &str, path: &str, response: &ApiResponse) {
    let document = document();
    let Some(operation) = operation(document, method, path) else { return };
    // Without its setting, an optional endpoint answers like an unknown path.
    let is_absent = |message: &str| message.starts_with("The requested endpoint does not exist.");
    if response.status == 404 && response.json["message"].as_str().is_some_and(is_absent) {
        return;
    }
    let listed = &operation["responses"][response.status.to_string()];
    assert!(listed.is_object(), "{method} {path} does not list the status {}: {}", response.status, response.json);
    let schema = &listed["content"]["application/json"]["schema"];
    let differences = violations(&response.json, schema, &document["components"]["schemas"]);
    // Responses to the PHP SDK have an additional field.
    let is_php = response.json["error"].is_object();
    assert!(differences.is_empty() || is_php, "{method} {path}: {differences:?} in {}", response.json);
}

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| serde_json::from_str(&ringmail::app::openapi_json()).expect("the document is JSON"))
}

/// Returns the operation of a request. A path without parameters takes precedence.
fn operation<'d>(document: &'d Value, method: &str, path: &str) -> Option<&'d Value> {
    let path = path.split('?').next().unwrap_or_default().trim_matches('/');
    let matches = |template: &&String| {
        let template = template.trim_matches('/');
        path.split('/').count() == template.split('/').count()
            && path.split('/').zip(template.split('/')).all(|(given, part)| given == part || part.starts_with('{'))
    };
    let paths = document["paths"].as_object().expect("paths are an object");
    let template = paths.keys().filter(matches).min_by_key(|template| template.matches('{').count())?;
    paths[template].get(method.to_lowercase())
}
