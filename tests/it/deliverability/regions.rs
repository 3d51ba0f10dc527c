//! Pauses of the broadcasts of a region, from the rates of all its teams.

use std::time::Duration;

use serde_json::{Value, json};

use super::{fan_out, wait_for_hold};
use crate::support::{ApiResponse, TestServer, retry_until_ok};

const HOUR: Duration = Duration::from_secs(3_600);
const REGIONS: [&str; 2] = ["us-east-1", "eu-west-1"];

/// Starts a server with two regions. The team has `example.com` in the first one and `example.org` in the second one.
fn start() -> TestServer {
    let (regions, system_from) = (REGIONS.join(","), "Ringmail <notices@example.com>");
    let server = TestServer::start_with(&["--guardrail", "on", "--regions", &regions, "--system-from", system_from]);
    server.post("/domains", &json!({ "name": "example.org", "region": REGIONS[1] })).ok(201);
    server.assume_verified("example.org");
    server
}

/// Creates a draft from an address and returns its id.
#[track_caller]
fn draft(server: &TestServer, from: &str, fields: &Value) -> String {
    let mut body = json!({ "from": from, "subject": "June", "text": "Hi" });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    server.post("/broadcasts", &body).ok(201)["id"].as_str().unwrap().to_owned()
}

fn send(server: &TestServer, broadcast: &str) -> ApiResponse {
    server.post(&format!("/broadcasts/{broadcast}/send"), &json!({}))
}

#[track_caller]
fn wait_for_sent(server: &TestServer, broadcast: &str) {
    let is_sent = |response: &ApiResponse| response.json["status"] == "sent";
    server.poll(&format!("/broadcasts/{broadcast}"), "the end of the broadcast", is_sent);
}

#[test]
fn bounces_of_other_teams_pause_the_broadcasts_of_their_region_only() {
    let server = start();
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let (east, west) = (server.other_team("East", "east.example"), server.other_team("West", "west.example"));
    let refused = draft(&server, "Acme <news@example.com>", &json!({}));
    let allowed = draft(&server, "Acme <news@example.org>", &json!({}));

    // One bounce less than the limit: 49 of 1,000.
    east.put_bounces(500, 25);
    west.put_bounces(500, 24);
    server.sweep_regions();
    let first = draft(&server, "Acme <news@example.com>", &json!({}));
    send(&server, &first).ok(200);
    wait_for_sent(&server, &first);

    // The broadcast is one more recipient of the region, so that 25 of 500 bounces of each team are below the limit.
    for team in [&east, &west] {
        team.put_bounces(500, 26);
    }
    server.sweep_regions();
    let refusal = send(&server, &refused).refusal();
    assert!(refusal.starts_with("403 broadcasts_paused: Broadcasts from the region us-east-1 are paused"), "{refusal}");
    assert!(refusal.contains("2026-01-05T09:00:00.000Z"), "{refusal}");
    assert_eq!(server.get(&format!("/broadcasts/{refused}")).ok(200)["status"], "draft");
    let transactional = server.send(&json!({ "to": "ada@example.net" }));
    server.wait_for(&transactional, "delivered");
    send(&server, &allowed).ok(200);
    wait_for_sent(&server, &allowed);

    // The counts leave the window of two days at midnight.
    server.advance(38 * HOUR);
    server.sweep_regions();
    assert!(send(&server, &refused).refusal().starts_with("403 broadcasts_paused"));
    server.advance(HOUR);
    server.sweep_regions();
    send(&server, &refused).ok(200);
    wait_for_sent(&server, &refused);
}

#[test]
fn a_due_broadcast_waits_for_the_end_of_the_pause_of_its_region() {
    let server = start();
    server.add_owner("owner@people.example");
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let scheduled = json!({ "send": true, "scheduled_at": "in 1 hour" });
    let held = draft(&server, "Acme <news@example.com>", &scheduled);
    let other = draft(&server, "Acme <news@example.org>", &scheduled);
    server.other_team("East", "east.example").put_bounces(500, 25);
    server.other_team("West", "west.example").put_bounces(500, 25);
    server.sweep_regions();

    server.advance(2 * HOUR);
    wait_for_hold(&server, &held);
    assert_eq!(server.get(&format!("/broadcasts/{held}")).ok(200)["status"], "scheduled");
    wait_for_sent(&server, &other);
    let notices = || {
        let listed = server.get("/emails?limit=100").ok(200);
        let emails = listed["data"].as_array().unwrap().iter();
        emails.filter(|email| email["subject"] == "A broadcast waits").cloned().collect::<Vec<Value>>()
    };
    retry_until_ok("the notice", || if notices().is_empty() { Err("no email".to_owned()) } else { Ok(()) });

    // The second try after 15 minutes.
    let due_ms = fan_out(&server, &held).unwrap().due_ms;
    server.advance(HOUR);
    retry_until_ok("the second try", || match fan_out(&server, &held) {
        Some(row) if row.is_held && row.due_ms > due_ms => Ok(()),
        row => Err(format!("{row:?}")),
    });

    server.advance(36 * HOUR);
    server.sweep_regions();
    server.advance(HOUR);
    wait_for_sent(&server, &held);
    let notices = notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0]["to"], json!(["owner@people.example"]));
    let text = server.get(&format!("/emails/{}", notices[0]["id"].as_str().unwrap())).ok(200);
    assert!(text["text"].as_str().unwrap().contains(&held), "{text}");
}
