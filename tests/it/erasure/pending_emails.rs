//! An erasure cancels the emails that wait for an attempt. Reports during an erasure leave no address.

use std::time::Duration;

use serde_json::json;

use super::tables::tables_that_mention;
use crate::ingest;
use crate::support::TestServer;

#[test]
fn a_scheduled_email_is_canceled_immediately_and_never_sent() {
    let server = TestServer::start();
    let sent = server.send(&json!({ "to": "ada@example.net" }));
    server.wait_for(&sent, "delivered");
    let scheduled = server.send(&json!({ "to": "ada@example.net", "scheduled_at": "in 1 hour" }));

    server.erase(&["ADA@example.net"]);

    let path = format!("/emails/{scheduled}");
    let email = server.get(&path).ok(200);
    assert_eq!((&email["last_event"], &email["to"]), (&json!("canceled"), &json!(["[erased]"])));
    let reschedule = server.patch(&path, &json!({ "scheduled_at": "in 2 hours" }));
    assert!(reschedule.refusal().starts_with("422 validation_error"));
    let server = server.restart_with(&[]);
    server.advance(Duration::from_secs(2 * 3_600));
    let later = server.send(&json!({}));
    server.wait_for(&later, "delivered");
    assert_eq!(server.get(&path).ok(200)["last_event"], "canceled");
    assert!(!server.has_content(&scheduled));
    assert!(server.captured_messages().is_empty(), "the mailbox contains a message to the address");
}

#[test]
fn an_email_that_was_canceled_before_is_erased() {
    let server = TestServer::start();
    let scheduled = server.send(&json!({ "to": "ada@example.net", "scheduled_at": "in 1 hour" }));
    server.post(&format!("/emails/{scheduled}/cancel"), &json!({})).ok(200);

    server.erase(&["ada@example.net"]);

    let email = server.get(&format!("/emails/{scheduled}")).ok(200);
    assert_eq!((&email["last_event"], &email["to"]), (&json!("canceled"), &json!(["[erased]"])));
}

#[test]
fn a_delivery_report_during_an_erasure_leaves_no_address() {
    let server = ingest::server();
    let events = ["email.complained", "email.bounced", "suppression.added"];
    let endpoint = json!({ "endpoint": "https://hooks.example/mail", "events": events });
    server.post("/webhooks", &endpoint).ok(201);
    let report = |event_type: &str, email: &str, recipient: &str| {
        let bounce = json!({ "type": "Permanent", "sub_type": "NoEmail" });
        json!({ "type": event_type, "email_id": email, "recipient": recipient, "bounce": bounce })
    };
    // The erasure can finish before the reports arrive. The reports then match no recipient, so the test retries.
    let is_during_erasure = (0..10).any(|round| {
        let names = [format!("ada.{round}.lovelace@example.net"), format!("bob.{round}.lovelace@example.net")];
        let names = [names[0].as_str(), names[1].as_str()];
        let [complained, bounced] = names.map(|name| ingest::deliver(&server, name));
        server.request_erasure(&names);
        let reports = [report("complained", &complained, names[0]), report("bounced", &bounced, names[1])];
        ingest::report(&server, &json!(reports)) == (2, 0)
    });
    assert!(is_during_erasure);
    server.wait_for_erasures(0);

    assert_eq!(tables_that_mention(server.into_directory().path(), "lovelace"), [] as [String; 0]);
}
