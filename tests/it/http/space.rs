//! Requests while the disk has less free space than the reserve.

use serde_json::json;

use crate::support::{TestServer, email};

/// Reserve of 1 PiB, which no disk of a test machine has free.
const LOW: &[&str] = &["--disk-reserve-mb", "1073741824"];

const MESSAGE: &str = "The server has little free disk space and accepts no new data. Try again later. Accepted emails are \
                       delivered.";

#[test]
fn requests_that_add_data_get_503_and_all_others_continue() {
    let server = TestServer::start();
    let (scheduled, sent) = (server.send(&json!({ "scheduled_at": "in 2 hours" })), server.send(&json!({})));
    server.wait_for(&sent, "delivered");
    let server = server.restart_with(LOW);

    for refused in [
        server.post("/emails", &email(&json!({}))),
        server.post("/emails/batch", &json!([email(&json!({}))])),
        server.post("/contacts", &json!({ "email": "ada@example.com" })),
        server.patch(&format!("/emails/{scheduled}"), &json!({ "scheduled_at": "in 3 hours" })),
    ] {
        let seconds: u32 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!(seconds > 0);
        refused.refused(503, "service_unavailable", MESSAGE);
    }
    assert_eq!(server.post("/emails", &json!({})).status, 503, "the body is not read");
    assert_eq!(server.get(&format!("/emails/{sent}")).status, 200);
    assert_eq!(server.post(&format!("/emails/{scheduled}/cancel"), &json!({})).status, 200);
    assert_eq!(server.delete(&format!("/emails/{sent}")).status, 200);
    assert_eq!(server.get("/health").ok(503)["problems"], json!(["disk"]));
    let log = server.get("/logs").ok(200);
    assert!(log["data"].as_array().unwrap().iter().all(|entry| entry["response_status"] != 503), "{log}");

    let server = server.restart_with(&[]);
    server.send(&json!({}));
}
