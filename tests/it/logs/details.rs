//! The detail of an error that only the request log has.

use ringmail::suppressions::SuppressionOrigin;
use serde_json::{Value, json};

use crate::support::{TestServer, email};

/// Sends a request whose recipients are all suppressed. Returns the id of the request and the detail in the log.
#[track_caller]
fn refused(server: &TestServer, fields: &Value) -> (String, Value) {
    let refused = server.post("/emails", &email(fields));
    let id = refused.header("x-request-id").unwrap().to_owned();
    refused.refused(422, "all_recipients_suppressed", "All recipients are suppressed");
    let detail = server.get(&format!("/logs/{id}")).ok(200)["detail"].clone();
    (id, detail)
}

#[test]
fn the_log_has_the_reason_of_each_suppressed_recipient() {
    let server = TestServer::start_with(&["--public-url", "https://mail.example.com"]);
    server.suppress("ada@example.net", SuppressionOrigin::Bounce);
    server.suppress("bob@example.net", SuppressionOrigin::Manual);
    let topic = server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_out" })).ok(201);

    let (_, suppressed) = refused(&server, &json!({ "to": ["Ada <Ada@example.net>", "bob@example.net"] }));
    let (_, opted_out) = refused(&server, &json!({ "to": "carl@example.net", "topic_id": topic["id"] }));
    let (_, simulated) = refused(&server, &json!({ "to": "suppressed@resend.dev" }));
    let sent = server.post("/emails", &email(&json!({})));

    assert_eq!(suppressed, "Ada@example.net is suppressed (bounce); bob@example.net is suppressed (manual).");
    assert_eq!(opted_out, "carl@example.net does not receive emails under the topic.");
    assert_eq!(simulated, "suppressed@resend.dev is simulated as suppressed.");
    let sent = server.get(&format!("/logs/{}", sent.header("x-request-id").unwrap())).ok(200);
    assert_eq!(sent["detail"], Value::Null);
}

#[test]
fn the_log_of_a_strict_batch_has_the_reasons_of_the_email_that_refuses_it() {
    let server = TestServer::start();
    server.suppress("ada@example.net", SuppressionOrigin::Bounce);
    server.suppress("bob@example.net", SuppressionOrigin::Manual);
    let suppressed = json!({ "to": ["ada@example.net"], "cc": "bob@example.net" });

    let refused = server.post("/emails/batch", &json!([email(&json!({})), email(&suppressed)]));

    let id = refused.header("x-request-id").unwrap().to_owned();
    refused.refused(422, "all_recipients_suppressed", "emails.1: All recipients are suppressed");
    let detail = server.get(&format!("/logs/{id}")).ok(200)["detail"].clone();
    assert_eq!(detail, "ada@example.net is suppressed (bounce); bob@example.net is suppressed (manual).");
}

#[test]
fn an_erasure_deletes_the_detail() {
    let server = TestServer::start();
    server.suppress("ada@example.net", SuppressionOrigin::Bounce);
    server.suppress("bob@example.net", SuppressionOrigin::Manual);
    let (with_ada, _) = refused(&server, &json!({ "to": ["ada@example.net", "bob@example.net"] }));
    let (with_bob, detail) = refused(&server, &json!({ "to": "bob@example.net" }));

    server.erase(&["ada@example.net"]);

    server.get(&format!("/logs/{with_ada}")).refused(404, "not_found", "Log not found");
    assert_eq!(server.get(&format!("/logs/{with_bob}")).ok(200)["detail"], detail);
}
