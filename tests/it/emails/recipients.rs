//! Recipients of an email: the limit, duplicates, suppressions and topic choices.

use ringmail::suppressions::SuppressionOrigin;
use ringmail::topics::Subscription;
use serde_json::{Value, json};

use crate::support::{TestServer, email};

fn addresses(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("delivered+{prefix}{n}@resend.dev")).collect()
}

fn recipients(email: &Value) -> Vec<&str> {
    email["recipients"].as_array().unwrap().iter().map(|recipient| recipient["email"].as_str().unwrap()).collect()
}

const ALL_SUPPRESSED: (u16, &str, &str) = (422, "all_recipients_suppressed", "All recipients are suppressed");

#[test]
fn an_email_has_at_most_50_recipients_in_to_cc_and_bcc() {
    let server = TestServer::start();
    let fifty = json!({ "to": addresses("to", 20), "cc": addresses("cc", 20), "bcc": addresses("bcc", 10) });

    let id = server.send(&fifty);

    let email = server.wait_for(&id, "delivered");
    assert_eq!(recipients(&email).len(), 50);
    assert_eq!(email["bcc"].as_array().unwrap().len(), 10);
}

#[test]
fn a_51st_recipient_in_any_field_is_refused() {
    let server = TestServer::start();
    for fields in [
        json!({ "to": addresses("to", 51) }),
        json!({ "to": addresses("to", 50), "cc": addresses("cc", 1) }),
        json!({ "to": addresses("to", 50), "bcc": "delivered+bcc@resend.dev" }),
        json!({ "to": addresses("to", 1), "cc": addresses("cc", 25), "bcc": addresses("bcc", 25) }),
    ] {
        let message = "Invalid `to` field: `to`, `cc` and `bcc` together hold 51 recipients; at most 50 are accepted.";
        server.post("/emails", &email(&fields)).refused(422, "validation_error", message);
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_repeated_address_receives_the_email_once() {
    let server = TestServer::start();

    let id = server.send(&json!({
        "to": ["delivered@resend.dev", "Again <DELIVERED@resend.dev>"],
        "cc": ["delivered@resend.dev", "delivered+cc@resend.dev"],
    }));

    let email = server.wait_for(&id, "delivered");
    assert_eq!(email["to"], json!(["delivered@resend.dev"]));
    assert_eq!(email["cc"], json!(["delivered+cc@resend.dev"]));
    assert_eq!(recipients(&email), ["delivered@resend.dev", "delivered+cc@resend.dev"]);
}

#[test]
fn an_object_with_numeric_keys_is_a_list() {
    let server = TestServer::start();

    let id = server.send(&json!({ "to": { "0": "delivered@resend.dev", "2": "delivered+2@resend.dev" } }));
    let refused = server.post("/emails", &email(&json!({ "to": { "email": "delivered@resend.dev" } }))).refusal();

    let email = server.wait_for(&id, "delivered");
    assert_eq!(email["to"], json!(["delivered@resend.dev", "delivered+2@resend.dev"]));
    assert!(refused.starts_with("422 validation_error: Invalid `to"), "{refused}");
}

#[test]
fn a_suppressed_recipient_is_omitted_if_another_to_recipient_remains() {
    let server = TestServer::start();
    for (address, origin) in [
        ("delivered+bounce@resend.dev", SuppressionOrigin::Bounce),
        ("delivered+complaint@resend.dev", SuppressionOrigin::Complaint),
        ("delivered+manual@resend.dev", SuppressionOrigin::Manual),
    ] {
        server.suppress(address, origin);
    }

    let id = server.send(&json!({
        "to": ["delivered+BOUNCE@resend.dev", "delivered@resend.dev"],
        "cc": ["delivered+complaint@resend.dev"],
        "bcc": ["Name <delivered+manual@resend.dev>", "suppressed@resend.dev"],
    }));

    let email = server.wait_for(&id, "delivered");
    assert_eq!(email["to"], json!(["delivered@resend.dev"]));
    assert_eq!(email["cc"], Value::Null);
    assert_eq!(email["bcc"], Value::Null);
    assert_eq!(recipients(&email), ["delivered@resend.dev"]);
}

#[test]
fn an_email_whose_to_recipients_are_all_suppressed_is_refused() {
    let server = TestServer::start();
    server.suppress("delivered+bounce@resend.dev", SuppressionOrigin::Bounce);
    for fields in [
        json!({ "to": "delivered+bounce@resend.dev" }),
        json!({ "to": ["delivered+bounce@resend.dev", "suppressed+x@ringmail.test"] }),
        json!({ "to": "delivered+bounce@resend.dev", "cc": "delivered@resend.dev", "bcc": "delivered+b@resend.dev" }),
    ] {
        let (status, name, message) = ALL_SUPPRESSED;
        server.post("/emails", &email(&fields)).refused(status, name, message);
    }
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_suppression_applies_only_to_its_team() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    server.suppress("delivered@resend.dev", SuppressionOrigin::Manual);

    let (status, name, message) = ALL_SUPPRESSED;
    server.post("/emails", &email(&json!({}))).refused(status, name, message);
    other.send(&json!({}));
}

#[test]
fn an_unsubscribed_address_is_suppressed_only_under_a_topic() {
    let server = TestServer::start();
    let topic = server.add_topic(Subscription::OptIn).to_string();
    server.suppress("delivered@resend.dev", SuppressionOrigin::Unsubscribe);

    server.send(&json!({}));
    let (status, name, message) = ALL_SUPPRESSED;
    server.post("/emails", &email(&json!({ "topic_id": topic }))).refused(status, name, message);
    for origin in [SuppressionOrigin::Bounce, SuppressionOrigin::Complaint, SuppressionOrigin::Manual] {
        let address = format!("delivered+{origin:?}@resend.dev");
        server.suppress(&address, origin);
        let to = json!({ "to": address, "topic_id": topic });
        server.post("/emails", &email(&to)).refused(status, name, message);
    }
}

#[test]
fn the_contact_the_topic_choice_and_the_default_decide_the_recipients() {
    let server = TestServer::start();
    let opt_in = server.add_topic(Subscription::OptIn);
    let opt_out = server.add_topic(Subscription::OptOut);
    for (name, unsubscribed, choice) in [
        ("silent", false, None),
        ("yes", false, Some(Subscription::OptIn)),
        ("no", false, Some(Subscription::OptOut)),
        ("gone", true, None),
        ("gone-yes", true, Some(Subscription::OptIn)),
    ] {
        let contact = server.add_contact(&format!("delivered+{name}@resend.dev"), unsubscribed);
        if let Some(choice) = choice {
            server.put_topic_choice(contact, opt_in, choice);
            server.put_topic_choice(contact, opt_out, choice);
        }
    }
    let everyone: Vec<String> = ["silent", "yes", "no", "gone", "gone-yes", "stranger"]
        .iter()
        .map(|name| format!("Delivered+{name}@resend.dev"))
        .collect();

    for (topic, expected) in [
        (Some(opt_in), vec!["silent", "yes", "stranger"]),
        (Some(opt_out), vec!["yes"]),
        (None, vec!["silent", "yes", "no", "gone", "gone-yes", "stranger"]),
    ] {
        let id = server.send(&json!({ "to": everyone, "topic_id": topic.map(|topic| topic.to_string()) }));

        let email = server.wait_for(&id, "delivered");
        let expected: Vec<String> = expected.iter().map(|name| format!("Delivered+{name}@resend.dev")).collect();
        assert_eq!(email["to"], json!(expected), "{topic:?}");
        assert_eq!(email["topic_id"], json!(topic.map(|topic| topic.to_string())));
    }
}

#[test]
fn an_email_whose_to_recipients_all_opted_out_is_refused() {
    let server = TestServer::start();
    let topic = server.add_topic(Subscription::OptOut).to_string();

    let (status, name, message) = ALL_SUPPRESSED;
    server.post("/emails", &email(&json!({ "topic_id": topic }))).refused(status, name, message);
    assert_eq!(server.stored_emails(), 0);
}
