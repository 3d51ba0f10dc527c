//! `GET /segments` and `GET /segments/{id}`.

use serde_json::json;

use super::{NOBODY, contact, create, one};
use crate::support::{TestServer, assert_body};

#[test]
fn a_segment_tells_how_many_contacts_it_holds() {
    let server = TestServer::start();
    contact(&server, "Ada", &json!({}));
    contact(&server, "Bea", &json!({}));
    let segment = create(&server, &one("first_name", "equals", &json!("Ada")));

    assert_body!(server.get(&format!("/segments/{segment}")).ok(200));
}

#[test]
fn segments_are_listed_newest_first_without_counts() {
    let server = TestServer::start();
    create(&server, &json!(null));
    create(&server, &json!({ "match": "all", "conditions": [] }));

    assert_body!(server.get("/segments").ok(200));
}

#[test]
fn a_segment_that_is_not_there_is_not_found() {
    let server = TestServer::start();

    server.get(NOBODY).refused(404, "not_found", "Segment not found");
    server.get("/segments/nobody").refused(422, "validation_error", "The `id` must be a valid UUID.");
}
