//! The lists of the dashboard, and the retention.

use std::time::Duration;

use ringmail::team_removal::UnsentEmails;
use serde_json::json;

use super::{actions, entries};
use crate::dashboard::browser::set_up;
use crate::support::{TestServer, retry_until_ok};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn the_dashboard_lists_the_log_of_its_team_page_by_page() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);
    for name in ["one", "two"] {
        browser.api("POST", "/api-keys", Some(&json!({ "name": name }))).json(201);
    }
    let other = server.other_team("Other", "other.example");

    let list = browser.api("GET", "/audit?action=api_key.", None).json(200);
    assert_eq!((&list["object"], &list["has_more"], &list["position"]), (&json!("list"), &json!(false), &json!(null)));
    let rows = list["data"].as_array().unwrap();
    // The oldest one is the key that the server created.
    assert_eq!((rows.len(), &rows[2]["actor"]["type"]), (3, &json!("server")), "{list}");
    let fields: Vec<&str> = rows[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["action", "actor", "created_at", "detail", "id", "target"]);
    assert_eq!((&rows[0]["actor"]["type"], &rows[0]["actor"]["name"]), (&json!("user"), &json!("ada@example.com")));
    assert_eq!((&rows[0]["target"]["type"], &rows[0]["target"]["name"]), (&json!("api_key"), &json!("two")));
    assert_eq!(rows[0]["detail"], json!({ "permission": "full_access" }));

    let first = browser.api("GET", "/audit?limit=1", None).json(200);
    assert_eq!((&first["has_more"], &first["position"]), (&json!(true), &first["data"][0]["id"]));
    let after = first["data"][0]["id"].as_str().unwrap();
    let second = browser.api("GET", &format!("/audit?limit=1&after={after}"), None).json(200);
    assert_eq!(second["data"][0]["target"]["name"], "one");
    browser.api("GET", "/audit?limit=0", None).is_error(422, "validation_error");
    browser.api("GET", &format!("/audit?before={after}"), None).is_error(422, "validation_error");
    let all = browser.api("GET", "/audit?limit=100", None).json(200).to_string();
    assert!(!all.contains("other.example") && !all.contains(&other.team.to_string()), "{all}");
}

#[test]
fn the_entries_of_a_removed_team_stay() {
    let server = TestServer::start();
    let team = server.other_team("Other", "other.example");
    let team_id = team.team;
    team.remove(UnsentEmails::Cancel).unwrap();

    let of_team = || {
        let entries = entries(&server).into_iter().filter(|entry| entry.team_id == Some(team_id));
        entries.collect::<Vec<_>>()
    };

    let expected = ["team.created", "domain.created", "api_key.created", "team.removed"];
    assert_eq!(actions(&of_team()), expected);
}

#[test]
fn retention_deletes_old_entries() {
    let server = TestServer::start_with(&["--audit-retention-days", "2"]);
    server.post("/api-keys", &json!({ "name": "old" })).ok(201);
    let server = server.restart_after(DAY, &["--audit-retention-days", "2"]);
    server.post("/api-keys", &json!({ "name": "young" })).ok(201);

    let server = server.restart_after(DAY + Duration::from_secs(60), &["--audit-retention-days", "2"]);

    retry_until_ok("the purge", || {
        let entries = entries(&server);
        let names: Vec<_> = entries.iter().filter_map(|entry| entry.target.as_ref()?.name.as_deref()).collect();
        if names.contains(&"young") && !names.contains(&"old") { Ok(()) } else { Err(format!("{names:?}")) }
    });
}
