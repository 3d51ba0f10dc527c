//! Simulated recipients and the rank of statuses.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestServer, assert_body, email};

fn statuses(email: &Value) -> Vec<(&str, &str)> {
    let recipients = email["recipients"].as_array().unwrap();
    recipients
        .iter()
        .map(|recipient| (recipient["email"].as_str().unwrap(), recipient["last_event"].as_str().unwrap()))
        .collect()
}

/// Returns the type and the recipients of each event in the timeline.
fn timeline(email: &Value) -> Vec<(&str, Vec<&str>)> {
    let events = email["events"].as_array().unwrap();
    events
        .iter()
        .map(|event| {
            let to = event["to"].as_array().unwrap().iter().map(|address| address.as_str().unwrap()).collect();
            (event["type"].as_str().unwrap(), to)
        })
        .collect()
}

#[test]
fn a_simulated_recipient_has_its_outcome_at_both_domains_with_and_without_a_label() {
    let server = TestServer::start();
    for domain in ["resend.dev", "ringmail.test"] {
        for label in ["", "+order-7", "+a+b"] {
            for (name, status, events) in [
                ("delivered", "delivered", vec!["email.sent", "email.delivered"]),
                ("bounced", "bounced", vec!["email.sent", "email.bounced"]),
                ("complained", "complained", vec!["email.sent", "email.delivered", "email.complained"]),
                ("delayed", "delivery_delayed", vec!["email.sent", "email.delivery_delayed"]),
            ] {
                let address = format!("{name}{label}@{domain}");

                let id = server.send(&json!({ "to": address }));

                let email = server.wait_for(&id, status);
                assert_eq!(statuses(&email), [(address.as_str(), status)]);
                let expected: Vec<_> = events.into_iter().map(|event| (event, vec![address.as_str()])).collect();
                assert_eq!(timeline(&email), expected);
            }
            let suppressed = email(&json!({ "to": format!("suppressed{label}@{domain}") }));
            let (name, message) = ("all_recipients_suppressed", "All recipients are suppressed");
            server.post("/emails", &suppressed).refused(422, name, message);
        }
    }
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new(), "a simulated recipient is on the suppression list");
}

#[test]
fn a_bounce_has_the_reply_of_the_server() {
    let server = TestServer::start();

    let id = server.send(&json!({ "to": "bounced@resend.dev" }));

    assert_body!(server.wait_for(&id, "bounced"));
    server.send(&json!({ "to": "bounced@resend.dev" }));
}

#[test]
fn a_simulated_complaint_follows_the_delivery_and_suppresses_no_address() {
    let server = TestServer::start();

    let id = server.send(&json!({ "to": "complained@resend.dev" }));

    assert_body!(server.wait_for(&id, "complained"));
    server.send(&json!({ "to": "complained@resend.dev" }));
}

#[test]
fn a_delayed_delivery_is_attempted_again_at_its_due_time() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": "delayed@resend.dev" }));
    server.wait_for(&id, "delivery_delayed");

    server.advance(Duration::from_secs(120));

    assert_body!(server.wait_for(&id, "delivered"));
}

#[test]
fn a_delayed_delivery_survives_a_restart() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": "delayed@resend.dev" }));
    server.wait_for(&id, "delivery_delayed");

    let server = server.restart_with(&[]);
    server.advance(Duration::from_secs(120));

    let email = server.wait_for(&id, "delivered");
    let events: Vec<&str> = timeline(&email).iter().map(|(event, _)| *event).collect();
    assert_eq!(events, ["email.sent", "email.delivery_delayed", "email.delivered"]);
}

#[test]
fn each_recipient_has_its_own_outcome_and_the_email_shows_the_highest_rank() {
    let server = TestServer::start();
    let to = ["delivered@resend.dev", "bounced@resend.dev", "delayed@resend.dev"];

    let id = server.send(&json!({
        "to": to, "cc": ["complained@resend.dev", "suppressed@resend.dev"], "bcc": "delivered+bcc@ringmail.test",
    }));

    let all_settled =
        |email: &Value| statuses(email).iter().all(|(_, status)| *status != "sent" && *status != "queued");
    let email = server.wait_until(&id, "every outcome", all_settled);
    let expected = [
        ("delivered@resend.dev", "delivered"),
        ("bounced@resend.dev", "bounced"),
        ("delayed@resend.dev", "delivery_delayed"),
        ("complained@resend.dev", "complained"),
        ("delivered+bcc@ringmail.test", "delivered"),
    ];
    assert_eq!(statuses(&email), expected);
    assert_eq!(email["last_event"], "complained");
    for (event, recipients) in timeline(&email) {
        match event {
            "email.sent" => {}
            "email.delivered" => assert!(!recipients.contains(&"bounced@resend.dev"), "{recipients:?}"),
            "email.bounced" => assert_eq!(recipients, ["bounced@resend.dev"]),
            "email.complained" => assert_eq!(recipients, ["complained@resend.dev"]),
            "email.delivery_delayed" => assert_eq!(recipients, ["delayed@resend.dev"]),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_later_event_of_lower_rank_does_not_change_the_status() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": ["bounced@resend.dev", "delayed@resend.dev"] }));
    let delayed = |email: &Value| statuses(email)[1].1 == "delivery_delayed";
    server.wait_until(&id, "the delay", delayed);

    server.advance(Duration::from_secs(120));

    let email = server.wait_until(&id, "the delivery", |email| statuses(email)[1].1 == "delivered");
    assert_eq!(email["last_event"], "bounced");
}

#[test]
fn a_simulated_outcome_is_the_same_with_every_transport() {
    // No DNS server or smarthost listens on this port, so a delivery over the network would be delayed.
    for flags in [
        &["--delivery", "direct", "--resolver", "127.0.0.1:9"][..],
        &["--delivery", "relay", "--relay", "smtp://127.0.0.1:9"],
    ] {
        let server = TestServer::start_with(flags);

        let id = server.send(&json!({ "to": ["delivered@resend.dev", "bounced@ringmail.test"] }));

        let both = |email: &Value| {
            statuses(email) == [("delivered@resend.dev", "delivered"), ("bounced@ringmail.test", "bounced")]
        };
        server.wait_until(&id, "both outcomes", both);
    }
}
