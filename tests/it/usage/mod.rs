//! `GET /usage`: the usage of a team. One response serves two client formats.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestServer, assert_body, email};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Value of a numeric limit field if there is no limit: `i32::MAX`.
const UNLIMITED: u32 = 2_147_483_647;

fn usage(server: &TestServer) -> Value {
    server.get("/usage").ok(200)
}

/// Returns the number of emails accepted today, from `today` and from `emails.daily`, and this month.
fn sent_counts(server: &TestServer) -> [u64; 3] {
    let usage = usage(server);
    for period in ["daily", "monthly"] {
        let emails = &usage["emails"][period];
        assert_eq!(emails["used"], emails["sent"], "{period}");
        assert_eq!((&emails["limit"], &emails["received"]), (&Value::Null, &json!(0)), "{period}");
    }
    [&usage["today"]["emails_sent"], &usage["emails"]["daily"]["sent"], &usage["emails"]["monthly"]["sent"]]
        .map(|count| count.as_u64().unwrap())
}

#[test]
fn a_new_team_has_zero_usage() {
    let server = TestServer::start_with(&["--public-url", "https://mail.example.com/", "--rate-limit", "50"]);

    assert_body!(usage(&server));
}

#[test]
fn the_day_and_the_month_end_in_utc() {
    let server = TestServer::start();

    let usage = usage(&server);

    let (midnight, month) = ("2026-01-06T00:00:00.000Z", "2026-02-01T00:00:00.000Z");
    assert_eq!(usage["today"]["resets_at"], midnight);
    assert_eq!(usage["emails"]["daily"]["resets_at"], midnight);
    assert_eq!(usage["emails"]["monthly"]["resets_at"], month);
    assert_eq!(usage["automation_runs"]["resets_at"], month);
}

#[test]
fn an_email_is_counted_once_on_the_day_of_its_acceptance() {
    let server = TestServer::start();
    server.send(&json!({ "to": ["delivered@resend.dev", "delivered+two@resend.dev"] }));
    let later = server.send(&json!({ "scheduled_at": "in 3 days" }));
    server.post("/emails/batch", &Value::from(vec![email(&json!({})); 3])).ok(200);
    assert_eq!(sent_counts(&server), [5, 5, 5]);

    server.post(&format!("/emails/{later}/cancel"), &json!({})).ok(200);
    server.delete(&format!("/emails/{later}")).ok(200);
    server.post("/emails", &email(&json!({ "from": "hello@elsewhere.example" }))).refusal();
    assert_eq!(
        sent_counts(&server),
        [5, 5, 5],
        "a canceled or deleted email stays counted, and a refused email is not counted"
    );

    // The clock of the instance starts on 5 January at 09:00 UTC.
    server.advance(15 * HOUR - Duration::from_millis(1));
    assert_eq!(sent_counts(&server), [5, 5, 5], "the last moment of the day");
    server.advance(Duration::from_millis(1));
    assert_eq!(sent_counts(&server), [0, 0, 5]);
    server.send(&json!({}));
    assert_eq!(sent_counts(&server), [1, 1, 6]);
    server.advance(26 * DAY - Duration::from_millis(1));
    assert_eq!(sent_counts(&server), [0, 0, 6], "the last moment of the month");
    server.advance(Duration::from_millis(1));
    assert_eq!(sent_counts(&server), [0, 0, 0]);
    assert_eq!(usage(&server)["emails"]["monthly"]["resets_at"], "2026-03-01T00:00:00.000Z");
}

#[test]
fn a_repeated_idempotency_key_is_counted_once() {
    let server = TestServer::start();
    let body = email(&json!({})).to_string();
    for _ in 0..2 {
        server.call("POST", "/emails", server.key(), &[("idempotency-key", "once")], Some(body.as_bytes())).ok(200);
    }

    assert_eq!(sent_counts(&server), [1, 1, 1]);
}

#[test]
fn a_stored_resource_is_counted_until_it_is_deleted() {
    let server = TestServer::start();
    let contact = server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    server.post("/contacts", &json!({ "email": "bob@example.net" })).ok(201);
    let segment = server.post("/segments", &json!({ "name": "Some" })).ok(201);
    let domain = server.post("/domains", &json!({ "name": "added.example" })).ok(201);
    let counts = || {
        let usage = usage(&server);
        ["contacts", "segments", "domains", "broadcasts"].map(|name| usage[name]["used"].as_u64().unwrap())
    };
    // The instance starts with the domain `example.com`.
    assert_eq!(counts(), [2, 1, 2, 0]);

    server.delete(&format!("/contacts/{}", contact["id"].as_str().unwrap())).ok(200);
    server.delete(&format!("/segments/{}", segment["id"].as_str().unwrap())).ok(200);
    server.delete(&format!("/domains/{}", domain["id"].as_str().unwrap())).ok(200);

    assert_eq!(counts(), [1, 0, 1, 0]);
}

#[test]
fn each_limit_is_shown() {
    let server = TestServer::start_with(&["--rate-limit", "50"]);

    let usage = usage(&server);

    assert_eq!(usage["segments"]["limit"], 1_000);
    assert_eq!(usage["rate_limit"], json!({ "limit": 50, "duration": "1000ms" }));
    assert_eq!(usage["contacts"]["limit"], UNLIMITED);
    assert_eq!((&usage["domains"]["limit"], &usage["broadcasts"]["limit"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_disabled_rate_limit_is_shown_as_unlimited() {
    let server = TestServer::start_with(&["--rate-limit", "0"]);

    assert_eq!(usage(&server)["rate_limit"]["limit"], UNLIMITED);
}

#[test]
fn each_team_sees_its_own_usage() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    server.send(&json!({}));
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    other.send(&json!({}));
    other.send(&json!({}));

    let theirs = other.get("/usage").ok(200);
    let own = usage(&server);

    assert_eq!((&own["team"]["name"], &theirs["team"]["name"]), (&json!("Main"), &json!("Other")));
    assert_ne!(own["team"]["id"], theirs["team"]["id"]);
    assert_eq!((&own["today"]["emails_sent"], &theirs["today"]["emails_sent"]), (&json!(1), &json!(2)));
    assert_eq!((&own["contacts"]["used"], &theirs["contacts"]["used"]), (&json!(1), &json!(0)));
}

#[test]
fn the_usage_survives_a_restart() {
    let server = TestServer::start();
    server.send(&json!({}));
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let before = usage(&server);

    let server = server.restart_with(&[]);

    let mut after = usage(&server);
    // The restarted server has another port.
    after["app_url"] = before["app_url"].clone();
    assert_eq!(after, before);
}
