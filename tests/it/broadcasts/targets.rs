//! Segments and topics that a broadcast uses.

use serde_json::{Value, json};

use super::create;
use crate::support::TestServer;

const SEGMENT_IN_USE: &str =
    "A broadcast uses this segment. Delete the broadcast first, or take the segment out of it.";
const TOPIC_IN_USE: &str = "A broadcast uses this topic. Delete the broadcast first, or take the topic out of it.";

/// Creates a segment and a topic, and returns a server with their paths and the fields of a broadcast for both.
fn server_with_targets() -> (TestServer, [String; 2], Value) {
    let server = TestServer::start();
    let create = |path: &str, body: Value| server.post(path, &body).ok(201)["id"].as_str().unwrap().to_owned();
    let segment = create("/segments", json!({ "name": "Everyone" }));
    let topic = create("/topics", json!({ "name": "News", "default_subscription": "opt_in" }));
    let fields = json!({ "segment_id": segment, "topic_id": topic });
    (server, [format!("/segments/{segment}"), format!("/topics/{topic}")], fields)
}

#[track_caller]
fn assert_in_use(server: &TestServer, [segment, topic]: &[String; 2]) {
    server.delete(segment).refused(409, "validation_error", SEGMENT_IN_USE);
    server.delete(topic).refused(409, "validation_error", TOPIC_IN_USE);
    server.get(segment).ok(200);
    server.get(topic).ok(200);
}

#[test]
fn a_target_of_a_draft_is_deleted_after_the_draft() {
    let (server, targets, fields) = server_with_targets();
    let draft = create(&server, &fields);
    assert_in_use(&server, &targets);
    let audience = targets[0].replace("/segments/", "/audiences/");
    server.delete(&audience).refused(409, "validation_error", SEGMENT_IN_USE);

    server.delete(&draft).ok(200);

    targets.iter().for_each(|path| drop(server.delete(path).ok(200)));
}

#[test]
fn a_target_that_a_draft_no_longer_names_can_be_deleted() {
    let (server, targets, fields) = server_with_targets();
    let draft = create(&server, &fields);

    server.patch(&draft, &json!({ "segment_id": null, "topic_id": null })).ok(200);

    targets.iter().for_each(|path| drop(server.delete(path).ok(200)));
}

#[test]
fn a_target_of_a_scheduled_broadcast_is_deleted_after_its_cancellation() {
    let (server, targets, fields) = server_with_targets();
    let path = create(&server, &fields);
    server.post(&format!("{path}/send"), &json!({ "scheduled_at": "in 1 hour" })).ok(200);
    assert_in_use(&server, &targets);

    server.post(&format!("{path}/cancel"), &json!({})).ok(200);

    targets.iter().for_each(|path| drop(server.delete(path).ok(200)));
    // The broadcast still names them, and a copy of it cannot be sent to everyone by mistake.
    let copy = server.post(&format!("{path}/duplicate"), &json!({})).ok(200)["id"].clone();
    let send = format!("/broadcasts/{}/send", copy.as_str().unwrap());
    server.post(&send, &json!({})).refused(404, "not_found", "Segment not found");
}

#[test]
fn a_segment_that_no_own_broadcast_names_can_be_deleted() {
    let (server, _, _) = server_with_targets();
    let other = server.other_team("Other", "other.example");
    let segment = other.post("/segments", &json!({ "name": "Theirs" })).ok(201)["id"].clone();
    let theirs = json!({ "from": "news@other.example", "subject": "June", "segment_id": segment });
    other.post("/broadcasts", &theirs).ok(201);

    let own = server.post("/segments", &json!({ "name": "Ours" })).ok(201)["id"].clone();
    create(&server, &json!({}));

    server.delete(&format!("/segments/{}", own.as_str().unwrap())).ok(200);
    other.get(&format!("/segments/{}", segment.as_str().unwrap())).ok(200);
}
