//! `DELETE /segments/{id}`.

use serde_json::json;

use super::{UNKNOWN, create, create_contact, first_names};
use crate::support::TestServer;

#[test]
fn a_deleted_segment_is_not_found_and_its_contacts_remain() {
    let server = TestServer::start();
    let segment = create(&server, &json!(null));
    let ada = create_contact(&server, "Ada", &json!({ "segments": [{ "id": segment }] }));
    let path = format!("/segments/{segment}");

    let deleted = server.delete(&path).ok(200);

    assert_eq!(deleted, json!({ "object": "segment", "id": segment, "deleted": true }));
    for path in [&path, &format!("{path}/contacts"), &format!("/contacts?segment_id={segment}")] {
        server.get(path).refused(404, "not_found", "Segment not found");
    }
    assert_eq!(server.get("/segments").ok(200)["data"], json!([]));
    assert_eq!(server.get(&format!("/contacts/{ada}/segments")).ok(200)["data"], json!([]));
    assert_eq!(first_names(&server, "/contacts"), ["Ada"]);
    server.post("/contacts", &json!({ "email": "bea@example.com", "segments": [{ "id": segment }] })).refused(
        404,
        "not_found",
        "Segment not found",
    );
}

#[test]
fn deleting_an_unknown_segment_succeeds() {
    let server = TestServer::start();
    let id = UNKNOWN.rsplit('/').next().unwrap();

    for _ in 0..2 {
        let deleted = server.delete(UNKNOWN).ok(200);
        assert_eq!(deleted, json!({ "object": "segment", "id": id, "deleted": true }));
    }
    server.delete("/segments/nobody").refused(422, "validation_error", "The `id` must be a valid UUID.");
}

#[test]
fn a_team_cannot_delete_the_segment_of_another_team() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let segment = create(&server, &json!(null));

    let response = server.call("DELETE", &format!("/segments/{segment}"), other.key(), &[], None);

    response.ok(200);
    server.get(&format!("/segments/{segment}")).ok(200);
}
