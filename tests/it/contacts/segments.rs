//! `/contacts/{id or email}/segments`.

use serde_json::{Value, json};

use super::{UNKNOWN_ID, audience_state, create, create_segment, id};
use crate::support::{TestServer, assert_body};

const PATH: &str = "/contacts/ada@example.net/segments";

#[track_caller]
fn segment_names(server: &TestServer) -> Vec<String> {
    let list = server.get(PATH).ok(200);
    list["data"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_contact_can_be_added_to_a_segment_and_removed() {
    let server = TestServer::start();
    let everyone = create_segment(&server, "Everyone");
    let created = create(&server, "ada@example.net", &json!({}));

    let joined = server.post(&format!("{PATH}/{everyone}"), &json!({})).ok(200);
    let listed = server.get(PATH).ok(200);
    let left = server.delete(&format!("{PATH}/{everyone}")).ok(200);

    assert_eq!(segment_names(&server), Vec::<String>::new());
    for response in [&joined, &left] {
        assert_eq!((&response["id"], &response["segment_id"]), (&json!(everyone), &json!(everyone)));
        assert_eq!(response["contact_id"], created["id"]);
    }
    assert_body!(json!({ "joined": joined, "listed": listed, "left": left }));
    assert_eq!(server.audience_events().len(), 1, "adding to a segment and removing emit no event");
}

#[test]
fn adding_again_changes_nothing_and_removing_again_is_not_found() {
    let server = TestServer::start();
    let (everyone, empty) = (create_segment(&server, "Everyone"), create_segment(&server, "Nobody"));
    create(&server, "ada@example.net", &json!({ "segments": [{ "id": everyone }] }));
    let joined = server.post(&format!("{PATH}/{everyone}"), &json!({})).ok(200);

    assert_eq!(server.post(&format!("{PATH}/{everyone}"), &json!({})).ok(200), joined);
    assert_eq!(segment_names(&server), ["Everyone"]);

    server.delete(&format!("{PATH}/{everyone}")).ok(200);
    for segment in [&everyone, &empty] {
        let refused = server.delete(&format!("{PATH}/{segment}")).refusal();
        assert!(refused.starts_with("404 not_found: The contact was not added to this segment by hand."), "{refused}");
    }
}

#[test]
fn a_matching_segment_is_listed_and_the_contact_cannot_be_removed() {
    let server = TestServer::start();
    let filter = json!({ "match": "all", "conditions": [{ "field": "first_name", "op": "equals", "value": "Ada" }] });
    let adas = server.post("/segments", &json!({ "name": "Adas", "filter": filter })).ok(201);
    let everyone = create_segment(&server, "Everyone");
    create(&server, "ada@example.net", &json!({ "first_name": "Ada", "segments": [{ "id": everyone }] }));
    assert_eq!(segment_names(&server), ["Everyone", "Adas"]);

    let path = format!("{PATH}/{}", id(&adas));
    let refused = server.delete(&path).refusal();
    assert!(refused.starts_with("404 not_found: The contact was not added to this segment by hand."), "{refused}");
    server.post(&path, &json!({})).ok(200);
    server.patch("/contacts/ada@example.net", &json!({ "first_name": "Bob" })).ok(200);
    assert_eq!(
        segment_names(&server),
        ["Everyone", "Adas"],
        "a member stays in the segment after the filter stops matching"
    );
    server.delete(&path).ok(200);
    assert_eq!(segment_names(&server), ["Everyone"]);
}

#[test]
fn the_segments_of_a_contact_are_paged() {
    let server = TestServer::start();
    let segments: Vec<Value> =
        ["a", "b", "c"].iter().map(|name| json!({ "id": create_segment(&server, name) })).collect();
    create(&server, "ada@example.net", &json!({ "segments": segments }));

    let first = server.get(&format!("{PATH}/?limit=2")).ok(200);
    let rest = server.get(&format!("{PATH}?after={}", id(&segments[1]))).ok(200);

    let ids = |list: &Value| list["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect::<Vec<_>>();
    assert_eq!(
        (ids(&first), &first["has_more"]),
        (vec![segments[2]["id"].clone(), segments[1]["id"].clone()], &json!(true))
    );
    assert_eq!((ids(&rest), &rest["has_more"]), (vec![segments[0]["id"].clone()], &json!(false)));
    let refused = server.get(&format!("{PATH}?before={UNKNOWN_ID}")).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid cursor."), "{refused}");
}

#[test]
fn a_deleted_segment_is_not_listed_for_its_contacts() {
    let server = TestServer::start();
    let everyone = create_segment(&server, "Everyone");
    create(&server, "ada@example.net", &json!({ "segments": [{ "id": everyone }] }));

    server.delete(&format!("/segments/{everyone}")).ok(200);

    assert_eq!(segment_names(&server), Vec::<String>::new());
    server.delete(&format!("{PATH}/{everyone}")).refused(404, "not_found", "Segment not found");
    server.patch("/contacts/ada@example.net", &json!({ "first_name": "Ada" })).ok(200);
    assert_eq!(server.audience_events()[1]["data"]["segment_ids"], json!([]));
}

#[test]
fn the_body_of_the_request_is_ignored() {
    let server = TestServer::start();
    let everyone = create_segment(&server, "Everyone");
    let created = create(&server, "ada@example.net", &json!({}));
    let sdk_body =
        json!({ "contact_id": id(&created), "email": "ada@example.net", "segment_id": everyone }).to_string();
    for body in [None, Some(""), Some("{}"), Some("null"), Some("{broken"), Some(sdk_body.as_str())] {
        let response = server.call("POST", &format!("{PATH}/{everyone}"), server.key(), &[], body.map(str::as_bytes));

        assert_eq!(response.ok(200)["segment_id"], everyone, "{body:?}");
    }
}

#[test]
fn an_unknown_segment_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({}));
    let theirs = server.other_team("Other", "other.example");
    let foreign = theirs.post("/segments", &json!({ "name": "Theirs" })).ok(201);
    let before = audience_state(&server);
    for (segment, refusal) in [
        (UNKNOWN_ID, "404 not_found: Segment not found"),
        (id(&foreign), "404 not_found: Segment not found"),
        ("1", "422 validation_error: The `segment_id` must be a valid UUID."),
        ("ada@example.net", "422 validation_error: The `segment_id` must be a valid UUID."),
    ] {
        let path = format!("{PATH}/{segment}");
        assert_eq!(server.post(&path, &json!({})).refusal(), refusal);
        assert_eq!(server.delete(&path).refusal(), refusal);
    }
    assert_eq!(audience_state(&server), before);
}
