//! `/audiences`: the deprecated paths of segments.

use serde_json::{Value, json};

use super::{contact_count, create, create_contact, first_names, id, one_condition};
use crate::support::TestServer;

#[test]
fn the_audience_paths_return_segments() {
    let server = TestServer::start();
    let filter = one_condition("email", "is_set", &Value::Null);
    create_contact(&server, "Ada", &json!({}));

    let created = server.post("/audiences", &json!({ "name": "Everyone", "filter": filter })).ok(201);

    let audience = id(&created);
    let mut segment = server.get(&format!("/segments/{audience}")).ok(200);
    assert_eq!((&segment["object"], &segment["contact_count"]), (&json!("segment"), &json!(1)));
    segment["object"] = json!("audience");
    assert_eq!(server.get(&format!("/audiences/{audience}")).ok(200), segment);
    let mut listed = server.get("/segments").ok(200);
    listed["data"][0]["object"] = json!("audience");
    assert_eq!(server.get("/audiences").ok(200), listed);
    assert_eq!(
        server.delete(&format!("/audiences/{audience}")).ok(200),
        json!({ "object": "audience", "id": audience, "deleted": true })
    );
    server.get(&format!("/audiences/{audience}")).refused(404, "not_found", "Segment not found");
    server.delete(&format!("/audiences/{audience}")).ok(200);
}

#[test]
fn a_contact_added_to_an_audience_is_a_member() {
    let server = TestServer::start();
    let segment = create(&server, &Value::Null);
    let bea = create_contact(&server, "Bea", &json!({}));
    let path = format!("/audiences/{segment}/contacts");

    let created =
        server.post(&path, &json!({ "email": "ada@example.com", "first_name": "Ada", "audience_id": segment })).ok(201);
    let again = server.post(&path, &json!({ "email": "BEA@example.com" })).ok(201);

    assert_eq!((&created["object"], again["id"].as_str()), (&json!("contact"), Some(bea.as_str())));
    assert_eq!(first_names(&server, &path), ["Ada", "Bea"]);
    assert_eq!(contact_count(&server, &segment), 2);
    server.post(&path, &json!({})).refused(422, "missing_required_field", "Missing `email` field.");
}

#[test]
fn a_contact_is_read_changed_and_deleted_by_id_or_address() {
    let server = TestServer::start();
    let segment = create(&server, &Value::Null);
    for by_email in [false, true] {
        // The contact is not a member of the audience: contacts belong to the team.
        let ada = create_contact(&server, "Ada", &json!({}));
        let name = if by_email { "ADA%40example.com" } else { ada.as_str() };
        let path = format!("/audiences/{segment}/contacts/{name}");

        assert_eq!(server.get(&path).ok(200), server.get(&format!("/contacts/{ada}")).ok(200));
        let echoes = json!({ "id": "", "audience_id": segment, "email": "ada@example.com", "last_name": "L" });
        let changed = server.patch(&path, &echoes).ok(200);
        assert_eq!((&changed["id"], &changed["last_name"]), (&json!(ada), &json!("L")));
        let removed = json!({ "object": "contact", "contact": ada, "id": ada, "deleted": true });
        assert_eq!(server.delete(&path).ok(200), removed);
        server.get(&path).refused(404, "not_found", "Contact not found");
        server.get(&format!("/contacts/{ada}")).refused(404, "not_found", "Contact not found");
    }
}

#[test]
fn deleting_an_unknown_contact_succeeds() {
    let server = TestServer::start();
    let segment = create(&server, &Value::Null);

    let removed = server.delete(&format!("/audiences/{segment}/contacts/nobody@example.com")).ok(200);

    assert_eq!(
        removed,
        json!({ "object": "contact", "contact": "nobody@example.com", "id": "nobody@example.com", "deleted": true })
    );
}

#[test]
fn deleting_a_contact_of_an_unknown_audience_succeeds_and_deletes_nothing() {
    let server = TestServer::start();
    let ada = create_contact(&server, "Ada", &json!({}));

    let removed = server.delete(&format!("/audiences/0190a6c0-0000-7000-8000-000000000009/contacts/{ada}")).ok(200);

    assert_eq!(removed, json!({ "object": "contact", "contact": ada, "id": ada, "deleted": true }));
    server.delete(&format!("/audiences/0190a6c0-0000-7000-8000-000000000009/contacts/{ada}?erase=true")).refused(
        404,
        "not_found",
        "Segment not found",
    );
    server.get(&format!("/contacts/{ada}")).ok(200);
}

#[test]
fn every_other_contact_route_of_an_unknown_audience_is_not_found() {
    let server = TestServer::start();
    let ada = create_contact(&server, "Ada", &json!({}));
    let path = "/audiences/0190a6c0-0000-7000-8000-000000000009/contacts";
    let one = format!("{path}/{ada}");
    for (method, path, body) in [
        ("POST", path, Some(json!({ "email": "bea@example.com" }))),
        ("GET", path, None),
        ("GET", &one, None),
        ("PATCH", &one, Some(json!({ "first_name": "Eve" }))),
    ] {
        let body = body.map(|body: Value| body.to_string());

        let response = server.call(method, path, server.key(), &[], body.as_deref().map(str::as_bytes));

        response.refused(404, "not_found", "Segment not found");
    }
    assert_eq!(first_names(&server, "/contacts"), ["Ada"]);
}

#[test]
fn audiences_require_a_full_access_key() {
    let server = TestServer::start();
    let key = server.create_sending_key();
    for path in ["/segments", "/audiences", "/audiences/0190a6c0-0000-7000-8000-000000000009/contacts"] {
        let refused = server.call("GET", path, &key, &[], None);

        refused.refused(403, "restricted_api_key", "This API key is restricted to only send emails");
    }
}
