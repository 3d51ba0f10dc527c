//! `GET /contact-properties` and `GET /contact-properties/{id}`.

use serde_json::json;

use super::{UNKNOWN, create};
use crate::support::{TestServer, assert_body};

#[test]
fn properties_are_listed_newest_first_with_all_fields() {
    let server = TestServer::start();
    let first = create(&server, &json!({ "key": "company", "type": "string", "fallback_value": "your company" }));
    create(&server, &json!({ "key": "age", "type": "number", "fallback_value": 18 }));

    let list = server.get("/contact-properties").ok(200);

    assert_eq!(list["data"][1], server.get(&first).ok(200));
    assert_body!(list);
}

#[test]
fn a_page_has_twenty_properties_by_default() {
    let server = TestServer::start();
    (0..21).for_each(|number| drop(create(&server, &json!({ "key": format!("k{number}"), "type": "string" }))));
    let count = |query: &str| {
        let list = server.get(&format!("/contact-properties{query}")).ok(200);
        (list["data"].as_array().unwrap().len(), list["has_more"].clone())
    };

    assert_eq!(count(""), (20, json!(true)));
    assert_eq!(count("?limit=21"), (21, json!(false)));
}

#[test]
fn an_unknown_property_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    server.get(UNKNOWN).refused(404, "not_found", "Contact property not found");
    server.get("/contact-properties/plan").refused(422, "validation_error", "The `id` must be a valid UUID.");
}
