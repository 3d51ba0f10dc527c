//! Query parameters: each route accepts only its own.

use crate::support::{Ids, TestServer, every_route};

#[test]
fn an_unknown_query_parameter_is_refused_on_every_route() {
    let server = TestServer::start();
    for route in every_route(&server) {
        let path = format!("{}?pretty=true", route.path_with(Ids::UNKNOWN));
        let body = route.body().map(|body| body.to_string());

        let response = server.call(&route.method, &path, server.key(), &[], body.as_deref().map(str::as_bytes));

        let refused = response.refusal();
        assert!(refused.starts_with("422 validation_error: Unknown query parameter `pretty`: this endpoint takes "));
    }
}

#[test]
fn the_error_lists_the_accepted_query_parameters() {
    let server = TestServer::start();
    for (path, message) in [
        (
            "/emails?page=2",
            "Unknown query parameter `page`: this endpoint takes `limit`, `after`, `before`, `broadcast_id`.",
        ),
        (
            "/emails?limit=2&Limit=3",
            "Unknown query parameter `Limit`: this endpoint takes `limit`, `after`, `before`, `broadcast_id`. Did you mean `limit`?",
        ),
        ("/openapi.json?x", "Unknown query parameter `x`: this endpoint takes none."),
        (
            "/emails?%61%0d%0ab=1",
            "Unknown query parameter `ab`: this endpoint takes `limit`, `after`, `before`, `broadcast_id`.",
        ),
    ] {
        server.get(path).refused(422, "validation_error", message);
    }
    let long = format!("/emails?{}=1", "k".repeat(5_000));
    assert!(server.get(&long).refusal().len() < 300);
}

#[test]
fn an_empty_query_is_accepted() {
    let server = TestServer::start();

    server.get("/emails?").ok(200);
    server.get("/api-keys?&").ok(200);
}
