//! Erasure of an address from the request log.

use serde_json::json;

use super::logged;
use crate::support::TestServer;

#[test]
fn an_erasure_deletes_every_log_entry_with_the_address() {
    let server = TestServer::start();
    server.post("/contacts", &json!({ "email": "Ada@example.net", "first_name": "Ada" })).ok(201);
    server.post("/contacts", &json!({ "email": "bob@example.net" })).ok(201);
    server.get("/contacts/ada%40EXAMPLE.net").ok(200);
    server.get("/contacts/ada@example.net/topics").ok(200);
    let id = server.send(&json!({ "to": ["ada@example.net", "bob@example.net"] }));
    server.wait_for(&id, "delivered");
    server.get("/topics").ok(200);

    server.delete("/contacts/ada@example.net?erase=true").ok(200);
    server.wait_for_erasures(0);

    assert_eq!(logged(&server), ["POST /contacts 201", "GET /topics 200"]);
    let rows = server.get("/logs?limit=100").ok(200);
    for row in rows["data"].as_array().unwrap() {
        let full_entry = server.get(&format!("/logs/{}", row["id"].as_str().unwrap())).ok(200);
        assert!(!full_entry.to_string().to_lowercase().contains("ada@"), "{full_entry}");
    }
}

#[test]
fn an_erasure_keeps_the_log_entries_of_another_team() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    other.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201);
    server.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201);

    server.erase(&["ada@example.net"]);

    assert_eq!(logged(&server), [] as [String; 0]);
    let theirs = other.get("/logs").ok(200);
    assert_eq!(theirs["data"][0]["endpoint"], "/suppressions");
}
