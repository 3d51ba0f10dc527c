//! `GET /segments` and `GET /segments/{id}`.

use serde_json::json;

use super::{UNKNOWN, create, create_contact, one_condition};
use crate::support::{TestServer, assert_body};

#[test]
fn a_segment_shows_the_number_of_its_contacts() {
    let server = TestServer::start();
    create_contact(&server, "Ada", &json!({}));
    create_contact(&server, "Bea", &json!({}));
    let segment = create(&server, &one_condition("first_name", "equals", &json!("Ada")));

    assert_body!(server.get(&format!("/segments/{segment}")).ok(200));
}

#[test]
fn a_list_shows_segments_newest_first_without_counts() {
    let server = TestServer::start();
    create(&server, &json!(null));
    create(&server, &json!({ "match": "all", "conditions": [] }));

    assert_body!(server.get("/segments").ok(200));
}

#[test]
fn an_unknown_segment_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    server.get(UNKNOWN).refused(404, "not_found", "Segment not found");
    server.get("/segments/nobody").refused(422, "validation_error", "The `id` must be a valid UUID.");
}
