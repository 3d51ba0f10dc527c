//! The suppression list after an erasure.

use serde_json::json;

use crate::support::{TestServer, email};

#[test]
fn an_erased_suppression_still_applies_and_is_found_only_by_id() {
    let server = TestServer::start();
    let suppress = |origin: &str| {
        let entry = server.post("/suppressions", &json!({ "email": "ada@example.net", "origin": origin })).ok(201);
        (entry["id"].as_str().unwrap().to_owned(), entry["email"].clone())
    };
    let (id, _) = suppress("manual");

    server.erase(&["Ada@example.net"]);

    let entry = server.get(&format!("/suppressions/{id}")).ok(200);
    assert_eq!((&entry["email"], &entry["origin"]), (&json!("[erased]"), &json!("manual")));
    server.get("/suppressions/ada@example.net").refused(404, "not_found", "Suppression not found");
    server.delete("/suppressions/ada@example.net").refused(404, "not_found", "Suppression not found");
    let by_address = json!({ "emails": ["ada@example.net"] });
    assert_eq!(server.post("/suppressions/batch/remove", &by_address).ok(200)["data"], json!([]));
    assert_eq!(server.get("/suppressions").ok(200)["data"], json!([]));
    assert_eq!(server.get("/suppressions?origin=manual").ok(200)["data"], json!([]));
    let refused = server.post("/emails", &email(&json!({ "to": "ada@example.net" })));
    refused.refused(422, "all_recipients_suppressed", "All recipients are suppressed");
    assert_eq!(suppress("bounce"), (id.clone(), json!("[erased]")), "adding the address again restored it");
    server.delete(&format!("/suppressions/{id}")).ok(200);
    server.send(&json!({ "to": "ada@example.net" }));
}
