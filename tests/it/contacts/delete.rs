//! `DELETE /contacts/{id or email}`.

use serde_json::json;

use super::{audience_state, create, create_segment, create_topic, event_types_since, id, topic_choices};
use crate::support::{TestServer, assert_body};

#[test]
fn a_deleted_contact_is_not_found_and_its_data_is_deleted() {
    let server = TestServer::start();
    let (news, everyone) = (create_topic(&server, "News", "opt_in"), create_segment(&server, "Everyone"));
    let fields = json!({
        "first_name": "Ada", "properties": { "plan": "pro" }, "segments": [{ "id": everyone }],
        "topics": [{ "id": news, "subscription": "opt_in" }],
    });
    let created = create(&server, "ada@example.net", &fields);
    let kept = create(&server, "bob@example.net", &json!({}));

    let response = server.delete("/contacts/ADA%40example.net").ok(200);

    assert_eq!(
        response,
        json!({ "object": "contact", "contact": created["id"], "id": created["id"], "deleted": true })
    );
    for name in [id(&created), "ada@example.net"] {
        server.get(&format!("/contacts/{name}")).refused(404, "not_found", "Contact not found");
        server.delete(&format!("/contacts/{name}")).refused(404, "not_found", "Contact not found");
    }
    assert_eq!(server.get("/contacts").ok(200)["data"].as_array().unwrap().len(), 1);
    server.get(&format!("/contacts/{}", id(&kept))).ok(200);
    let events = server.audience_events();
    let [_, _, event] = &events[..] else { panic!("three events") };
    assert_body!(event);

    let again = create(&server, "ada@example.net", &json!({}));
    assert_ne!(again["id"], created["id"]);
    assert_eq!(again["properties"], json!({}));
    assert_eq!(topic_choices(&server, id(&again)), [(news, "opt_in".to_owned(), false)]);
    assert_eq!(server.get("/contacts/ada@example.net/segments").ok(200)["data"], json!([]));
}

#[test]
fn an_opt_out_of_a_deleted_contact_becomes_a_suppression() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    let out = json!({ "topics": [{ "id": news, "subscription": "opt_out" }] });
    for (email, fields, listed) in [
        ("all@example.net", json!({ "unsubscribed": true }), true),
        ("one@example.net", out, true),
        ("none@example.net", json!({ "topics": [{ "id": news, "subscription": "opt_in" }] }), false),
    ] {
        create(&server, email, &fields);
        let before = server.audience_events().len();

        server.delete(&format!("/contacts/{email}")).ok(200);

        let suppression = server.get(&format!("/suppressions/{email}"));
        if !listed {
            suppression.refused(404, "not_found", "Suppression not found");
            assert_eq!(event_types_since(&server, before), ["contact.deleted"]);
            continue;
        }
        let suppression = suppression.ok(200);
        assert_eq!(suppression["origin"], "unsubscribe");
        assert_eq!(event_types_since(&server, before), ["contact.deleted", "suppression.added"]);
        let data = &server.audience_events()[before + 1]["data"];
        assert_eq!((&data["email"], &data["source"]), (&json!(email), &json!("api")));

        create(&server, email, &json!({ "unsubscribed": false }));
        assert_eq!(
            server.get(&format!("/suppressions/{email}")).ok(200),
            suppression,
            "a create does not remove the suppression"
        );
    }
}

#[test]
fn deleting_a_contact_keeps_the_suppression_of_its_address() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({ "unsubscribed": true }));
    let listed = server.post("/suppressions", &json!({ "email": "ada@example.net", "origin": "bounce" })).ok(201);
    let before = server.audience_events().len();

    server.delete("/contacts/ada@example.net").ok(200);

    assert_eq!(server.get("/suppressions/ada@example.net").ok(200), listed);
    assert_eq!(event_types_since(&server, before), ["contact.deleted"]);
}

#[test]
fn the_erase_parameter_is_true_or_false_and_given_once() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({}));
    let before = audience_state(&server);
    for query in ["erase=maybe", "erase=", "erase=1", "erase=TRUE"] {
        let refused = server.delete(&format!("/contacts/ada@example.net?{query}"));
        refused.refused(422, "validation_error", "The `erase` must be `true` or `false`.");
    }
    let twice = "The `erase` query parameter may be given once.";
    server.delete("/contacts/ada@example.net?erase=true&erase=true").refused(422, "validation_error", twice);
    let unknown = "Unknown query parameter `force`: this endpoint takes `erase`.";
    server.delete("/contacts/ada@example.net?force=true").refused(422, "validation_error", unknown);
    assert_eq!(audience_state(&server), before);

    for query in ["erase=false", "erase=true"] {
        let created = create(&server, "ada@example.net", &json!({}));

        let deleted = server.delete(&format!("/contacts/ada@example.net?{query}")).ok(200);

        assert_eq!(
            deleted,
            json!({ "object": "contact", "contact": created["id"], "id": created["id"], "deleted": true })
        );
    }
}
