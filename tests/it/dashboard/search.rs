//! Search in the dashboard.

use std::time::Duration;

use serde_json::{Value, json};

use super::browser::Browser;
use super::captured::opened;
use crate::support::TestServer;

fn found(browser: &Browser<'_>, query: &str) -> Vec<String> {
    let results = browser.api("GET", &format!("/search{query}"), None).json(200);
    let rows = results["data"].as_array().unwrap();
    rows.iter().map(|row| row["subject"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_filter_selects_its_emails_newest_first() {
    let server = TestServer::start();
    let browser = opened(&server);
    let first = server.send(&json!({
        "to": "ada@example.net", "subject": "One", "tags": [{ "name": "kind", "value": "a" }],
        "attachments": [{ "filename": "a.txt", "content": "aGVsbG8=" }],
    }));
    server.wait_for(&first, "delivered");
    server.advance(Duration::from_secs(3600));
    let second = server.send(&json!({ "to": "bounced@resend.dev", "subject": "Two" }));
    server.wait_for(&second, "bounced");
    let details = server.get(&format!("/emails/{first}")).ok(200);
    let message_id = details["message_id"].as_str().unwrap();
    let encoded = message_id.replace('<', "%3C").replace('>', "%3E").replace('@', "%40");
    let created_at = details["created_at"].as_str().unwrap();
    let key = server.get("/api-keys").ok(200)["data"][0]["id"].as_str().unwrap().to_owned();

    for (query, expected) in [
        (String::new(), vec!["Two", "One"]),
        ("?to=ada%40example.net".to_owned(), vec!["One"]),
        ("?to=resend.dev".to_owned(), vec!["Two"]),
        ("?from=acme".to_owned(), vec!["Two", "One"]),
        ("?subject=tw".to_owned(), vec!["Two"]),
        ("?status=bounced,failed".to_owned(), vec!["Two"]),
        ("?status=delivered".to_owned(), vec!["One"]),
        ("?domain=example.com".to_owned(), vec!["Two", "One"]),
        ("?domain=example.net".to_owned(), vec![]),
        (format!("?key={key}"), vec!["Two", "One"]),
        ("?tag=kind".to_owned(), vec!["One"]),
        ("?tag=kind%3Ab".to_owned(), vec![]),
        ("?has_attachment=1".to_owned(), vec!["One"]),
        ("?has_attachment=0".to_owned(), vec!["Two"]),
        (format!("?q={first}"), vec!["One"]),
        (format!("?q={encoded}"), vec!["One"]),
        (format!("?q={first}&status=delivered&since=2026-01-05"), vec!["One"]),
        (format!("?q={first}&status=bounced"), vec![]),
        (format!("?q={first}&since=2026-01-06"), vec![]),
        (format!("?q={encoded}&tag=other"), vec![]),
        ("?q=two".to_owned(), vec!["Two"]),
        (format!("?since={created_at}&until=2026-01-05T09:30:00Z"), vec!["One"]),
        ("?since=2026-01-06".to_owned(), vec![]),
        ("?to=ada%40example.net&status=bounced".to_owned(), vec![]),
    ] {
        assert_eq!(found(&browser, &query), expected, "{query}");
    }
    let row: Value = browser.api("GET", "/search?subject=One", None).json(200)["data"][0].clone();
    assert_eq!((&row["last_event"], &row["to"]), (&"delivered".into(), &json!(["ada@example.net"])));
    assert_eq!(row["tags"], json!([{ "name": "kind", "value": "a" }]));
    let listed = browser.api("GET", "/emails?limit=1", None).json(200);
    assert_eq!((&listed["data"][0]["subject"], &listed["data"][0]["tags"]), (&"Two".into(), &json!([])));
    assert_eq!(listed["has_more"], true);
    for query in ["?status=lost", "?since=yesterday", "?key=1", "?limit=51", "?after=1", "?has_attachment=2"] {
        browser.api("GET", &format!("/search{query}"), None).is_error(422, "validation_error");
    }
}

#[test]
fn a_page_continues_from_its_position() {
    let server = TestServer::start();
    let browser = opened(&server);
    for number in 0..5 {
        server.send(&json!({ "subject": format!("Number {number}") }));
    }

    let first = browser.api("GET", "/search?limit=2", None).json(200);
    let position = first["position"].as_str().unwrap();
    let rest = browser.api("GET", &format!("/search?after={position}"), None).json(200);

    assert_eq!((first["data"].as_array().unwrap().len(), &first["complete"]), (2, &false.into()));
    assert!(first["searched_until"].as_str().unwrap().starts_with("2026-01-05T"), "{first}");
    assert_eq!((rest["data"].as_array().unwrap().len(), &rest["complete"]), (3, &true.into()));
    assert_eq!((&rest["position"], &rest["data"][2]["subject"]), (&Value::Null, &"Number 0".into()));
}

#[test]
fn a_recipient_is_found_after_the_index_was_written_and_after_an_erasure() {
    let server = TestServer::start();
    let browser = opened(&server);
    let batch: Vec<Value> = (0..100)
        .map(|number| {
            let to = if number == 50 { "ada@example.net".to_owned() } else { format!("r{number}@example.net") };
            crate::support::email(&json!({ "to": to, "subject": format!("Batch {number}") }))
        })
        .collect();
    for _ in 0..3 {
        server.post("/emails/batch", &json!(batch)).ok(200);
    }
    // The worker writes blocks of emails that are some seconds old.
    server.advance(Duration::from_secs(60));
    crate::support::retry_until_ok("the first block", || {
        if server.search_blocks() > 0 { Ok(()) } else { Err("there is none".to_owned()) }
    });

    assert_eq!(found(&browser, "?to=Ada%40example.net"), ["Batch 50", "Batch 50", "Batch 50"]);
    assert_eq!(found(&browser, "?q=ada%40example.net").len(), 3);

    server.erase(&["ada@example.net"]);
    assert!(found(&browser, "?to=ada%40example.net").is_empty());
}
