//! `POST /suppressions`, `GET` and `DELETE /suppressions/{id or email}`.

use serde_json::{Value, json};

use super::{UNKNOWN_ID, add_suppression, suppression_event_summaries, suppression_events};
use crate::support::{TestServer, assert_body, email};

const SPACE: &str = "The `id` is not a valid email address: the part before the `@` holds a space; letters, digits, \
                     dots and !#$%&'*+-/=?^_`{|}~ are accepted.";
const SUPPRESSED: (u16, &str, &str) = (422, "all_recipients_suppressed", "All recipients are suppressed");

#[test]
fn a_suppression_is_read_and_removed_by_id_or_address() {
    let server = TestServer::start();

    let entry = server.post("/suppressions", &json!({ "email": "Ada Lovelace <Ada@Example.NET>" })).ok(201);

    assert_body!(entry);
    assert_eq!((&entry["email"], &entry["origin"]), (&json!("ada@example.net"), &json!("manual")));
    let id = entry["id"].as_str().unwrap();
    for name in [id, "ada@example.net", "ADA%40example.net", "Ada@EXAMPLE.net/"] {
        assert_eq!(server.get(&format!("/suppressions/{name}")).ok(200), entry, "{name}");
    }
    let (status, name, message) = SUPPRESSED;
    server.post("/emails", &email(&json!({ "to": "aDa@example.net" }))).refused(status, name, message);

    let removed = server.delete("/suppressions/ada%40example.net").ok(200);
    assert_eq!(removed, json!({ "object": "suppression", "id": id, "deleted": true }));
    for name in [id, "ada@example.net"] {
        server.get(&format!("/suppressions/{name}")).refused(404, "not_found", "Suppression not found");
        server.delete(&format!("/suppressions/{name}")).refused(404, "not_found", "Suppression not found");
    }
    server.send(&json!({ "to": "ada@example.net" }));
}

#[test]
fn adding_an_address_again_keeps_the_entry_and_emits_no_event() {
    let server = TestServer::start();
    let id = add_suppression(&server, "ada@example.net", "complaint");

    for (address, origin) in [("ADA@example.net", "manual"), ("ada@example.net", "bounce")] {
        let entry = server.post("/suppressions", &json!({ "email": address, "origin": origin })).ok(201);
        assert_eq!((&entry["id"], &entry["origin"]), (&json!(id), &json!("complaint")));
    }

    assert_eq!(suppression_event_summaries(&server), [("suppression.added".to_owned(), "ada@example.net".to_owned())]);
}

#[test]
fn a_stronger_origin_replaces_an_unsubscribe() {
    let server = TestServer::start();
    let id = add_suppression(&server, "ada@example.net", "unsubscribe");
    server.send(&json!({ "to": "ada@example.net" }));

    assert_eq!(add_suppression(&server, "ada@example.net", "manual"), id);

    let (status, name, message) = SUPPRESSED;
    server.post("/emails", &email(&json!({ "to": "ada@example.net" }))).refused(status, name, message);
    assert_eq!(server.get("/suppressions?origin=unsubscribe").ok(200)["data"], json!([]));
    assert_eq!(server.get("/suppressions?origin=manual").ok(200)["data"][0]["id"], id);
    assert_eq!(suppression_events(&server).len(), 1, "the address was added once");
}

#[test]
fn removing_another_origin_keeps_the_unsubscribe() {
    let server = TestServer::start();
    for order in [["unsubscribe", "bounce"], ["bounce", "unsubscribe"]] {
        let before = suppression_events(&server).len();
        let [id, same] = order.map(|origin| add_suppression(&server, "ada@example.net", origin));
        assert_eq!(id, same);
        let path = format!("/suppressions/{id}");
        assert_eq!(server.get(&path).ok(200)["origin"], "bounce", "{order:?}");

        assert_eq!(server.delete(&path).ok(200)["deleted"], true);
        assert_eq!(server.get(&path).ok(200)["origin"], "unsubscribe", "{order:?}");
        assert_eq!(server.get("/suppressions?origin=unsubscribe").ok(200)["data"][0]["id"], json!(id));
        server.send(&json!({ "to": "ada@example.net" }));
        assert_eq!(suppression_events(&server).len(), before + 1, "the entry still exists");

        server.delete(&path).ok(200);
        server.get(&path).refused(404, "not_found", "Suppression not found");
        assert_eq!(suppression_events(&server).len(), before + 2);
    }
}

#[test]
fn each_event_has_the_entry_and_its_source() {
    let server = TestServer::start();
    for (origin, source) in
        [("bounce", Value::Null), ("complaint", Value::Null), ("manual", json!("api")), ("unsubscribe", json!("api"))]
    {
        let address = format!("{origin}@example.net");
        let entry = server.post("/suppressions", &json!({ "email": address, "origin": origin })).ok(201);
        server.delete(&format!("/suppressions/{address}")).ok(200);

        let events = suppression_events(&server);
        let [.., added, removed] = events.as_slice() else { panic!("two events") };
        let data = json!({
            "id": entry["id"], "email": address, "origin": origin, "source": source,
            "created_at": entry["created_at"],
        });
        assert_eq!((&added["type"], &added["data"]), (&json!("suppression.added"), &data));
        assert_eq!((&removed["type"], &removed["data"]), (&json!("suppression.removed"), &data));
    }
}

#[test]
fn an_address_with_special_characters_is_found_by_its_encoded_path() {
    let server = TestServer::start();
    for (address, path) in [
        ("a+b@example.net", "a+b@example.net"),
        ("c+d@example.net", "c%2Bd%40example.net"),
        ("e%40f@example.net", "e%2540f@example.net"),
        ("g/h@example.net", "g%2Fh@example.net"),
        ("\"i j\"@example.net", "%22i%20j%22@example.net"),
        ("k?l#m@example.net", "k%3Fl%23m@example.net"),
        ("ö@bücher.example", "%C3%B6@b%C3%BCcher.example"),
        ("batch@example.net", "batch@example.net"),
    ] {
        let entry = server.post("/suppressions", &json!({ "email": address })).ok(201);

        assert_eq!(server.get(&format!("/suppressions/{path}")).ok(200), entry, "{address}");
        server.delete(&format!("/suppressions/{path}")).ok(200);
    }
    add_suppression(&server, "a+b@example.net", "manual");
    server.get("/suppressions/a%20b@example.net").refused(422, "validation_error", SPACE);
}

#[test]
fn a_path_that_is_neither_an_id_nor_an_address_is_refused() {
    let server = TestServer::start();
    let not_an_id = "The `id` must be a valid UUID. An email address is accepted in its place.";
    for (path, message) in [
        ("1", not_an_id),
        ("batch", not_an_id),
        ("ada%2540example.net", not_an_id),
        ("ada@", "The `id` is not a valid email address: "),
        ("Ada%20%3Cada@example.net%3E", "The `id` is not a valid email address: "),
    ] {
        for method in ["GET", "DELETE"] {
            let refused = server.call(method, &format!("/suppressions/{path}"), server.key(), &[], None).refusal();
            assert!(refused.starts_with(&format!("422 validation_error: {message}")), "{method} {path}: {refused}");
        }
    }
    server.get(&format!("/suppressions/{UNKNOWN_ID}")).refused(404, "not_found", "Suppression not found");
}

#[test]
fn an_invalid_field_is_reported_and_nothing_is_added() {
    let server = TestServer::start();
    for (body, message) in [
        (json!({}), "422 missing_required_field: Missing `email` field."),
        (json!({ "email": 7 }), "422 validation_error: Invalid `email` field: invalid type"),
        (json!({ "email": "ada" }), "422 validation_error: Invalid `email` field: there is no `@`"),
        (json!({ "email": "a@example.net, b@example.net" }), "422 validation_error: Invalid `email` field: "),
        (json!({ "email": "a@example.net", "origin": "spam" }), "422 validation_error: Invalid `origin` field: use"),
        (json!({ "email": "a@example.net", "origin": 1 }), "422 validation_error: Invalid `origin` field: invalid"),
        (json!({ "email": "a@example.net", "reason": "x" }), "422 validation_error: Invalid `reason` field: unknown"),
        (json!([]), "422 validation_error: Invalid request body"),
    ] {
        let refused = server.post("/suppressions", &body).refusal();
        assert!(refused.starts_with(message), "{body}: {refused}");
    }
    assert_eq!(server.get("/suppressions").ok(200)["data"], json!([]));
    assert_eq!(suppression_events(&server), [] as [Value; 0]);
}

#[test]
fn suppressions_require_a_full_access_key() {
    let server = TestServer::start();
    let key = server.create_sending_key();
    for (method, path) in [
        ("GET", "/suppressions"),
        ("POST", "/suppressions"),
        ("GET", "/suppressions/ada@example.net"),
        ("DELETE", "/suppressions/ada@example.net"),
        ("POST", "/suppressions/batch/add"),
        ("POST", "/suppressions/batch/remove"),
    ] {
        let response = server.call(method, path, &key, &[], None);
        response.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
    }
}

#[test]
fn each_team_has_its_own_entry_for_the_same_address() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let theirs = other.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201);

    server.get("/suppressions/ada@example.net").refused(404, "not_found", "Suppression not found");
    let own = add_suppression(&server, "ada@example.net", "manual");
    assert_ne!(theirs["id"], own);
    server.delete("/suppressions/ada@example.net").ok(200);

    assert_eq!(other.get("/suppressions/ada@example.net").ok(200), theirs);
}
