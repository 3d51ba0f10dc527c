//! Reports that come late, twice, too early, or about recipients to whom nothing was sent.

use std::time::Duration;

use serde_json::{Value, json};

use super::{SECRET, delivered, report, server, statuses, story};
use crate::support::TestServer;

fn read(server: &TestServer, id: &str) -> Value {
    server.get(&format!("/emails/{id}")).ok(200)
}

/// Reports one event about ada@example.net; returns whether anything followed.
fn tell(server: &TestServer, event_type: &str, id: &str) -> bool {
    let event = json!({
        "type": event_type, "email_id": id, "recipient": "ada@example.net", "bounce": { "type": "Permanent" },
    });
    report(server, &event) == (1, 0)
}

#[test]
fn a_late_report_never_lowers_a_status_and_what_is_known_is_told_once() {
    let server = server();
    let id = delivered(&server, "ada@example.net");

    assert!(!tell(&server, "delivered", &id), "our own conversation told it");
    assert!(tell(&server, "delayed", &id));
    assert!(tell(&server, "complained", &id));
    assert!(!tell(&server, "complained", &id));
    assert!(!tell(&server, "delayed", &id), "nothing is delayed that has arrived and was reported");
    assert!(tell(&server, "bounced", &id));
    assert!(!tell(&server, "failed", &id), "it was refused once");

    let email = read(&server, &id);
    assert_eq!(email["last_event"], "complained");
    let expected = ["email.sent", "email.delivered", "email.delivery_delayed", "email.complained", "email.bounced"];
    assert_eq!(story(&email), expected);
    assert_eq!(server.get("/suppressions/ada@example.net").ok(200)["origin"], "complaint", "the first reason stays");
}

#[test]
fn a_bounce_for_good_is_told_after_a_milder_refusal_and_then_no_other() {
    for first in ["bounced", "failed"] {
        let server = server();
        let id = delivered(&server, "ada@example.net");
        let refused = |event_type: &str, bounce_type: &str| {
            let bounce = json!({ "type": bounce_type });
            let event = json!({ "type": event_type, "email_id": id, "recipient": "ada@example.net", "bounce": bounce });
            report(&server, &event) == (1, 0)
        };

        assert!(refused(first, "Transient"));
        assert!(!refused("bounced", "Transient"), "it was refused once");
        assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
        assert!(refused("bounced", "Permanent"));
        assert!(!refused("bounced", "Permanent"));
        assert!(!refused("bounced", "Transient"));

        assert_eq!(server.suppressed_addresses(), ["ada@example.net"]);
        let refusals = [format!("email.{first}"), "email.bounced".to_owned()];
        assert_eq!(story(&read(&server, &id))[2..], refusals);
    }
}

#[test]
fn there_is_an_end_to_delays() {
    let server = server();
    let id = delivered(&server, "ada@example.net");

    let told = (0..10).filter(|_| tell(&server, "delayed", &id)).count();

    assert_eq!(told, 5);
}

#[test]
fn nothing_is_told_of_a_recipient_to_whom_nothing_was_sent() {
    let server = server();
    server.suppress("ada@example.net", ringmail::suppressions::Origin::Manual);
    let suppressed = delivered_to_both(&server);
    let scheduled = server.send(&json!({ "to": "bob@example.net", "scheduled_at": "in 1 hour" }));
    let canceled = server.send(&json!({ "to": "bob@example.net", "scheduled_at": "in 1 hour" }));
    server.post(&format!("/emails/{canceled}/cancel"), &json!({})).ok(200);
    let about = |id: &str, recipient: &str| {
        let event = json!({
            "type": "bounced", "email_id": id, "recipient": recipient, "bounce": { "type": "Permanent" },
        });
        report(&server, &event)
    };

    assert_eq!(about(&suppressed, "ada@example.net"), (0, 1));
    assert_eq!(about(&scheduled, "bob@example.net"), (0, 1));
    assert_eq!(about(&canceled, "bob@example.net"), (0, 1));

    assert_eq!(read(&server, &scheduled)["last_event"], "scheduled");
    assert_eq!(read(&server, &canceled)["last_event"], "canceled");
    assert_eq!(server.suppressed_addresses(), ["ada@example.net"]);
}

/// Sends an email of which ada@example.net, who is suppressed, gets nothing.
fn delivered_to_both(server: &TestServer) -> String {
    let id = server.send(&json!({ "to": ["ada@example.net", "eve@example.net"] }));
    server.wait_until(&id, "the delivery", |email| {
        statuses(email).iter().any(|(address, last)| *address == "eve@example.net" && *last == "delivered")
    });
    id
}

#[test]
fn a_simulated_recipient_is_in_no_report() {
    let server = server();
    let id = server.send(&json!({ "to": "delivered@resend.dev" }));
    server.wait_for(&id, "delivered");
    let event = json!({ "type": "complained", "email_id": id, "recipient": "delivered@resend.dev" });

    assert_eq!(report(&server, &event), (0, 1));

    assert_eq!(read(&server, &id)["last_event"], "delivered");
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
}

#[test]
fn an_erased_recipient_is_in_no_report() {
    let server = server();
    let id = delivered(&server, "ada@example.net");
    server.erase(&["ada@example.net"]);

    assert!(!tell(&server, "complained", &id));

    assert!(!read(&server, &id).to_string().contains("ada@"));
}

#[test]
fn one_who_waits_for_our_next_attempt_is_told_of_only_what_forbids_it() {
    // Nothing listens on port 1.
    let relay = ["--delivery", "relay", "--relay", "smtp://127.0.0.1:1?tls=never"];
    let flags: Vec<&str> = relay.into_iter().chain(["--ingest-secret", SECRET]).collect();
    let server = TestServer::start_with(&flags);
    let id = server.send(&json!({ "to": "ada@example.net" }));
    server.wait_for(&id, "delivery_delayed");

    for event_type in ["delivered", "delayed", "failed"] {
        assert!(!tell(&server, event_type, &id), "{event_type}");
    }
    assert!(tell(&server, "bounced", &id));

    assert_eq!(read(&server, &id)["last_event"], "bounced");
    assert_eq!(server.suppressed_addresses(), ["ada@example.net"]);
    server.advance(Duration::from_secs(3 * 24 * 3600));
    let later = server.send(&json!({ "to": "bob@example.net" }));
    server.wait_for(&later, "delivery_delayed");
    let email = read(&server, &id);
    assert_eq!(story(&email), ["email.sent", "email.delivery_delayed", "email.bounced"], "nothing was tried again");
}

#[test]
fn a_deleted_email_is_in_no_report() {
    let server = server();
    let id = delivered(&server, "ada@example.net");
    server.delete(&format!("/emails/{id}")).ok(200);

    assert!(!tell(&server, "complained", &id));

    assert_eq!(server.stored_emails(), 0);
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
}
