//! Query parameters: reading, declaration, and rejection of undeclared ones.

use std::collections::HashMap;

use salvo::http::Method;
use salvo::oapi::{Object, OpenApi, Operation, Parameter, ParameterIn, PathItemType, Required};
use salvo::{Depot, FlowCtrl, Request, Response, handler};

use super::error::ApiError;
use super::state::service;

/// Returns the value of a query parameter; `None` if it is absent.
///
/// # Errors
/// 422 if it is given more than once.
pub fn query_value<'r>(req: &'r Request, name: &str) -> Result<Option<&'r str>, ApiError> {
    match req.queries().get_vec(name).map(Vec::as_slice) {
        None | Some([]) => Ok(None),
        Some([value]) => Ok(Some(value)),
        Some(_) => Err(ApiError::validation(format!("The `{name}` query parameter may be given once."))),
    }
}

/// Declares an optional query parameter.
pub fn declare_query(operation: &mut Operation, name: &str, about: &str, schema: Object) {
    let parameter =
        Parameter::new(name).location(ParameterIn::Query).required(Required::False).description(about).schema(schema);
    operation.parameters.insert(parameter);
}

/// The query parameters of each route, by method and matched path.
pub(crate) struct QueryParameters(HashMap<(String, String), Vec<String>>);

impl QueryParameters {
    /// Returns the parameters that an OpenAPI document declares.
    pub(crate) fn of(document: &OpenApi) -> Self {
        let mut routes = HashMap::new();
        for (path, item) in document.paths.iter() {
            for (method, operation) in item.operations.iter() {
                let names = operation
                    .parameters
                    .iter_inline()
                    .filter(|parameter| parameter.parameter_in == ParameterIn::Query)
                    .map(|parameter| parameter.name.clone())
                    .collect();
                let path = path.trim_start_matches('/').to_owned();
                routes.insert((method_name(method).to_owned(), path), names);
            }
        }
        Self(routes)
    }

    fn first_unknown<'r>(&self, req: &'r Request) -> Option<(&'r str, &[String])> {
        // A HEAD route takes the parameters of its GET route.
        let method = if req.method() == Method::HEAD { "GET" } else { req.method().as_str() };
        let key = (method.to_owned(), req.matched_path().to_owned());
        // A route that the document lacks takes no parameters.
        let known = self.0.get(&key).map_or(&[][..], Vec::as_slice);
        let unknown = req.queries().keys().find(|name| !known.contains(name))?;
        Some((unknown.as_str(), known))
    }
}

fn method_name(method: &PathItemType) -> &'static str {
    match method {
        PathItemType::Get => "GET",
        PathItemType::Post => "POST",
        PathItemType::Put => "PUT",
        PathItemType::Delete => "DELETE",
        PathItemType::Patch => "PATCH",
        _ => "",
    }
}

/// Rejects a request with a query parameter that its route does not declare.
#[handler]
pub(crate) async fn refuse_unknown(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    if req.uri().query().is_none_or(str::is_empty) {
        return;
    }
    let Ok(parameters) = service::<QueryParameters>(depot) else { return };
    let Some((unknown, known)) = parameters.first_unknown(req) else { return };
    let shown: String = unknown.chars().filter(|c| !c.is_control()).take(60).collect();
    let accepted = if known.is_empty() {
        "this endpoint takes none".to_owned()
    } else {
        format!("this endpoint takes `{}`", known.join("`, `"))
    };
    let error = ApiError::validation(format!("Unknown query parameter `{shown}`: {accepted}."));
    error.render(req, res);
    ctrl.skip_rest();
}
