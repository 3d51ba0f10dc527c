//! Notices to the owners of a team by email.

use ringmail::base::id::Id;
use ringmail::notices::Notice;
use serde_json::Value;

use crate::support::TestServer;

#[test]
fn an_owner_gets_an_email_about_a_disabled_endpoint() {
    let server = TestServer::start_with(&["--system-from", "Ringmail <notices@example.com>"]);
    server.add_owner("owner@people.example");

    let endpoint = "https://hooks.example/mail/T0KEN?key=T0KEN".to_owned();
    server.record_notice(Notice::WebhookDisabled { webhook: Id::MIN, endpoint });

    let sent = |emails: &Value| emails["data"].as_array().is_some_and(|data| !data.is_empty());
    let listed = server.poll("/emails", "the email of the notice", |response| sent(&response.json)).ok(200);
    let email = &listed["data"][0];
    assert_eq!(email["from"], "Ringmail <notices@example.com>");
    assert_eq!(email["to"][0], "owner@people.example");
    assert_eq!(email["subject"], "A webhook endpoint was disabled");
    server.wait_for(email["id"].as_str().unwrap(), "delivered");
    let (envelope, message) = server.captured_messages().remove(0);
    let text = String::from_utf8_lossy(&message);
    assert!(text.contains("hooks.example") && text.contains("PATCH /webhooks/"), "{envelope:?} {text}");
    assert!(!text.contains("T0KEN"), "the notice contains the path or the query, which can be secret: {text}");
    let id = email["id"].as_str().unwrap();
    let stored = server.get(&format!("/emails/{id}")).ok(200).to_string();
    assert!(stored.contains("hooks.example") && !stored.contains("T0KEN"), "{stored}");
}
