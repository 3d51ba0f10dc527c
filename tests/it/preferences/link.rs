//! `POST /contacts/{id}/preferences-link`.

use serde_json::json;

use super::show;
use crate::support::TestServer;

#[test]
fn a_contact_is_given_a_link_by_its_id_and_by_its_address() {
    let server = TestServer::start();
    let id = server.add_contact("Ada@example.org", false).to_string();
    super::topic(&server, "News");

    for name in [id.as_str(), "ADA@example.org"] {
        let made = server.call("POST", &format!("/contacts/{name}/preferences-link"), server.key(), &[], None).ok(201);

        assert_eq!((&made["object"], &made["contact"]), (&json!("preferences_link"), &json!(id)));
        assert_eq!(made.as_object().unwrap().len(), 3, "{made}");
        let url = made["url"].as_str().unwrap();
        let path = url.strip_prefix(server.base()).unwrap();
        assert!(path.starts_with("/unsubscribe/") && !path.contains(&id), "{path}");
        let page = show(&server, path);
        assert!(page.text().contains("Email preferences") && page.text().contains("News"), "{}", page.body);
    }
}

#[test]
fn a_link_outlives_the_contact_and_serves_the_next_one() {
    let server = TestServer::start();
    super::topic(&server, "News");
    let made = server.post("/contacts", &json!({ "email": "ada@example.org" })).ok(201);
    let id = made["id"].as_str().unwrap();
    let made = server.post(&format!("/contacts/{id}/preferences-link"), &json!({})).ok(201);
    let path = made["url"].as_str().unwrap().strip_prefix(server.base()).unwrap().to_owned();

    server.delete(&format!("/contacts/{id}")).ok(200);
    let alone = show(&server, &path);
    assert_eq!(alone.status, 200);
    assert!(!alone.text().contains("News"), "{}", alone.body);

    server.post("/contacts", &json!({ "email": "ada@example.org" })).ok(201);
    assert!(show(&server, &path).text().contains("News"));
}

#[test]
fn nobody_is_given_a_link_to_a_contact_of_another_team() {
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
    let answer = server.post("/contacts/nobody/preferences-link", &json!({}));
    assert!(answer.refusal().starts_with("422 validation_error: The `id` must be a valid UUID."));
}

#[test]
fn a_link_that_nobody_could_open_is_not_made() {
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
