//! `GET /contacts`.

use serde_json::{Value, json};

use super::{UNKNOWN_ID, create, create_property, create_segment, create_topic, id};
use crate::support::{TestServer, assert_body};

fn emails(list: &Value) -> Vec<&str> {
    list["data"].as_array().unwrap().iter().map(|row| row["email"].as_str().unwrap()).collect()
}

#[test]
fn a_row_has_the_basic_fields_and_the_included_fields() {
    let server = TestServer::start();
    create_property(&server, "seats", "number");
    let (news, _) = (create_topic(&server, "News", "opt_in"), create_topic(&server, "Offers", "opt_out"));
    create(
        &server,
        "ada@example.net",
        &json!({
            "first_name": "Ada", "properties": { "seats": 4 }, "topics": [{ "id": news, "subscription": "opt_out" }],
        }),
    );
    create(&server, "bob@example.net", &json!({}));

    let basic = server.get("/contacts").ok(200);
    let included = server.get("/contacts?include=properties,topics").ok(200);

    assert_body!(json!({ "basic": basic, "whole": included }));
    assert_eq!(server.get("/contacts?include=").ok(200), basic);
    for query in ["topics,properties", "properties%2Ctopics", "properties,%20topics", "topics,properties,topics,"] {
        assert_eq!(server.get(&format!("/contacts?include={query}")).ok(200), included, "{query}");
    }
    for (field, other) in [("properties", "topics"), ("topics", "properties")] {
        let row = &server.get(&format!("/contacts?include={field}")).ok(200)["data"][1];
        assert_eq!(row[field], included["data"][1][field]);
        assert!(row.get(other).is_none(), "{row}");
    }
}

#[test]
fn contacts_are_listed_newest_first_and_an_update_keeps_the_order() {
    let server = TestServer::start();
    for name in ["a", "b", "c"] {
        create(&server, &format!("{name}@example.net"), &json!({}));
    }

    server.patch("/contacts/a@example.net", &json!({ "first_name": "Changed" })).ok(200);

    let list = server.get("/contacts").ok(200);
    assert_eq!(emails(&list), ["c@example.net", "b@example.net", "a@example.net"]);
}

#[test]
fn a_deleted_contact_is_not_listed() {
    let server = TestServer::start();
    create(&server, "a@example.net", &json!({}));
    create(&server, "b@example.net", &json!({}));

    server.delete("/contacts/a@example.net").ok(200);

    assert_eq!(emails(&server.get("/contacts").ok(200)), ["b@example.net"]);
}

#[test]
fn a_list_can_be_filtered_by_segment_and_paged() {
    let server = TestServer::start();
    let members_only = create_segment(&server, "By hand");
    let filter = json!({ "match": "all", "conditions": [{ "field": "first_name", "op": "equals", "value": "Ada" }] });
    let matching = server.post("/segments", &json!({ "name": "Adas", "filter": filter })).ok(201);
    for number in 0..6 {
        let name = if number % 2 == 0 { "Ada" } else { "Bob" };
        create(&server, &format!("c{number}@example.net"), &json!({ "first_name": name }));
    }
    for number in [4, 1, 3] {
        server.post(&format!("/contacts/c{number}@example.net/segments/{members_only}"), &json!({})).ok(200);
    }
    for (segment, expected) in [(members_only.as_str(), [4, 3, 1]), (id(&matching), [4, 2, 0])] {
        let expected: Vec<String> = expected.iter().map(|number| format!("c{number}@example.net")).collect();
        let path = format!("/contacts?segment_id={segment}&include=properties");

        let included = server.get(&path).ok(200);
        let first = server.get(&format!("{path}&limit=2")).ok(200);
        let rest = server.get(&format!("{path}&limit=2&after={}", id(&first["data"][1]))).ok(200);

        assert_eq!(emails(&included), expected);
        assert_eq!((emails(&first), &first["has_more"]), (vec![&*expected[0], &expected[1]], &json!(true)));
        assert_eq!((emails(&rest), &rest["has_more"]), (vec![&*expected[2]], &json!(false)));
        assert_eq!(included["data"][0]["properties"], json!({}));
        let outside = server.get("/contacts/c5@example.net").ok(200);
        let refused = server.get(&format!("{path}&after={}", id(&outside))).refusal();
        assert!(refused.starts_with("422 validation_error: Invalid cursor."), "{refused}");
    }
}

#[test]
fn an_invalid_query_parameter_is_refused() {
    let server = TestServer::start();
    let include = "Invalid `include`: use `properties`, `topics` or both.";
    for (query, message) in [
        ("include=segments", include),
        ("include=Properties", include),
        ("include=properties;topics", include),
        ("include=properties&include=topics", "The `include` query parameter may be given once."),
        ("segment_id=x", "The `segment_id` must be a valid UUID."),
        ("segment_id=", "The `segment_id` must be a valid UUID."),
        (
            "email=ada@example.net",
            "Unknown query parameter `email`: this endpoint takes `limit`, `after`, `before`, `segment_id`, `audience_id`, `include`.",
        ),
    ] {
        server.get(&format!("/contacts?{query}")).refused(422, "validation_error", message);
    }
    server.get(&format!("/contacts?segment_id={UNKNOWN_ID}")).refused(404, "not_found", "Segment not found");
}
