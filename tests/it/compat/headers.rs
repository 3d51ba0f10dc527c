//! `RINGMAIL_COMPAT=headers`, and the echoed `Reply-To` of `RINGMAIL_COMPAT=requests`.

use mail_parser::MessageParser;
use ringmail::topics::Subscription;
use serde_json::{Value, json};

use super::assert_send_refused_without;
use crate::support::{TestServer, email};

const COMPATIBLE: [&str; 2] = ["--compat", "headers"];

/// Sends an email, waits for its message, and returns the email and the header section.
fn delivered(server: &TestServer, fields: &Value) -> (Value, String) {
    let id = server.send(fields);
    let email = server.wait_for(&id, "delivered");
    let (_, bytes) = server.captured_messages().pop().expect("a message");
    let text = String::from_utf8(bytes).unwrap();
    let (section, _) = text.split_once("\r\n\r\n").unwrap();
    (email, section.replace("\r\n ", " "))
}

/// Returns the values of a header, ignoring case.
fn values<'a>(section: &'a str, name: &str) -> Vec<&'a str> {
    let fields = section.split("\r\n").filter_map(|line| line.split_once(':'));
    fields.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
}

#[test]
fn each_header_of_a_framework_is_passed_used_or_replaced() {
    let server = TestServer::start_with(&COMPATIBLE);

    let (email, section) = delivered(
        &server,
        &json!({ "to": "jane@example.net", "headers": {
            "Reply-To": "Support <support@example.com>, \"Doe, Jane\" <jane@example.org>",
            "Sender": "other@elsewhere.example",
            "Message-ID": "<mine@elsewhere.example>",
            "Date": "Mon, 1 Jan 2001 00:00:00 +0000",
            "Auto-Submitted": "auto-generated",
            "List-Id": "Nouveautés <news.example.com>",
            "Precedence": "bulk",
            "Feedback-ID": "a:b:c:d",
            "List-Help": "<https://example.com/help>, <mailto:help@example.com>",
            "List-Unsubscribe": "<mailto:leave@example.com>",
        } }),
    );

    assert_eq!(email["reply_to"], json!(["Support <support@example.com>", "\"Doe, Jane\" <jane@example.org>"]));
    for (name, value) in [
        ("Reply-To", "Support <support@example.com>, \"Doe, Jane\" <jane@example.org>"),
        ("Message-ID", email["message_id"].as_str().unwrap()),
        ("Date", "Mon, 05 Jan 2026 09:00:00 +0000"),
        ("Auto-Submitted", "auto-generated"),
        ("List-Id", "=?utf-8?q?Nouveaut=C3=A9s?= <news.example.com>"),
        ("Precedence", "bulk"),
        ("Feedback-ID", "a:b:c:d"),
        ("List-Help", "<https://example.com/help>, <mailto:help@example.com>"),
        ("List-Unsubscribe", "<mailto:leave@example.com>"),
    ] {
        assert_eq!(values(&section, name), [value], "{name}");
    }
    for absent in ["Sender", "List-Unsubscribe-Post"] {
        assert_eq!(values(&section, absent), [""; 0], "{absent}");
    }
    assert!(!section.contains("elsewhere.example"), "{section}");
    let signature = values(&section, "DKIM-Signature")[0].replace(' ', "");
    for signed in ["Reply-To", "List-Id", "List-Help", "List-Unsubscribe", "Feedback-ID"] {
        assert!(signature.contains(&format!(":{signed}")), "{signed}: {signature}");
    }
}

#[test]
fn a_reply_to_header_must_not_differ_from_the_field() {
    let server = TestServer::start_with(&COMPATIBLE);
    let with =
        |header: &str| json!({ "reply_to": ["a@example.com", "B <b@example.com>"], "headers": { "Reply-To": header } });

    let id = server.send(&with("b@EXAMPLE.com, Other Name <a@example.com>"));

    let sent = server.get(&format!("/emails/{id}")).ok(200);
    assert_eq!(sent["reply_to"], json!(["a@example.com", "B <b@example.com>"]));
    for (header, reason) in [
        ("a@example.com", "`Reply-To` differs from `reply_to`"),
        ("a@example.com, b@example.com, c@example.com", "`Reply-To` differs from `reply_to`"),
        ("a@example.com,", "not a list of addresses"),
        ("nobody", "not a list of addresses"),
    ] {
        let refused = server.post("/emails", &email(&with(header))).refusal();
        assert!(refused.starts_with("422 validation_error: Invalid `headers` field: "), "{header}: {refused}");
        assert!(refused.contains(reason), "{header}: {refused}");
    }
    let many = vec!["a@example.com"; 51].join(",");
    let refused = server.post("/emails", &email(&json!({ "headers": { "Reply-To": many } }))).refusal();
    assert_eq!(refused, "422 validation_error: Invalid `reply_to` field: at most 50 addresses are accepted.");
}

#[test]
fn an_echoed_reply_to_header_is_ignored_with_requests_alone() {
    let server = TestServer::start_with(&["--compat", "requests"]);

    let (email_sent, section) = delivered(
        &server,
        &json!({ "to": "jane@example.net", "reply_to": "a@example.com", "headers": { "Reply-To": "A <a@example.com>" } }),
    );

    assert_eq!(email_sent["reply_to"], json!(["a@example.com"]));
    assert_eq!(values(&section, "Reply-To"), ["a@example.com"]);
    let header_alone = json!({ "headers": { "Reply-To": "a@example.com" } });
    let refused = server.post("/emails", &email(&header_alone)).refusal();
    assert!(refused.contains("start the server with `RINGMAIL_COMPAT=headers`"), "{refused}");
    let other = json!({ "headers": { "Sender": "a@example.com" } });
    assert!(server.post("/emails", &email(&other)).refusal().starts_with("422 "));
}

#[test]
fn a_lone_unsubscribe_header_is_replaced_under_a_topic() {
    let server = TestServer::start_with(&COMPATIBLE);
    let topic = server.add_topic(Subscription::OptIn).to_string();
    let headers = json!({ "List-Unsubscribe": "<https://elsewhere.example/u>" });

    let (_, section) = delivered(&server, &json!({ "to": "a@example.net", "topic_id": topic, "headers": headers }));

    let targets = values(&section, "List-Unsubscribe");
    assert!(targets.len() == 1 && targets[0].contains("/unsubscribe/"), "{targets:?}");
    assert_eq!(values(&section, "List-Unsubscribe-Post"), ["List-Unsubscribe=One-Click"]);
}

#[test]
fn a_header_of_a_framework_cannot_add_a_line() {
    let (accepting, server) =
        (TestServer::start_with(&["--compat", "all"]), TestServer::start_with(&["--compat", "all"]));
    for (name, before, after) in [
        ("Reply-To", "a@example.com,", " all@example.net"),
        ("Sender", "a@example.com", "Bcc: all@example.net"),
        ("Message-ID", "<a@example.com>", "Bcc: all@example.net"),
        ("Date", "Mon, 1 Jan 2001", " 00:00:00 +0000"),
        ("Auto-Submitted", "auto-generated", "Bcc: all@example.net"),
        ("List-Id", "News", " <news.example.com>"),
        ("Precedence", "bulk", "Bcc: all@example.net"),
        ("Feedback-ID", "a:b", ":c:d"),
        ("List-Help", "<https://a.example>,", " <mailto:help@example.com>"),
        ("List-Unsubscribe", "<https://a.example>,", " <mailto:leave@example.com>"),
    ] {
        accepting.send(&json!({ "headers": { name: format!("{before}{after}") } }));
        for line_break in ["\r\n", "\n", "\r", "\u{0}", "\u{85}", "\u{2028}"] {
            let value = format!("{before}{line_break}{after}");

            let refused = server.post("/emails", &email(&json!({ "headers": { name: value } }))).refusal();

            let reason =
                format!("the value of `{name}` holds a line break or another control character; write it on one line.");
            assert_eq!(refused, format!("422 validation_error: Invalid `headers` field: {reason}"));
        }
    }
    assert_eq!(server.stored_emails(), 0);
    let long = "word ".repeat(800);
    let (_, section) =
        delivered(&server, &json!({ "to": "a@example.net", "headers": { "Precedence": long, "List-Id": "x <a.b>" } }));
    let lines = section.split("\r\n");
    assert_eq!(lines.filter(|line| line.starts_with("Precedence")).count(), 1);
    let (_, bytes) = server.captured_messages().pop().unwrap();
    let message = MessageParser::default().parse(&bytes).unwrap();
    let value = message.header("Precedence").and_then(|value| value.as_text()).unwrap();
    assert_eq!(value.trim().replace("\r\n ", " "), long.trim());
}

#[test]
fn the_headers_of_frameworks_are_refused_by_default() {
    for (name, value) in [
        ("Reply-To", "a@example.com"),
        ("Sender", "a@example.com"),
        ("Message-ID", "<a@example.com>"),
        ("Date", "Mon, 1 Jan 2001 00:00:00 +0000"),
        ("Auto-Submitted", "auto-generated"),
        ("List-Id", "<news.example.com>"),
        ("Precedence", "bulk"),
        ("Feedback-ID", "a:b:c:d"),
        ("List-Help", "<https://example.com/help>"),
        ("List-Unsubscribe", "<https://example.com/u>"),
    ] {
        assert_send_refused_without("headers", &json!({ "headers": { name: value } }));
    }
    let echo = json!({ "reply_to": "a@example.com", "headers": { "Reply-To": "a@example.com" } });
    assert_send_refused_without("headers", &echo);
    assert_send_refused_without("requests", &echo);
}
