//! Broadcasts of a team with a warning or a pause.

use std::time::Duration;

use ringmail::admin::queue::{QueueVerb, SelectorArgs};
use serde_json::{Value, json};

use super::{HOUR, fan_out, send_with_bounces, start, wait_for_hold};
use crate::support::retry_until_ok;

#[test]
fn a_broadcast_that_is_created_and_sent_during_a_pause_stays_a_draft() {
    let server = start("on");
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    send_with_bounces(&server, 10);
    let body = json!({ "from": "Acme <news@example.com>", "subject": "June", "text": "Hi", "send": true });

    let refused = server.post("/broadcasts", &body).refusal();

    assert!(refused.starts_with("403 sending_paused: Sending is paused for this team: 10 of 100 emails"), "{refused}");
    let listed = server.get("/broadcasts").ok(200);
    let [draft] = &listed["data"].as_array().unwrap()[..] else { panic!("{listed}") };
    let id = draft["id"].as_str().unwrap();
    assert_eq!(draft["status"], "draft");
    assert!(fan_out(&server, id).is_none());
    assert_eq!(server.get(&format!("/emails?broadcast_id={id}")).ok(200)["data"], json!([]));
    assert_eq!(server.get("/usage").ok(200)["broadcasts"]["used"], 0);

    // The bounces leave the window of two days at midnight.
    server.advance(39 * HOUR);
    server.post(&format!("/broadcasts/{id}/send"), &json!({})).ok(200);
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
        server.admin(QueueVerb::Resume { selector: of(domain), after: None });
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
