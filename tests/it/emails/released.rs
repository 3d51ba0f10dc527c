//! Release of captured messages.

use std::time::Duration;

use ringmail::delivery::capture::ReleaseError;
use ringmail::suppressions::SuppressionOrigin;
use serde_json::json;

use crate::support::{MailServer, StartTls, TestServer};

/// A server in capture mode, and the smarthost of its released messages.
fn start() -> (MailServer, [String; 4], TestServer) {
    let mail = MailServer::start(StartTls::NotOffered);
    let smarthost = format!("out=smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let flags = ["--smarthost", &smarthost, "--release", "out"].map(str::to_owned);
    let server = TestServer::start_with(&flags.each_ref().map(String::as_str));
    (mail, flags, server)
}

fn recipients(mail: &MailServer) -> Vec<String> {
    let mut recipients: Vec<String> = mail.received().into_iter().map(|message| message.recipient).collect();
    recipients.sort();
    recipients
}

#[test]
fn a_released_message_is_delivered_to_its_recipients_once() {
    let (mail, _, server) = start();
    let id = server.send(&json!({ "to": ["a@one.example", "b@one.example"] }));
    server.wait_for(&id, "delivered");
    assert_eq!(recipients(&mail), [] as [&str; 0]);

    let released = server.release_newest().unwrap();
    let again = server.release_newest();
    server.wait_for(&id, "delivered");

    assert_eq!(released.recipients, ["a@one.example", "b@one.example"]);
    assert!(matches!(again, Err(ReleaseError::Released(_))), "{again:?}");
    assert_eq!(recipients(&mail), ["a@one.example", "b@one.example"]);
    assert_eq!(server.captured_messages().len(), 1);
}

#[test]
fn a_message_of_a_deleted_email_is_not_released() {
    let (_, _, server) = start();
    let id = server.send(&json!({ "to": "a@one.example" }));
    server.wait_for(&id, "delivered");
    server.delete(&format!("/emails/{id}")).ok(200);

    let result = server.release_newest();

    assert!(matches!(result, Err(ReleaseError::EmailDeleted)), "{result:?}");
}

#[test]
fn a_recipient_that_was_suppressed_since_gets_no_released_message() {
    let (mail, _, server) = start();
    let id = server.send(&json!({ "to": "a@one.example" }));
    server.wait_for(&id, "delivered");
    server.suppress("a@one.example", SuppressionOrigin::Manual);

    server.release_newest().unwrap();
    server.wait_for(&id, "suppressed");

    assert_eq!(recipients(&mail), [] as [&str; 0]);
    let later = server.send(&json!({ "to": "b@one.example" }));
    server.wait_for(&later, "delivered");
    let first = server.captured_messages().pop().unwrap().0;
    assert_eq!((first.recipients, first.released_ms.is_some()), (vec!["a@one.example".to_owned()], true));
}

#[test]
fn a_released_message_without_the_setting_waits_for_it() {
    let (mail, flags, server) = start();
    let id = server.send(&json!({ "to": "a@one.example" }));
    server.wait_for(&id, "delivered");
    let server = server.restart_with(&["--hold"]);
    server.release_newest().unwrap();

    let server = server.restart_with(&[]);
    let email = server.wait_for(&id, "delivery_delayed");
    assert!(email["events"].to_string().contains("set --release"), "{email:#}");

    let flags = flags.each_ref().map(String::as_str);
    let server = server.restart_after(Duration::from_secs(600), &flags);
    server.wait_for(&id, "delivered");
    assert_eq!(recipients(&mail), ["a@one.example"]);
}
