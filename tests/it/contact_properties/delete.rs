//! `DELETE /contact-properties/{id}`.

use serde_json::json;

use super::{UNKNOWN, create};
use crate::support::{TestServer, assert_body};

#[test]
fn a_deleted_property_is_not_found_and_the_others_remain() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "key": "plan", "type": "string" }));
    let kept = create(&server, &json!({ "key": "age", "type": "number" }));

    let response = server.delete(&path).ok(200);

    server.get(&path).refused(404, "not_found", "Contact property not found");
    server.delete(&path).refused(404, "not_found", "Contact property not found");
    server.patch(&path, &json!({})).refused(404, "not_found", "Contact property not found");
    let server = server.restart_with(&[]);
    server.get(&path).refused(404, "not_found", "Contact property not found");
    server.get(&kept).ok(200);
    assert_body!(response);
}

#[test]
fn an_unknown_property_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    server.delete(UNKNOWN).refused(404, "not_found", "Contact property not found");
    server.delete("/contact-properties/1").refused(422, "validation_error", "The `id` must be a valid UUID.");
}
