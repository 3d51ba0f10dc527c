//! `POST /contacts/batch/remove`.

use serde_json::{Value, json};

use super::super::{UNKNOWN_ID, audience_state, create, event_types_since, id};
use crate::support::TestServer;

const PATH: &str = "/contacts/batch/remove";

fn removed(contacts: &[&Value]) -> Value {
    let row = |contact: &&Value| json!({ "object": "contact", "contact": contact["id"], "deleted": true });
    json!({ "data": contacts.iter().map(row).collect::<Vec<_>>() })
}

#[test]
fn contacts_are_removed_by_id_or_address_and_unknown_ones_are_skipped() {
    let server = TestServer::start();
    let theirs = server.other_team("Other", "other.example");
    let foreign = theirs.post("/contacts", &json!({ "email": "theirs@example.net" })).ok(201);
    let [ada, bob, eve] = ["ada", "bob", "eve"].map(|name| create(&server, &format!("{name}@example.net"), &json!({})));

    let emails = ["nobody@example.net", "EVE@example.net", "theirs@example.net", "eve@example.net"];
    assert_eq!(server.post(PATH, &json!({ "emails": emails })).ok(200), removed(&[&eve]));
    let ids = json!({ "ids": [bob["id"], UNKNOWN_ID, id(&ada).to_uppercase(), foreign["id"], bob["id"], eve["id"]] });
    assert_eq!(server.post(PATH, &ids).ok(200), removed(&[&bob, &ada]));
    assert_eq!(server.post(PATH, &ids).ok(200), removed(&[]));

    assert_eq!(server.get("/contacts").ok(200)["data"], json!([]));
    assert_eq!(event_types_since(&server, 3), ["contact.deleted"; 3]);
    let events = server.audience_events();
    let deleted: Vec<&Value> = events[3..].iter().map(|event| &event["data"]["email"]).collect();
    assert_eq!(deleted, ["eve@example.net", "bob@example.net", "ada@example.net"]);
    assert!(events.iter().all(|event| event["data"]["source"] == "api"));
    theirs.get(&format!("/contacts/{}", id(&foreign))).ok(200);
}

#[test]
fn an_opt_out_of_a_removed_contact_becomes_a_suppression() {
    let server = TestServer::start();
    create(&server, "ada@example.net", &json!({ "unsubscribed": true }));
    create(&server, "bob@example.net", &json!({}));

    server.post(PATH, &json!({ "emails": ["ada@example.net", "bob@example.net"], "erase": false })).ok(200);

    let listed = server.get("/suppressions").ok(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&listed["data"][0]["email"], &listed["data"][0]["origin"]),
        (&json!("ada@example.net"), &json!("unsubscribe"))
    );
}

#[test]
fn ids_and_addresses_remove_contacts_together_and_each_contact_once() {
    let server = TestServer::start();
    let created = ["ada", "bob", "eve"].map(|name| create(&server, &format!("{name}@example.net"), &json!({})));
    let [ada, bob, eve] = created.each_ref().map(|contact| &contact["id"]);

    let emails = ["BOB@example.net", "ada@example.net", "nobody@example.net"];
    let response = server.post(PATH, &json!({ "ids": [ada], "emails": emails })).ok(200);

    let deleted: Vec<&Value> = response["data"].as_array().unwrap().iter().map(|row| &row["contact"]).collect();
    assert_eq!(deleted, [ada, bob]);
    let left = server.get("/contacts").ok(200);
    assert_eq!((&left["data"][0]["id"], left["data"].as_array().unwrap().len()), (eve, 1));
}

#[test]
fn an_erasure_of_ids_and_addresses_covers_all_of_them() {
    let server = TestServer::start();
    let sent = ["ada", "bob", "never", "eve"].map(|name| server.send(&json!({ "to": format!("{name}@example.net") })));
    for id in &sent {
        server.wait_for(id, "delivered");
    }
    let created = ["ada", "bob", "eve"].map(|name| create(&server, &format!("{name}@example.net"), &json!({})));
    let [ada, bob, eve] = created.each_ref().map(|contact| &contact["id"]);

    // One contact is named by its id and by its address, and one address has no contact.
    let emails = ["BOB@example.net", "ada@example.net", "never@example.net"];
    let body = json!({ "ids": [ada, UNKNOWN_ID], "emails": emails, "erase": true });
    let response = server.post(PATH, &body).ok(200);
    server.wait_for_erasures(0);

    let deleted: Vec<&Value> = response["data"].as_array().unwrap().iter().map(|row| &row["contact"]).collect();
    assert_eq!(deleted, [ada, bob]);
    let to = sent.map(|id| server.get(&format!("/emails/{id}")).ok(200)["to"][0].clone());
    assert_eq!(to, ["[erased]", "[erased]", "[erased]", "eve@example.net"]);
    assert_eq!(server.get("/contacts").ok(200)["data"][0]["id"], *eve);
}

#[test]
fn a_batch_removes_1000_ids_and_1000_addresses() {
    let server = TestServer::start();
    let emails: Vec<String> = (0..2_000).map(|number| format!("c{number}@example.net")).collect();
    let mut ids = Vec::new();
    for part in emails.chunks(1_000) {
        let batch: Value = part.iter().map(|email| json!({ "email": email })).collect();
        let created = server.post("/contacts/batch", &batch).ok(200);
        ids.extend(created["data"].as_array().unwrap().iter().map(|row| row["id"].clone()));
    }
    create(&server, "kept@example.net", &json!({}));

    let response = server.post(PATH, &json!({ "ids": ids[..1_000], "emails": emails[1_000..] })).ok(200);

    let deleted: Vec<Value> = response["data"].as_array().unwrap().iter().map(|row| row["contact"].clone()).collect();
    assert_eq!(deleted, ids);
    assert_eq!(server.get("/contacts").ok(200)["data"].as_array().unwrap().len(), 1);
    // The counters of the audience follow every part.
    let everyone = json!({ "name": "Everyone", "filter": { "match": "all", "conditions": [] } });
    let segment = server.post("/segments", &everyone).ok(201);
    assert_eq!(server.get(&format!("/segments/{}", id(&segment))).ok(200)["contact_count"], 1);
}

#[test]
fn a_batch_removes_at_most_1000_contacts() {
    let server = TestServer::start();
    let emails: Vec<String> = (0..1_001).map(|number| format!("c{number}@example.net")).collect();
    let batch: Value = emails[1..].iter().map(|email| json!({ "email": email })).collect();
    let created = server.post("/contacts/batch", &batch).ok(200);
    let ids: Vec<&Value> = created["data"].as_array().unwrap().iter().map(|row| &row["id"]).collect();

    for field in ["emails", "ids"] {
        let too_many: Vec<Value> = vec![json!(emails[0]); 1_001];
        let refused = server.post(PATH, &json!({ field: too_many })).refusal();
        let expected = format!("422 validation_error: Invalid `{field}` field: more than 1000 items");
        assert!(refused.starts_with(&expected), "{refused}");
    }
    let response = server.post(PATH, &json!({ "ids": ids })).ok(200);

    let deleted: Vec<&Value> = response["data"].as_array().unwrap().iter().map(|row| &row["contact"]).collect();
    assert_eq!(deleted, ids);
    assert_eq!(server.get("/contacts").ok(200)["data"], json!([]));
}

#[test]
fn an_invalid_item_is_reported_with_its_index_and_nothing_is_removed() {
    let server = TestServer::start();
    let created = create(&server, "ada@example.net", &json!({}));
    let before = audience_state(&server);
    let (ids, emails) = (json!([created["id"]]), json!(["ada@example.net"]));
    let either = "422 validation_error: Give `ids`, `emails` or both, each an array of 1 to 1000.";
    for (body, refusal) in [
        (json!({}), either),
        (json!({ "ids": null, "emails": null }), either),
        (json!({ "erase": true }), either),
        (json!({ "ids": [], "emails": emails }), "422 validation_error: Invalid `ids` field: the array is empty"),
        (json!({ "ids": ids, "emails": [] }), "422 validation_error: Invalid `emails` field: the array is empty"),
        (json!({ "ids": ids, "emails": ["x"] }), "422 validation_error: Invalid `emails.0` field: "),
        (json!({ "ids": [] }), "422 validation_error: Invalid `ids` field: the array is empty; 1 to 1000 items"),
        (json!({ "emails": [] }), "422 validation_error: Invalid `emails` field: the array is empty; 1 to 1000 items"),
        (json!({ "ids": [created["id"], "x"] }), "422 validation_error: The `ids.1` must be a valid UUID."),
        (json!({ "ids": ["ada@example.net"] }), "422 validation_error: The `ids.0` must be a valid UUID."),
        (json!({ "ids": [created["id"], null] }), "422 validation_error: Invalid `ids[1]` field: invalid type: null"),
        (json!({ "ids": created["id"] }), "422 validation_error: Invalid `ids` field: invalid type: string"),
        (json!({ "emails": ["ada@example.net", "x"] }), "422 validation_error: Invalid `emails.1` field: "),
        (json!({ "emails": ["Ada <ada@example.net>"] }), "422 validation_error: Invalid `emails.0` field: "),
        (json!({ "emails": emails, "erase": "true" }), "422 validation_error: Invalid `erase` field: invalid type"),
        (json!({ "emails": emails, "force": true }), "422 validation_error: Invalid `force` field: unknown field"),
        (emails, "422 validation_error: Invalid request body: invalid type: sequence, expected an object."),
    ] {
        let refused = server.post(PATH, &body).refusal();

        assert!(refused.starts_with(refusal), "{body}: {refused}");
    }
    assert_eq!(audience_state(&server), before);
}
