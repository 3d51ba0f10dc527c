//! Late, repeated and early reports, and reports about recipients that got no message.

use std::time::Duration;

use serde_json::{Value, json};

use super::{SECRET, deliver, event_types, report, server, statuses};
use crate::support::TestServer;

fn read(server: &TestServer, id: &str) -> Value {
    server.get(&format!("/emails/{id}")).ok(200)
}

/// Reports one event about `ada@example.net`. Returns whether it was accepted.
fn is_accepted(server: &TestServer, event_type: &str, id: &str) -> bool {
    let event = json!({
        "type": event_type, "email_id": id, "recipient": "ada@example.net", "bounce": { "type": "Permanent" },
    });
    report(server, &event) == (1, 0)
}

#[test]
fn a_late_report_keeps_the_higher_status_and_a_repeated_report_is_ignored() {
    let server = server();
    let id = deliver(&server, "ada@example.net");

    assert!(!is_accepted(&server, "delivered", &id), "the SMTP session already recorded the delivery");
    assert!(is_accepted(&server, "delayed", &id));
    assert!(is_accepted(&server, "complained", &id));
    assert!(!is_accepted(&server, "complained", &id));
    assert!(!is_accepted(&server, "delayed", &id), "a delay after a complaint is ignored");
    assert!(is_accepted(&server, "bounced", &id));
    assert!(!is_accepted(&server, "failed", &id), "a failure after a bounce is ignored");

    let email = read(&server, &id);
    assert_eq!(email["last_event"], "complained");
    let expected = ["email.sent", "email.delivered", "email.delivery_delayed", "email.complained", "email.bounced"];
    assert_eq!(event_types(&email), expected);
    assert_eq!(server.get("/suppressions/ada@example.net").ok(200)["origin"], "complaint", "the first origin remains");
}

#[test]
fn a_permanent_bounce_is_recorded_after_another_failure_and_no_other() {
    for first in ["bounced", "failed"] {
        let server = server();
        let id = deliver(&server, "ada@example.net");
        let is_bounce_accepted = |event_type: &str, bounce_type: &str| {
            let bounce = json!({ "type": bounce_type });
            let event = json!({ "type": event_type, "email_id": id, "recipient": "ada@example.net", "bounce": bounce });
            report(&server, &event) == (1, 0)
        };

        assert!(is_bounce_accepted(first, "Transient"));
        assert!(!is_bounce_accepted("bounced", "Transient"), "a second transient bounce is ignored");
        assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
        assert!(is_bounce_accepted("bounced", "Permanent"));
        assert!(!is_bounce_accepted("bounced", "Permanent"));
        assert!(!is_bounce_accepted("bounced", "Transient"));

        assert_eq!(server.suppressed_addresses(), ["ada@example.net"]);
        let expected = ["email.failed", "email.bounced"];
        assert_eq!(event_types(&read(&server, &id))[2..], expected);
    }
}

#[test]
fn at_most_five_delays_are_recorded() {
    let server = server();
    let id = deliver(&server, "ada@example.net");

    let recorded = (0..10).filter(|_| is_accepted(&server, "delayed", &id)).count();

    assert_eq!(recorded, 5);
}

#[test]
fn a_report_about_a_recipient_that_got_no_message_is_ignored() {
    let server = server();
    server.suppress("ada@example.net", ringmail::suppressions::SuppressionOrigin::Manual);
    let suppressed = deliver_without_ada(&server);
    let scheduled = server.send(&json!({ "to": "bob@example.net", "scheduled_at": "in 1 hour" }));
    let canceled = server.send(&json!({ "to": "bob@example.net", "scheduled_at": "in 1 hour" }));
    server.post(&format!("/emails/{canceled}/cancel"), &json!({})).ok(200);
    let report_bounce = |id: &str, recipient: &str| {
        let event = json!({
            "type": "bounced", "email_id": id, "recipient": recipient, "bounce": { "type": "Permanent" },
        });
        report(&server, &event)
    };

    assert_eq!(report_bounce(&suppressed, "ada@example.net"), (0, 1));
    assert_eq!(report_bounce(&scheduled, "bob@example.net"), (0, 1));
    assert_eq!(report_bounce(&canceled, "bob@example.net"), (0, 1));

    assert_eq!(read(&server, &scheduled)["last_event"], "scheduled");
    assert_eq!(read(&server, &canceled)["last_event"], "canceled");
    assert_eq!(server.suppressed_addresses(), ["ada@example.net"]);
}

/// Sends an email to `ada@example.net`, which is suppressed, and to another address.
fn deliver_without_ada(server: &TestServer) -> String {
    let id = server.send(&json!({ "to": ["ada@example.net", "eve@example.net"] }));
    server.wait_until(&id, "the delivery", |email| {
        statuses(email).iter().any(|(address, last)| *address == "eve@example.net" && *last == "delivered")
    });
    id
}

#[test]
fn a_report_about_a_simulated_recipient_is_ignored() {
    let server = server();
    let id = server.send(&json!({ "to": "delivered@resend.dev" }));
    server.wait_for(&id, "delivered");
    let event = json!({ "type": "complained", "email_id": id, "recipient": "delivered@resend.dev" });

    assert_eq!(report(&server, &event), (0, 1));

    assert_eq!(read(&server, &id)["last_event"], "delivered");
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
}

#[test]
fn a_report_about_an_erased_recipient_is_ignored() {
    let server = server();
    let id = deliver(&server, "ada@example.net");
    server.erase(&["ada@example.net"]);

    assert!(!is_accepted(&server, "complained", &id));

    assert!(!read(&server, &id).to_string().contains("ada@"));
}

#[test]
fn only_a_permanent_bounce_is_accepted_while_a_retry_is_due() {
    // No server listens on port 1.
    let relay = ["--delivery", "relay", "--relay", "smtp://127.0.0.1:1?tls=never"];
    let flags: Vec<&str> = relay.into_iter().chain(["--ingest-secret", SECRET]).collect();
    let server = TestServer::start_with(&flags);
    let id = server.send(&json!({ "to": "ada@example.net" }));
    server.wait_for(&id, "delivery_delayed");

    for event_type in ["delivered", "delayed", "failed"] {
        assert!(!is_accepted(&server, event_type, &id), "{event_type}");
    }
    assert!(is_accepted(&server, "bounced", &id));

    assert_eq!(read(&server, &id)["last_event"], "bounced");
    assert_eq!(server.suppressed_addresses(), ["ada@example.net"]);
    server.advance(Duration::from_secs(3 * 24 * 3600));
    let later = server.send(&json!({ "to": "bob@example.net" }));
    server.wait_for(&later, "delivery_delayed");
    let email = read(&server, &id);
    assert_eq!(
        event_types(&email),
        ["email.sent", "email.delivery_delayed", "email.bounced"],
        "no further attempt was made"
    );
}

#[test]
fn a_report_about_a_deleted_email_is_ignored() {
    let server = server();
    let id = deliver(&server, "ada@example.net");
    server.delete(&format!("/emails/{id}")).ok(200);

    assert!(!is_accepted(&server, "complained", &id));

    assert_eq!(server.stored_emails(), 0);
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
}
