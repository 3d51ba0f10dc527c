//! `GET /templates`, `GET /templates/{id}` and `DELETE /templates/{id}`.

use serde_json::json;

use super::{UNKNOWN, create, publish};
use crate::support::TestServer;

#[test]
fn templates_are_listed_newest_first_without_content() {
    let server = TestServer::start();
    publish(&server, &json!({ "name": "First" }));
    create(&server, &json!({ "name": "Second" }));

    let list = server.get("/templates").ok(200);

    let read = |reference: &str| {
        let read = server.get(&format!("/templates/{reference}")).ok(200);
        let fields = ["id", "name", "alias", "status", "published_at", "created_at", "updated_at"];
        fields.iter().map(|field| ((*field).to_owned(), read[*field].clone())).collect::<serde_json::Map<_, _>>()
    };
    let second = list["data"][0]["id"].as_str().unwrap();
    let expected = json!({ "object": "list", "has_more": false, "data": [read(second), read("receipt")] });
    assert_eq!(list, expected);
    assert_eq!((&list["data"][0]["status"], &list["data"][1]["status"]), (&json!("draft"), &json!("published")));
}

#[test]
fn every_path_accepts_the_id_and_the_alias() {
    let server = TestServer::start();
    let by_id = create(&server, &json!({ "alias": "receipt" }));
    let by_alias = "/templates/receipt";

    assert_eq!(server.get(&by_id).ok(200), server.get(by_alias).ok(200));
    assert_eq!(
        server.get(&by_id.to_uppercase().replace("/TEMPLATES", "/templates")).ok(200),
        server.get(by_alias).ok(200)
    );
    for path in [by_id.as_str(), by_alias] {
        server.patch(path, &json!({ "name": "New" })).ok(200);
        server.call("POST", &format!("{path}/publish"), server.key(), &[], None).ok(200);
        let copy = server.call("POST", &format!("{path}/duplicate"), server.key(), &[], Some(b"{}")).ok(200);
        server.delete(&format!("/templates/{}", copy["id"].as_str().unwrap())).ok(200);
    }
    let id = by_id.trim_start_matches("/templates/");
    assert_eq!(server.delete(by_alias).ok(200), json!({ "object": "template", "id": id, "deleted": true }));
    server.delete(&by_id).refused(404, "not_found", "Template not found");
}

#[test]
fn an_unknown_template_is_not_found_and_an_impossible_reference_is_invalid() {
    let server = TestServer::start();

    for path in [UNKNOWN, "/templates/receipt", "/templates/Receipt"] {
        server.get(path).refused(404, "not_found", "Template not found");
        server.patch(path, &json!({ "name": "New" })).refused(404, "not_found", "Template not found");
        server.delete(path).refused(404, "not_found", "Template not found");
        for action in ["publish", "duplicate"] {
            server.post(&format!("{path}/{action}"), &json!({})).refused(404, "not_found", "Template not found");
        }
    }
    for path in ["/templates/a@b", "/templates/a%20b", "/templates/-a"] {
        let message = "The `id` must be a valid UUID. An alias is accepted in its place.";
        server.get(path).refused(422, "validation_error", message);
    }
}
