//! `DELETE /topics/{id}`.

use serde_json::json;

use super::{NOBODY, create};
use crate::support::{TestServer, assert_body, email};

#[test]
fn a_deleted_topic_is_gone() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let kept = create(&server, &json!({ "name": "Kept" }));

    let answer = server.delete(&path).ok(200);

    server.get(&path).refused(404, "not_found", "Topic not found");
    server.delete(&path).refused(404, "not_found", "Topic not found");
    server.patch(&path, &json!({})).refused(404, "not_found", "Topic not found");
    server.get(&kept).ok(200);
    assert_body!(answer);
}

#[test]
fn an_unknown_topic_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    server.delete(NOBODY).refused(404, "not_found", "Topic not found");
    server.delete("/topics/1").refused(422, "validation_error", "The `id` must be a valid UUID.");
}

#[test]
fn a_send_names_a_topic_that_is_there() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let under = email(&json!({ "topic_id": path.rsplit('/').next().unwrap() }));
    server.post("/emails", &under).ok(200);

    server.delete(&path).ok(200);

    server.post("/emails", &under).refused(404, "not_found", "Topic not found");
}

#[test]
fn a_topic_that_is_out_unless_asked_for_reaches_nobody_who_did_not_choose_it() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "default_subscription": "opt_out" }));
    let under = email(&json!({ "topic_id": path.rsplit('/').next().unwrap() }));

    let refused = server.post("/emails", &under);

    refused.refused(422, "all_recipients_suppressed", "All recipients are suppressed");
}
