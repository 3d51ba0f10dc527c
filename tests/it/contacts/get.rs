//! `GET /contacts/{id or email}` and the ids and addresses that paths accept.

use serde_json::json;

use super::{UNKNOWN_ID, create, create_segment, create_topic, id};
use crate::support::TestServer;

#[test]
fn a_contact_is_read_by_id_or_address() {
    let server = TestServer::start();
    let created = create(&server, "Ada@example.net", &json!({ "first_name": "Ada" }));
    let own = id(&created);
    for name in [
        own.to_owned(),
        own.to_uppercase(),
        own.replace('-', "%2D"),
        "ada@example.net".to_owned(),
        "ADA@EXAMPLE.NET".to_owned(),
        "ada%40example.net".to_owned(),
        "ada%40example%2enet/".to_owned(),
    ] {
        assert_eq!(server.get(&format!("/contacts/{name}")).ok(200), created, "{name}");
        assert_eq!(server.get(&format!("//contacts/{name}")).ok(200), created, "{name}");
    }
}

#[test]
fn every_route_of_a_contact_accepts_the_id_and_the_address() {
    let server = TestServer::start();
    let (news, everyone) = (create_topic(&server, "News", "opt_in"), create_segment(&server, "Everyone"));
    let created = create(&server, "a+b@example.net", &json!({}));
    for name in [id(&created), "a+b@example.net", "a%2Bb%40example.net", "A+B@example.net"] {
        server.patch(&format!("/contacts/{name}"), &json!({ "first_name": name })).ok(200);
        assert_eq!(server.get(&format!("/contacts/{name}/topics/")).ok(200)["data"][0]["id"], news);
        server.patch(&format!("/contacts/{name}/topics"), &json!([])).ok(200);
        server.post(&format!("/contacts/{name}/segments/{everyone}/"), &json!({})).ok(200);
        assert_eq!(server.get(&format!("/contacts/{name}/segments/")).ok(200)["data"][0]["id"], everyone);
        server.delete(&format!("/contacts/{name}/segments/{everyone}")).ok(200);
    }
    // A plus sign and `%20` differ: `%20` is a space, which the address must not contain.
    server.get("/contacts/a%20b@example.net").refused(
        422,
        "validation_error",
        "The `id` is not a valid email address: the part before the `@` holds a space; letters, digits, dots and \
         !#$%&'*+-/=?^_`{|}~ are accepted.",
    );
    assert_eq!(server.delete("/contacts/a+b@example.net").ok(200)["id"], created["id"]);
}

#[test]
fn a_contact_has_its_properties_and_the_included_topics() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    let created = create(&server, "ada@example.net", &json!({ "properties": { "plan": "pro" } }));

    for query in ["", "?include=", "?include=properties"] {
        assert_eq!(server.get(&format!("/contacts/ada@example.net{query}")).ok(200), created, "{query}");
    }
    let included = server.get("/contacts/ada@example.net?include=topics").ok(200);
    assert_eq!(included["properties"], created["properties"]);
    assert_eq!(included["topics"][0]["id"], news);
    let wrong = "Invalid `include`: use `properties`, `topics` or both.";
    server.get("/contacts/ada@example.net?include=segments").refused(422, "validation_error", wrong);
}

#[test]
fn an_address_with_special_characters_is_found_by_its_encoded_path() {
    let server = TestServer::start();
    for (address, path) in [
        ("e%40f@example.net", "e%2540f@example.net"),
        ("g/h@example.net", "g%2Fh@example.net"),
        ("\"i j\"@example.net", "%22i%20j%22@example.net"),
        ("k?l#m@example.net", "k%3Fl%23m@example.net"),
        ("ö@bücher.example", "%C3%B6@b%C3%BCcher.example"),
        ("batch@example.net", "batch@example.net"),
        ("imports@example.net", "imports%40example.net"),
    ] {
        let created = create(&server, address, &json!({}));

        assert_eq!(server.get(&format!("/contacts/{path}")).ok(200), created, "{address}");
        server.patch(&format!("/contacts/{path}"), &json!({ "email": address })).ok(200);
    }
}

#[test]
fn an_unknown_contact_is_not_found_and_a_malformed_name_is_invalid() {
    let server = TestServer::start();
    let (news, everyone) = (create_topic(&server, "News", "opt_in"), create_segment(&server, "Everyone"));
    let not_an_id = "422 validation_error: The `id` must be a valid UUID. An email address is accepted in its place.";
    let not_an_address = "422 validation_error: The `id` is not a valid email address: ";
    for (name, refusal) in [
        (UNKNOWN_ID, "404 not_found: Contact not found"),
        ("nobody@example.net", "404 not_found: Contact not found"),
        ("1", not_an_id),
        ("ada", not_an_id),
        ("ada%2540example.net", not_an_id),
        ("ada@", not_an_address),
        ("Ada%20%3Cada@example.net%3E", not_an_address),
        ("ada@example.net,bob@example.net", not_an_address),
    ] {
        let one = format!("/contacts/{name}");
        let choice = json!([{ "id": news, "subscription": "opt_in" }]);
        for response in [
            server.get(&one),
            server.patch(&one, &json!({ "first_name": "Ada" })),
            server.delete(&one),
            server.delete(&format!("{one}?erase=true")),
            server.get(&format!("{one}/topics")),
            server.patch(&format!("{one}/topics"), &choice),
            server.patch(&format!("{one}/topics"), &json!([])),
            server.get(&format!("{one}/segments")),
            server.post(&format!("{one}/segments/{everyone}"), &json!({})),
            server.delete(&format!("{one}/segments/{everyone}")),
        ] {
            let refused = response.refusal();
            assert!(refused.starts_with(refusal), "{name}: {refused}");
        }
    }
    assert_eq!(server.audience_events().len(), 0);
}

#[test]
fn the_import_route_of_the_compatible_api_does_not_exist() {
    let server = TestServer::start();
    for (method, path) in [
        ("GET", "/contacts/imports"),
        ("POST", "/contacts/imports"),
        ("GET", "/contacts/imports/0190a6c0-0000-7000-8000-000000000001"),
    ] {
        let response = server.call(method, path, server.key(), &[], None);
        response.refused(404, "not_found", "The requested endpoint does not exist.");
    }
}
