//! Pages, cursors and limits of every list of the API.

use serde_json::{Value, json};

use crate::support::{TestServer, email};

/// Returns the ids of a page and its `has_more`. `query` is empty or starts with `?`.
fn page(server: &TestServer, path: &str, query: &str) -> (Vec<String>, bool) {
    let query = if path.contains('?') { query.replace('?', "&") } else { query.to_owned() };
    let page = server.get(&format!("{path}{query}")).ok(200);
    assert_eq!(page["object"], "list");
    let rows = page["data"].as_array().unwrap();
    let ids = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    (ids, page["has_more"].as_bool().unwrap())
}

/// Creates `count` resources of the list and returns their ids, newest first.
fn create_rows(server: &TestServer, path: &str, count: usize) -> Vec<String> {
    let create = |n: usize| match path {
        "/emails" => server.post(path, &email(&json!({}))).ok(200),
        "/api-keys" => server.post(path, &json!({ "name": format!("{n}") })).ok(201),
        "/suppressions" | "/suppressions?origin=manual" => {
            server.post("/suppressions", &json!({ "email": format!("r{n}@example.net") })).ok(201)
        }
        "/domains" => server.post(path, &json!({ "name": format!("d{n}.example") })).ok(201),
        "/contacts" => server.post(path, &json!({ "email": format!("c{n}@example.net") })).ok(201),
        "/segments" | "/audiences" => server.post(path, &json!({ "name": format!("{n}") })).ok(201),
        "/topics" => server.post(path, &json!({ "name": format!("{n}"), "default_subscription": "opt_in" })).ok(201),
        "/contact-properties" => server.post(path, &json!({ "key": format!("k{n}"), "type": "string" })).ok(201),
        "/webhooks" => {
            let endpoint = format!("https://hooks.example/{n}");
            server.post(path, &json!({ "endpoint": endpoint, "events": ["email.opened"] })).ok(201)
        }
        _ => unreachable!("unknown list"),
    };
    let mut ids: Vec<String> = (0..count).map(|n| create(n)["id"].as_str().unwrap().to_owned()).collect();
    ids.reverse();
    ids
}

#[test]
fn every_list_can_be_paged_forwards_and_backwards() {
    for (path, count) in [
        ("/emails", 7),
        ("/api-keys", 7),
        ("/domains", 5),
        ("/contacts", 7),
        ("/contact-properties", 7),
        ("/segments", 7),
        ("/audiences", 7),
        ("/suppressions", 7),
        ("/suppressions?origin=manual", 7),
        ("/topics", 7),
        ("/webhooks", 7),
    ] {
        let server = TestServer::start();
        let (before, _) = page(&server, path, "");
        let mut all = create_rows(&server, path, count);
        all.extend(before);

        let mut forwards = Vec::new();
        let (mut rows, mut more) = page(&server, path, "?limit=3");
        while more {
            let last = rows.last().unwrap().clone();
            forwards.extend(rows);
            (rows, more) = page(&server, path, &format!("?limit=3&after={last}"));
        }
        forwards.extend(rows);
        let mut backwards = Vec::new();
        let (mut rows, mut more) = page(&server, path, &format!("?limit=3&before={}", all.last().unwrap()));
        while more {
            let first = rows.first().unwrap().clone();
            backwards.splice(0..0, rows);
            (rows, more) = page(&server, path, &format!("?limit=3&before={first}"));
        }
        backwards.splice(0..0, rows);

        assert_eq!(forwards, all, "{path}");
        assert_eq!(backwards, all[..all.len() - 1], "{path}");
    }
}

#[test]
fn a_page_has_20_rows_by_default_and_at_most_100() {
    let server = TestServer::start();
    let batch = Value::from(vec![email(&json!({})); 100]);
    server.post("/emails/batch", &batch).ok(200);
    server.send(&json!({}));

    assert_eq!(page(&server, "/emails", "").0.len(), 20);
    assert_eq!(page(&server, "/emails", "?limit=100").0.len(), 100);
    let (one, more) = page(&server, "/emails", "?limit=1");
    assert_eq!((one.len(), more), (1, true));
}

#[test]
fn has_more_is_false_on_a_page_that_ends_with_the_last_row() {
    let server = TestServer::start();
    let all = create_rows(&server, "/emails", 4);

    assert_eq!(page(&server, "/emails", "?limit=4"), (all.clone(), false));
    assert_eq!(page(&server, "/emails", &format!("?limit=2&after={}", all[1])), (all[2..].to_vec(), false));
    assert_eq!(page(&server, "/emails", &format!("?limit=2&before={}", all[2])), (all[..2].to_vec(), false));
    assert_eq!(page(&server, "/emails", &format!("?after={}", all[3])), (Vec::new(), false));
    assert_eq!(page(&server, "/emails", &format!("?before={}", all[0])), (Vec::new(), false));
}

#[test]
fn a_deleted_email_is_not_listed_and_is_not_a_cursor() {
    let server = TestServer::start();
    let all = create_rows(&server, "/emails", 3);

    server.delete(&format!("/emails/{}", all[1])).ok(200);

    let message = "Invalid cursor. `after` and `before` take the `id` of an item that this list returned.";
    server.get(&format!("/emails?after={}", all[1])).refused(422, "validation_error", message);
    assert_eq!(page(&server, "/emails", "?limit=2"), (vec![all[0].clone(), all[2].clone()], false));
}

#[test]
fn an_invalid_limit_or_cursor_is_refused_on_every_list() {
    let server = TestServer::start();
    let id = server.send(&json!({ "attachments": [{ "content": "YQ==" }] }));
    let limit = "The `limit` must be a number from 1 to 100.";
    let unknown_cursor = "Invalid cursor. `after` and `before` take the `id` of an item that this list returned.";
    let unknown_id = "0190a6c0-0000-7000-8000-000000000001";
    let attachments = format!("/emails/{id}/attachments");
    let webhook = create_rows(&server, "/webhooks", 1).remove(0);
    let deliveries = format!("/webhooks/{webhook}/events");
    let attempts = format!("{deliveries}/{}/attempts", server.add_webhook_delivery(&webhook));
    for path in [
        "/emails",
        "/api-keys",
        "/domains",
        "/contacts",
        "/contact-properties",
        "/segments",
        "/suppressions",
        "/topics",
        "/logs",
        &attachments,
        "/webhooks",
        &deliveries,
        &attempts,
    ] {
        for (query, message) in [
            ("limit=0", limit),
            ("limit=101", limit),
            ("limit=-1", limit),
            ("limit=ten", limit),
            ("limit=1.5", limit),
            ("limit=", limit),
            ("limit=99999999999999999999", limit),
            ("limit=1&limit=2", "The `limit` query parameter may be given once."),
            ("after=1", "The `after` must be a valid UUID."),
            ("before=", "The `before` must be a valid UUID."),
            (&format!("after={unknown_id}"), unknown_cursor),
            (&format!("before={unknown_id}"), unknown_cursor),
            (&format!("after={unknown_id}&before={unknown_id}"), "Use either `after` or `before`, not both at once."),
        ] {
            server.get(&format!("{path}?{query}")).refused(422, "validation_error", message);
        }
    }
}
