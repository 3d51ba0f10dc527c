//! `GET /suppressions`.

use serde_json::{Value, json};

use super::add_suppression;
use crate::support::{TestServer, assert_body};

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_row_has_all_fields_of_the_entry() {
    let server = TestServer::start();
    add_suppression(&server, "ada@example.net", "complaint");

    let page = server.get("/suppressions").ok(200);

    assert_body!(page);
}

#[test]
fn a_list_can_be_filtered_by_origin_and_paged() {
    let server = TestServer::start();
    let origins = ["bounce", "complaint", "manual", "unsubscribe"];
    let mut all: Vec<(&str, String)> = Vec::new();
    for number in 0..12 {
        let origin = origins[number % 4];
        all.insert(0, (origin, add_suppression(&server, &format!("r{number}@example.net"), origin)));
    }
    assert_eq!(ids(&server.get("/suppressions").ok(200)), all.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>());
    for origin in origins {
        let expected: Vec<String> =
            all.iter().filter(|(entry_origin, _)| *entry_origin == origin).map(|(_, id)| id.clone()).collect();
        let path = format!("/suppressions?origin={origin}");

        let page = server.get(&path).ok(200);
        assert_eq!((ids(&page), &page["has_more"]), (expected.clone(), &json!(false)));
        let page = server.get(&format!("{path}&limit=1&after={}", expected[0])).ok(200);
        assert_eq!((ids(&page), &page["has_more"]), (expected[1..2].to_vec(), &json!(true)));
        let page = server.get(&format!("{path}&limit=2&before={}", expected[2])).ok(200);
        assert_eq!((ids(&page), &page["has_more"]), (expected[..2].to_vec(), &json!(false)));
        let other = &all.iter().find(|(entry_origin, _)| *entry_origin != origin).unwrap().1;
        let refused = server.get(&format!("{path}&after={other}")).refusal();
        assert!(refused.starts_with("422 validation_error: Invalid cursor."), "{refused}");
    }
}

#[test]
fn an_unknown_origin_is_refused() {
    let server = TestServer::start();
    let words = "Invalid `origin` query parameter: use `bounce`, `complaint`, `manual` or `unsubscribe`.";
    for (query, message) in [
        ("origin=", words),
        ("origin=spam", words),
        ("origin=Bounce", words),
        ("origin=bounce,manual", words),
        ("origin=bounce&origin=manual", "The `origin` query parameter may be given once."),
    ] {
        server.get(&format!("/suppressions?{query}")).refused(422, "validation_error", message);
    }
    let unknown = server.get("/suppressions?email=a").refusal();
    assert_eq!(
        unknown,
        "422 validation_error: Unknown query parameter `email`: this endpoint takes `limit`, `after`, `before`, \
         `origin`."
    );
}
