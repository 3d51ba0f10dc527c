//! The methods of every path: the `Allow` header, and HEAD beside GET.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Ids, TestServer, every_route};

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/// Paths outside the OpenAPI document, and those that need no key.
const OTHER_PATHS: [&str; 32] = [
    "/",
    "/health",
    "/metrics",
    "/llms.txt",
    "/docs",
    "/docs/api",
    "/docs/openapi.json",
    "/docs/a/x/docs.css",
    "/email",
    "/ingest/events",
    "/ingest/message",
    "/unsubscribe/x",
    "/t/o/x",
    "/t/c/x",
    "/dashboard",
    "/dashboard/",
    "/dashboard/emails",
    "/dashboard/a/x/app.js",
    "/dashboard/login",
    "/dashboard/login/code",
    "/dashboard/logout",
    "/dashboard/setup/x",
    "/dashboard/link/x",
    "/dashboard/open/x",
    "/dashboard/account",
    "/dashboard/api/me",
    "/dashboard/api/events",
    "/dashboard/api/emails",
    "/dashboard/api/emails/batch",
    "/dashboard/api/captured",
    "/dashboard/api/sessions",
    "/dashboard/api/nothing",
];

/// A client that follows no redirects and accepts every status.
struct Client<'s> {
    server: &'s TestServer,
    agent: ureq::Agent,
}

impl<'s> Client<'s> {
    fn new(server: &'s TestServer) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build();
        Self { server, agent: ureq::Agent::new_with_config(config) }
    }

    /// Sends a request without a body. An empty `key` sends no `Authorization` header.
    fn send(&self, method: &str, path: &str, key: &str) -> ureq::http::Response<ureq::Body> {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.server.base()));
        if !key.is_empty() {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        self.agent.run(request.body(()).unwrap()).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }
}

fn header(response: &ureq::http::Response<ureq::Body>, name: &str) -> String {
    response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

#[test]
fn the_allow_header_has_exactly_the_methods_of_the_path() {
    let server = TestServer::start();
    let client = Client::new(&server);
    let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for route in every_route(&server) {
        let methods = paths.entry(route.path_with(Ids::UNKNOWN)).or_default();
        if route.method == "GET" {
            methods.insert("HEAD".to_owned());
        }
        methods.insert(route.method);
    }
    let mut refused = 0;
    for (path, documented) in paths.into_iter().chain(OTHER_PATHS.map(|path| (path.to_owned(), BTreeSet::new()))) {
        // A request without a key has no effect, and the method is checked before the key.
        let answers = METHODS.map(|method| (method, client.send(method, &path, "")));
        let (not_allowed, accepted): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|(_, response)| response.status().as_u16() == 405);
        let accepted: BTreeSet<String> = accepted.into_iter().map(|(method, _)| method.to_owned()).collect();

        assert!(!accepted.is_empty(), "{path} accepts no method");
        assert!(documented.is_empty() || documented == accepted, "{path}: {documented:?} {accepted:?}");
        for (method, response) in not_allowed {
            let allowed: BTreeSet<String> =
                header(&response, "allow").split(',').map(|name| name.trim().to_owned()).collect();
            assert_eq!(allowed, accepted, "{method} {path}");
            refused += 1;
        }
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn every_get_request_has_a_head_request_with_the_same_status_and_type_and_without_a_body() {
    let server = TestServer::start();
    let client = Client::new(&server);
    let mut statuses = BTreeSet::new();
    for route in every_route(&server).into_iter().filter(|route| route.method == "GET") {
        let path = format!("{}{}", route.path_with(Ids::UNKNOWN), route.required_query());
        for key in [server.key(), ""] {
            let [get, mut head] = ["GET", "HEAD"].map(|method| client.send(method, &path, key));

            assert_eq!(head.status(), get.status(), "{path}");
            assert_eq!(header(&head, "content-type"), header(&get, "content-type"), "{path}");
            assert_eq!(head.body_mut().read_to_string().unwrap(), "", "{path}");
            statuses.insert(head.status().as_u16());
        }
    }
    assert_eq!(statuses, BTreeSet::from([200, 401, 404]));
}
