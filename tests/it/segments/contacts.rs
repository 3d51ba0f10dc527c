//! `GET /segments/{id}/contacts` and `GET /contacts?segment_id=`.

use serde_json::{Value, json};

use super::{NOBODY, contact, count, create, names, one};
use crate::support::{TestServer, assert_body};

#[test]
fn both_lists_show_the_same_contacts() {
    let server = TestServer::start();
    let segment = create(&server, &one("first_name", "starts_with", &json!("A")));
    for name in ["Ada", "Bea", "Abe"] {
        contact(&server, name, &json!({}));
    }

    let below = server.get(&format!("/segments/{segment}/contacts")).ok(200);

    assert_body!(below);
    assert_eq!(server.get(&format!("/contacts?segment_id={segment}")).ok(200), below);
    assert_eq!(server.get(&format!("/audiences/{segment}/contacts")).ok(200), below);
}

#[test]
fn whoever_matches_and_was_added_by_hand_is_there_once() {
    let server = TestServer::start();
    let segment = create(&server, &one("first_name", "equals", &json!("Ada")));
    let ada = contact(&server, "Ada", &json!({ "segments": [{ "id": segment }] }));
    let bea = contact(&server, "Bea", &json!({}));
    contact(&server, "Cay", &json!({}));
    let path = format!("/segments/{segment}/contacts");
    assert_eq!((names(&server, &path), count(&server, &segment)), (vec!["Ada".to_owned()], 1));

    server.post(&format!("/contacts/{bea}/segments/{segment}"), &json!({})).ok(200);
    assert_eq!((names(&server, &path), count(&server, &segment)), (vec!["Bea".to_owned(), "Ada".into()], 2));

    server.patch(&format!("/contacts/{ada}"), &json!({ "first_name": "Eve" })).ok(200);
    assert_eq!((names(&server, &path), count(&server, &segment)), (vec!["Bea".to_owned(), "Eve".into()], 2));

    server.delete(&format!("/contacts/{ada}/segments/{segment}")).ok(200);
    server.delete(&format!("/contacts/{bea}")).ok(200);
    assert_eq!((names(&server, &path), count(&server, &segment)), (Vec::new(), 0));
}

#[test]
fn without_a_filter_nobody_matches_and_with_an_empty_one_everybody_does() {
    let server = TestServer::start();
    contact(&server, "Ada", &json!({}));
    contact(&server, "Bea", &json!({}));
    let nobody = create(&server, &Value::Null);
    let everybody = create(&server, &json!({ "match": "any", "conditions": [] }));

    assert_eq!((names(&server, &format!("/segments/{nobody}/contacts")), count(&server, &nobody)), (Vec::new(), 0));
    let listed = names(&server, &format!("/segments/{everybody}/contacts"));
    assert_eq!((listed, count(&server, &everybody)), (vec!["Bea".to_owned(), "Ada".into()], 2));
}

#[test]
fn include_adds_properties_and_topics() {
    let server = TestServer::start();
    server.post("/topics", &json!({ "name": "News", "default_subscription": "opt_in" })).ok(201);
    server.post("/contact-properties", &json!({ "key": "seats", "type": "number" })).ok(201);
    let segment = create(&server, &one("property:seats", "greater_than", &json!("3")));
    contact(&server, "Ada", &json!({ "properties": { "seats": 4 } }));
    contact(&server, "Bea", &json!({ "properties": { "seats": 3 } }));
    contact(&server, "Cay", &json!({}));
    let path = format!("/segments/{segment}/contacts");

    let list = server.get(&format!("{path}?include=properties,topics")).ok(200);

    assert_body!(list);
    let refused = server.get(&format!("{path}?include=segments"));
    refused.refused(422, "validation_error", "Invalid `include`: use `properties`, `topics` or both.");
}

#[test]
fn a_list_is_walked_both_ways_and_takes_no_cursor_from_outside() {
    let server = TestServer::start();
    let segment = create(&server, &one("first_name", "equals", &json!("In")));
    let number = |index: usize| if index.is_multiple_of(2) { "In" } else { "Out" };
    let made: Vec<String> = (0..11)
        .map(|index| {
            let fields = json!({ "email": format!("c{index}@example.com") });
            contact(&server, number(index), &fields)
        })
        .collect();
    let inside: Vec<&String> = made.iter().step_by(2).rev().collect();
    let path = format!("/segments/{segment}/contacts?limit=4");
    let page = |query: &str| {
        let page = server.get(&format!("{path}{query}")).ok(200);
        let ids: Vec<String> =
            page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        (ids, page["has_more"].as_bool().unwrap())
    };
    let expected = |range: std::ops::Range<usize>| inside[range].iter().map(|id| (*id).clone()).collect::<Vec<_>>();

    assert_eq!(page(""), (expected(0..4), true));
    assert_eq!(page(&format!("&after={}", inside[3])), (expected(4..6), false));
    assert_eq!(page(&format!("&before={}", inside[5])), (expected(1..5), true));
    assert_eq!(page(&format!("&before={}", inside[1])), (expected(0..1), false));
    for cursor in ["after", "before"] {
        let refused = server.get(&format!("{path}&{cursor}={}", made[1])).refusal();
        assert!(refused.starts_with("422 validation_error: Invalid cursor."), "{refused}");
    }
    server.get(&format!("{NOBODY}/contacts")).refused(404, "not_found", "Segment not found");
}

#[test]
fn a_segment_never_shows_a_contact_of_another_team() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    other.post("/contacts", &json!({ "email": "eve@example.com", "first_name": "Eve" })).ok(201);
    contact(&server, "Ada", &json!({}));
    let either = json!({ "match": "any", "conditions": [
        { "field": "first_name", "op": "is_set", "value": null },
        { "field": "first_name", "op": "is_not_set", "value": null },
    ] });
    let segment = create(&server, &either);

    assert_eq!(names(&server, &format!("/segments/{segment}/contacts")), ["Ada"]);
    assert_eq!(count(&server, &segment), 1);
    for path in ["contacts", ""] {
        let path = format!("/segments/{segment}/{path}");
        other.get(&path).refused(404, "not_found", "Segment not found");
    }
    other.get(&format!("/contacts?segment_id={segment}")).refused(404, "not_found", "Segment not found");
}
