//! `GET /logs` and `GET /logs/{id}`.

use serde_json::{Value, json};

use super::entry;
use crate::support::{Ids, TestServer, assert_body};

/// Replaces the duration of a log entry with 0.
fn without_duration(mut row: Value) -> Value {
    assert!(row["duration_ms"].is_u64(), "{row}");
    row["duration_ms"] = json!(0);
    row
}

#[test]
fn a_row_has_the_request_and_the_entry_has_also_the_response() {
    let server = TestServer::start();
    let body = json!({ "name": "News", "default_subscription": "opt_in" }).to_string();
    let agent = [("user-agent", "resend-node:6.0.0")];
    let created = server.call("POST", "/topics", server.key(), &agent, Some(body.as_bytes()));

    let list = server.get("/logs?limit=1").ok(200);
    let full_entry = entry(&server, &created);

    assert_eq!((&list["object"], &list["data"][0]["id"]), (&json!("list"), &full_entry["id"]));
    assert_eq!(full_entry["response_body"], created.json);
    assert_body!(json!([without_duration(list["data"][0].clone()), without_duration(full_entry)]));
}

#[test]
fn a_request_is_in_the_log_immediately_after_its_response() {
    let server = TestServer::start();

    for number in 1..=5 {
        let response = server.get("/topics");
        let list = server.get("/logs").ok(200);
        let rows = list["data"].as_array().unwrap();

        assert_eq!(rows[0]["id"], response.header("x-request-id").unwrap());
        assert_eq!(rows.len(), 2 * number - 1, "the log has the earlier list requests");
    }
}

#[test]
fn the_log_can_be_paged_forwards_and_backwards() {
    let server = TestServer::start();
    for _ in 0..7 {
        server.get("/topics").ok(200);
    }
    // Without this flag, each read of the log adds an entry.
    let server = server.restart_with(&["--request-log", "false"]);
    let page = |query: &str| {
        let page = server.get(&format!("/logs?limit=3{query}")).ok(200);
        let rows = page["data"].as_array().unwrap();
        let ids: Vec<String> = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        (ids, page["has_more"].as_bool().unwrap())
    };

    let (first, more) = page("");
    let (second, more_after) = page(&format!("&after={}", first[2]));
    let (third, no_more) = page(&format!("&after={}", second[2]));
    let (back, _) = page(&format!("&before={}", third[0]));

    assert_eq!((more, more_after, no_more), (true, true, false));
    assert_eq!((third.len(), &back), (1, &second));
    let all = [first, second, third].concat();
    assert!(all.is_sorted_by(|one, two| one > two), "newest first: {all:?}");
}

#[test]
fn an_unknown_entry_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    server.get(&format!("/logs/{}", Ids::UNKNOWN.log)).refused(404, "not_found", "Log not found");
    server.get("/logs/x").refused(422, "validation_error", "The `id` must be a valid UUID.");
}

#[test]
fn a_team_sees_only_its_own_requests() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let theirs = other.get("/domains");
    let own = server.get("/domains");

    let list = other.get("/logs").ok(200);

    let ids: Vec<&str> = list["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [theirs.header("x-request-id").unwrap()]);
    let path = format!("/logs/{}", own.header("x-request-id").unwrap());
    other.get(&path).refused(404, "not_found", "Log not found");
}

#[test]
fn the_log_requires_a_full_access_key() {
    let server = TestServer::start();
    let key = server.create_sending_key();

    for path in ["/logs".to_owned(), format!("/logs/{}", Ids::UNKNOWN.log)] {
        let message = "This API key is restricted to only send emails";
        server.call("GET", &path, &key, &[], None).refused(403, "restricted_api_key", message);
    }
}
