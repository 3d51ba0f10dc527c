//! Relay events through `/ingest/events`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{counts, dedup_key_count, deliver, event_types, fresh_id, post, report, server, statuses};
use crate::support::TestServer;

fn read(server: &TestServer, id: &str) -> Value {
    server.get(&format!("/emails/{id}")).ok(200)
}

fn event(event_type: &str, id: &str, recipient: &str, fields: &Value) -> Value {
    let mut event = json!({ "type": event_type, "email_id": id, "recipient": recipient });
    for (name, value) in fields.as_object().unwrap() {
        event[name] = value.clone();
    }
    event
}

#[test]
fn a_reported_bounce_is_recorded_and_suppresses_the_address() {
    let server = server();
    let id = deliver(&server, "Ada <ada@example.net>");
    server.advance(Duration::from_secs(60));
    let fields = json!({
        "created_at": "2026-01-05T09:00:30Z", "diagnostic": "550 5.1.1 No such user",
        "bounce": { "type": "Permanent", "sub_type": "NoEmail" },
    });

    assert_eq!(report(&server, &event("bounced", &id, "ADA@example.net", &fields)), (1, 0));

    let email = read(&server, &id);
    assert_eq!(email["last_event"], "bounced");
    assert_eq!(statuses(&email), [("ada@example.net", "bounced")]);
    assert_eq!(event_types(&email), ["email.sent", "email.delivered", "email.bounced"]);
    let bounce = &email["events"][2];
    assert_eq!(bounce["created_at"], "2026-01-05T09:00:30.000Z");
    assert_eq!(bounce["to"], json!(["ada@example.net"]));
    assert_eq!(
        bounce["bounce"],
        json!({
            "message": "The recipient's mail system sent a bounce message.",
            "type": "Permanent", "subType": "NoEmail", "diagnosticCode": ["550 5.1.1 No such user"],
        })
    );
    let listed = server.get("/suppressions/ada@example.net").ok(200);
    assert_eq!((&listed["origin"], &listed["source_id"]), (&json!("bounce"), &json!(id)));
    let events: Vec<Value> = server.audience_events();
    assert_eq!(events.last().unwrap()["type"], "suppression.added");
}

#[test]
fn every_report_type_has_its_effect() {
    let server = server();
    for (number, (event_type, fields, status, suppressed)) in [
        ("bounced", json!({ "bounce": { "type": "Transient", "sub_type": "MailboxFull" } }), "failed", false),
        ("email.bounced", json!({ "bounce": { "type": "Undetermined" } }), "failed", false),
        ("email.bounced", json!({ "reply": "554 5.7.1 spam" }), "failed", false),
        ("email.failed", json!({ "reason": "expired", "diagnostic": "4.4.1 no answer" }), "failed", false),
        ("complained", json!({ "complaint_feedback_type": "abuse" }), "complained", true),
        ("email.complained", json!({}), "complained", true),
        ("delayed", json!({ "reply": "451 later" }), "delivered", false),
    ]
    .into_iter()
    .enumerate()
    {
        let to = format!("r{number}@example.net");
        let id = deliver(&server, &to);

        assert_eq!(report(&server, &event(event_type, &id, &to, &fields)), (1, 0), "{event_type}");

        let email = read(&server, &id);
        assert_eq!(email["last_event"], status, "{event_type}");
        assert_eq!(email["events"].as_array().unwrap().len(), 3, "{event_type}");
        let listed = server.get(&format!("/suppressions/{to}"));
        assert_eq!(listed.status == 200, suppressed, "{event_type}");
        match event_type {
            "bounced" => assert_eq!(email["events"][2]["failed"]["reason"], "expired"),
            "email.failed" => assert_eq!(email["events"][2]["failed"]["reason"], "expired"),
            "complained" => assert_eq!(email["events"][2]["complaint_feedback_type"], "abuse"),
            "delayed" => assert_eq!(email["events"][2]["reply"], "451 later"),
            _ => {}
        }
    }
}

#[test]
fn a_reported_outcome_is_delivered_to_webhook_endpoints() {
    let server = server();
    let types = ["email.complained", "suppression.added"];
    // No server listens on port 9, so the test reads the payloads of the deliveries from the API.
    let endpoint = json!({ "endpoint": "http://127.0.0.1:9/", "events": types });
    let webhook = server.post("/webhooks", &endpoint).ok(201)["id"].as_str().unwrap().to_owned();
    let id = deliver(&server, "ada@example.net");

    report(&server, &event("complained", &id, "ada@example.net", &json!({ "complaint_feedback_type": "abuse" })));

    let path = format!("/webhooks/{webhook}/events");
    let page = server.poll(&path, "the deliveries", |page| page.json["data"].as_array().unwrap().len() == 2);
    let mut payloads: Vec<Value> = Vec::new();
    for delivery in page.json["data"].as_array().unwrap() {
        let detail = server.get(&format!("{path}/{}", delivery["id"].as_str().unwrap())).ok(200);
        payloads.push(detail["payload"].clone());
    }
    let of_type = |name: &str| payloads.iter().find(|payload| payload["type"] == name).unwrap();
    assert_eq!(of_type(types[0])["data"]["email_id"], json!(id));
    assert_eq!(of_type(types[0])["data"]["complaint_feedback_type"], "abuse");
    assert_eq!(of_type(types[1])["data"]["origin"], "complaint");
}

#[test]
fn an_email_is_found_by_its_message_id() {
    let server = server();
    let id = deliver(&server, "ada@example.net");
    let message_id = read(&server, &id)["message_id"].clone();
    let complaint = json!({ "type": "complained", "message_id": message_id, "recipient": "ada@example.net" });

    assert_eq!(report(&server, &complaint), (1, 0));

    assert_eq!(read(&server, &id)["last_event"], "complained");
}

#[test]
fn a_repeated_request_is_ignored_for_a_week() {
    let server = server();
    let id = deliver(&server, "ada@example.net");
    let body = event("delayed", &id, "ada@example.net", &json!({})).to_string();
    let again = || counts(post(&server, "/ingest/events", "msg_repeated", body.as_bytes()));

    assert_eq!(again(), (1, 0));
    assert_eq!(again(), (0, 1));
    server.advance(Duration::from_secs(6 * 24 * 3600));
    assert_eq!(again(), (0, 1));

    assert_eq!(event_types(&read(&server, &id)), ["email.sent", "email.delivered", "email.delivery_delayed"]);
    assert_eq!(dedup_key_count(&server), 1);
    server.advance(Duration::from_secs(24 * 3600));
    assert_eq!(again(), (1, 0), "the deduplication key is deleted after a week");
}

#[test]
fn an_unknown_email_or_recipient_or_event_type_is_ignored() {
    let server = server();
    let id = deliver(&server, "ada@example.net");
    let bounced = json!({ "bounce": { "type": "Permanent" } });
    let events = json!([
        event("bounced", "0190a6c0-0000-7000-8000-000000000001", "ada@example.net", &bounced),
        event("bounced", "not-an-id", "ada@example.net", &bounced),
        json!({ "type": "bounced", "message_id": "<1@elsewhere.example>", "recipient": "ada@example.net" }),
        event("bounced", &id, "bob@example.net", &bounced),
        event("bounced", &id, "no address", &bounced),
        event("opened", &id, "ada@example.net", &json!({})),
        event("email.clicked", &id, "ada@example.net", &json!({})),
        event("delivered", &id, "ada@example.net", &json!({})),
    ]);

    assert_eq!(report(&server, &events), (0, 8));

    let email = read(&server, &id);
    assert_eq!(event_types(&email), ["email.sent", "email.delivered"]);
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
}

#[test]
fn a_request_about_unknown_emails_stores_no_deduplication_key() {
    let server = server();
    let unknown = event("delivered", "0190a6c0-0000-7000-8000-000000000001", "ada@example.net", &json!({}));

    assert_eq!(report(&server, &json!([unknown, unknown])), (0, 2));

    assert_eq!(dedup_key_count(&server), 0);
}

#[test]
fn the_events_of_one_request_are_applied_in_order() {
    let server = server();
    let ids: Vec<String> = (0..10).map(|number| deliver(&server, &format!("r{number}@example.net"))).collect();
    let events: Vec<Value> = (0..1_000)
        .map(|number| {
            let (event_type, recipient) = (if number < 500 { "delayed" } else { "complained" }, number % 10);
            event(event_type, &ids[recipient], &format!("r{recipient}@example.net"), &json!({}))
        })
        .collect();

    assert_eq!(report(&server, &Value::Array(events)), (60, 940), "five delays and one complaint for each email");

    for id in &ids {
        let email = read(&server, id);
        assert_eq!((&email["last_event"], event_types(&email).len()), (&json!("complained"), 8));
    }
    assert_eq!(server.suppressed_addresses().len(), 10);
}

#[test]
fn one_request_can_report_about_emails_of_several_teams() {
    let server = server();
    let other = server.other_team("Other", "other.example");
    let mine: Vec<String> = (0..3).map(|number| deliver(&server, &format!("r{number}@example.net"))).collect();
    let theirs = other.send(&json!({ "to": "shared@example.net" }));
    let about_both = server.send(&json!({ "to": ["a@example.net", "shared@example.net"] }));
    server.wait_until(&about_both, "both", |email| statuses(email).iter().all(|(_, last)| *last == "delivered"));
    server.wait_for_recorded_event(&theirs, "email.delivered");
    let mut events: Vec<Value> = (0..)
        .zip(&mine)
        .map(|(number, id)| event("complained", id, &format!("r{number}@example.net"), &json!({})))
        .collect();
    events.push(event("complained", &theirs, "shared@example.net", &json!({})));
    events.push(event("failed", &about_both, "a@example.net", &json!({})));
    events.push(event("delayed", &about_both, "shared@example.net", &json!({})));

    assert_eq!(report(&server, &Value::Array(events)), (6, 0));

    for id in &mine {
        assert_eq!(read(&server, id)["last_event"], "complained");
    }
    let email = read(&server, &about_both);
    assert_eq!(statuses(&email), [("a@example.net", "failed"), ("shared@example.net", "delivered")]);
    assert_eq!(
        server.get("/suppressions/shared@example.net").status,
        404,
        "the address is suppressed only for the other team"
    );
    assert_eq!(other.get("/suppressions/shared@example.net").ok(200)["origin"], "complaint");
}

#[test]
fn an_ignored_event_does_not_affect_other_events_of_the_request() {
    let server = server();
    let id = deliver(&server, "ada@example.net");
    let events = json!([
        { "type": "domain.updated", "created_at": 1_767_603_600, "recipient": null },
        { "type": "contact.created", "email_id": 7, "recipient": { "address": "ada@example.net" } },
        event("complained", &id, "ada@example.net", &json!({})),
        { "type": "" },
    ]);

    assert_eq!(report(&server, &events), (1, 3));

    assert_eq!(read(&server, &id)["last_event"], "complained");
}

#[test]
fn a_malformed_event_refuses_the_request_and_records_no_event() {
    let server = server();
    let id = deliver(&server, "ada@example.net");
    let valid = event("complained", &id, "ada@example.net", &json!({}));
    let events = json!([valid, { "type": "complained", "email_id": id }]);
    let webhook_id = fresh_id();

    let refused = post(&server, "/ingest/events", &webhook_id, events.to_string().as_bytes());

    refused.refused(422, "missing_required_field", "events.1: Missing `recipient` field.");
    assert_eq!(event_types(&read(&server, &id)), ["email.sent", "email.delivered"]);
    assert_eq!(dedup_key_count(&server), 0);
    let corrected = post(&server, "/ingest/events", &webhook_id, valid.to_string().as_bytes());
    assert_eq!(counts(corrected), (1, 0), "the corrected body is accepted under the same id");
}
