//! The page of an email: its source, its request, its deliveries, and sending it again.

use serde_json::json;

use super::captured::{captured, opened};
use crate::support::TestServer;

#[test]
fn the_source_of_an_email_is_composed_as_its_delivery_does() {
    let server = TestServer::start();
    let browser = opened(&server);
    let (email, message) = captured(&server, &browser, json!({ "to": "ada@example.net", "subject": "Source" }));

    let raw = browser.api("GET", &format!("/emails/{email}/raw"), None);
    let received = browser.api("GET", &format!("/captured/{message}/raw"), None);

    assert_eq!((raw.status, raw.header("content-type")), (200, "message/rfc822"));
    for line in ["Subject: Source\r\n", "To: ada@example.net\r\n", "DKIM-Signature:"] {
        assert!(raw.body.contains(line) && received.body.contains(line), "no {line:?} in {}", raw.body);
    }
    let body = |message: &str| message.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body(&raw.body), body(&received.body));
    browser.api("GET", "/emails/019b8d6d-f9b0-7000-8000-000000000017/raw", None).is_error(404, "not_found");
}

#[test]
fn the_request_that_created_an_email_is_found() {
    let server = TestServer::start();
    let browser = opened(&server);
    server.send(&json!({ "subject": "Before" }));
    let email = server.send(&json!({ "subject": "This" }));
    server.send(&json!({ "subject": "After" }));

    let request = browser.api("GET", &format!("/emails/{email}/request"), None).json(200);

    assert_eq!((&request["method"], &request["endpoint"]), (&"POST".into(), &"/emails".into()));
    assert_eq!(request["request_body"]["subject"], "This");
    assert_eq!(request["response_body"]["id"], email.as_str());
    let by_session = browser.api("POST", "/emails", Some(&crate::support::email(&json!({})))).json(200);
    let path = format!("/emails/{}/request", by_session["id"].as_str().unwrap());
    assert!(browser.api("GET", &path, None).json(200).is_null());
}

#[test]
fn an_email_is_sent_again_as_a_new_one() {
    let server = TestServer::start();
    let browser = opened(&server);
    let fields = json!({
        "to": ["ada@example.net", "bob@example.net"], "cc": "carol@example.net", "reply_to": "help@example.com",
        "subject": "Again", "html": "<p>Hi</p>", "text": "Hi", "tags": [{ "name": "kind", "value": "x" }],
        "headers": { "X-Kind": "y" }, "attachments": [{ "filename": "a.txt", "content": "aGVsbG8=" }],
    });
    let first = server.send(&fields);

    let again = browser.api("POST", &format!("/emails/{first}/resend"), None).json(200);

    let (first, second) = (server.get(&format!("/emails/{first}")).ok(200), again["id"].as_str().unwrap().to_owned());
    let second_email = server.get(&format!("/emails/{second}")).ok(200);
    assert_ne!(first["id"], second_email["id"]);
    for field in ["from", "to", "cc", "reply_to", "subject", "html", "text", "tags"] {
        assert_eq!(first[field], second_email[field], "{field}");
    }
    let attachment = server.get(&format!("/emails/{second}/attachments")).ok(200)["data"][0]["id"].clone();
    let path = format!("/emails/{second}/attachments/{}", attachment.as_str().unwrap());
    assert_eq!(server.get(&path).ok(200)["content"], "aGVsbG8=");
}

#[test]
fn an_erased_recipient_is_left_out_of_a_repetition() {
    let server = TestServer::start();
    let browser = opened(&server);
    let (email, _) = captured(&server, &browser, json!({ "to": ["ada@example.net", "bob@example.net"] }));
    server.wait_for(&email, "delivered");
    server.erase(&["ada@example.net"]);

    let again = browser.api("POST", &format!("/emails/{email}/resend"), None).json(200);

    let second = server.get(&format!("/emails/{}", again["id"].as_str().unwrap())).ok(200);
    assert_eq!(second["to"], json!(["bob@example.net"]));
    server.erase(&["bob@example.net"]);
    let refused = browser.api("POST", &format!("/emails/{email}/resend"), None);
    assert!(refused.status == 410 || refused.status == 422, "{refused:?}");
}

#[test]
fn the_webhook_deliveries_of_an_email_are_listed() {
    let server = TestServer::start();
    let browser = opened(&server);
    let webhook = server
        .post("/webhooks", &json!({ "endpoint": "https://hooks.example/mail", "events": ["email.sent"] }))
        .ok(201);
    let webhook = webhook["id"].as_str().unwrap().to_owned();
    let email = server.send(&json!({ "to": "delivered@resend.dev" }));
    server.wait_for(&email, "delivered");

    let deliveries = crate::support::retry_until_ok("the delivery", || {
        let list = browser.api("GET", &format!("/emails/{email}/deliveries"), None).json(200);
        if list["data"].as_array().unwrap().is_empty() { Err(list.to_string()) } else { Ok(list) }
    });

    let delivery = &deliveries["data"][0];
    assert_eq!(deliveries["data"].as_array().unwrap().len(), 1, "{deliveries}");
    assert_eq!((&delivery["webhook_id"], &delivery["event"]), (&webhook.as_str().into(), &"email.sent".into()));
    let of_webhook = browser.api("GET", &format!("/webhooks/{webhook}/deliveries"), None).json(200);
    assert_eq!(of_webhook["data"][0]["id"], delivery["id"]);
    let id = delivery["id"].as_str().unwrap();
    let details = browser.api("GET", &format!("/webhooks/{webhook}/deliveries/{id}"), None).json(200);
    assert_eq!(details["payload"]["type"], "email.sent");
    browser.api("POST", &format!("/webhooks/{webhook}/deliveries/{id}/replay"), None).json(200);
    let rotated = browser.api("POST", &format!("/webhooks/{webhook}/rotate-secret"), Some(&json!({}))).json(200);
    assert!(rotated["signing_secret"].as_str().unwrap().starts_with("whsec_"), "{rotated}");
}
