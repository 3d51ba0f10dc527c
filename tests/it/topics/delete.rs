//! `DELETE /topics/{id}`.

use serde_json::json;

use super::{UNKNOWN, create};
use crate::support::{TestServer, assert_body, email};

#[test]
fn a_deleted_topic_is_not_found() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let kept = create(&server, &json!({ "name": "Kept" }));

    let response = server.delete(&path).ok(200);

    server.get(&path).refused(404, "not_found", "Topic not found");
    server.delete(&path).refused(404, "not_found", "Topic not found");
    server.patch(&path, &json!({})).refused(404, "not_found", "Topic not found");
    server.get(&kept).ok(200);
    assert_body!(response);
}

#[test]
fn an_unknown_topic_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    server.delete(UNKNOWN).refused(404, "not_found", "Topic not found");
    server.delete("/topics/1").refused(422, "validation_error", "The `id` must be a valid UUID.");
}

#[test]
fn an_email_under_a_deleted_topic_is_refused() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let email_under_topic = email(&json!({ "topic_id": path.rsplit('/').next().unwrap() }));
    server.post("/emails", &email_under_topic).ok(200);

    server.delete(&path).ok(200);

    server.post("/emails", &email_under_topic).refused(404, "not_found", "Topic not found");
}

#[test]
fn an_opt_out_topic_suppresses_a_recipient_without_a_choice() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "default_subscription": "opt_out" }));
    let email_under_topic = email(&json!({ "topic_id": path.rsplit('/').next().unwrap() }));

    let refused = server.post("/emails", &email_under_topic);

    refused.refused(422, "all_recipients_suppressed", "All recipients are suppressed");
}
