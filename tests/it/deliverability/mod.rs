//! `GET /deliverability`, and the guardrail that pauses the sending of a team.
//!
//! `regions.rs`: pauses of the broadcasts of a region; `workers.rs`: the workers of a running server.

mod regions;
mod workers;

use std::ops::Range;
use std::time::Duration;

use ringmail::admin::queue::{QueueVerb, SelectorArgs};
use ringmail::base::id::BroadcastId;
use ringmail::broadcasts::FanOutRow;
use ringmail::store::{Reads as _, StoreError};
use ringmail::tables::BROADCAST_FAN_OUTS;
use serde_json::{Value, json};

use crate::ingest::{self, SECRET};
use crate::support::{TestServer, WebhookReceiver, email, retry_until_ok};

const HOUR: Duration = Duration::from_secs(3_600);
/// Emails of a test: the minimum number of recipients for a limit.
const EMAILS: usize = 100;

/// Starts a server that accepts delivery reports. `guardrail` is `on` or `off`.
pub(crate) fn start(guardrail: &str) -> TestServer {
    TestServer::start_with(&["--ingest-secret", SECRET, "--guardrail", guardrail])
}

/// Returns the recipient of one of the emails of a test.
fn recipient(number: usize) -> String {
    format!("r{number}@example.net")
}

/// Sends 100 emails and waits until they are delivered. Returns their ids.
pub(crate) fn send_emails(server: &TestServer) -> Vec<String> {
    let emails: Vec<Value> = (0..EMAILS).map(|number| email(&json!({ "to": recipient(number) }))).collect();
    let sent = server.post("/emails/batch", &Value::from(emails)).ok(200);
    let ids: Vec<String> =
        sent["data"].as_array().unwrap().iter().map(|email| email["id"].as_str().unwrap().to_owned()).collect();
    for id in &ids {
        server.wait_for(id, "delivered");
    }
    ids
}

/// Reports the emails of [`send_emails`] with these numbers as `bounced` or `complained`.
#[track_caller]
pub(crate) fn report(server: &TestServer, ids: &[String], event: &str, numbers: Range<usize>) {
    let count = numbers.len() as u64;
    let relay_event = |number: usize| {
        let (id, recipient) = (&ids[number], recipient(number));
        json!({ "type": event, "email_id": id, "recipient": recipient, "bounce": { "type": "Permanent" } })
    };
    let events: Vec<Value> = numbers.map(relay_event).collect();
    assert_eq!(ingest::report(server, &Value::from(events)), (count, 0));
}

/// Sends 100 emails, waits until they are delivered, and reports the first `bounced` of them as bounced.
pub(crate) fn send_with_bounces(server: &TestServer, bounced: usize) {
    report(server, &send_emails(server), "bounced", 0..bounced);
}

/// Returns the number of deliveries of an event type to an endpoint.
fn deliveries(server: &TestServer, webhook: &str, event: &str) -> usize {
    let listed = server.get(&format!("/webhooks/{webhook}/events")).ok(200);
    listed["data"].as_array().unwrap().iter().filter(|delivery| delivery["type"] == event).count()
}

/// Returns the fan-out of a broadcast; `None` once all its recipients are queued.
fn fan_out(server: &TestServer, broadcast: &str) -> Option<FanOutRow> {
    let id = BroadcastId::parse(broadcast).unwrap();
    server.context().store.read_now::<_, StoreError>(|tx| tx.get(&BROADCAST_FAN_OUTS, &(id,))).unwrap()
}

/// Waits until a due broadcast is held.
#[track_caller]
fn wait_for_hold(server: &TestServer, broadcast: &str) {
    retry_until_ok("the hold", || match fan_out(server, broadcast) {
        Some(row) if row.is_held => Ok(()),
        row => Err(format!("{row:?}")),
    });
}

#[test]
fn a_new_team_has_no_score() {
    let server = TestServer::start();

    let shown = server.get("/deliverability").ok(200);

    assert_eq!(
        shown,
        json!({
            "object": "deliverability", "score": null, "band": null, "content_score": null, "outcome_score": null,
            "complaint_rate": 0.0, "hard_bounce_rate": 0.0, "emails_sent": 0, "scored_recipients": 0,
            "window_days": 30, "insufficient_outcome_data": true, "guardrail_status": "ok", "score_version": 1,
        })
    );
}

#[test]
fn a_key_for_sending_cannot_read_the_deliverability() {
    let server = TestServer::start();
    let key = server.create_sending_key();

    let refused = server.call("GET", "/deliverability", &key, &[], None);

    assert!(refused.refusal().starts_with("403 restricted_api_key"));
}

#[test]
fn bounces_pause_all_new_sends_until_their_days_leave_the_window() {
    let server = start("on");
    // No server listens on port 9, so that deliveries stay in the list.
    let endpoint = json!({ "endpoint": "http://127.0.0.1:9/", "events": ["deliverability.paused"] });
    let webhook = server.post("/webhooks", &endpoint).ok(201)["id"].as_str().unwrap().to_owned();
    let body = email(&json!({})).to_string();
    let send_once =
        || server.call("POST", "/emails", server.key(), &[("idempotency-key", "once")], Some(body.as_bytes()));
    let first = send_once().ok(200);
    send_with_bounces(&server, 9);
    server.send(&json!({}));

    let id = server.get("/emails?limit=100").ok(200)["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|email| email["to"] == json!(["r9@example.net"]))
        .map(|email| email["id"].as_str().unwrap().to_owned())
        .unwrap();
    let last = json!({
        "type": "bounced", "email_id": id, "recipient": "r9@example.net", "bounce": { "type": "Permanent" },
    });
    assert_eq!(ingest::report(&server, &last), (1, 0));

    // The clock of the instance starts on 5 January at 09:00 UTC, and the day alone reaches the limit.
    let refused = server.post("/emails", &email(&json!({}))).refusal();
    assert!(refused.starts_with("403 sending_paused: Sending is paused for this team: 10 of 100 emails"), "{refused}");
    assert!(refused.contains("2026-01-07T00:00:00.000Z") && refused.contains("/dashboard/metrics/deliverability"));
    let batch = server.post("/emails/batch", &Value::from(vec![email(&json!({})); 2])).refusal();
    assert!(batch.starts_with("403 sending_paused: Sending is paused"), "{batch}");
    let draft = json!({ "from": "Acme <news@example.com>", "subject": "June", "text": "Hi" });
    let broadcast = server.post("/broadcasts", &draft).ok(201)["id"].as_str().unwrap().to_owned();
    let refused = server.post(&format!("/broadcasts/{broadcast}/send"), &json!({})).refusal();
    assert!(refused.starts_with("403 sending_paused: "), "{refused}");
    assert_eq!(server.get(&format!("/broadcasts/{broadcast}")).ok(200)["status"], "draft");
    assert_eq!(send_once().ok(200), first, "a repeat of an accepted request gets its response");
    let shown = server.get("/deliverability").ok(200);
    assert_eq!((&shown["guardrail_status"], &shown["band"]), (&json!("paused"), &json!("at_risk")));
    assert_eq!((&shown["emails_sent"], &shown["hard_bounce_rate"]), (&json!(100), &json!(0.1)));
    for _ in 0..2 {
        server.run_guardrail();
    }
    server.poll(&format!("/webhooks/{webhook}/events"), "the event", |_| {
        deliveries(&server, &webhook, "deliverability.paused") == 1
    });

    server.advance(38 * HOUR);
    server.post("/emails", &email(&json!({}))).refusal();
    server.advance(HOUR);
    server.send(&json!({}));
    server.run_guardrail();
    assert_eq!(deliveries(&server, &webhook, "deliverability.paused"), 1);
    assert_eq!(server.get("/deliverability").ok(200)["guardrail_status"], "warning");
}

#[test]
fn each_limit_that_a_rate_crosses_has_an_event_with_the_rate() {
    let warning = |rate: f64| ("deliverability.warning", json!({ "rate": rate, "limit": 0.04, "window_days": 7 }));
    let paused = ("deliverability.paused", json!({ "rate": 0.1, "limit": 0.05, "window_days": 2 }));
    // A jump over both limits crosses the one of the warning too.
    for (bounced, expected) in [(9, vec![warning(0.09)]), (10, vec![warning(0.1), paused])] {
        let (server, receiver) = (start("on"), WebhookReceiver::start());
        let events = json!(["deliverability.warning", "deliverability.paused"]);
        let webhook = server.post("/webhooks", &json!({ "endpoint": receiver.url(), "events": events })).ok(201);
        send_with_bounces(&server, bounced);

        for _ in 0..2 {
            server.run_guardrail();
        }

        for (event, figures) in &expected {
            let posted = receiver.wait_for(event);
            let mut data = figures.clone();
            data["metric"] = "bounce".into();
            data["dashboard_url"] = format!("{}/dashboard/metrics/deliverability", server.base()).into();
            assert_eq!(posted["data"], data);
            assert_eq!(posted["created_at"], "2026-01-05T09:00:00.000Z");
        }
        let listed = server.get(&format!("/webhooks/{}/events", webhook["id"].as_str().unwrap())).ok(200);
        assert_eq!(listed["data"].as_array().unwrap().len(), expected.len());
    }
}

#[test]
fn a_scheduled_broadcast_waits_for_the_end_of_a_pause() {
    let server = start("on");
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let body = json!({
        "from": "Acme <news@example.com>", "subject": "June", "text": "Hi", "send": true, "scheduled_at": "in 1 hour",
    });
    let broadcast = server.post("/broadcasts", &body).ok(201)["id"].as_str().unwrap().to_owned();
    send_with_bounces(&server, 10);

    server.advance(2 * HOUR);
    let path = format!("/broadcasts/{broadcast}");
    wait_for_hold(&server, &broadcast);
    assert_eq!(server.get(&path).ok(200)["status"], "scheduled");

    server.advance(37 * HOUR + HOUR / 2);
    retry_until_ok("the recipients", || fan_out(&server, &broadcast).map_or(Ok(()), |row| Err(format!("{row:?}"))));
    server.poll(&path, "the end of the broadcast", |response| response.json["status"] == "sent");
}

#[test]
fn queued_broadcasts_leave_at_one_message_a_second_until_the_guardrail_recovers() {
    const SECOND: Duration = Duration::from_secs(1);
    const CONTACTS: usize = 30;
    let domains = ["one.example", "two.example", "three.example"];
    let server = start("on");
    let of = |domain: &str| SelectorArgs { domain: Some(domain.to_owned()), ..SelectorArgs::default() };
    for domain in domains {
        server.admin(QueueVerb::Pause { selector: of(domain) });
    }
    let contact = |number: usize| json!({ "email": format!("c{number}@{}", domains[number % domains.len()]) });
    let contacts: Vec<Value> = (0..CONTACTS).map(contact).collect();
    server.post("/contacts/batch", &Value::from(contacts)).ok(200);
    let body = json!({ "from": "Acme <news@example.com>", "subject": "June", "text": "Hi", "send": true });
    let broadcast = server.post("/broadcasts", &body).ok(201)["id"].as_str().unwrap().to_owned();
    let (path, emails) = (format!("/broadcasts/{broadcast}"), format!("/emails?broadcast_id={broadcast}&limit=100"));
    server.poll(&emails, "the queued emails", |response| {
        response.json["data"].as_array().is_some_and(|emails| emails.len() == CONTACTS)
    });
    let sent = || server.get(&path).ok(200)["sent_count"].as_u64().unwrap();
    let wait_for = |count: u64| {
        server.poll(&path, "the sent emails", |response| {
            response.json["sent_count"].as_u64().is_some_and(|sent| sent >= count)
        })
    };

    // A warning.
    send_with_bounces(&server, 9);
    server.run_guardrail();
    for domain in domains {
        server.admin(QueueVerb::Resume { selector: of(domain) });
    }

    wait_for(1);
    let transactional = server.send(&json!({ "to": "ada@one.example" }));
    server.wait_for(&transactional, "delivered");
    assert_eq!(sent(), 1);
    let listed = server.get(&emails).ok(200);
    let is_queued = |email: &&Value| email["last_event"] == "queued";
    let queued = listed["data"].as_array().unwrap().iter().find(is_queued).unwrap()["id"].as_str().unwrap();
    let shown = server.get(&format!("/emails/{queued}/attempts")).ok(200);
    assert_eq!((&shown["waiting"][0]["state"], &shown["waiting"][0]["attempts"]), (&json!("slowed"), &json!(0)));
    for count in 2..=4 {
        server.advance(SECOND);
        wait_for(count);
        assert_eq!(sent(), count);
    }

    server.advance(8 * 24 * HOUR);
    wait_for(5);
    server.run_guardrail();
    // The next turn of the team finds that it has recovered.
    server.advance(SECOND);
    wait_for(CONTACTS as u64);
    server.poll(&path, "the end of the broadcast", |response| response.json["status"] == "sent");
}

#[test]
fn a_notice_is_sent_during_a_pause() {
    let server = TestServer::start_with(&[
        "--ingest-secret",
        SECRET,
        "--guardrail",
        "on",
        "--system-from",
        "Ringmail <notices@example.com>",
    ]);
    server.add_owner("owner@people.example");
    send_with_bounces(&server, 10);

    server.run_guardrail();

    let is_notice = |email: &Value| email["subject"] == "Sending is paused";
    server.poll("/emails", "the notice", |response| {
        response.json["data"].as_array().is_some_and(|emails| emails.iter().any(is_notice))
    });
}

#[test]
fn a_development_server_refuses_nothing() {
    let server = TestServer::start_with(&["--ingest-secret", SECRET]);
    send_with_bounces(&server, 50);

    server.send(&json!({}));

    let shown = server.get("/deliverability").ok(200);
    assert_eq!((&shown["guardrail_status"], &shown["emails_sent"]), (&json!("warning"), &json!(100)));
}

#[test]
fn simulated_recipients_change_no_rate() {
    let server = start("on");
    let emails = vec![email(&json!({ "to": "bounced@resend.dev" })); EMAILS];
    let sent = server.post("/emails/batch", &Value::from(emails)).ok(200);
    for email in sent["data"].as_array().unwrap() {
        server.wait_for(email["id"].as_str().unwrap(), "bounced");
    }

    server.send(&json!({}));

    assert_eq!(server.get("/deliverability").ok(200)["emails_sent"], 0);
}
