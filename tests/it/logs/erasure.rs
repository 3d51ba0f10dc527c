//! An erased address leaves the log.

use serde_json::json;

use super::logged;
use crate::support::TestServer;

#[test]
fn requests_that_mention_an_erased_address_go_the_one_that_asked_for_it_too() {
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
        let whole = server.get(&format!("/logs/{}", row["id"].as_str().unwrap())).ok(200);
        assert!(!whole.to_string().to_lowercase().contains("ada@"), "{whole}");
    }
}

#[test]
fn another_team_s_log_keeps_what_it_says() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    other.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201);
    server.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201);

    server.erase(&["ada@example.net"]);

    assert_eq!(logged(&server), [] as [String; 0]);
    let theirs = other.get("/logs").ok(200);
    assert_eq!(theirs["data"][0]["endpoint"], "/suppressions");
}
