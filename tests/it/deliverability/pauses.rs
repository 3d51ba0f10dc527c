//! Limits that pause the sends of a team, and the events about them.

use serde_json::{Value, json};

use super::{HOUR, deliver_emails, deliveries, report_outcome, send_with_bounces, start};
use crate::ingest::SECRET;
use crate::support::{TestServer, WebhookReceiver, email};

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
    let ids = deliver_emails(&server);
    report_outcome(&server, &ids, 0..9, "bounced");
    server.send(&json!({}));

    report_outcome(&server, &ids, 9..10, "bounced");

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
fn complaints_pause_all_new_sends() {
    let (server, receiver) = (start("on"), WebhookReceiver::start());
    let endpoint = json!({ "endpoint": receiver.url(), "events": ["deliverability.paused"] });
    server.post("/webhooks", &endpoint).ok(201);
    let ids = deliver_emails(&server);
    report_outcome(&server, &ids, 0..2, "complained");
    server.send(&json!({}));

    report_outcome(&server, &ids, 2..3, "complained");

    let refused = server.post("/emails", &email(&json!({}))).refusal();
    let sentence = "403 sending_paused: Sending is paused for this team: 3 of 100 emails of the last 2 days (UTC) were \
                    reported as spam, which is 3.00%, and the limit is 0.10%. ";
    assert!(refused.starts_with(sentence), "{refused}");
    server.run_guardrail();
    let posted = receiver.wait_for("deliverability.paused");
    let page = format!("{}/dashboard/metrics/deliverability", server.base());
    let expected = json!({
        "metric": "complaint", "rate": 0.03, "limit": 0.001, "window_days": 2, "dashboard_url": page,
    });
    assert_eq!(posted["data"], expected);
    let shown = server.get("/deliverability").ok(200);
    assert_eq!((&shown["guardrail_status"], &shown["emails_sent"]), (&json!("paused"), &json!(100)));
    assert_eq!((&shown["complaint_rate"], &shown["hard_bounce_rate"]), (&json!(0.03), &json!(0.0)));
}

#[test]
fn each_limit_that_a_rate_crosses_has_an_event_with_the_rate() {
    let warning = |rate: f64| ("deliverability.warning", json!({ "rate": rate, "limit": 0.04, "window_days": 7 }));
    let paused = ("deliverability.paused", json!({ "rate": 0.1, "limit": 0.05, "window_days": 2 }));
    // A rate can cross both limits between two rounds.
    for (bounced, expected) in [(9, vec![warning(0.09)]), (10, vec![warning(0.1), paused])] {
        let (server, receiver) = (start("on"), WebhookReceiver::start());
        let events = json!(["deliverability.warning", "deliverability.paused", "contact.created"]);
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
        // A later event: no further one of the guardrail is before it.
        server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
        receiver.wait_for("contact.created");
        let listed = server.get(&format!("/webhooks/{}/events", webhook["id"].as_str().unwrap())).ok(200);
        assert_eq!(listed["data"].as_array().unwrap().len(), expected.len() + 1);
    }
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
