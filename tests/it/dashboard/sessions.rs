//! The list of sessions, their end, and the team that a session shows.

use std::time::Duration;

use ringmail::admin::Response;
use ringmail::admin::teams::TeamVerb;
use ringmail::users::Role;
use serde_json::json;

use super::browser::{Browser, EMAIL, PASSWORD, add_user, set_up};
use crate::support::TestServer;

const DAY: Duration = Duration::from_secs(24 * 3600);

#[test]
fn sessions_are_listed_and_end_one_by_one_or_all_others_at_once() {
    let server = TestServer::serve_with(&[]);
    let first = set_up(&server);
    server.advance(Duration::from_secs(60));
    let second = Browser::new(&server).with("user-agent", "Browser/2.0 <b>");
    second.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
    let third = Browser::new(&server);
    third.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
    let bob = add_user(&server, "bob@example.com", Role::Owner);

    let list = first.api("GET", "/sessions", None).json(200);
    assert_eq!((&list["object"], list["has_more"].as_bool()), (&json!("list"), Some(false)));
    let sessions = list["data"].as_array().unwrap();
    let current: Vec<bool> = sessions.iter().map(|session| session["current"].as_bool().unwrap()).collect();
    assert_eq!(current, [false, false, true]);
    let fields: Vec<&str> = sessions[1].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["created_at", "current", "id", "ip", "last_used_at", "user_agent"]);
    assert_eq!(sessions[1]["user_agent"], "Browser/2.0 <b>");
    assert_eq!(
        (&sessions[1]["ip"], &sessions[1]["created_at"]),
        (&json!("127.0.0.1"), &json!("2026-01-05T09:01:00.000Z"))
    );
    let id = |at: usize| sessions[at]["id"].as_str().unwrap().to_owned();
    let page = first.api("GET", &format!("/sessions?limit=1&after={}", id(0)), None).json(200);
    assert_eq!((page["data"][0]["id"].as_str(), page["has_more"].as_bool()), (Some(id(1).as_str()), Some(true)));

    bob.api("DELETE", &format!("/sessions/{}", id(1)), None).is_error(404, "not_found");
    assert_eq!(second.api("GET", "/sessions", None).status, 200);
    let ended = first.api("DELETE", &format!("/sessions/{}", id(1)), None).json(200);
    assert_eq!(ended, json!({ "object": "session", "id": id(1), "deleted": true }));
    second.api("GET", "/sessions", None).is_error(401, "missing_session");
    first.api("DELETE", &format!("/sessions/{}", id(1)), None).is_error(404, "not_found");
    first.api("DELETE", "/sessions/x", None).is_error(422, "validation_error");

    assert_eq!(first.api("DELETE", "/sessions", None).json(200)["deleted"], 1);
    third.api("GET", "/sessions", None).is_error(401, "missing_session");
    assert_eq!(first.api("GET", "/sessions", None).status, 200);
    assert_eq!(bob.api("GET", "/sessions", None).status, 200);
}

#[test]
fn a_session_ends_after_a_week_without_use_and_after_a_month() {
    let server = TestServer::serve_with(&[]);
    let (busy, idle) = (set_up(&server), Browser::new(&server));
    idle.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");

    for _ in 0..5 {
        server.advance(DAY * 6);
        let is_over = server.now_ms() >= 1_767_603_600_000 + 30 * 24 * 3_600_000;
        assert_eq!(busy.api("GET", "/sessions", None).status, if is_over { 401 } else { 200 });
        if server.now_ms() > 1_767_603_600_000 + 7 * 24 * 3_600_000 {
            idle.api("GET", "/sessions", None).is_error(401, "missing_session");
        }
    }
    busy.get("/dashboard/login").shows(200, "Sign in to");
}

#[test]
fn the_last_use_is_recorded_at_most_every_five_minutes() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);
    let last_used = || browser.api("GET", "/sessions", None).json(200)["data"][0]["last_used_at"].clone();

    server.advance(Duration::from_secs(299));
    assert_eq!(last_used(), "2026-01-05T09:00:00.000Z");
    server.advance(Duration::from_secs(1));
    last_used();

    assert_eq!(last_used(), "2026-01-05T09:05:00.000Z");
}

#[test]
fn a_session_shows_another_team_of_its_user_only() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);
    let Response::Team(other) = server.admin(TeamVerb::Create { name: "Other".to_owned() }) else { panic!("no team") };
    let Response::Teams(teams) = server.admin(TeamVerb::List) else { panic!("no teams") };
    let choose = |id: &str| browser.api("POST", "/me/team", Some(&json!({ "team_id": id })));

    choose(&other.id.to_string()).is_error(404, "not_found");
    choose("x").is_error(422, "validation_error");
    browser.api("POST", "/me/team", Some(&json!({}))).is_error(422, "missing_required_field");
    let own = teams.data[0].id.to_string();

    assert_eq!(choose(&own).json(200), json!({ "id": own, "name": "Acme", "role": "owner" }));
}

#[test]
fn a_removed_team_ends_the_sessions_of_its_users() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);
    server.admin(TeamVerb::Create { name: "Other".to_owned() });

    server.remove_first_team().unwrap();

    browser.api("GET", "/sessions", None).is_error(401, "missing_session");
}

#[test]
fn no_cache_keeps_the_data_of_a_session() {
    let server = TestServer::serve_with(&[]);
    let browser = set_up(&server);
    let viewer = add_user(&server, "viewer@example.com", Role::Viewer);

    for page in [
        browser.api("GET", "/me", None),
        browser.api("GET", "/emails", None),
        browser.api("GET", "/emails/0190a6c0-0000-7000-8000-000000000001", None),
        viewer.api("POST", "/api-keys", Some(&json!({ "name": "Key" }))),
        Browser::new(&server).api("GET", "/me", None),
    ] {
        assert!(page.header("cache-control").contains("no-store"), "{page:?}");
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{page:?}");
    }
}
