//! `GET /segments/{id}/contacts` and `GET /contacts?segment_id=`.

use serde_json::{Value, json};

use super::{UNKNOWN, contact_count, create, create_contact, first_names, one_condition};
use crate::support::{TestServer, assert_body};

#[test]
fn every_list_of_a_segment_returns_the_same_contacts() {
    let server = TestServer::start();
    let segment = create(&server, &one_condition("first_name", "starts_with", &json!("A")));
    for name in ["Ada", "Bea", "Abe"] {
        create_contact(&server, name, &json!({}));
    }

    let list = server.get(&format!("/segments/{segment}/contacts")).ok(200);

    assert_body!(list);
    assert_eq!(server.get(&format!("/contacts?segment_id={segment}")).ok(200), list);
    assert_eq!(server.get(&format!("/audiences/{segment}/contacts")).ok(200), list);
}

#[test]
fn a_member_that_matches_the_filter_is_listed_once() {
    let server = TestServer::start();
    let segment = create(&server, &one_condition("first_name", "equals", &json!("Ada")));
    let ada = create_contact(&server, "Ada", &json!({ "segments": [{ "id": segment }] }));
    let bea = create_contact(&server, "Bea", &json!({}));
    create_contact(&server, "Cay", &json!({}));
    let path = format!("/segments/{segment}/contacts");
    assert_eq!((first_names(&server, &path), contact_count(&server, &segment)), (vec!["Ada".to_owned()], 1));

    server.post(&format!("/contacts/{bea}/segments/{segment}"), &json!({})).ok(200);
    assert_eq!(
        (first_names(&server, &path), contact_count(&server, &segment)),
        (vec!["Bea".to_owned(), "Ada".into()], 2)
    );

    server.patch(&format!("/contacts/{ada}"), &json!({ "first_name": "Eve" })).ok(200);
    assert_eq!(
        (first_names(&server, &path), contact_count(&server, &segment)),
        (vec!["Bea".to_owned(), "Eve".into()], 2)
    );

    server.delete(&format!("/contacts/{ada}/segments/{segment}")).ok(200);
    server.delete(&format!("/contacts/{bea}")).ok(200);
    assert_eq!((first_names(&server, &path), contact_count(&server, &segment)), (Vec::new(), 0));
}

#[test]
fn no_filter_matches_no_contact_and_an_empty_filter_matches_every_contact() {
    let server = TestServer::start();
    create_contact(&server, "Ada", &json!({}));
    create_contact(&server, "Bea", &json!({}));
    let without_filter = create(&server, &Value::Null);
    let empty_filter = create(&server, &json!({ "match": "any", "conditions": [] }));

    assert_eq!(
        (
            first_names(&server, &format!("/segments/{without_filter}/contacts")),
            contact_count(&server, &without_filter)
        ),
        (Vec::new(), 0)
    );
    let listed = first_names(&server, &format!("/segments/{empty_filter}/contacts"));
    assert_eq!((listed, contact_count(&server, &empty_filter)), (vec!["Bea".to_owned(), "Ada".into()], 2));
}

#[test]
fn the_include_parameter_adds_properties_and_topics() {
    let server = TestServer::start();
    server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201);
    server.post("/contact-properties", &json!({ "key": "seats", "type": "number" })).ok(201);
    let segment = create(&server, &one_condition("property:seats", "greater_than", &json!("3")));
    create_contact(&server, "Ada", &json!({ "properties": { "seats": 4 } }));
    create_contact(&server, "Bea", &json!({ "properties": { "seats": 3 } }));
    create_contact(&server, "Cay", &json!({}));
    let path = format!("/segments/{segment}/contacts");

    let list = server.get(&format!("{path}?include=properties,topics")).ok(200);

    assert_body!(list);
    let error = server.get(&format!("{path}?include=segments"));
    error.refused(422, "validation_error", "Invalid `include`: use `properties`, `topics` or both.");
}

#[test]
fn a_list_pages_in_both_directions_and_refuses_a_cursor_of_another_contact() {
    let server = TestServer::start();
    let segment = create(&server, &one_condition("first_name", "equals", &json!("In")));
    let first_name = |index: usize| if index.is_multiple_of(2) { "In" } else { "Out" };
    let created: Vec<String> = (0..11)
        .map(|index| {
            let fields = json!({ "email": format!("c{index}@example.com") });
            create_contact(&server, first_name(index), &fields)
        })
        .collect();
    let matching: Vec<&String> = created.iter().step_by(2).rev().collect();
    let path = format!("/segments/{segment}/contacts?limit=4");
    let page = |query: &str| {
        let page = server.get(&format!("{path}{query}")).ok(200);
        let ids: Vec<String> =
            page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        (ids, page["has_more"].as_bool().unwrap())
    };
    let expected = |range: std::ops::Range<usize>| matching[range].iter().map(|id| (*id).clone()).collect::<Vec<_>>();

    assert_eq!(page(""), (expected(0..4), true));
    assert_eq!(page(&format!("&after={}", matching[3])), (expected(4..6), false));
    assert_eq!(page(&format!("&before={}", matching[5])), (expected(1..5), true));
    assert_eq!(page(&format!("&before={}", matching[1])), (expected(0..1), false));
    for cursor in ["after", "before"] {
        let error = server.get(&format!("{path}&{cursor}={}", created[1])).refusal();
        assert!(error.starts_with("422 validation_error: Invalid cursor."), "{error}");
    }
    server.get(&format!("{UNKNOWN}/contacts")).refused(404, "not_found", "Segment not found");
}

#[test]
fn a_segment_omits_contacts_of_another_team() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    other.post("/contacts", &json!({ "email": "eve@example.com", "first_name": "Eve" })).ok(201);
    create_contact(&server, "Ada", &json!({}));
    let either = json!({ "match": "any", "conditions": [
        { "field": "first_name", "op": "is_set", "value": null },
        { "field": "first_name", "op": "is_not_set", "value": null },
    ] });
    let segment = create(&server, &either);

    assert_eq!(first_names(&server, &format!("/segments/{segment}/contacts")), ["Ada"]);
    assert_eq!(contact_count(&server, &segment), 1);
    for path in ["contacts", ""] {
        let path = format!("/segments/{segment}/{path}");
        other.get(&path).refused(404, "not_found", "Segment not found");
    }
    other.get(&format!("/contacts?segment_id={segment}")).refused(404, "not_found", "Segment not found");
}
