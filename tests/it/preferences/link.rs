//! `POST /contacts/{id}/preferences-link`.

use serde_json::json;

use super::{create_topic, get_page};
use crate::support::TestServer;

#[test]
fn a_preferences_link_is_created_by_contact_id_or_address() {
    let server = TestServer::start();
    let id = server.add_contact("Ada@example.org", false).to_string();
    create_topic(&server, "News");

    for name in [id.as_str(), "ADA@example.org"] {
        let created =
            server.call("POST", &format!("/contacts/{name}/preferences-link"), server.key(), &[], None).ok(201);

        assert_eq!((&created["object"], &created["contact"]), (&json!("preferences_link"), &json!(id)));
        assert_eq!(created.as_object().unwrap().len(), 3, "{created}");
        let url = created["url"].as_str().unwrap();
        let path = url.strip_prefix(server.base()).unwrap();
        assert!(path.starts_with("/unsubscribe/") && !path.contains(&id), "{path}");
        let page = get_page(&server, path);
        assert!(page.text().contains("Email preferences") && page.text().contains("News"), "{}", page.body);
    }
}

#[test]
fn an_id_in_the_body_must_be_the_id_of_the_contact_in_the_path() {
    let server = TestServer::start();
    let ada = server.add_contact("ada@example.org", false).to_string();
    let bob = server.add_contact("bob@example.org", false).to_string();
    let by_address = "/contacts/ada@example.org/preferences-link";

    for (path, why) in [
        (by_address.to_owned(), "it is neither the id nor the address of the contact"),
        (format!("/contacts/{ada}/preferences-link"), "it differs from the id in the path"),
    ] {
        server.post(&path, &json!({ "id": ada })).ok(201);
        let refused = server.post(&path, &json!({ "id": bob })).refusal();
        assert_eq!(refused, format!("422 validation_error: Invalid `id` field: {why}. Leave it out."));
    }
}

#[test]
fn a_link_is_also_valid_for_a_new_contact_with_the_same_address() {
    let server = TestServer::start();
    create_topic(&server, "News");
    let created = server.post("/contacts", &json!({ "email": "ada@example.org" })).ok(201);
    let id = created["id"].as_str().unwrap();
    let created = server.post(&format!("/contacts/{id}/preferences-link"), &json!({})).ok(201);
    let path = created["url"].as_str().unwrap().strip_prefix(server.base()).unwrap().to_owned();

    server.delete(&format!("/contacts/{id}")).ok(200);
    let without_contact = get_page(&server, &path);
    assert_eq!(without_contact.status, 200);
    assert!(!without_contact.text().contains("News"), "{}", without_contact.body);

    server.post("/contacts", &json!({ "email": "ada@example.org" })).ok(201);
    assert!(get_page(&server, &path).text().contains("News"));
}

#[test]
fn a_link_for_a_contact_of_another_team_is_not_found() {
    let server = TestServer::start();
    let id = server.add_contact("ada@example.org", false);
    let other = server.other_team("Other", "other.example");

    for name in [id.to_string(), "ada@example.org".into(), "0190a6c0-0000-7000-8000-000000000001".into()] {
        other.post(&format!("/contacts/{name}/preferences-link"), &json!({})).refused(
            404,
            "not_found",
            "Contact not found",
        );
    }
    let response = server.post("/contacts/nobody/preferences-link", &json!({}));
    assert!(response.refusal().starts_with("422 validation_error: The `id` must be a valid UUID."));
}

#[test]
fn a_link_without_a_reachable_public_url_is_refused() {
    let server = TestServer::start_with(&["--delivery", "direct", "--hold"]);
    let id = server.add_contact("ada@example.org", false);

    server.post(&format!("/contacts/{id}/preferences-link"), &json!({})).refused(
        422,
        "validation_error",
        &format!(
            "A preferences link cannot be made: recipients cannot open {}. Start the server with `--public-url` (or \
             `RINGMAIL_PUBLIC_URL`) set to the address they reach it under.",
            server.base()
        ),
    );
}
