//! `scheduled_at` of `POST /emails`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestServer, assert_body, assert_lines, email};

/// Values of `scheduled_at` and the due times. The clock of the test server starts on a Monday at 09:00 UTC.
const TIMES: [(&str, &str); 14] = [
    ("2026-01-05T09:00:01Z", "2026-01-05T09:00:01.000Z"),
    ("2026-01-05T11:00:00+02:00", "2026-01-05T09:00:00.000Z"),
    ("2026-01-05T11:30:00.5+02:00", "2026-01-05T09:30:00.500Z"),
    ("2026-01-05 10:00:00+00", "2026-01-05T10:00:00.000Z"),
    ("2026-02-04T09:00:00Z", "2026-02-04T09:00:00.000Z"),
    ("in 1 min", "2026-01-05T09:01:00.000Z"),
    ("in 5 minutes", "2026-01-05T09:05:00.000Z"),
    ("in an hour", "2026-01-05T10:00:00.000Z"),
    ("in 2 days", "2026-01-07T09:00:00.000Z"),
    ("in 30 days", "2026-02-04T09:00:00.000Z"),
    ("tomorrow at 9am", "2026-01-06T09:00:00.000Z"),
    ("Friday at 3pm ET", "2026-01-09T20:00:00.000Z"),
    ("friday at 15:00", "2026-01-09T15:00:00.000Z"),
    ("next Monday at noon", "2026-01-12T12:00:00.000Z"),
];

#[test]
fn a_time_is_iso_8601_or_plain_english() {
    let server = TestServer::start();
    for (given, due) in TIMES {
        let sent = server.post("/emails", &email(&json!({ "scheduled_at": given }))).ok(200);

        let email = server.get(&format!("/emails/{}", sent["id"].as_str().unwrap())).ok(200);
        if due.starts_with("2026-01-05T09:00:00") {
            assert_eq!(email["scheduled_at"], Value::Null, "{given} is due immediately");
        } else {
            assert_eq!((&email["scheduled_at"], &email["last_event"]), (&json!(due), &json!("scheduled")), "{given}");
        }
    }
}

#[test]
fn a_time_up_to_five_minutes_in_the_past_is_due_immediately() {
    let server = TestServer::start();

    let id = server.send(&json!({ "scheduled_at": "2026-01-05T08:55:00Z" }));

    server.wait_for(&id, "delivered");
}

#[test]
fn an_invalid_time_is_refused_with_the_accepted_values() {
    let server = TestServer::start();
    let mut lines = Vec::new();
    for given in [
        "soon",
        "2026-01-05",
        "2026-01-05T08:54:59Z",
        "2025-12-31T00:00:00Z",
        "2026-02-04T09:00:01Z",
        "in 31 days",
        "in 999999999999999999999 days",
        "in -1 days",
        "2026-02-30T00:00:00Z",
        "tomorrow at 9",
        "1767603600",
    ] {
        let refused = server.post("/emails", &email(&json!({ "scheduled_at": given }))).refusal();

        assert!(refused.starts_with("422 validation_error: Invalid `scheduled_at` field: "), "{given}: {refused}");
        lines.push(format!("{given}: {refused}"));
    }
    let number = server.post("/emails", &email(&json!({ "scheduled_at": 1_767_607_200 }))).refusal();
    assert!(number.starts_with("422 validation_error: Invalid `scheduled_at` field: "), "{number}");
    assert_lines!(lines);
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_scheduled_email_is_sent_at_its_time() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));
    let scheduled = server.get(&format!("/emails/{id}")).ok(200);
    assert_body!(scheduled);

    server.advance(Duration::from_secs(3_599));
    server.send(&json!({}));
    assert_eq!(server.get(&format!("/emails/{id}")).ok(200)["last_event"], "scheduled");
    server.advance(Duration::from_secs(1));

    let email = server.wait_for(&id, "delivered");
    let timeline: Vec<&Value> = email["events"].as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!(timeline, ["email.scheduled", "email.sent", "email.delivered"]);
    assert_eq!(email["scheduled_at"], scheduled["scheduled_at"]);
}

#[test]
fn a_scheduled_email_survives_a_restart() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));

    let server = server.restart_with(&[]);
    assert_eq!(server.get(&format!("/emails/{id}")).ok(200)["last_event"], "scheduled");
    server.advance(Duration::from_secs(3_600));

    server.wait_for(&id, "delivered");
}

#[test]
fn an_email_that_became_due_during_downtime_is_sent_at_the_start() {
    let server = TestServer::start();
    let id = server.send(&json!({ "scheduled_at": "in 1 hour" }));

    let server = server.restart_after(Duration::from_secs(7_200), &[]);

    server.wait_for(&id, "delivered");
}
