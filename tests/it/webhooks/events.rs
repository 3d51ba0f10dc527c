//! `/webhooks/{id}/events`: deliveries, their attempts and replays.

use std::time::Duration;

use serde_json::{Value, json};

use super::{create, id};
use crate::support::{TestServer, assert_body};

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn a_delivery_can_be_listed_and_read_with_payload_and_attempts() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let event = format!("{path}/events/{}", server.add_webhook_delivery(id(&path)));

    let listed = server.get(&format!("{path}/events")).ok(200);
    let shown = server.get(&event).ok(200);
    let attempts = server.get(&format!("{event}/attempts")).ok(200);

    assert_body!(json!([listed, shown, attempts]));
}

#[test]
fn deliveries_can_be_paged_forwards_and_backwards() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let mut all: Vec<String> = (0..7).map(|_| server.add_webhook_delivery(id(&path))).collect();
    all.reverse();
    let page = |query: &str| {
        let page = server.get(&format!("{path}/events?{query}")).ok(200);
        let ids = page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), page["has_more"].as_bool().unwrap())
    };

    assert_eq!(page(""), (all.clone(), false));
    assert_eq!(page("limit=3"), (all[..3].to_vec(), true));
    assert_eq!(page(&format!("limit=3&after={}", all[2])), (all[3..6].to_vec(), true));
    assert_eq!(page(&format!("limit=3&after={}", all[5])), (all[6..].to_vec(), false));
    assert_eq!(page(&format!("limit=3&before={}", all[4])), (all[1..4].to_vec(), true));
    let other = create(&server, &json!({}));
    let foreign = server.add_webhook_delivery(id(&other));
    let refused = server.get(&format!("{path}/events?after={foreign}")).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid cursor."), "{refused}");
}

#[test]
fn a_delivery_that_retention_deletes_stays_a_cursor_for_a_day() {
    let mut server = TestServer::start();
    let path = create(&server, &json!({}));
    let events = format!("{path}/events");
    let deleted = [server.add_webhook_delivery(id(&path)), server.add_webhook_delivery(id(&path))];
    server = server.restart_after(400 * DAY, &[]);
    server.poll(&events, "retention", |response| response.json["data"] == json!([]));
    let kept = server.add_webhook_delivery(id(&path));
    let ids = |query: &str| {
        let page = server.get(&format!("{events}?{query}")).ok(200);
        page["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect::<Vec<_>>()
    };

    for cursor in &deleted {
        assert_eq!(ids(&format!("after={cursor}")), Vec::<Value>::new());
        assert_eq!(ids(&format!("before={cursor}")), [json!(kept)]);
    }

    server = server.restart_after(3 * DAY, &[]);
    server.poll(&format!("{events}?after={}", deleted[0]), "retention", |response| response.status == 422);
}

#[test]
fn attempts_are_listed_newest_first() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let attempts = format!("{path}/events/{}/attempts", server.add_webhook_delivery(id(&path)));
    let all = server.get(&attempts).ok(200)["data"].as_array().unwrap().clone();
    assert_eq!([&all[0]["http_status_code"], &all[1]["http_status_code"]], [&json!(0), &json!(500)]);

    let first = server.get(&format!("{attempts}?limit=1")).ok(200);
    assert_eq!((&first["data"], &first["has_more"]), (&json!([all[0]]), &json!(true)));
    let after = server.get(&format!("{attempts}?after={}", all[0]["id"].as_str().unwrap())).ok(200);
    assert_eq!((&after["data"], &after["has_more"]), (&json!([all[1]]), &json!(false)));
}

#[test]
fn a_replay_queues_the_delivery_under_the_same_id() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let delivery = server.add_webhook_delivery(id(&path));
    let event = format!("{path}/events/{delivery}");
    let before = server.get(&event).ok(200);
    assert_eq!((&before["status"], &before["next_attempt_at"]), (&json!("failed"), &Value::Null));
    let replay = format!("{event}/replay");

    // The SDKs send no body, an empty body, or an empty object.
    for body in [None, Some(b"".as_slice()), Some(b"{}")] {
        let response = server.call("POST", &replay, server.key(), &[], body).ok(200);
        assert_eq!(response, json!({ "object": "webhook_event", "id": delivery }));
    }

    let after = server.get(&event).ok(200);
    assert_ne!(after["status"], "failed");
    assert_eq!((&after["payload"], &after["created_at"]), (&before["payload"], &before["created_at"]));
}

#[test]
fn a_delivery_of_a_disabled_endpoint_cannot_be_replayed() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let event = format!("{path}/events/{}", server.add_webhook_delivery(id(&path)));
    server.patch(&path, &json!({ "status": "disabled" })).ok(200);

    let message = "The webhook endpoint is disabled. Enable it first, with `PATCH /webhooks/{id}`.";
    server.post(&format!("{event}/replay"), &json!({})).refused(422, "validation_error", message);

    assert_eq!(server.get(&event).ok(200)["status"], "failed");
}

#[test]
fn a_delivery_of_a_retracted_event_cannot_be_replayed() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let delivery = server.add_webhook_delivery(id(&path));
    server.retract_webhook_delivery(id(&path), &delivery);

    let message = "This event was retracted, because its click was one of a burst. The event cannot be replayed.";
    let event = format!("{path}/events/{delivery}");
    server.post(&format!("{event}/replay"), &json!({})).refused(422, "validation_error", message);

    assert_eq!(server.get(&event).ok(200)["status"], "failed");
}

#[test]
fn retention_deletes_deliveries_after_the_configured_time() {
    let server = TestServer::start_with(&["--webhook-delivery-retention-days", "2"]);
    let path = create(&server, &json!({}));
    let old = server.add_webhook_delivery(id(&path));
    server.advance(Duration::from_secs(2 * 86_400 - 3_600));
    let recent = server.add_webhook_delivery(id(&path));

    let flags = ["--webhook-delivery-retention-days", "2"];
    let server = server.restart_after(Duration::from_secs(7_200), &flags);

    let deleted = format!("{path}/events/{old}");
    server.poll(&deleted, "the purge", |response| response.status == 404);
    let remaining = server.get(&format!("{path}/events")).ok(200);
    assert_eq!(remaining["data"].as_array().unwrap().len(), 1);
    assert_eq!(remaining["data"][0]["id"], recent);
    assert!(server.get(&format!("{path}/events/{recent}")).ok(200)["payload"].is_object());
}

#[test]
fn an_erasure_removes_the_address_from_payloads_and_logged_responses() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let event = format!("{path}/events/{}", server.add_webhook_delivery(id(&path)));

    server.erase(&["ADA@example.net"]);

    assert_eq!(server.get(&event).ok(200)["payload"]["data"]["to"], json!(["[erased]"]));
    let attempts = server.get(&format!("{event}/attempts")).ok(200);
    let responses: Vec<&Value> = attempts["data"].as_array().unwrap().iter().map(|row| &row["response"]).collect();
    assert_eq!(responses, ["connection refused", "[erased]"]);
}
