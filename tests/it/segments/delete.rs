//! `DELETE /segments/{id}`.

use serde_json::json;

use super::{NOBODY, contact, create, names};
use crate::support::TestServer;

#[test]
fn a_deleted_segment_is_gone_and_its_contacts_stay() {
    let server = TestServer::start();
    let segment = create(&server, &json!(null));
    let ada = contact(&server, "Ada", &json!({ "segments": [{ "id": segment }] }));
    let path = format!("/segments/{segment}");

    let deleted = server.delete(&path).ok(200);

    assert_eq!(deleted, json!({ "object": "segment", "id": segment, "deleted": true }));
    for path in [&path, &format!("{path}/contacts"), &format!("/contacts?segment_id={segment}")] {
        server.get(path).refused(404, "not_found", "Segment not found");
    }
    assert_eq!(server.get("/segments").ok(200)["data"], json!([]));
    assert_eq!(server.get(&format!("/contacts/{ada}/segments")).ok(200)["data"], json!([]));
    assert_eq!(names(&server, "/contacts"), ["Ada"]);
    server.post("/contacts", &json!({ "email": "bea@example.com", "segments": [{ "id": segment }] })).refused(
        404,
        "not_found",
        "Segment not found",
    );
}

#[test]
fn one_that_never_was_is_answered_alike() {
    let server = TestServer::start();
    let id = NOBODY.rsplit('/').next().unwrap();

    for _ in 0..2 {
        let deleted = server.delete(NOBODY).ok(200);
        assert_eq!(deleted, json!({ "object": "segment", "id": id, "deleted": true }));
    }
    server.delete("/segments/nobody").refused(422, "validation_error", "The `id` must be a valid UUID.");
}

#[test]
fn another_team_deletes_nothing() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let segment = create(&server, &json!(null));

    let answer = server.call("DELETE", &format!("/segments/{segment}"), other.key(), &[], None);

    answer.ok(200);
    server.get(&format!("/segments/{segment}")).ok(200);
}
