//! `POST /suppressions`, `GET` and `DELETE /suppressions/{id or email}`.

use serde_json::{Value, json};

use super::{NOBODY, listed, told, told_briefly};
use crate::support::{TestServer, assert_body, email};

const SPACE: &str = "The `id` is not a valid email address: the part before the `@` holds a space; letters, digits, \
                     dots and !#$%&'*+-/=?^_`{|}~ are accepted.";
const SUPPRESSED: (u16, &str, &str) = (422, "all_recipients_suppressed", "All recipients are suppressed");

#[test]
fn an_address_is_listed_read_by_either_name_and_removed() {
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
fn listing_again_keeps_the_entry_and_tells_nothing_more() {
    let server = TestServer::start();
    let id = listed(&server, "ada@example.net", "complaint");

    for (address, origin) in [("ADA@example.net", "manual"), ("ada@example.net", "bounce")] {
        let entry = server.post("/suppressions", &json!({ "email": address, "origin": origin })).ok(201);
        assert_eq!((&entry["id"], &entry["origin"]), (&json!(id), &json!("complaint")));
    }

    assert_eq!(told_briefly(&server), [("suppression.added".to_owned(), "ada@example.net".to_owned())]);
}

#[test]
fn an_opt_out_is_raised_by_a_reason_that_blocks_more() {
    let server = TestServer::start();
    let id = listed(&server, "ada@example.net", "unsubscribe");
    server.send(&json!({ "to": "ada@example.net" }));

    assert_eq!(listed(&server, "ada@example.net", "manual"), id);

    let (status, name, message) = SUPPRESSED;
    server.post("/emails", &email(&json!({ "to": "ada@example.net" }))).refused(status, name, message);
    assert_eq!(server.get("/suppressions?origin=unsubscribe").ok(200)["data"], json!([]));
    assert_eq!(server.get("/suppressions?origin=manual").ok(200)["data"][0]["id"], id);
    assert_eq!(told(&server).len(), 1, "the address was listed once");
}

#[test]
fn removing_a_reason_leaves_the_opt_out_that_was_made_beside_it() {
    let server = TestServer::start();
    for order in [["unsubscribe", "bounce"], ["bounce", "unsubscribe"]] {
        let before = told(&server).len();
        let [id, same] = order.map(|origin| listed(&server, "ada@example.net", origin));
        assert_eq!(id, same);
        let path = format!("/suppressions/{id}");
        assert_eq!(server.get(&path).ok(200)["origin"], "bounce", "{order:?}");

        assert_eq!(server.delete(&path).ok(200)["deleted"], true);
        assert_eq!(server.get(&path).ok(200)["origin"], "unsubscribe", "{order:?}");
        assert_eq!(server.get("/suppressions?origin=unsubscribe").ok(200)["data"][0]["id"], json!(id));
        server.send(&json!({ "to": "ada@example.net" }));
        assert_eq!(told(&server).len(), before + 1, "the entry is still there");

        server.delete(&path).ok(200);
        server.get(&path).refused(404, "not_found", "Suppression not found");
        assert_eq!(told(&server).len(), before + 2);
    }
}

#[test]
fn each_event_says_what_was_listed_and_by_whom() {
    let server = TestServer::start();
    for (origin, source) in
        [("bounce", Value::Null), ("complaint", Value::Null), ("manual", json!("api")), ("unsubscribe", json!("api"))]
    {
        let address = format!("{origin}@example.net");
        let entry = server.post("/suppressions", &json!({ "email": address, "origin": origin })).ok(201);
        server.delete(&format!("/suppressions/{address}")).ok(200);

        let events = told(&server);
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
fn every_address_that_can_be_written_in_a_path_is_found_there() {
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
    listed(&server, "a+b@example.net", "manual");
    server.get("/suppressions/a%20b@example.net").refused(422, "validation_error", SPACE);
}

#[test]
fn what_is_neither_an_id_nor_an_address_is_refused() {
    let server = TestServer::start();
    let no_id = "The `id` must be a valid UUID. An email address is accepted in its place.";
    for (path, message) in [
        ("1", no_id),
        ("batch", no_id),
        ("ada%2540example.net", no_id),
        ("ada@", "The `id` is not a valid email address: "),
        ("Ada%20%3Cada@example.net%3E", "The `id` is not a valid email address: "),
    ] {
        for method in ["GET", "DELETE"] {
            let refused = server.call(method, &format!("/suppressions/{path}"), server.key(), &[], None).refusal();
            assert!(refused.starts_with(&format!("422 validation_error: {message}")), "{method} {path}: {refused}");
        }
    }
    server.get(&format!("/suppressions/{NOBODY}")).refused(404, "not_found", "Suppression not found");
}

#[test]
fn bad_fields_are_named_and_nothing_is_listed() {
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
    assert_eq!(told(&server), [] as [Value; 0]);
}

#[test]
fn a_sending_key_reaches_nothing_of_the_list() {
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
        let answer = server.call(method, path, &key, &[], None);
        answer.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
    }
}

#[test]
fn two_teams_list_the_same_address_each_for_itself() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let theirs = other.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201);

    server.get("/suppressions/ada@example.net").refused(404, "not_found", "Suppression not found");
    let own = listed(&server, "ada@example.net", "manual");
    assert_ne!(theirs["id"], own);
    server.delete("/suppressions/ada@example.net").ok(200);

    assert_eq!(other.get("/suppressions/ada@example.net").ok(200), theirs);
}
