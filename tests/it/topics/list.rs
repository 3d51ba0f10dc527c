//! `GET /topics` and `GET /topics/{id}`.

use serde_json::{Value, json};

use super::{UNKNOWN, create};
use crate::support::{TestServer, assert_body};

#[test]
fn topics_are_listed_newest_first_with_all_fields() {
    let server = TestServer::start();
    let first = create(&server, &json!({ "name": "First" }));
    create(&server, &json!({ "name": "Second", "visibility": "public", "description": "About it." }));

    let list = server.get("/topics").ok(200);

    assert_eq!(list["data"][1], server.get(&first).ok(200));
    assert_body!(list);
}

#[test]
fn a_page_has_twenty_topics_by_default() {
    let server = TestServer::start();
    (0..21).for_each(|_| drop(create(&server, &json!({}))));
    let count = |query: &str| {
        let list = server.get(&format!("/topics{query}")).ok(200);
        (list["data"].as_array().unwrap().len(), list["has_more"].clone())
    };

    assert_eq!(count(""), (20, json!(true)));
    assert_eq!(count("?limit=21"), (21, json!(false)));
    assert_eq!(count("?limit=100"), (21, json!(false)));
}

#[test]
fn a_deleted_topic_is_not_listed() {
    let server = TestServer::start();
    let paths: Vec<String> = (0..3).map(|_| create(&server, &json!({}))).collect();

    server.delete(&paths[1]).ok(200);

    let rows: Vec<Value> = server.get("/topics").ok(200)["data"].as_array().unwrap().clone();
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [paths[2].rsplit('/').next().unwrap(), paths[0].rsplit('/').next().unwrap()]);
}

#[test]
fn an_unknown_topic_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    server.get(UNKNOWN).refused(404, "not_found", "Topic not found");
    server.get("/topics/news").refused(422, "validation_error", "The `id` must be a valid UUID.");
    let unknown = server.get("/topics?status=public").refusal();
    assert!(unknown.starts_with("422 validation_error: "), "{unknown}");
}
