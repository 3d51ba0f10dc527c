//! `GET /usage`: what a team has used, in the two shapes that clients read.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestServer, assert_body, email};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// What stands for no limit where a number has to stand.
const UNLIMITED: u32 = 2_147_483_647;

fn usage(server: &TestServer) -> Value {
    server.get("/usage").ok(200)
}

/// Returns the emails of the day, of the same day under its other name, and of the month.
fn sent(server: &TestServer) -> [u64; 3] {
    let usage = usage(server);
    for span in ["daily", "monthly"] {
        let emails = &usage["emails"][span];
        assert_eq!(emails["used"], emails["sent"], "{span}");
        assert_eq!((&emails["limit"], &emails["received"]), (&Value::Null, &json!(0)), "{span}");
    }
    [&usage["today"]["emails_sent"], &usage["emails"]["daily"]["sent"], &usage["emails"]["monthly"]["sent"]]
        .map(|count| count.as_u64().unwrap())
}

#[test]
fn a_team_that_did_nothing_has_used_nothing() {
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
fn an_email_counts_once_on_the_day_it_is_accepted() {
    let server = TestServer::start();
    server.send(&json!({ "to": ["delivered@resend.dev", "delivered+two@resend.dev"] }));
    let later = server.send(&json!({ "scheduled_at": "in 3 days" }));
    server.post("/emails/batch", &Value::from(vec![email(&json!({})); 3])).ok(200);
    assert_eq!(sent(&server), [5, 5, 5]);

    server.post(&format!("/emails/{later}/cancel"), &json!({})).ok(200);
    server.delete(&format!("/emails/{later}")).ok(200);
    server.post("/emails", &email(&json!({ "from": "hello@elsewhere.example" }))).refusal();
    assert_eq!(sent(&server), [5, 5, 5], "nothing is taken back, and a refused email does not count");

    // The instance began on the 5th of January at 9 o'clock.
    server.advance(15 * HOUR - Duration::from_millis(1));
    assert_eq!(sent(&server), [5, 5, 5], "the last moment of the day");
    server.advance(Duration::from_millis(1));
    assert_eq!(sent(&server), [0, 0, 5]);
    server.send(&json!({}));
    assert_eq!(sent(&server), [1, 1, 6]);
    server.advance(26 * DAY - Duration::from_millis(1));
    assert_eq!(sent(&server), [0, 0, 6], "the last moment of the month");
    server.advance(Duration::from_millis(1));
    assert_eq!(sent(&server), [0, 0, 0]);
    assert_eq!(usage(&server)["emails"]["monthly"]["resets_at"], "2026-03-01T00:00:00.000Z");
}

#[test]
fn a_repeated_idempotency_key_counts_once() {
    let server = TestServer::start();
    let body = email(&json!({})).to_string();
    for _ in 0..2 {
        server.call("POST", "/emails", server.key(), &[("idempotency-key", "once")], Some(body.as_bytes())).ok(200);
    }

    assert_eq!(sent(&server), [1, 1, 1]);
}

#[test]
fn what_is_kept_is_counted_as_it_comes_and_goes() {
    let server = TestServer::start();
    let contact = server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    server.post("/contacts", &json!({ "email": "bob@example.net" })).ok(201);
    let segment = server.post("/segments", &json!({ "name": "Some" })).ok(201);
    let domain = server.post("/domains", &json!({ "name": "added.example" })).ok(201);
    let counts = || {
        let usage = usage(&server);
        ["contacts", "segments", "domains", "broadcasts"].map(|name| usage[name]["used"].as_u64().unwrap())
    };
    // The instance began with the domain example.com.
    assert_eq!(counts(), [2, 1, 2, 0]);

    server.delete(&format!("/contacts/{}", contact["id"].as_str().unwrap())).ok(200);
    server.delete(&format!("/segments/{}", segment["id"].as_str().unwrap())).ok(200);
    server.delete(&format!("/domains/{}", domain["id"].as_str().unwrap())).ok(200);

    assert_eq!(counts(), [1, 0, 1, 0]);
}

#[test]
fn a_limit_is_named_where_there_is_one() {
    let server = TestServer::start_with(&["--rate-limit", "50"]);

    let usage = usage(&server);

    assert_eq!(usage["segments"]["limit"], 1_000);
    assert_eq!(usage["rate_limit"], json!({ "limit": 50, "duration": "1000ms" }));
    assert_eq!(usage["contacts"]["limit"], UNLIMITED);
    assert_eq!((&usage["domains"]["limit"], &usage["broadcasts"]["limit"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_rate_limit_that_is_off_is_none() {
    let server = TestServer::start_with(&["--rate-limit", "0"]);

    assert_eq!(usage(&server)["rate_limit"]["limit"], UNLIMITED);
}

#[test]
fn each_team_sees_what_is_its_own() {
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
fn the_numbers_are_there_after_a_restart() {
    let server = TestServer::start();
    server.send(&json!({}));
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let before = usage(&server);

    let server = server.restart_with(&[]);

    let mut after = usage(&server);
    // The port is another one.
    after["app_url"] = before["app_url"].clone();
    assert_eq!(after, before);
}
