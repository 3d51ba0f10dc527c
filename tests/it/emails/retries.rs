//! Attempts until the end of the retry period.

use std::time::Duration;

use chrono::DateTime;
use serde_json::{Value, json};

use crate::support::{MailServer, StartTls, TestServer};

const MINUTE_MS: i64 = 60_000;

fn ms(time: &Value) -> i64 {
    DateTime::parse_from_rfc3339(time.as_str().unwrap()).unwrap().timestamp_millis()
}

#[test]
fn an_email_that_is_deferred_until_the_end_of_its_retry_period_fails_and_is_not_suppressed() {
    let mail = MailServer::start(StartTls::NotOffered);
    let relay = format!("smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let retries = ["--retry-delays", "10m", "--expire-after", "35m"];
    let server = TestServer::start_with(&[&["--delivery", "relay", "--relay", &relay][..], &retries].concat());
    mail.set_refusal(Some("451 4.3.0 Local error"));
    let accepted_ms = server.now_ms();
    let id = server.send(&json!({ "to": "ada@shop.example" }));

    // The clock moves to the time of each attempt.
    let attempts = (1..10).find_map(|number| {
        let is_made = |list: &Value| list["data"].as_array().is_some_and(|attempts| attempts.len() == number);
        let list =
            server.poll(&format!("/emails/{id}/attempts"), "an attempt", |response| is_made(&response.json)).ok(200);
        let Some(waiting) = list["waiting"].as_array().unwrap().first() else { return Some(list["data"].clone()) };
        assert_eq!((&waiting["state"], &waiting["attempts"]), (&json!("retry"), &json!(number)), "{list:#}");
        assert_eq!(server.get(&format!("/emails/{id}")).ok(200)["last_event"], "delivery_delayed");
        let wait_ms = ms(&waiting["until"]) - server.now_ms();
        server.advance(Duration::from_millis(u64::try_from(wait_ms).unwrap()));
        None
    });

    // The delays vary by a fifth.
    let attempts = attempts.unwrap();
    let times: Vec<i64> =
        attempts.as_array().unwrap().iter().rev().map(|it| ms(&it["created_at"]) - accepted_ms).collect();
    assert!(times.len() >= 4 && times[0] == 0 && times.is_sorted_by(|one, next| one < next), "{times:?}");
    assert_eq!(times.last(), Some(&(35 * MINUTE_MS)), "{times:?}");
    let email = server.wait_for(&id, "failed");
    assert!(email["events"].to_string().contains("\"expired\""), "{email:#}");
    assert_eq!(server.recorded_events(&id), ["email.sent", "email.delivery_delayed", "email.failed"]);
    assert_eq!(server.suppressed_addresses(), [] as [&str; 0]);

    mail.set_refusal(None);
    server.advance(Duration::from_secs(24 * 60 * 60));
    let next = server.send(&json!({ "to": "ada@shop.example" }));
    server.wait_for(&next, "delivered");
    assert_eq!(mail.mail_commands(), times.len() + 1, "the failed email has no further attempt");
}
