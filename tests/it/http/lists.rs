//! Pages, cursors and limits of every list of the API.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{ApiResponse, TestServer, email};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the ids of a page and its `has_more`. `query` is empty or starts with `?`.
fn page(server: &TestServer, path: &str, query: &str) -> (Vec<String>, bool) {
    let query = if path.contains('?') { query.replace('?', "&") } else { query.to_owned() };
    let page = server.get(&format!("{path}{query}")).ok(200);
    assert_eq!(page["object"], "list");
    let rows = page["data"].as_array().unwrap();
    let ids = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    (ids, page["has_more"].as_bool().unwrap())
}

/// Creates the resource number `n` of the list and returns its id.
fn create_row(server: &TestServer, path: &str, n: usize) -> String {
    let created = match path {
        "/emails" => server.post(path, &email(&json!({}))).ok(200),
        "/api-keys" => server.post(path, &json!({ "name": format!("{n}") })).ok(201),
        "/suppressions" | "/suppressions?origin=manual" => {
            server.post("/suppressions", &json!({ "email": format!("r{n}@example.net") })).ok(201)
        }
        "/domains" => server.post(path, &json!({ "name": format!("d{n}.example") })).ok(201),
        "/contacts" => server.post(path, &json!({ "email": format!("c{n}@example.net") })).ok(201),
        "/segments" | "/audiences" => server.post(path, &json!({ "name": format!("{n}") })).ok(201),
        "/broadcasts" => server.post(path, &json!({ "from": "news@example.com", "subject": format!("{n}") })).ok(201),
        "/templates" => server.post(path, &json!({ "name": format!("{n}"), "html": "<p>Hi</p>" })).ok(201),
        "/topics" => server.post(path, &json!({ "name": format!("{n}"), "default_subscription": "opt_in" })).ok(201),
        "/contact-properties" => server.post(path, &json!({ "key": format!("k{n}"), "type": "string" })).ok(201),
        "/webhooks" => {
            let endpoint = format!("https://hooks.example/{n}");
            server.post(path, &json!({ "endpoint": endpoint, "events": ["email.opened"] })).ok(201)
        }
        _ => unreachable!("unknown list"),
    };
    created["id"].as_str().unwrap().to_owned()
}

/// Creates `count` resources of the list and returns their ids, newest first.
fn create_rows(server: &TestServer, path: &str, count: usize) -> Vec<String> {
    let mut ids: Vec<String> = (0..count).map(|n| create_row(server, path, n)).collect();
    ids.reverse();
    ids
}

/// Domains that were created at once used to be listed in the order of their requests. The keys of a later request can
/// be ready first. A client that had read the list then never saw the other domain among the newer items.
#[test]
fn rows_that_are_created_at_once_are_listed_in_the_order_of_their_commits() {
    for (path, threads, rows) in [
        ("/domains", 6, 1),
        ("/api-keys", 4, 8),
        ("/contacts", 4, 8),
        ("/contact-properties", 4, 8),
        ("/segments", 4, 8),
        ("/suppressions", 4, 8),
        ("/templates", 4, 8),
        ("/topics", 4, 8),
        ("/broadcasts", 4, 8),
        ("/webhooks", 4, 8),
    ] {
        let server = &TestServer::start();
        let all = page(server, path, "").0.len() + threads * rows;
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || (0..rows).for_each(|n| drop(create_row(server, path, thread * rows + n))));
            }
            let mut seen: Vec<String> = Vec::new();
            while seen.len() < all {
                let (listed, _) = page(server, path, "?limit=100");
                assert!(listed.ends_with(&seen), "{path}: a row was added among older rows: {seen:?} {listed:?}");
                seen = listed;
                server.advance(Duration::from_millis(1));
            }
        });
    }
}

#[test]
fn the_creation_time_of_a_row_is_the_time_in_its_id() {
    let server = &TestServer::start();
    for path in [
        "/emails",
        "/domains",
        "/api-keys",
        "/contacts",
        "/contact-properties",
        "/segments",
        "/suppressions",
        "/templates",
        "/topics",
        "/broadcasts",
        "/webhooks",
    ] {
        std::thread::scope(|scope| {
            let creating = scope.spawn(move || drop(create_rows(server, path, 3)));
            while !creating.is_finished() {
                server.advance(Duration::from_millis(1));
            }
        });

        let rows = server.get(path).ok(200)["data"].as_array().unwrap().clone();
        assert!(rows.len() >= 3);
        for row in rows {
            let id = row["id"].as_str().unwrap();
            let id_ms = u64::from_str_radix(&id.replace('-', "")[..12], 16).unwrap();
            let created_at = ringmail::base::clock::to_iso(i64::try_from(id_ms).unwrap());
            assert_eq!(row["created_at"], created_at, "{path} {row}");
        }
    }
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
        ("/templates", 7),
        ("/topics", 7),
        ("/broadcasts", 7),
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
    for path in ["/contacts", "/segments", "/suppressions", "/templates", "/topics", "/broadcasts"] {
        create_rows(&server, path, 21);
        let (rows, more) = page(&server, path, "");
        assert_eq!((rows.len(), more), (20, true), "{path}");
    }
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

const UNKNOWN_CURSOR: &str = "Invalid cursor. `after` and `before` take the `id` of an item that this list returned.";

#[test]
fn a_deleted_row_is_not_listed_and_its_id_stays_a_cursor_for_a_day() {
    let mut server = TestServer::start();
    let mut lists = Vec::new();
    for (path, alias) in [
        ("/emails", None),
        ("/api-keys", None),
        ("/domains", None),
        ("/contacts", None),
        ("/contact-properties", None),
        ("/segments", Some("/audiences")),
        ("/suppressions", Some("/suppressions?origin=manual")),
        ("/templates", None),
        ("/topics", None),
        ("/broadcasts", None),
        ("/webhooks", None),
    ] {
        let (before, _) = page(&server, path, "");
        let mut left = create_rows(&server, path, 3);
        let deleted = left.remove(1);
        left.extend(before);
        server.delete(&format!("{path}/{deleted}")).ok(200);
        lists.push((path, alias, left, deleted));
    }
    server = server.restart_after(DAY - Duration::from_secs(1), &[]);

    for (path, alias, left, deleted) in &lists {
        for path in [path].into_iter().chain(alias) {
            assert_eq!(page(&server, path, "?limit=100"), (left.clone(), false), "{path}");
            assert_eq!(page(&server, path, &format!("?after={deleted}")), (left[1..].to_vec(), false), "{path}");
            assert_eq!(page(&server, path, &format!("?before={deleted}")), (left[..1].to_vec(), false), "{path}");
        }
    }
    let other_team = server.other_team("Other", "other.example");
    for (path, _, _, deleted) in &lists {
        for (other_list, ..) in lists.iter().filter(|(list, ..)| list != path) {
            let response = server.get(&format!("{other_list}?after={deleted}"));
            response.refused(422, "validation_error", UNKNOWN_CURSOR);
        }
        let response = server.call("GET", &format!("{path}?after={deleted}"), other_team.key(), &[], None);
        response.refused(422, "validation_error", UNKNOWN_CURSOR);
    }

    server = server.restart_after(DAY + Duration::from_secs(1), &[]);
    for (path, _, _, deleted) in &lists {
        server.poll(&format!("{path}?after={deleted}"), "retention", |response| response.status == 422);
    }
}

#[test]
fn a_deleted_contact_and_a_deleted_membership_stay_cursors_of_their_lists() {
    let server = TestServer::start();
    let contacts = create_rows(&server, "/contacts", 4);
    let segments = create_rows(&server, "/segments", 4);
    let topics = create_rows(&server, "/topics", 3);
    for (contact, segment) in contacts.iter().flat_map(|contact| segments.iter().map(move |one| (contact, one))) {
        server.post(&format!("/contacts/{contact}/segments/{segment}"), &json!({})).ok(200);
    }
    let of_segment = format!("/segments/{}/contacts", segments[0]);
    let of_audience = format!("/audiences/{}/contacts", segments[0]);
    let of_contact = format!("/contacts/{}/segments", contacts[0]);
    let topics_of_contact = format!("/contacts/{}/topics", contacts[0]);

    server.delete(&format!("/contacts/{}", contacts[1])).ok(200);
    server.delete(&format!("/contacts/{}/segments/{}", contacts[2], segments[0])).ok(200);
    server.delete(&format!("/segments/{}", segments[1])).ok(200);
    server.delete(&format!("/contacts/{}/segments/{}", contacts[0], segments[2])).ok(200);
    server.delete(&format!("/topics/{}", topics[1])).ok(200);

    for (path, all) in [(&of_segment, &contacts), (&of_audience, &contacts), (&of_contact, &segments)] {
        assert_eq!(page(&server, path, ""), (vec![all[0].clone(), all[3].clone()], false), "{path}");
        for deleted in &all[1..3] {
            assert_eq!(page(&server, path, &format!("?after={deleted}")), (all[3..].to_vec(), false), "{path}");
            assert_eq!(page(&server, path, &format!("?before={deleted}")), (all[..1].to_vec(), false), "{path}");
        }
    }
    let after_topic = page(&server, &topics_of_contact, &format!("?after={}", topics[1]));
    assert_eq!(after_topic, (topics[2..].to_vec(), false));
    for (path, never_listed) in [(&of_segment, &segments[1]), (&of_contact, &contacts[1]), (&of_contact, &topics[1])] {
        let response = server.get(&format!("{path}?after={never_listed}"));
        response.refused(422, "validation_error", UNKNOWN_CURSOR);
    }
}

/// Waits until the log has a request to `endpoint`, and returns the id of the newest.
fn newest_log(server: &TestServer, endpoint: &str) -> String {
    let of_endpoint = |list: &ApiResponse| {
        let rows = list.json["data"].as_array().unwrap();
        rows.iter().find(|row| row["endpoint"] == endpoint).map(|row| row["id"].as_str().unwrap().to_owned())
    };
    of_endpoint(&server.poll("/logs", "the log", |list| of_endpoint(list).is_some())).unwrap()
}

#[test]
fn a_row_that_retention_or_an_erasure_deletes_stays_a_cursor() {
    let mut server = TestServer::start();
    let email = server.send(&json!({ "to": "ada@example.net" }));
    server.wait_for(&email, "delivered");
    let suppressed = server.post("/suppressions", &json!({ "email": "ada@example.net" })).ok(201);
    let suppressed = suppressed["id"].as_str().unwrap().to_owned();
    let erased = newest_log(&server, "/suppressions");
    server.get("/usage").ok(200);
    let kept = newest_log(&server, "/usage");
    server.erase(&["ada@example.net"]);
    assert_eq!(server.get(&format!("/logs/{erased}")).status, 404);
    let (older, _) = page(&server, "/logs", &format!("?after={erased}"));
    assert!(!older.contains(&kept), "{older:?}");
    for list in ["/suppressions", "/suppressions?origin=manual"] {
        assert_eq!(page(&server, list, ""), (Vec::new(), false));
        assert_eq!(page(&server, list, &format!("?after={suppressed}")), (Vec::new(), false));
    }

    server = server.restart_after(400 * DAY, &[]);

    for (path, deleted) in [("/emails", &email), ("/logs", &kept)] {
        let is_gone = |response: &ApiResponse| response.status == 404;
        server.poll(&format!("{path}/{deleted}"), "retention", is_gone);
        assert_eq!(page(&server, path, &format!("?after={deleted}")), (Vec::new(), false), "{path}");
    }
}

#[test]
fn a_captured_message_that_an_erasure_deletes_stays_a_cursor() {
    let server = TestServer::start();
    for to in ["ada@example.net", "bob@example.net", "eve@example.net"] {
        let id = server.send(&json!({ "to": to }));
        server.wait_for(&id, "delivered");
    }
    let (all, _) = page(&server, "/captured", "");
    server.erase(&["bob@example.net"]);

    assert_eq!(page(&server, "/captured", ""), (vec![all[0].clone(), all[2].clone()], false));
    assert_eq!(page(&server, "/captured", &format!("?after={}", all[1])), (all[2..].to_vec(), false));
    assert_eq!(page(&server, "/captured", &format!("?before={}", all[1])), (all[..1].to_vec(), false));
}

#[test]
fn an_invalid_limit_or_cursor_is_refused_on_every_list() {
    let server = TestServer::start();
    let id = server.send(&json!({ "attachments": [{ "content": "YQ==" }] }));
    let limit = "The `limit` must be a number from 1 to 100.";
    let unknown_cursor = UNKNOWN_CURSOR;
    let unknown_id = "0190a6c0-0000-7000-8000-000000000001";
    let attachments = format!("/emails/{id}/attachments");
    let email_attempts = format!("/emails/{id}/attempts");
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
        "/templates",
        "/topics",
        "/broadcasts",
        "/logs",
        &attachments,
        &email_attempts,
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
