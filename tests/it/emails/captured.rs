//! Messages that leave over SMTP, read from the capture mailbox.

use mail_parser::{Message, MessageParser, MimeHeaders as _};
use ringmail::topics::Subscription;
use serde_json::{Value, json};

use crate::support::TestServer;

/// Waits until every recipient of the email has the status `delivered`.
fn wait_for_all(server: &TestServer, id: &str) -> Value {
    server.wait_until(id, "every delivery", |email| {
        email["recipients"].as_array().unwrap().iter().all(|recipient| recipient["last_event"] == "delivered")
    })
}

fn parse(bytes: &[u8]) -> Message<'_> {
    MessageParser::default().parse(bytes).expect("the bytes are a message")
}

fn envelopes(server: &TestServer) -> Vec<Vec<String>> {
    let mut envelopes: Vec<Vec<String>> =
        server.captured_messages().into_iter().map(|(row, _)| row.recipients).collect();
    envelopes.sort();
    envelopes
}

#[test]
fn the_message_has_the_content_of_the_request() {
    let server = TestServer::start();

    let id = server.send(&json!({
        "from": "Björn Müller <hello@example.com>",
        "to": ["\"Doe, Jane\" <jane@example.net>"],
        "cc": "copy@example.net",
        "bcc": "hidden@example.net",
        "reply_to": ["answers@example.com"],
        "subject": "Grüße, 世界",
        "html": "<p>Hello <b>there</b></p>",
        "text": null,
        "headers": { "X-Order": "7", "References": "<a@example.net>" },
        "attachments": [{ "filename": "Grüße.txt", "content": "SGk=" }],
    }));
    let email = wait_for_all(&server, &id);

    let captured = server.captured_messages();
    let [(envelope, bytes)] = captured.as_slice() else { panic!("one message for one domain: {}", captured.len()) };
    let message = parse(bytes);
    assert_eq!(envelope.recipients, ["jane@example.net", "copy@example.net", "hidden@example.net"]);
    let from = message.from().and_then(|from| from.first()).unwrap();
    assert_eq!((from.name(), from.address()), (Some("Björn Müller"), Some("hello@example.com")));
    let to = message.to().and_then(|to| to.first()).unwrap();
    assert_eq!((to.name(), to.address()), (Some("Doe, Jane"), Some("jane@example.net")));
    assert_eq!(message.subject(), Some("Grüße, 世界"));
    assert_eq!(message.header("X-Order").and_then(|value| value.as_text()).map(str::trim), Some("7"));
    assert_eq!(email["message_id"], format!("<{}>", message.message_id().unwrap()));
    assert!(message.body_html(0).unwrap().contains("<b>there</b>"));
    assert!(message.body_text(0).unwrap().contains("Hello there"), "the text part is derived from the HTML part");
    let file = message.attachment(0).unwrap();
    assert_eq!((file.attachment_name(), file.contents()), (Some("Grüße.txt"), b"Hi".as_slice()));
    assert!(!String::from_utf8_lossy(bytes).contains("hidden@example.net"), "the message contains a bcc recipient");
}

#[test]
fn the_recipients_of_one_domain_share_a_message() {
    let server = TestServer::start();

    let id = server.send(&json!({ "to": ["a@one.example.net", "b@one.example.net"], "bcc": "c@two.example.net" }));
    let email = wait_for_all(&server, &id);

    let expected = [vec!["a@one.example.net", "b@one.example.net"], vec!["c@two.example.net"]];
    assert_eq!(envelopes(&server), expected);
    for event in email["events"].as_array().unwrap() {
        let recipients = event["to"].as_array().unwrap();
        assert!(
            *recipients == [json!("a@one.example.net"), json!("b@one.example.net")]
                || *recipients == [json!("c@two.example.net")]
        );
    }
}

#[test]
fn each_recipient_under_a_topic_gets_a_separate_message() {
    let server = TestServer::start();
    let topic = server.add_topic(Subscription::OptIn).to_string();

    let id = server.send(&json!({ "to": ["a@example.net", "b@example.net"], "topic_id": topic }));
    wait_for_all(&server, &id);

    assert_eq!(envelopes(&server), [["a@example.net"], ["b@example.net"]]);
}

#[test]
fn a_quoted_local_part_with_reserved_characters_receives_the_email() {
    let server = TestServer::start();
    let addresses =
        ["\"a<b\"@example.net", "\"a>b\"@example.net", "\"a,b; <c>\"@example.net", "\"a\\\"<@b\"@example.net"];

    let id =
        server.send(&json!({ "to": addresses[0], "cc": format!("Name <{}>", addresses[1]), "bcc": &addresses[2..] }));
    wait_for_all(&server, &id);

    assert_eq!(envelopes(&server), [addresses]);
}

#[test]
fn a_suppressed_recipient_is_not_in_the_message() {
    let server = TestServer::start();
    server.suppress("gone@example.net", ringmail::suppressions::SuppressionOrigin::Complaint);

    let id = server.send(&json!({ "to": ["gone@example.net", "jane@example.net"], "cc": "gone@example.net" }));
    wait_for_all(&server, &id);

    let (envelope, bytes) = server.captured_messages().pop().expect("a message");
    assert_eq!(envelope.recipients, ["jane@example.net"]);
    assert!(!String::from_utf8_lossy(&bytes).contains("gone@example.net"));
}

#[test]
fn a_canceled_or_deleted_email_sends_no_message() {
    let server = TestServer::start();
    let canceled = server.send(&json!({ "to": "a@example.net", "scheduled_at": "in 1 hour" }));
    let deleted = server.send(&json!({ "to": "b@example.net", "scheduled_at": "in 1 hour" }));
    let kept = server.send(&json!({ "to": "c@example.net", "scheduled_at": "in 1 hour" }));
    server.post(&format!("/emails/{canceled}/cancel"), &json!({})).ok(200);
    server.delete(&format!("/emails/{deleted}")).ok(200);

    server.advance(std::time::Duration::from_secs(3_600));
    wait_for_all(&server, &kept);

    assert_eq!(envelopes(&server), [["c@example.net"]]);
}

#[test]
fn a_repeated_request_sends_one_message() {
    let server = TestServer::start();
    let body = crate::support::email(&json!({ "to": "jane@example.net" })).to_string();
    let send = || server.call("POST", "/emails", server.key(), &[("idempotency-key", "k")], Some(body.as_bytes()));

    let id = send().ok(200)["id"].as_str().unwrap().to_owned();
    wait_for_all(&server, &id);
    send().ok(200);
    let later = server.send(&json!({ "to": "later@example.net" }));
    wait_for_all(&server, &later);

    assert_eq!(envelopes(&server), [["jane@example.net"], ["later@example.net"]]);
}
