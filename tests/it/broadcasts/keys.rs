//! API keys with a restriction.

use serde_json::json;

use super::{broadcast, create, status};
use crate::support::{ApiResponse, TestServer};

const RESTRICTED: &str =
    "This API key is restricted to another domain. Send from an address of that domain, or use another key.";

#[test]
fn a_sending_key_cannot_use_broadcasts() {
    let server = TestServer::start();
    let key = server.create_sending_key();
    let one = create(&server, &json!({}));
    for (method, path) in [
        ("POST", "/broadcasts".to_owned()),
        ("GET", "/broadcasts".to_owned()),
        ("GET", one.clone()),
        ("PATCH", one.clone()),
        ("DELETE", one.clone()),
        ("POST", format!("{one}/send")),
        ("POST", format!("{one}/cancel")),
        ("POST", format!("{one}/duplicate")),
        ("GET", format!("{one}/recipients?type=sent")),
        ("GET", format!("{one}/clicked-links")),
    ] {
        let refused = server.call(method, &path, &key, &[], None);

        refused.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
        assert_eq!(server.call(method, &path, "", &[], None).status, 401, "{method} {path}");
    }
    assert_eq!(status(&server, &one), "draft");
}

#[test]
fn a_key_of_one_domain_uses_senders_of_that_domain_only() {
    let server = TestServer::start_with(&["--domain", "example.com", "--domain", "other.example"]);
    let scope = server.domain_id("other.example");
    let key = server.create_key(&json!({ "name": "Scoped", "permission": "full_access", "domain_id": scope }));
    let call = |method: &str, path: &str, body: serde_json::Value| -> ApiResponse {
        server.call(method, path, &key, &[], Some(body.to_string().as_bytes()))
    };
    let foreign = create(&server, &json!({}));
    let scheduled = create(&server, &json!({ "send": true, "scheduled_at": "in 1 hour" }));

    for refused in [
        call("POST", "/broadcasts", broadcast(&json!({}))),
        call("POST", "/broadcasts", broadcast(&json!({ "from": "news@unverified.example" }))),
        call("PATCH", &foreign, json!({ "name": "New" })),
        call("PATCH", &foreign, json!({ "from": "news@other.example" })),
        call("DELETE", &foreign, json!({})),
        call("POST", &format!("{foreign}/send"), json!({})),
        call("POST", &format!("{foreign}/duplicate"), json!({})),
        call("POST", &format!("{scheduled}/cancel"), json!({})),
    ] {
        refused.refused(403, "restricted_api_key", RESTRICTED);
    }
    assert_eq!((status(&server, &foreign), status(&server, &scheduled)), ("draft".into(), "scheduled".into()));

    let own = call("POST", "/broadcasts", broadcast(&json!({ "from": "news@other.example" }))).ok(201);
    let own = format!("/broadcasts/{}", own["id"].as_str().unwrap());
    call("PATCH", &own, json!({ "from": "news@example.com" })).refused(403, "restricted_api_key", RESTRICTED);
    call("PATCH", &own, json!({ "name": "New" })).ok(200);
    call("POST", &format!("{own}/send"), json!({ "scheduled_at": "in 1 hour" })).ok(200);
    call("POST", &format!("{own}/cancel"), json!({})).ok(200);
}
