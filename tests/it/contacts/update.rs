//! `PATCH /contacts/{id or email}`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{UNKNOWN_ID, audience_state, create, create_segment, event_types_since, id};
use crate::support::{TestServer, assert_body};

const PATH: &str = "/contacts/ada@example.net";

fn all_fields() -> Value {
    json!({ "first_name": "Ada", "last_name": "Lovelace", "properties": { "plan": "pro", "seats": "4" } })
}

#[test]
fn an_update_returns_all_fields_and_emits_one_event() {
    let server = TestServer::start();
    let created = create(&server, "ada@example.net", &all_fields());
    server.advance(Duration::from_secs(60));

    let changes = json!({ "first_name": "Augusta", "properties": { "plan": "team", "seats": null, "city": "Paris" } });
    let changed = server.patch(&format!("/contacts/{}", id(&created)), &changes).ok(200);

    assert_eq!(server.get(PATH).ok(200), changed);
    assert_eq!(changed["created_at"], created["created_at"]);
    let [_, event] = &server.audience_events()[..] else { panic!("two events") };
    assert_eq!(event["type"], "contact.updated");
    assert_eq!(event["data"]["updated_at"], event["created_at"]);
    assert_ne!(event["data"]["updated_at"], event["data"]["created_at"]);
    assert_body!(json!({ "answer": changed, "event": event }));
}

#[test]
fn null_clears_a_name_and_an_absent_field_is_unchanged() {
    let server = TestServer::start();
    let created = create(&server, "ada@example.net", &all_fields());

    let changed = server.patch(PATH, &json!({ "first_name": null })).ok(200);

    assert_eq!((&changed["first_name"], &changed["last_name"]), (&Value::Null, &json!("Lovelace")));
    assert_eq!(changed["properties"], created["properties"]);
    let changed = server.patch(PATH, &json!({ "last_name": null, "first_name": "Ada" })).ok(200);
    assert_eq!((&changed["first_name"], &changed["last_name"]), (&json!("Ada"), &Value::Null));
    assert_eq!(event_types_since(&server, 1), ["contact.updated", "contact.updated"]);
}

#[test]
fn an_update_without_change_emits_no_event_and_keeps_updated_at() {
    let server = TestServer::start();
    let mut fields = all_fields();
    fields["unsubscribed"] = json!(true);
    let created = create(&server, "ada@example.net", &fields);
    let before = audience_state(&server);
    server.advance(Duration::from_secs(3_600));
    for body in [
        json!({}),
        fields,
        json!({ "first_name": "Ada" }),
        json!({ "unsubscribed": true }),
        json!({ "unsubscribed": null, "properties": null, "email": null }),
        json!({ "properties": {} }),
        json!({ "properties": { "plan": "pro", "nothing": null } }),
    ] {
        assert_eq!(server.patch(PATH, &body).ok(200), created, "{body}");
    }
    assert_eq!(audience_state(&server), before);
    server.delete(PATH).ok(200);
    let deleted = server.audience_events().into_iter().find(|event| event["type"] == "contact.deleted").unwrap();
    assert_eq!(deleted["data"]["updated_at"], created["created_at"]);
}

#[test]
fn an_update_can_unsubscribe_and_resubscribe_a_contact() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({}));

    for (unsubscribed, event_type) in [(true, "contact.unsubscribed"), (false, "contact.resubscribed")] {
        let before = server.audience_events().len();
        let changed = server.patch(PATH, &json!({ "unsubscribed": unsubscribed })).ok(200);

        assert_eq!(changed["unsubscribed"], unsubscribed);
        let events = server.audience_events();
        assert_eq!(event_types_since(&server, before), ["contact.updated", event_type]);
        for event in &events[before..] {
            let data = &event["data"];
            assert_eq!((&data["unsubscribed"], &data["source"]), (&json!(unsubscribed), &json!("api")));
            assert_eq!((&data["id"], &data["email"]), (&changed["id"], &changed["email"]));
        }
        assert_eq!(server.patch(PATH, &json!({ "unsubscribed": unsubscribed })).ok(200), changed);
        assert_eq!(server.audience_events().len(), events.len());
    }
}

#[test]
fn the_address_can_be_repeated_but_not_changed() {
    let server = TestServer::start();
    let created = create(&server, "Ada@example.net", &json!({}));
    create(&server, "bob@example.net", &json!({}));
    let by_id = format!("/contacts/{}", id(&created));
    let before = audience_state(&server);
    for path in [&by_id, PATH] {
        for email in [json!(null), json!("Ada@example.net"), json!("ada@EXAMPLE.net")] {
            assert_eq!(server.patch(path, &json!({ "email": email })).ok(200), created, "{email}");
        }
        for email in ["bob@example.net", "new@example.net"] {
            server.patch(path, &json!({ "email": email, "first_name": "Changed" })).refused(
                422,
                "validation_error",
                "Invalid `email` field: the address of a contact does not change. Leave it out, or add another contact.",
            );
        }
        for email in [json!(""), json!("ada"), json!(id(&created)), json!(7)] {
            let refused = server.patch(path, &json!({ "email": email })).refusal();
            assert!(refused.starts_with("422 validation_error: Invalid `email` field: "), "{email}: {refused}");
        }
    }
    assert_eq!(audience_state(&server), before);
}

#[test]
fn the_id_that_sdks_add_must_be_the_id_or_the_address_of_the_contact() {
    let server = TestServer::start();
    let created = create(&server, "ada@example.net", &json!({}));
    let other = create(&server, "bob@example.net", &json!({}));
    let audience = format!("/audiences/{}/contacts", create_segment(&server, "Some"));
    let in_audience = format!("{audience}/ada@example.net");
    let before = audience_state(&server);
    let refused = |path: &str, body: &str| {
        let response = server.call("PATCH", path, server.key(), &[], Some(body.as_bytes()));
        let message = "Invalid `id` field: it is neither the id nor the address of the contact. Leave it out.";
        assert_eq!(response.refusal(), format!("422 validation_error: {message}"), "{path} {body}");
    };
    for path in [PATH, in_audience.as_str()] {
        let address = json!("Ada@example.net");
        for echo in [json!(null), json!(""), created["id"].clone(), json!(id(&created).to_uppercase()), address] {
            let body = json!({ "id": echo, "audience_id": null, "segment_id": "" });

            assert_eq!(server.patch(path, &body).ok(200), created, "{path} {body}");
        }
        for id in [other["id"].clone(), json!(UNKNOWN_ID), json!("bob@example.net"), json!(" "), json!(7), json!([])] {
            refused(path, &json!({ "id": id, "first_name": "Changed" }).to_string());
        }
        refused(path, &format!(r#"{{"id":{},"first_name":"Changed","id":{}}}"#, created["id"], other["id"]));
    }
    assert_eq!(audience_state(&server), before);
    for path in ["/contacts/eve@example.net".to_owned(), format!("{audience}/eve@example.net")] {
        server.patch(&path, &json!({ "id": created["id"] })).refused(404, "not_found", "Contact not found");
    }
}

#[test]
fn the_fields_of_a_response_are_unknown_in_an_update() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({}));
    for field in ["contact_id", "object", "created_at", "segments", "topics"] {
        let refused = server.patch(PATH, &json!({ field: [] })).refusal();
        assert!(refused.starts_with(&format!("422 validation_error: Invalid `{field}` field: unknown")), "{refused}");
    }
}

#[test]
fn an_update_checks_fields_like_a_create() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &all_fields());
    let before = audience_state(&server);
    for (field, value) in [
        ("first_name", json!("n".repeat(501))),
        ("first_name", json!(["Ada"])),
        ("last_name", json!("a\u{7}b")),
        ("last_name", json!({})),
        ("unsubscribed", json!("false")),
        ("unsubscribed", json!(0)),
    ] {
        let mut body = json!({ "properties": { "plan": "none" } });
        body[field] = value;

        let refused = server.patch(PATH, &body).refusal();

        assert!(refused.starts_with(&format!("422 validation_error: Invalid `{field}` field: ")), "{body}: {refused}");
    }
    assert_eq!(server.call("PATCH", PATH, server.key(), &[], Some(b"{")).status, 400);
    assert_eq!(server.call("PATCH", PATH, server.key(), &[], Some(b"[]")).status, 422);
    assert_eq!(audience_state(&server), before);
}

#[test]
fn a_change_survives_a_restart() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &all_fields());
    let changed = server.patch(PATH, &json!({ "unsubscribed": true, "first_name": null })).ok(200);
    let events = server.audience_events();

    let server = server.restart_with(&[]);

    assert_eq!((server.get(PATH).ok(200), server.audience_events()), (changed, events));
}
