//! Data of the pages: the team, its clients, the overview, and the queue.

use std::time::Duration;

use ringmail::admin::Response;
use ringmail::admin::teams::TeamVerb;
use serde_json::{Value, json};

use super::browser::set_up;
use super::captured::opened;
use crate::support::{ClosedPort, TestServer, retry_until_ok};

#[test]
fn a_page_knows_its_team_and_the_settings_of_the_server() {
    let server = TestServer::start();
    let me = opened(&server).api("GET", "/me", None).json(200);

    assert_eq!((&me["user"], &me["mode"], &me["delivery"]), (&Value::Null, &"dev".into(), &"capture".into()));
    assert_eq!((&me["release"], &me["csrf"], &me["is_operator"]), (&Value::Null, &Value::Null, &true.into()));
    assert_eq!((&me["teams"][0]["id"], &me["teams"][0]["name"]), (&me["team"]["id"], &me["team"]["name"]));
    assert_eq!(me["version"], env!("CARGO_PKG_VERSION"));
    assert!(me["base_url"].as_str().unwrap().starts_with("http://"), "{me}");

    let server = TestServer::serve_with(&[]);
    let me = set_up(&server).api("GET", "/me", None).json(200);
    assert_eq!((&me["user"]["email"], &me["role"]), (&"ada@example.com".into(), &"owner".into()));
    assert_eq!((&me["mode"], &me["teams"].as_array().unwrap().len()), (&"serve".into(), &1));
}

#[test]
fn the_first_request_of_a_client_library_is_kept() {
    let server = TestServer::start();
    let browser = opened(&server);
    let connect = browser.api("GET", "/connect", None).json(200);
    assert_eq!((&connect["sdks"], &connect["smtp"]), (&json!([]), &Value::Null));
    assert_eq!(connect["first_key"], server.key());
    for _ in 0..2 {
        server.call("GET", "/emails", server.key(), &[("user-agent", "resend-node:6.1.0")], None).ok(200);
    }

    let seen = retry_until_ok("the library", || {
        let sdks = browser.api("GET", "/connect", None).json(200)["sdks"].clone();
        if sdks.as_array().unwrap().is_empty() { Err(sdks.to_string()) } else { Ok(sdks) }
    });

    assert_eq!((seen.as_array().unwrap().len(), &seen[0]["name"]), (1, &"node".into()));
    assert!(seen[0]["seen_at"].as_str().unwrap().starts_with("2026-01-05T"), "{seen}");
    drop(browser);
    let server = server.restart_with(&[]);
    assert_eq!(opened(&server).api("GET", "/connect", None).json(200)["sdks"], seen);
}

#[test]
fn the_overview_has_the_last_emails_and_what_needs_attention() {
    let server = TestServer::start();
    let browser = opened(&server);
    for number in 0..9 {
        server.send(&json!({ "subject": format!("Number {number}") }));
    }
    server.post("/domains", &json!({ "name": "other.example" })).ok(201);

    let overview = browser.api("GET", "/overview", None).json(200);

    assert_eq!(overview["health"], Value::Null, "no check has run");
    assert_eq!((overview["last"].as_array().unwrap().len(), &overview["last"][0]["subject"]), (8, &"Number 8".into()));
    assert_eq!((&overview["domains"]["unverified"], &overview["webhooks"]["failing"]), (&1.into(), &0.into()));
    assert_eq!(overview["webhooks"]["disabled"], 0);
    let attention = overview["attention"].as_array().unwrap();
    let domain = attention.iter().find(|one| one["text"].as_str().unwrap().contains("other.example"));
    assert!(domain.is_some_and(|one| one["severity"] == "amber"), "{overview}");
    assert!(domain.unwrap()["href"].as_str().unwrap().starts_with("/dashboard/domains/"), "{overview}");
}

#[test]
fn the_overview_names_an_endpoint_that_fails_while_it_is_enabled() {
    let (server, closed) = (TestServer::start(), ClosedPort::bind());
    let browser = opened(&server);
    let endpoint = format!("http://127.0.0.1:{}/hooks", closed.number());
    let created = server.post("/webhooks", &json!({ "endpoint": endpoint, "events": ["email.opened"] })).ok(201);
    let path = format!("/webhooks/{}", created["id"].as_str().unwrap());
    for _ in 0..3 {
        server.post(&format!("{path}/test"), &json!({})).ok(200);
    }

    let overview = retry_until_ok("the sentence", || {
        let overview = browser.api("GET", "/overview", None).json(200);
        if overview["webhooks"]["failing"] == 1 { Ok(overview) } else { Err(overview.to_string()) }
    });

    let attention = overview["attention"].as_array().unwrap();
    let one = attention.iter().find(|one| one["href"] == format!("/dashboard{path}")).unwrap();
    let text = format!("The webhook {endpoint} has failed for less than a minute: there was no response.");
    assert_eq!((&one["text"], &one["severity"]), (&text.into(), &"amber".into()));
    server.patch(&path, &json!({ "endpoint": format!("{endpoint}/new") })).ok(200);
    let overview = browser.api("GET", "/overview", None).json(200);
    assert_eq!(overview["webhooks"]["failing"], 0, "the new URL has not failed");
    for _ in 0..3 {
        server.post(&format!("{path}/test"), &json!({})).ok(200);
    }
    retry_until_ok("the second failure", || {
        let overview = browser.api("GET", "/overview", None).json(200);
        if overview["webhooks"]["failing"] == 1 { Ok(()) } else { Err(overview.to_string()) }
    });
    server.patch(&path, &json!({ "status": "disabled" })).ok(200);
    let overview = browser.api("GET", "/overview", None).json(200);
    assert_eq!(overview["webhooks"], json!({ "disabled": 0, "failing": 0 }));
    server.patch(&path, &json!({ "status": "enabled" })).ok(200);
    let overview = browser.api("GET", "/overview", None).json(200);
    assert_eq!(overview["webhooks"]["failing"], 0, "an endpoint starts again without failures");
}

#[test]
fn the_queue_is_shown_and_held_by_site() {
    let server = TestServer::start_with(&["--hold"]);
    let browser = opened(&server);
    let email = server.send(&json!({ "to": "ada@one.example" }));
    server.send(&json!({ "to": ["ada@two.example", "bob@one.example"] }));

    let queue = browser.api("GET", "/queue", None).json(200);

    let sites = queue["data"].as_array().unwrap();
    let shown = |name: &str| sites.iter().find(|site| site["site"] == name).unwrap_or_else(|| panic!("{queue}"));
    assert_eq!((sites.len(), &queue["data"][0]["site"]), (2, &"domain:one.example".into()));
    let one = shown("domain:one.example");
    assert_eq!((&one["waiting"], &one["domains"]), (&2.into(), &json!(["one.example"])));
    assert_eq!((&one["state"], &one["paused"]), (&"queue_held".into(), &false.into()));
    let details = browser.api("GET", "/queue/domain:one.example", None).json(200);
    let groups = details["groups"].as_array().unwrap();
    assert!(groups.len() == 2 && groups.iter().any(|group| group["email_id"] == email.as_str()), "{details}");
    assert_eq!(browser.api("POST", "/queue/domain:one.example/pause", None).json(200)["paused"], true);
    let paused = browser.api("GET", "/queue/domain:one.example", None).json(200);
    assert_eq!(paused["paused"], true);
    assert_eq!(browser.api("POST", "/queue/domain:one.example/flush", None).json(200)["groups"], 2);
    assert_eq!(browser.api("POST", "/queue/domain:one.example/resume", None).json(200)["paused"], false);
    assert_eq!(queue["paused"], false);
    assert_eq!(browser.api("POST", "/queue/pause", None).json(200), json!({ "object": "queue", "paused": true }));
    let queue = browser.api("GET", "/queue", None).json(200);
    assert_eq!((&queue["paused"], &queue["data"][0]["state"]), (&true.into(), &"held".into()));
    assert_eq!(queue["data"][0]["reason"], "The operator has paused the whole queue.");
    let overview = browser.api("GET", "/overview", None).json(200);
    assert_eq!(
        (&overview["queue"]["paused"], &overview["attention"][0]["href"]),
        (&true.into(), &"/dashboard/queue".into())
    );
    assert_eq!(browser.api("POST", "/queue/resume", None).json(200)["paused"], false);
    assert_eq!(browser.api("GET", "/queue", None).json(200)["paused"], false);
    browser.api("GET", "/queue/domain:absent.example", None).is_error(404, "not_found");
    browser.api("POST", "/queue/domain:a..b/pause", None).is_error(404, "not_found");
}

#[test]
fn another_team_sees_neither_the_queue_nor_the_checks() {
    let server = TestServer::start();
    let browser = opened(&server);
    let Response::Team(other) = server.admin(TeamVerb::Create { name: "Other".to_owned() }) else { panic!("no team") };
    browser.api("POST", "/me/team", Some(&json!({ "team_id": other.id }))).json(200);
    assert_eq!(browser.api("GET", "/me", None).json(200)["is_operator"], false);

    for (method, path) in
        [("GET", "/queue"), ("GET", "/health"), ("POST", "/queue/domain:one.example/pause"), ("POST", "/queue/pause")]
    {
        browser.api(method, path, None).is_error(403, "invalid_access");
    }
    let overview = browser.api("GET", "/overview", None).json(200);
    assert_eq!((&overview["queue"]["waiting"], &overview["health"]), (&0.into(), &Value::Null));
}

#[test]
fn the_checks_of_the_server_are_shown_and_named_in_the_overview() {
    let server = TestServer::start();
    let browser = opened(&server);

    let checks = browser.api("GET", "/health", None).json(200);

    let rows = checks["data"].as_array().unwrap();
    assert!(rows.iter().any(|check| check["id"] == "disk" && check["status"] == "ok"), "{checks}");
    for check in rows {
        assert!(["title", "seen", "docs", "checked_at"].iter().all(|field| check[field].is_string()), "{check}");
    }
    let overview = browser.api("GET", "/overview", None).json(200);
    assert_eq!(overview["health"], checks["status"]);
    let attention = overview["attention"].as_array().unwrap();
    let found = rows.iter().filter(|check| check["status"] == "failed" || check["status"] == "warning");
    for check in found.take(1) {
        let title = check["title"].as_str().unwrap();
        let named = attention.iter().any(|one| one["text"].as_str().unwrap().starts_with(title));
        assert!(named || attention.len() >= 5, "{overview}");
    }
    server.advance(Duration::from_secs(3_601));
    assert_eq!(browser.api("GET", "/overview", None).json(200)["health"], Value::Null);
    retry_until_ok("checks that the overview has started", || {
        let overview = browser.api("GET", "/overview", None).json(200);
        if overview["health"].is_string() { Ok(()) } else { Err(overview.to_string()) }
    });
    let again = browser.api("POST", "/health/run", None).json(200);
    assert_eq!(again["data"].as_array().unwrap().len(), rows.len());
}
