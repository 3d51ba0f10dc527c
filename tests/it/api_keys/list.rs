//! `GET /api-keys`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestServer, assert_body};

#[test]
fn keys_are_listed_newest_first_without_their_tokens() {
    let server = TestServer::start();
    server.create_key(&json!({ "name": "First" }));
    server.create_key(&json!({ "name": "Second", "permission": "sending_access" }));

    assert_body!(server.get("/api-keys").ok(200));
}

#[test]
fn the_last_use_of_a_key_is_shown_rounded_down_to_the_minute() {
    let server = TestServer::start();
    let key = server.create_key(&json!({ "name": "Used" }));
    let last_used = || server.get("/api-keys").ok(200)["data"][0]["last_used_at"].clone();
    assert_eq!(last_used(), Value::Null);

    server.advance(Duration::from_secs(90));
    server.call("GET", "/emails", &key, &[], None).ok(200);

    assert_eq!(last_used(), "2026-01-05T09:01:00.000Z");
    let server = server.restart_with(&[]);
    assert_eq!(server.get("/api-keys").ok(200)["data"][0]["last_used_at"], "2026-01-05T09:01:00.000Z");
}
