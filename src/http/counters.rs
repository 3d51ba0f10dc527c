//! Counts of requests and connections, for monitoring.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use salvo::http::{Method, StatusCode};

use crate::base::histogram::{Histogram, HistogramReading};
use crate::base::sync;

/// Maximum number of routes with counts of their own. The server has fewer.
const ROUTES_MAX: usize = 500;
/// Route of requests whose path no route matches, and of those beyond [`ROUTES_MAX`].
const NO_ROUTE: &str = "none";
/// Classes of status codes.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Counts of one route, by class of the status.
type RouteCounts = [u64; CLASSES.len()];

/// Counts of one server since its start.
#[derive(Debug, Default)]
pub struct HttpCounters {
    /// By route, then by method.
    routes: Mutex<BTreeMap<String, BTreeMap<&'static str, RouteCounts>>>,
    seconds: Histogram,
    open: AtomicUsize,
    refused: AtomicU64,
}

/// Number of requests with one method, route and class of the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCount {
    /// Method; `other` for one that no route has.
    pub method: &'static str,
    /// Path with the names of its parameters, such as `/emails/{id}`; `none` if no route matches.
    pub route: String,
    /// Class of the status, such as `2xx`.
    pub status: &'static str,
    pub count: u64,
}

impl HttpCounters {
    /// Counts a request. `route` is the path of its route without the first slash; `None` if no route matches.
    pub(super) fn request_ended(&self, method: &Method, route: Option<&str>, status: StatusCode, took: Duration) {
        self.seconds.record(took);
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        let mut routes = sync::lock(&self.routes);
        let is_full = routes.len() >= ROUTES_MAX;
        let route = route.filter(|route| !is_full || routes.contains_key(*route)).unwrap_or(NO_ROUTE);
        // The first request of a route makes its entry.
        let methods = match routes.get_mut(route) {
            Some(methods) => methods,
            None => routes.entry(route.to_owned()).or_default(),
        };
        methods.entry(method_name(method)).or_default()[class] += 1;
    }

    /// Counts a connection until the guard is dropped.
    pub(super) fn connection_opened(self: &Arc<Self>) -> OpenConnectionGuard {
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenConnectionGuard(Arc::clone(self))
    }

    /// Counts a connection that was closed because its address has too many.
    pub(super) fn connection_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of requests by route, method and class of the status.
    pub fn requests(&self) -> Vec<RequestCount> {
        let routes = sync::lock(&self.routes);
        let mut requests = Vec::new();
        for (path, methods) in &*routes {
            let route = if path == NO_ROUTE { path.clone() } else { format!("/{path}") };
            for (method, counts) in methods {
                let counted = CLASSES.into_iter().zip(*counts).filter(|(_, count)| *count > 0);
                requests.extend(counted.map(|(status, count)| RequestCount {
                    method,
                    route: route.clone(),
                    status,
                    count,
                }));
            }
        }
        requests
    }

    /// Returns the times from a request head to its response head.
    pub fn seconds(&self) -> HistogramReading {
        self.seconds.read()
    }

    /// Returns the number of open connections.
    pub fn open_connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Returns the number of connections that were closed because their address has too many.
    pub fn refused_connections(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// An open connection. Drop ends the count.
#[derive(Debug)]
pub(super) struct OpenConnectionGuard(Arc<HttpCounters>);

impl Drop for OpenConnectionGuard {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the name of a method. Clients can send any other name.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::PUT => "PUT",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(counters: &HttpCounters, method: &str, route: Option<&str>, status: u16) {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        counters.request_ended(&method, route, StatusCode::from_u16(status).unwrap(), Duration::from_millis(1));
    }

    #[test]
    fn requests_are_counted_by_method_route_and_class() {
        let counters = HttpCounters::default();
        for (method, route, status) in [
            ("GET", Some("emails/{id}"), 200),
            ("GET", Some("emails/{id}"), 201),
            ("GET", Some("emails/{id}"), 404),
            ("POST", Some("emails"), 422),
            ("GET", Some(""), 200),
            ("GET", None, 404),
            ("BREW", None, 404),
        ] {
            request(&counters, method, route, status);
        }

        let lines: Vec<String> = counters
            .requests()
            .iter()
            .map(|it| format!("{} {} {} {}", it.method, it.route, it.status, it.count))
            .collect();

        let expected = [
            "GET / 2xx 1",
            "POST /emails 4xx 1",
            "GET /emails/{id} 2xx 2",
            "GET /emails/{id} 4xx 1",
            "GET none 4xx 1",
            "other none 4xx 1",
        ];
        assert_eq!(lines, expected);
        assert_eq!(counters.seconds().count, 7);
    }

    #[test]
    fn the_number_of_routes_is_bounded() {
        let counters = HttpCounters::default();
        for path in 0..2 * ROUTES_MAX {
            request(&counters, "GET", Some(&path.to_string()), 200);
        }

        let requests = counters.requests();

        assert!(requests.len() <= ROUTES_MAX + 1, "{}", requests.len());
        assert_eq!(requests.iter().map(|request| request.count).sum::<u64>(), 2 * ROUTES_MAX as u64);
    }
}
