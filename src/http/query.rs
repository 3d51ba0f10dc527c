//! Query parameters: reading, declaration, and rejection of undeclared ones.

use std::collections::HashMap;

use salvo::http::Method;
use salvo::oapi::{Array, Object, OpenApi, Operation, Parameter, ParameterIn, ParameterStyle, PathItemType, Required};
use salvo::{Depot, FlowCtrl, Request, Response, handler};

use super::error::ApiError;
use super::path::api_route;
use super::state::service;
use super::tolerance;
use crate::base::nearest::{did_you_mean, nearest};

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

/// Declares an optional query parameter with a list of up to `items_max` items, separated by commas.
pub fn declare_query_list(operation: &mut Operation, name: &str, about: &str, items: Object, items_max: usize) {
    let parameter = Parameter::new(name)
        .location(ParameterIn::Query)
        .required(Required::False)
        .description(about)
        .schema(Array::new().items(items).max_items(items_max))
        .style(ParameterStyle::Form)
        .explode(false);
    operation.parameters.insert(parameter);
}

/// Segments of the longest path that is compared with those of the API.
const SEGMENTS_MAX: usize = 8;

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

    /// Returns the path of the API that a request likely meant. `None` if none is near, or if the path has the form of
    /// a path with parameters. A path with a version or `/api` before it means the path after it.
    pub(crate) fn nearest_path(&self, path: &str) -> Option<String> {
        let given: Vec<&str> = path.trim_matches('/').split('/').take(SEGMENTS_MAX + 1).collect();
        if given.len() > SEGMENTS_MAX {
            return None;
        }
        let is_prefix = |part: &&str| *part == "api" || (part.len() == 2 && part.starts_with('v'));
        let after_prefix = given.iter().position(|part| !is_prefix(part)).unwrap_or(given.len());
        let paths = || self.0.keys().map(|(_, path)| path.as_str());
        let matches = |path: &&str| edits(&given[after_prefix..], path) == Some(0);
        let nearest = if after_prefix > 0 {
            paths().filter(matches).min()
        } else {
            let distances = paths().filter_map(|path| edits(&given, path).map(|edits| (edits, path)));
            distances.min().filter(|(edits, _)| *edits > 0).map(|(_, path)| path)
        };
        nearest.map(|path| format!("/{path}"))
    }

    fn first_unknown<'r>(&self, req: &'r Request) -> Option<(&'r str, &[String])> {
        // A HEAD route takes the parameters of its GET route.
        let method = if req.method() == Method::HEAD { "GET" } else { req.method().as_str() };
        let key = (method.to_owned(), api_route(req).to_owned());
        // A route that the document lacks takes no parameters.
        let known = self.0.get(&key).map_or(&[][..], Vec::as_slice);
        let is_echo = |name: &str, values: &[String]| {
            let path_value = |parameter: &str| req.params().get(parameter).map(String::as_str);
            values.iter().all(|value| tolerance::is_query_echo(&key.0, &key.1, name, value, path_value))
        };
        let mut parameters = req.queries().iter_all();
        let (unknown, _) = parameters.find(|(name, values)| !known.contains(name) && !is_echo(name, values))?;
        Some((unknown.as_str(), known))
    }
}

/// Returns the number of segments that differ from a path, if each of them is a likely misspelling. A parameter equals
/// every segment.
fn edits(given: &[&str], path: &str) -> Option<usize> {
    let parts: Vec<&str> = path.split('/').collect();
    if parts.len() != given.len() {
        return None;
    }
    let mut edits = 0;
    for (given, part) in given.iter().zip(parts) {
        if *given == part || part.starts_with('{') {
            continue;
        }
        nearest(given, [part])?;
        edits += 1;
    }
    Some(edits)
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
    let suggestion = did_you_mean(unknown, known.iter().map(String::as_str));
    let error = ApiError::validation(format!("Unknown query parameter `{shown}`: {accepted}.{suggestion}"));
    error.render(req, res);
    ctrl.skip_rest();
}
