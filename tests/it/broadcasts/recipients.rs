//! `GET /broadcasts/{id}/recipients` and `GET /broadcasts/{id}/clicked-links`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{create, id, schedule};
use crate::support::TestServer;

const DAY: Duration = Duration::from_secs(86_400);

const TYPES: [&str; 8] =
    ["sent", "delivered", "opened", "clicked", "bounced", "complained", "unsubscribed", "suppressed"];

#[test]
fn every_list_of_a_scheduled_broadcast_is_empty() {
    let server = TestServer::start();
    let empty = json!({ "object": "list", "has_more": false, "data": [] });
    for path in [create(&server, &json!({})), schedule(&server)] {
        for kind in TYPES {
            assert_eq!(server.get(&format!("{path}/recipients?type={kind}")).ok(200), empty, "{kind}");
        }
        assert_eq!(server.get(&format!("{path}/clicked-links")).ok(200), empty);
        let bounces = format!("{path}/recipients?type=bounced&bounce_type=transient&email=ada@example.net");
        assert_eq!(server.get(&bounces).ok(200), empty);
    }
}

#[test]
fn an_invalid_parameter_is_refused() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    for (query, refusal) in [
        ("", "The `type` query parameter is required"),
        ("type=all", "The `type` query parameter is required"),
        ("type=sent&bounce_type=permanent", "The `bounce_type` is only accepted with `type=bounced`."),
        ("type=bounced&bounce_type=Permanent", "Invalid `bounce_type`"),
        (&format!("type=sent&email={}", "a".repeat(255)), "Invalid `email`"),
        ("type=sent&limit=101", "The `limit` must be a number from 1 to 100."),
        ("type=sent&status=x", "Unknown query parameter `status`"),
        (&format!("type=sent&after={}", id(&path)), "Invalid cursor."),
        (&format!("type=opened&after={}", id(&path)), "Invalid cursor."),
    ] {
        let refused = server.get(&format!("{path}/recipients?{query}")).refusal();

        assert!(refused.starts_with(&format!("422 validation_error: {refusal}")), "{query}: {refused}");
    }
    let refused = server.get(&format!("{path}/clicked-links?before={}", id(&path))).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid cursor."), "{refused}");
}

#[test]
fn a_recipient_whose_email_is_deleted_stays_a_cursor_of_the_lists() {
    let mut server = TestServer::start();
    for name in ["ada", "bob", "eve"] {
        server.post("/contacts", &json!({ "email": format!("{name}@example.net") })).ok(201);
    }
    let path = create(&server, &json!({ "send": true }));
    let list = |kind: &str, query: &str| format!("{path}/recipients?type={kind}{query}");
    let has = |count: usize| move |list: &Value| list["data"].as_array().is_some_and(|data| data.len() == count);
    server.poll(&list("delivered", ""), "the delivery", |response| has(3)(&response.json));
    let ids = |server: &TestServer, path: &str| {
        let page = server.get(path).ok(200);
        page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = ids(&server, &list("sent", ""));
    server.delete(&format!("/emails/{}", all[1])).ok(200);
    for kind in ["sent", "delivered"] {
        assert_eq!(ids(&server, &list(kind, "")), [all[0].as_str(), &all[2]], "{kind}");
        assert_eq!(ids(&server, &list(kind, &format!("&after={}", all[1]))), all[2..], "{kind}");
        assert_eq!(ids(&server, &list(kind, &format!("&before={}", all[1]))), all[..1], "{kind}");
    }

    server = server.restart_after(400 * DAY, &[]);
    server.poll(&list("sent", ""), "retention", |response| has(0)(&response.json));
    for (kind, email) in [("sent", &all[0]), ("delivered", &all[2])] {
        assert_eq!(ids(&server, &list(kind, &format!("&after={email}"))), Vec::<String>::new(), "{kind}");
    }

    server = server.restart_after(3 * DAY, &[]);
    let is_unknown = list("sent", &format!("&after={}", all[0]));
    server.poll(&is_unknown, "retention", |response| response.status == 422);
}
