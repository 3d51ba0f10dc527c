//! `GET /emails/{id}/attempts`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::TestServer;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Sends an email to real addresses of three domains and waits until the built-in mailbox has it.
fn send_to_three(server: &TestServer) -> String {
    let to = ["ada@one.example", "bob@two.example", "cy@three.example"];
    let id = server.send(&json!({ "to": to }));
    let is_delivered =
        |email: &Value| email["recipients"].as_array().unwrap().iter().all(|it| it["last_event"] == "delivered");
    server.wait_until(&id, "three deliveries", is_delivered);
    id
}

fn attempts(server: &TestServer, id: &str, query: &str) -> Value {
    server.get(&format!("/emails/{id}/attempts{query}")).ok(200)
}

#[test]
fn an_attempt_has_the_host_the_result_and_the_transcript_of_its_recipients() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": ["ada@example.net", "bob@example.net"] }));
    server.wait_for(&id, "delivered");

    let list = attempts(&server, &id, "");

    assert_eq!((&list["object"], &list["has_more"]), (&json!("list"), &json!(false)));
    let [attempt] = list["data"].as_array().unwrap().as_slice() else { panic!("one attempt in {list}") };
    for (field, expected) in [
        ("object", json!("email_attempt")),
        ("number", json!(1)),
        ("to", json!(["ada@example.net", "bob@example.net"])),
        ("host", json!("localhost")),
        ("tls", Value::Null),
        ("tls_downgraded", json!(false)),
        ("possible_duplicate", json!(false)),
        ("result", json!("2 delivered, 0 deferred, 0 refused")),
    ] {
        assert_eq!(attempt[field], expected, "{field}");
    }
    assert!(attempt["address"].as_str().unwrap().starts_with("127.0.0.1:"));
    let transcript = attempt["transcript"].as_str().unwrap();
    for line in ["-- connected to localhost", "S: 220 ", "C: EHLO ", "C: RCPT TO:<ada@example.net>", "C: DATA"] {
        assert!(transcript.contains(line), "no {line:?} in {transcript}");
    }
    assert!(!transcript.contains("Subject:"), "the message is in the transcript: {transcript}");
}

#[test]
fn attempts_are_listed_newest_first_in_pages() {
    let server = TestServer::start();
    let id = send_to_three(&server);
    let all = attempts(&server, &id, "");
    let ids: Vec<&str> = all["data"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.is_sorted_by(|newer, older| newer > older), "{ids:?}");
    let mut recipients: Vec<&str> =
        all["data"].as_array().unwrap().iter().map(|it| it["to"][0].as_str().unwrap()).collect();
    recipients.sort_unstable();
    assert_eq!(recipients, ["ada@one.example", "bob@two.example", "cy@three.example"]);

    let first = attempts(&server, &id, "?limit=2");
    let last = attempts(&server, &id, &format!("?limit=2&after={}", ids[1]));
    let newer = attempts(&server, &id, &format!("?limit=1&before={}", ids[2]));

    for (page, expected, has_more) in [(&first, &ids[..2], true), (&last, &ids[2..], false), (&newer, &ids[1..2], true)]
    {
        let shown: Vec<&str> = page["data"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!((shown.as_slice(), &page["has_more"]), (expected, &json!(has_more)));
    }
}

#[test]
fn simulated_and_queued_emails_have_no_attempts() {
    let server = TestServer::start();
    let simulated = server.send(&json!({ "to": "delivered@resend.dev" }));
    server.wait_for(&simulated, "delivered");
    let scheduled = server.send(&json!({ "to": "ada@example.net", "scheduled_at": "in 1 hour" }));

    for id in [simulated, scheduled] {
        assert_eq!(attempts(&server, &id, "")["data"], json!([]), "{id}");
    }
}

#[test]
fn attempts_are_deleted_with_their_email_or_after_their_own_retention() {
    let server = TestServer::start();
    let (kept, deleted) = (send_to_three(&server), send_to_three(&server));
    server.delete(&format!("/emails/{deleted}")).ok(200);
    assert_eq!(server.stored_attempts().len(), 3);
    server.get(&format!("/emails/{deleted}/attempts")).refused(404, "not_found", "Email not found");

    let server = server.restart_after(29 * DAY, &[]);
    let list = attempts(&server, &kept, "");
    assert_eq!(list["data"].as_array().unwrap().len(), 3);
    let newest = list["data"][0]["id"].as_str().unwrap();
    let server = server.restart_after(2 * DAY, &[]);

    let is_empty = |response: &crate::support::ApiResponse| response.json["data"] == json!([]);
    server.poll(&format!("/emails/{kept}/attempts"), "retention", is_empty);
    assert_eq!(server.get(&format!("/emails/{kept}")).ok(200)["last_event"], "delivered");
    // The id of a deleted attempt stays a cursor.
    assert_eq!(attempts(&server, &kept, &format!("?after={newest}"))["data"], json!([]));
}

#[test]
fn the_retention_of_attempts_is_a_setting() {
    let server = TestServer::start();
    let id = send_to_three(&server);

    let server = server.restart_after(31 * DAY, &["--attempt-retention-days", "32"]);
    server.wait_for_purge(&id);
    assert_eq!(attempts(&server, &id, "")["data"].as_array().unwrap().len(), 3);

    let server = server.restart_with(&["--attempt-retention-days", "30"]);
    let is_empty = |response: &crate::support::ApiResponse| response.json["data"] == json!([]);
    server.poll(&format!("/emails/{id}/attempts"), "retention", is_empty);
}

#[test]
fn an_erasure_removes_an_address_from_the_attempts() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": ["ada@one.example", "bob@two.example"] }));
    let is_delivered =
        |email: &Value| email["recipients"].as_array().unwrap().iter().all(|it| it["last_event"] == "delivered");
    server.wait_until(&id, "two deliveries", is_delivered);

    server.erase(&["ADA@one.example"]);

    let list = attempts(&server, &id, "");
    assert!(!list.to_string().to_lowercase().contains("ada@"), "{list:#}");
    let texts: Vec<(&Value, bool)> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["to"][0], it["transcript"].as_str().unwrap().contains("RCPT TO:<bob@two.example>")))
        .collect();
    assert!(texts.contains(&(&json!("bob@two.example"), true)), "{texts:?}");
    assert!(texts.contains(&(&json!("[erased]"), false)), "{texts:?}");
}

#[test]
fn the_attempts_of_an_email_have_the_reason_why_its_other_recipients_wait() {
    let server = TestServer::start_with(&["--retry-delays", "5m"]);
    let scheduled = server.send(&json!({ "to": ["ada@one.example", "bob@one.example"], "scheduled_at": "in 1 hour" }));
    let due = server.get(&format!("/emails/{scheduled}")).ok(200)["scheduled_at"].clone();
    let expected = json!({
        "to": ["ada@one.example", "bob@one.example"], "domain": "one.example", "attempts": 0, "state": "scheduled",
        "until": due, "reason": "The email is scheduled.",
    });
    assert_eq!(attempts(&server, &scheduled, "")["waiting"], json!([expected]));

    let delayed = server.send(&json!({ "to": ["delayed@resend.dev", "ada@one.example"] }));
    server.wait_until(&delayed, "both results", |email| {
        email["recipients"].as_array().unwrap().iter().map(|it| it["last_event"].as_str().unwrap()).collect::<Vec<_>>()
            == ["delivery_delayed", "delivered"]
    });
    let waiting = attempts(&server, &delayed, "")["waiting"].clone();
    assert_eq!((&waiting[0]["state"], &waiting[0]["attempts"]), (&json!("retry"), &json!(1)), "{waiting}");
    assert_eq!(waiting.as_array().unwrap().len(), 1, "{waiting}");

    server.advance(Duration::from_secs(600));
    server.wait_until(&delayed, "two deliveries", |email| {
        email["recipients"].as_array().unwrap().iter().all(|it| it["last_event"] == "delivered")
    });
    assert_eq!(attempts(&server, &delayed, "")["waiting"], json!([]));
}

#[test]
fn an_email_of_another_team_has_no_reason_to_wait() {
    let server = TestServer::start_with(&["--hold"]);
    let id = server.send(&json!({ "to": "ada@one.example" }));
    assert_eq!(attempts(&server, &id, "")["waiting"][0]["state"], "queue_held");

    let other = server.other_team("Second", "second.example");
    other.get(&format!("/emails/{id}/attempts")).refused(404, "not_found", "Email not found");
}
