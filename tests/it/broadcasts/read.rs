//! `GET /broadcasts` and `GET /broadcasts/{id}`.

use serde_json::{Value, json};

use super::{UNKNOWN, create, id, schedule};
use crate::support::TestServer;

fn ids(list: &Value) -> Vec<&str> {
    list["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn a_row_of_the_list_has_the_fields_without_the_content() {
    let server = TestServer::start();
    let path = schedule(&server);
    let read = server.get(&path).ok(200);

    let list = server.get("/broadcasts").ok(200);

    let fields =
        ["id", "name", "audience_id", "segment_id", "status", "created_at", "scheduled_at", "sent_at", "topic_id"];
    let expected: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), read[field].clone())).collect();
    assert_eq!(list, json!({ "object": "list", "has_more": false, "data": [expected] }));
}

#[test]
fn broadcasts_are_paged_newest_first() {
    let server = TestServer::start();
    let paths: Vec<String> = (0..5).map(|_| create(&server, &json!({}))).collect();
    let page = |query: &str| server.get(&format!("/broadcasts?{query}")).ok(200);

    let first = page("limit=2");
    assert_eq!((ids(&first), &first["has_more"]), (vec![id(&paths[4]), id(&paths[3])], &json!(true)));
    let next = page(&format!("limit=2&after={}", id(&paths[3])));
    assert_eq!((ids(&next), &next["has_more"]), (vec![id(&paths[2]), id(&paths[1])], &json!(true)));
    let before = page(&format!("limit=2&before={}", id(&paths[2])));
    assert_eq!((ids(&before), &before["has_more"]), (vec![id(&paths[4]), id(&paths[3])], &json!(false)));
    server.delete(&paths[3]).ok(200);
    let after_deleted = page(&format!("limit=2&after={}", id(&paths[3])));
    assert_eq!(ids(&after_deleted), [id(&paths[2]), id(&paths[1])]);
    let unknown = server.get(&format!("/broadcasts?after={}", id(UNKNOWN))).refusal();
    assert!(unknown.starts_with("422 validation_error: Invalid cursor."), "{unknown}");
}

#[test]
fn an_unknown_broadcast_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    server.get(UNKNOWN).refused(404, "not_found", "Broadcast not found");
    server.get("/broadcasts/x").refused(422, "validation_error", "The `id` must be a valid UUID.");
}

#[test]
fn a_scheduled_broadcast_survives_a_restart() {
    let server = TestServer::start();
    let path = schedule(&server);
    let before = server.get(&path).ok(200);

    let server = server.restart_with(&[]);

    assert_eq!(server.get(&path).ok(200), before);
}
