//! The pixel and the links of a message.

use std::time::Duration;

use serde_json::json;

use super::{HTML, Message, deliver, messages, set_tracking, start_tracking, tracked_path};
use crate::support::{TestServer, retry_until_ok};

/// Waits until exactly `count` messages are captured, and returns them.
#[track_caller]
fn wait_for_messages(server: &TestServer, count: usize) -> Vec<Message> {
    retry_until_ok("the messages", || match messages(server) {
        messages if messages.len() == count => Ok(messages),
        messages => Err(format!("{} messages", messages.len())),
    })
}

#[test]
fn a_tracked_message_has_a_pixel_and_links_of_the_server() {
    let server = start_tracking();
    let text = "Shop: https://shop.example/?a=1&b=2";

    let (_, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML, "text": text }));

    let base = server.base();
    assert_eq!(message.text, text);
    let link = format!("<html><body><p><a href=\"{base}/t/c/");
    assert!(message.html.starts_with(&link), "{}", message.html);
    assert!(message.html.contains(&format!("</p><img src=\"{base}/t/o/")), "{}", message.html);
    assert!(message.html.ends_with("></body></html>"), "{}", message.html);
    assert!(!message.html.contains("shop.example"), "{}", message.html);
}

#[test]
fn a_derived_text_part_has_the_links_of_the_email() {
    let server = start_tracking();

    let (_, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML, "text": null }));

    assert!(message.text.contains("https://shop.example/?a=1&b=2"), "{}", message.text);
    assert!(!message.text.contains("/t/"), "{}", message.text);
}

#[test]
fn an_untracked_message_has_the_html_of_the_email() {
    let server = TestServer::start();

    let (_, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));

    assert_eq!(message.html, HTML);
}

#[test]
fn each_setting_adds_its_own_part() {
    let server = TestServer::start();
    for (opens, clicks) in [(true, false), (false, true), (false, false)] {
        set_tracking(&server, &json!({ "open_tracking": opens, "click_tracking": clicks }));

        let (_, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));

        assert_eq!((message.html.contains("/t/o/"), message.html.contains("/t/c/")), (opens, clicks));
    }
}

#[test]
fn each_recipient_has_a_message_with_own_tokens() {
    let server = start_tracking();
    let to = json!(["ada@example.org", "bob@example.org"]);

    server.send(&json!({ "to": to, "cc": "eve@example.org", "html": HTML }));

    let messages = wait_for_messages(&server, 3);
    for kind in ["o", "c"] {
        let mut paths: Vec<String> = messages.iter().map(|message| tracked_path(&message.html, kind)).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 3, "{paths:?}");
    }
    assert!(messages.iter().all(|message| message.recipients.len() == 1));
}

#[test]
fn a_message_to_several_recipients_that_was_accepted_without_tracking_is_not_tracked() {
    let server = TestServer::start();
    let to = json!(["ada@example.org", "bob@example.org"]);
    let id = server.send(&json!({ "to": to, "html": HTML, "scheduled_at": "in 1 hour" }));
    set_tracking(&server, &json!({ "open_tracking": true, "click_tracking": true }));

    server.advance(Duration::from_secs(3_601));
    server.wait_for(&id, "delivered");

    let messages = messages(&server);
    let [message] = &messages[..] else { panic!("{} messages", messages.len()) };
    assert_eq!((message.recipients.len(), message.html.as_str()), (2, HTML));
}

#[test]
fn a_message_to_one_recipient_is_tracked_if_tracking_is_on_at_its_delivery() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": "ada@example.org", "html": HTML, "scheduled_at": "in 1 hour" }));
    set_tracking(&server, &json!({ "click_tracking": true }));

    server.advance(Duration::from_secs(3_601));
    server.wait_for(&id, "delivered");

    tracked_path(&messages(&server)[0].html, "c");
}

#[test]
fn an_unsubscribe_link_is_not_tracked() {
    let server = start_tracking();
    let html = "<a href=\"{{{UNSUBSCRIBE_URL}}}\">Leave</a> <a href=\"https://shop.example\">Shop</a>";

    let (_, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": html }));

    assert!(message.html.starts_with(&format!("<a href=\"{}/unsubscribe/", server.base())), "{}", message.html);
    assert_eq!(message.html.matches("/t/c/").count(), 1, "{}", message.html);
}

#[test]
fn a_broadcast_is_tracked_for_each_contact() {
    let server = start_tracking();
    for name in ["ada", "bob"] {
        server.post("/contacts", &json!({ "email": format!("{name}@example.org") })).ok(201);
    }
    let body = json!({
        "from": "Acme <news@example.com>", "subject": "June", "html": HTML, "text": "Hi", "send": true,
    });
    server.post("/broadcasts", &body).ok(201);

    let messages = wait_for_messages(&server, 2);

    for kind in ["o", "c"] {
        assert_ne!(tracked_path(&messages[0].html, kind), tracked_path(&messages[1].html, kind));
    }
}
