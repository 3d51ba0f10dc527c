//! Emails that an erased recipient shares with others.

use std::time::Duration;

use mail_parser::{MessageParser, MimeHeaders as _};
use ringmail::base::id::TeamId;
use ringmail::event_bus::BusMessage;
use serde_json::{Value, json};

use super::tables::tables_that_mention;
use crate::support::TestServer;

/// Fields of an email whose subject, parts and headers contain the address of Ada in several forms.
fn about_ada(fields: &Value) -> Value {
    let mut email = json!({
        "subject": "For ADA@example.net and bob@example.net",
        "html": "<a href=\"mailto:ada@example.net\">Ada</a> ada&#64;example.net &#65;da&commat;example&period;net &amp; \
                 nada@example.net",
        "text": "Ada@Example.net, ada%40example.net and bob@example.net",
        "headers": { "X-For": "ada@example.net; bob@example.net", "X-Order": "42" },
    });
    email.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    email
}

fn assert_without_ada(email: &Value) {
    assert_eq!(email["subject"], "For [erased] and bob@example.net");
    assert_eq!(email["html"], "<a href=\"mailto:[erased]\">Ada</a> [erased] [erased] &amp; nada@example.net");
    assert_eq!(email["text"], "[erased], [erased] and bob@example.net");
}

#[test]
fn every_occurrence_of_the_address_is_erased_and_the_rest_stays() {
    let server = TestServer::start();
    let shared = server.send(&about_ada(&json!({ "to": ["Ada <ada@example.net>", "bob@example.net"] })));
    let unrelated = server.send(&about_ada(&json!({ "to": "eve@example.net" })));
    for id in [&shared, &unrelated] {
        server.wait_until(id, "every delivery", |email| {
            email["recipients"].as_array().unwrap().iter().all(|recipient| recipient["last_event"] == "delivered")
        });
    }

    server.erase(&["ada@example.net"]);

    let email = server.get(&format!("/emails/{shared}")).ok(200);
    assert_eq!(email["to"], json!(["[erased]", "bob@example.net"]));
    assert_without_ada(&email);
    // The row of the other email names the address in its subject.
    assert_without_ada(&server.get(&format!("/emails/{unrelated}")).ok(200));
    assert_eq!(tables_that_mention(server.into_directory().path(), "ada@example.net"), [] as [String; 0]);
}

#[test]
fn a_scheduled_email_is_sent_without_the_erased_recipient() {
    let server = TestServer::start();
    let later = |to: Value| about_ada(&json!({ "to": to, "scheduled_at": "in 1 hour" }));
    let shared = server.send(&later(json!(["ada@example.net", "bob@example.net"])));
    let copied = server.send(&about_ada(&json!({
        "to": "ada@example.net", "cc": "bob@elsewhere.example", "scheduled_at": "in 1 hour",
    })));
    let alone = server.send(&later(json!("ada@example.net")));

    server.erase(&["ADA@example.net"]);

    let email = server.get(&format!("/emails/{alone}")).ok(200);
    assert_eq!((&email["last_event"], &email["to"]), (&json!("canceled"), &json!(["[erased]"])));
    assert_eq!(email["events"].as_array().unwrap().last().unwrap()["type"], "email.canceled");
    assert!(!server.has_content(&alone));
    let email = server.get(&format!("/emails/{shared}")).ok(200);
    assert_eq!((&email["last_event"], &email["to"]), (&json!("scheduled"), &json!(["[erased]", "bob@example.net"])));
    assert_without_ada(&email);

    let server = server.restart_with(&[]);
    server.advance(Duration::from_secs(3_600));
    server.wait_for(&shared, "delivered");
    server.wait_for(&copied, "delivered");
    let messages = server.captured_messages();
    assert_eq!(messages.len(), 2);
    for (envelope, message) in messages {
        assert_eq!(envelope.recipients.len(), 1, "{envelope:?}");
        assert!(envelope.recipients[0].starts_with("bob@"), "{envelope:?}");
        let text = String::from_utf8(message).unwrap();
        let body = MessageParser::default().parse(&text).unwrap().body_text(0).unwrap().into_owned();
        assert_eq!(body.trim_end(), "[erased], [erased] and bob@example.net");
        assert!(text.contains("\r\nX-For: [erased]; bob@example.net\r\n"), "{text}");
        assert!(!text.to_lowercase().contains("<ada@") && !text.to_lowercase().contains(" ada@"), "{text}");
    }
    assert_eq!(server.get(&format!("/emails/{alone}")).ok(200)["last_event"], "canceled");
}

#[test]
fn an_address_in_a_content_id_is_erased_with_the_captured_message_of_its_email() {
    let server = TestServer::start_with(&["--compat", "inline-images"]);
    let image = |content_id: &str| json!([{ "filename": "a.png", "content": "UE5H", "content_id": content_id }]);
    let about_ada = json!({ "to": "bob@example.net", "attachments": image("ada@example.net"), "html": "Hello" });
    let delivered = server.send(&about_ada);
    let mut scheduled = about_ada;
    scheduled["scheduled_at"] = "in 1 hour".into();
    let scheduled = server.send(&scheduled);
    let unrelated = server.send(&json!({ "to": "bob@example.net", "attachments": image("bob@example.net") }));
    server.wait_for(&delivered, "delivered");
    server.wait_for(&unrelated, "delivered");
    assert_eq!(server.captured_messages().len(), 2);

    server.erase(&["ada@example.net"]);

    let messages = server.captured_messages();
    assert_eq!(messages.len(), 1);
    assert!(String::from_utf8_lossy(&messages[0].1).contains("Content-ID: <bob@example.net>"));
    let row = server.get(&format!("/emails/{delivered}/attachments")).ok(200)["data"][0].clone();
    assert_eq!((&row["filename"], &row["content_id"]), (&json!("a.png"), &json!("[erased]")));
    // The image of the email that is sent later is a file.
    server.advance(Duration::from_secs(3_600));
    server.wait_for(&scheduled, "delivered");
    let messages: Vec<Vec<u8>> = server.captured_messages().into_iter().map(|(_, message)| message).collect();
    let parsed: Vec<_> = messages.iter().map(|message| MessageParser::default().parse(message).unwrap()).collect();
    let mut content_ids: Vec<_> = parsed.iter().map(|message| message.attachment(0).unwrap().content_id()).collect();
    content_ids.sort_unstable();
    assert_eq!(content_ids, [None, Some("bob@example.net")]);
    assert_eq!(tables_that_mention(server.into_directory().path(), "ada@example.net"), [] as [String; 0]);
}

#[test]
fn a_deferred_recipient_gets_no_further_attempt_after_an_erasure() {
    let server = TestServer::start();
    let id = server.send(&json!({ "to": ["delayed+ada@ringmail.test", "delivered@ringmail.test"] }));
    server.wait_until(&id, "the delay", |email| {
        email["recipients"][0]["last_event"] == "delivery_delayed"
            && email["recipients"][1]["last_event"] == "delivered"
    });

    server.erase(&["delayed+ada@ringmail.test"]);

    server.advance(Duration::from_secs(3_600));
    let later = server.send(&json!({}));
    server.wait_for(&later, "delivered");
    let email = server.get(&format!("/emails/{id}")).ok(200);
    assert_eq!(email["to"], json!(["[erased]", "delivered@ringmail.test"]));
    assert_eq!(email["recipients"][0]["last_event"], "canceled");
    assert_eq!(email["last_event"], "delivered");
}

#[test]
fn the_event_of_a_contact_that_is_deleted_with_an_erasure_has_no_address() {
    let server = TestServer::start();
    let team = server.get("/usage").ok(200)["team"]["id"].as_str().and_then(TeamId::parse).unwrap();
    let mut live = server.context().event_bus.subscribe(team);
    // A deleted contact that opted out is added to the suppression list.
    let contact =
        |email: &str| json!({ "email": email, "first_name": "Ada", "last_name": "Lovelace", "unsubscribed": true });
    let ids: Vec<Value> = ["one@example.net", "two@example.net", "kept@example.net"]
        .map(|email| server.post("/contacts", &contact(email)).ok(201)["id"].clone())
        .into();

    server.delete("/contacts/one@example.net?erase=true").ok(200);
    let batch = json!({ "ids": [ids[1]], "emails": ["TWO@example.net", "never@example.net"], "erase": true });
    server.post("/contacts/batch/remove", &batch).ok(200);
    server.delete("/contacts/kept@example.net").ok(200);
    server.wait_for_erasures(0);

    let (mut deleted, mut suppressed) = (Vec::new(), Vec::new());
    while let Ok(message) = live.try_recv() {
        let BusMessage::Event(event) = message else { continue };
        if event.event_type == "contact.deleted" {
            deleted.push(serde_json::from_str::<Value>(&event.body).unwrap()["data"].clone());
        } else if event.event_type == "suppression.added" {
            suppressed.push(serde_json::from_str::<Value>(&event.body).unwrap()["data"]["email"].clone());
        }
    }
    let identity = |data: &Value| json!([data["id"], data["email"], data["first_name"], data["last_name"]]);
    let expected = [
        json!([ids[0], "[erased]", null, null]),
        json!([ids[1], "[erased]", null, null]),
        json!([ids[2], "kept@example.net", "Ada", "Lovelace"]),
    ];
    assert_eq!(deleted.iter().map(identity).collect::<Vec<_>>(), expected);
    assert_eq!(suppressed, ["[erased]", "[erased]", "kept@example.net"]);
    let stored = server.audience_events();
    let stored = stored.iter().filter(|event| event["type"] == "contact.deleted").map(|event| identity(&event["data"]));
    assert_eq!(stored.collect::<Vec<_>>(), expected);
}
