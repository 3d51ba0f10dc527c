//! Routes: several smarthosts, fallbacks, and recipients that are captured.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{ClosedPort, MailServer, StartTls, TestServer};

const HOUR: Duration = Duration::from_secs(60 * 60);

fn smarthost(name: &str, port: &str) -> String {
    format!("{name}=smtp://127.0.0.1:{port}?tls=never&final=true")
}

/// Returns the recipients of the messages that a mail server accepted, sorted.
fn received(server: &MailServer) -> Vec<String> {
    let mut recipients: Vec<String> = server.received().into_iter().map(|message| message.recipient).collect();
    recipients.sort();
    recipients
}

/// Returns the recipients of the captured messages, sorted.
fn captured(server: &TestServer) -> Vec<String> {
    let mut recipients: Vec<String> =
        server.captured_messages().into_iter().flat_map(|(envelope, _)| envelope.recipients).collect();
    recipients.sort();
    recipients
}

/// Waits until every recipient of the email has the status `delivered`.
fn wait_for_all(server: &TestServer, id: &str) -> Value {
    server.wait_until(id, "every delivery", |email| {
        email["recipients"].as_array().unwrap().iter().all(|recipient| recipient["last_event"] == "delivered")
    })
}

#[test]
fn each_domain_goes_to_the_smarthost_of_its_route() {
    let (one, two) = (MailServer::start(StartTls::NotOffered), MailServer::start(StartTls::NotOffered));
    let server = TestServer::start_with(&[
        "--smarthost",
        &smarthost("one", &one.port()),
        "--smarthost",
        &smarthost("two", &two.port()),
        "--route",
        "one.example=one;*.two.example=two",
    ]);

    let id = server.send(&json!({ "to": ["a@one.example", "b@mail.two.example", "c@two.example"] }));
    wait_for_all(&server, &id);

    assert_eq!(
        (received(&one), received(&two)),
        (vec!["a@one.example".to_owned()], vec!["b@mail.two.example".to_owned()])
    );
    // The default is the delivery mode.
    assert_eq!(captured(&server), ["c@two.example"]);
}

#[test]
fn transactional_email_and_broadcasts_go_to_the_smarthosts_of_their_class() {
    let (one, two) = (MailServer::start(StartTls::NotOffered), MailServer::start(StartTls::NotOffered));
    let server = TestServer::start_with(&[
        "--public-url",
        "https://mail.example.com",
        "--smarthost",
        &smarthost("one", &one.port()),
        "--smarthost",
        &smarthost("two", &two.port()),
        "--route",
        "*,transactional=one;*,broadcast=two",
    ]);
    for name in ["bob", "cy"] {
        server.post("/contacts", &json!({ "email": format!("{name}@shop.example") })).ok(201);
    }
    let transactional = |to: &str| server.wait_for(&server.send(&json!({ "to": to })), "delivered");

    transactional("ada@shop.example");
    let broadcast = json!({ "from": "Acme <news@example.com>", "subject": "June", "text": "Hi", "send": true });
    let sent = server.post("/broadcasts", &broadcast).ok(201);
    let path = format!("/broadcasts/{}/recipients?type=delivered", sent["id"].as_str().unwrap());
    server.poll(&path, "the delivery", |response| response.json["data"].as_array().is_some_and(|data| data.len() == 2));
    transactional("bob@shop.example");

    assert_eq!(received(&one), ["ada@shop.example", "bob@shop.example"]);
    assert_eq!(received(&two), ["bob@shop.example", "cy@shop.example"]);
}

#[test]
fn the_fallback_delivers_at_once_while_the_first_smarthost_is_down() {
    let (closed, second) = (ClosedPort::bind(), MailServer::start_on("127.0.0.2", "0", StartTls::NotOffered));
    let port = closed.number().to_string();
    let fallback = format!("second=smtp://127.0.0.2:{}?tls=never&final=true", second.port());
    let server = TestServer::start_with(&[
        "--smarthost",
        &smarthost("first", &port),
        "--smarthost",
        &fallback,
        "--route",
        "*=first,second",
    ]);

    // No clock is advanced: the email does not wait for a retry.
    let id = server.send(&json!({ "to": "a@one.example" }));
    let email = server.wait_for(&id, "delivered");
    let other = server.send(&json!({ "to": "b@two.example" }));
    server.wait_for(&other, "delivered");

    assert_eq!(received(&second), ["a@one.example", "b@two.example"]);
    assert!(!email["events"].to_string().contains("delivery_delayed"), "{email:#}");
    let attempts = server.get(&format!("/emails/{id}/attempts")).ok(200);
    let numbers: Vec<&Value> = attempts["data"].as_array().unwrap().iter().map(|attempt| &attempt["number"]).collect();
    assert_eq!(numbers, [1, 1], "the failed connection is recorded and does not count: {attempts:#}");

    let first = MailServer::start_on("127.0.0.1", &port, StartTls::NotOffered);
    server.advance(HOUR);
    let later = server.send(&json!({ "to": "c@three.example" }));
    server.wait_for(&later, "delivered");
    assert_eq!(received(&first), ["c@three.example"]);
}

#[test]
fn only_the_selected_recipients_are_delivered_to() {
    let mail = MailServer::start(StartTls::NotOffered);
    let relay = format!("smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let flags =
        ["--delivery", "relay", "--relay", &relay, "--deliver-only", "staff.example,*.staff.example,Ada@shop.example"];
    let server = TestServer::start_with(&flags);

    let to = ["x@staff.example", "y@a.staff.example", "ada@shop.example", "bob@shop.example", "eve@other.example"];
    let id = server.send(&json!({ "to": to }));
    wait_for_all(&server, &id);

    assert_eq!(received(&mail), ["ada@shop.example", "x@staff.example", "y@a.staff.example"]);
    assert_eq!(captured(&server), ["bob@shop.example", "eve@other.example"]);
}

#[test]
fn email_that_was_queued_before_is_captured_unless_it_is_selected() {
    let mail = MailServer::start(StartTls::NotOffered);
    let relay = format!("smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let production = ["--delivery", "relay", "--relay", &relay];
    let server = TestServer::start_with(&[&production[..], &["--hold"]].concat());
    let id = server.send(&json!({ "to": ["x@staff.example", "ada@shop.example", "eve@other.example"] }));

    let only = ["--deliver-only", "staff.example,ada@shop.example"];
    let server = server.restart_with(&[&production[..], &only].concat());
    wait_for_all(&server, &id);

    // The group of the domain was made without the pattern of the address, so that it is captured as a whole.
    assert_eq!(received(&mail), ["x@staff.example"]);
    assert_eq!(captured(&server), ["ada@shop.example", "eve@other.example"]);
}

#[test]
fn a_selected_address_can_be_rescheduled_and_canceled() {
    let mail = MailServer::start(StartTls::NotOffered);
    let relay = format!("smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let flags = ["--delivery", "relay", "--relay", &relay, "--deliver-only", "ada@shop.example"];
    let server = TestServer::start_with(&flags);
    let scheduled = |to: &str| server.send(&json!({ "to": to, "scheduled_at": "in 1 hour" }));
    let (moved, canceled) = (scheduled("Ada <ADA@shop.example>"), scheduled("ada@shop.example"));

    server.patch(&format!("/emails/{moved}"), &json!({ "scheduled_at": "in 2 hours" })).ok(200);
    server.post(&format!("/emails/{canceled}/cancel"), &json!({})).ok(200);
    server.advance(3 * HOUR);
    server.wait_for(&moved, "delivered");

    assert_eq!(received(&mail), ["ADA@shop.example"]);
    assert_eq!(captured(&server), [] as [&str; 0]);
}
