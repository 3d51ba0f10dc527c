//! Broadcasts under `--send-rate` and `--send-quota`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{create, status};
use crate::support::TestServer;

const CONTACTS: usize = 71;
const DAY: Duration = Duration::from_secs(86_400);

/// Starts a server with 71 contacts.
fn start_with(flags: &[&str]) -> TestServer {
    let server = TestServer::start_with(flags);
    let contacts: Vec<Value> =
        (0..CONTACTS).map(|number| json!({ "email": format!("c{number}@example.net") })).collect();
    server.post("/contacts/batch", &json!(contacts)).ok(200);
    server
}

/// Sends a broadcast that starts in an hour, and returns the warning.
fn warning(server: &TestServer) -> Value {
    let path = create(server, &json!({}));
    let mut sent = server.post(&format!("{path}/send"), &json!({ "scheduled_at": "in 1 hour" })).ok(200);
    assert!(sent["finishes_at"].is_string() && sent["estimated"] == true, "{sent}");
    sent["warning"].take()
}

#[test]
fn a_send_warns_if_the_room_of_a_day_does_not_suffice() {
    // Broadcasts may use 70 percent of the quota.
    let server = start_with(&["--send-quota", "100"]);
    let paced = warning(&server);
    assert_eq!((&paced["code"], &paced["days"]), (&json!("paced"), &json!(2)));
    assert!(paced["message"].as_str().is_some_and(|message| message.ends_with("takes about 2 days.")), "{paced}");

    let server = start_with(&["--send-quota", "200"]);
    assert_eq!(warning(&server), json!(null));
    let behind = warning(&server);
    assert_eq!((&behind["code"], &behind["days"]), (&json!("queued_behind"), &json!(2)));

    let server = start_with(&["--send-rate", "1"]);
    assert_eq!(warning(&server), json!(null));
}

#[test]
fn a_broadcast_that_needs_more_than_24_days_stays_a_draft() {
    let server = start_with(&["--send-quota", "4"]);
    let path = create(&server, &json!({}));

    let refused = server.post(&format!("{path}/send"), &json!({})).refusal();

    assert!(refused.starts_with("422 broadcast_too_large: "), "{refused}");
    assert_eq!(status(&server, &path), "draft");
}

#[test]
fn a_paced_broadcast_continues_on_the_next_day_also_after_a_restart() {
    let server = start_with(&["--send-quota", "100"]);
    let path = create(&server, &json!({ "send": true }));
    let sent_count = |server: &TestServer, count: u64| {
        server.poll(&path, &format!("{count} sent emails"), |response| response.json["sent_count"] == count)
    };

    let first = sent_count(&server, 70).json;
    assert_eq!(first["status"], "queued");
    assert!(first["finishes_at"].is_string(), "{first}");
    let server = server.restart_with(&["--send-quota", "100"]);
    server.advance(DAY / 2);
    assert_eq!(server.get(&path).ok(200)["sent_count"], 70);
    server.advance(DAY);

    assert_eq!(sent_count(&server, 71).json["status"], "sent");
}

#[test]
fn a_paced_broadcast_is_canceled_in_the_middle() {
    let server = start_with(&["--send-quota", "100"]);
    let path = create(&server, &json!({ "send": true }));
    server.poll(&path, "70 sent emails", |response| response.json["sent_count"] == 70);

    let canceled = server.post(&format!("{path}/cancel"), &json!({})).ok(200);

    assert_eq!(canceled["canceled_remaining"], 1);
    server.advance(2 * DAY);
    let read = server.get(&path).ok(200);
    assert_eq!((&read["status"], &read["sent_count"]), (&json!("canceled"), &json!(70)));
}
