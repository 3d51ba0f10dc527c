//! `template` in `POST /emails`.

use serde_json::{Value, json};

use super::{create, publish, with_receipt};
use crate::support::TestServer;

/// Sends an email and returns its subject, HTML and text.
#[track_caller]
fn sent(server: &TestServer, body: &Value) -> (Value, Value, Value) {
    let id = server.post("/emails", body).ok(200)["id"].as_str().unwrap().to_owned();
    let email = server.get(&format!("/emails/{id}")).ok(200);
    (email["subject"].clone(), email["html"].clone(), email["text"].clone())
}

#[test]
fn each_part_gets_the_values_in_its_form() {
    let server = TestServer::start();
    publish(
        &server,
        &json!({
            "subject": "{{{NAME}}}: order {{{ID}}}", "html": "<p>{{{NAME}}} {{{ID}}} {{{CITY|<i>here</i>}}}</p>",
            "text": "{{{NAME}}} {{{ID}}} {{{CITY|here}}} {{{PRICE}}}",
        }),
    );

    let parts = sent(&server, &with_receipt(&json!({ "NAME": "<Ada>\n&\"'", "ID": 4711, "PRICE": 9.5, "MORE": "x" })));

    assert_eq!(parts.0, "<Ada> &\"': order 4711");
    assert_eq!(parts.1, "<p>&lt;Ada&gt;\n&amp;&quot;&#39; 4711 <i>here</i></p>");
    assert_eq!(parts.2, "<Ada>\n&\"' 4711 here 9.5");
}

#[test]
fn the_events_of_an_email_name_its_template() {
    let server = TestServer::start();
    let template = publish(&server, &json!({ "subject": "Hi", "html": "<p>Hi</p>" }));
    let webhook = json!({ "endpoint": "https://hooks.example.com/x", "events": ["email.scheduled"] });
    let webhook = server.post("/webhooks", &webhook).ok(201)["id"].as_str().unwrap().to_owned();
    let mut body = with_receipt(&json!({}));
    body["scheduled_at"] = json!("in 1 hour");
    server.post("/emails", &body).ok(200);

    let events = format!("/webhooks/{webhook}/events");
    let listed = server.poll(&events, "the event", |listed| !listed.json["data"][0].is_null()).ok(200);

    let event = server.get(&format!("{events}/{}", listed["data"][0]["id"].as_str().unwrap())).ok(200);
    let template = template.strip_prefix("/templates/").unwrap();
    assert_eq!(event["payload"]["data"]["template_id"], template, "{event}");
}

#[test]
fn a_template_without_a_text_part_gets_a_generated_one() {
    let server = TestServer::start();
    publish(&server, &json!({ "subject": "Hi", "html": "<p>{{{NAME}}}</p>" }));
    let mut body = with_receipt(&json!({ "NAME": "Ada" }));
    body["to"] = json!("ada@example.net");

    let id = server.post("/emails", &body).ok(200)["id"].as_str().unwrap().to_owned();

    assert_eq!(server.wait_for(&id, "delivered")["text"], Value::Null);
    let (_, message) = server.captured_messages().pop().expect("a message");
    let message = String::from_utf8_lossy(&message).into_owned();
    assert!(message.contains("text/plain") && message.contains("<p>Ada</p>"), "{message}");
}

#[test]
fn the_subject_of_the_request_replaces_that_of_the_template() {
    let server = TestServer::start();
    let path = publish(&server, &json!({ "subject": "{{{NONE}}}" }));
    let mut body = with_receipt(&json!({}));
    let refused = server.post("/emails", &body).refusal();
    assert!(refused.contains("the variable `NONE` has no value"), "{refused}");

    body["subject"] = json!("Own {{{NONE}}}");
    assert_eq!(sent(&server, &body).0, "Own {{{NONE}}}");

    server.patch(&path, &json!({ "subject": null })).ok(200);
    server.post(&format!("{path}/publish"), &json!({})).ok(200);
    assert_eq!(sent(&server, &body).0, "Own {{{NONE}}}");
    for absent in [json!(null), json!("")] {
        body["subject"] = absent;
        let message = "Missing `subject` field. The template has no subject either.";
        server.post("/emails", &body).refused(422, "missing_required_field", message);
    }
    body["subject"] = json!("a\nb");
    let refused = server.post("/emails", &body).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid `subject` field"), "{refused}");
}

#[test]
fn a_template_takes_the_place_of_html_and_text() {
    let server = TestServer::start();
    publish(&server, &json!({ "subject": "Hi" }));
    let message = "Invalid `template` field: it takes the place of `html` and `text`. Leave them out.";
    for part in ["html", "text"] {
        let mut body = with_receipt(&json!({}));
        body[part] = json!("Own");
        server.post("/emails", &body).refused(422, "validation_error", message);
        body[part] = json!(null);
        server.post("/emails", &body).ok(200);
    }
}

#[test]
fn a_template_is_named_by_its_id_or_its_alias() {
    let server = TestServer::start();
    let path = publish(&server, &json!({ "subject": "Hi" }));
    let id = path.trim_start_matches("/templates/");
    let with =
        |template: &Value| json!({ "from": "hello@example.com", "to": "delivered@resend.dev", "template": template });
    for template in [
        json!({ "id": id }),
        json!({ "id": id.to_uppercase() }),
        json!({ "id": "receipt" }),
        json!({ "alias": "receipt" }),
        json!({ "id": "receipt", "alias": null, "variables": null }),
        json!({ "id": "receipt", "variables": [] }),
    ] {
        assert_eq!(sent(&server, &with(&template)).1, "<p>Hello</p>", "{template}");
    }
    for unknown in ["Receipt", "0190a6c0-0000-7000-8000-000000000001"] {
        server.post("/emails", &with(&json!({ "id": unknown }))).refused(404, "not_found", "Template not found");
    }
    for (template, refusal) in [
        (json!({}), "422 missing_required_field: Missing `template.id` field."),
        (json!({ "variables": {} }), "422 missing_required_field: Missing `template.id` field."),
        (json!({ "id": "a b" }), "422 validation_error: The `template.id` must be a valid UUID or an alias."),
        (json!({ "alias": id }), "422 validation_error: The `template.alias` must be a valid alias."),
        (json!({ "id": id, "alias": "receipt" }), "422 validation_error: Invalid `template` field: give either"),
        (json!({ "id": id, "name": "x" }), "422 validation_error: Invalid `template.name` field: unknown field"),
        (json!("receipt"), "422 validation_error: Invalid `template` field: invalid type"),
    ] {
        let refused = server.post("/emails", &with(&template)).refusal();
        assert!(refused.starts_with(refusal), "{template}: {refused}");
    }
}

#[test]
fn the_unsubscribe_placeholder_of_a_template_becomes_a_link() {
    let server = TestServer::start();
    publish(
        &server,
        &json!({ "subject": "Hi", "html": "<a href=\"{{{UNSUBSCRIBE_URL}}}\">{{{NAME}}}</a>", "text": "{{{NAME}}}" }),
    );
    let mut body = with_receipt(&json!({ "NAME": "{{{UNSUBSCRIBE_URL}}}" }));
    body["to"] = json!("ada@example.net");

    let id = server.post("/emails", &body).ok(200)["id"].as_str().unwrap().to_owned();
    let email = server.wait_for(&id, "delivered");

    assert_eq!(email["html"].as_str().unwrap().matches("{{{UNSUBSCRIBE_URL}}}").count(), 1);
    let (_, message) = server.captured_messages().pop().expect("a message");
    let message = String::from_utf8_lossy(&message).replace("=\r\n", "");
    assert_eq!(message.matches("/unsubscribe/").count(), 1, "{message}");
}

#[test]
fn a_repeat_with_an_idempotency_key_needs_no_template() {
    let server = TestServer::start();
    let path = publish(&server, &json!({ "subject": "Hi", "html": "<p>{{{NAME}}}</p>" }));
    let send = |variables: &Value| {
        let body = with_receipt(variables).to_string();
        server.call("POST", "/emails", server.key(), &[("idempotency-key", "once")], Some(body.as_bytes()))
    };
    assert!(send(&json!({})).refusal().starts_with("422 validation_error"));
    let first = send(&json!({ "NAME": "Ada" })).ok(200);

    server.delete(&path).ok(200);

    assert_eq!(send(&json!({ "NAME": "Ada" })).ok(200), first);
    let other = send(&json!({ "NAME": "Bob" })).refusal();
    assert!(other.starts_with("409 invalid_idempotent_request"), "{other}");
}

#[test]
fn a_sending_key_can_send_a_template() {
    let server = TestServer::start();
    publish(&server, &json!({ "subject": "Hi" }));
    let key = server.create_sending_key();

    let body = with_receipt(&json!({})).to_string();
    server.call("POST", "/emails", &key, &[], Some(body.as_bytes())).ok(200);
}

#[test]
fn an_unpublished_template_is_refused_by_id_too() {
    let server = TestServer::start();
    let path = create(&server, &json!({ "subject": "Hi" }));
    let template = json!({ "id": path.trim_start_matches("/templates/") });

    let body = json!({ "from": "hello@example.com", "to": "delivered@resend.dev", "template": template });
    let refused = server.post("/emails", &body).refusal();

    assert!(refused.starts_with("422 validation_error: Invalid `template` field: the template is not published"));
    assert_eq!(server.stored_emails(), 0);
}
