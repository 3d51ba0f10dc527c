//! What verbs print, in JSON and in exit codes.

use serde_json::Value;

use super::program::Place;
use crate::support::NameServer;

/// Returns the names of an object's fields, sorted.
fn fields(value: &Value) -> Vec<&str> {
    let mut fields: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    fields.sort_unstable();
    fields
}

#[test]
fn keys_are_made_listed_renamed_and_revoked() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);

    let made = place.run(&["key", "create", "ci", "--json"]).json();
    let expected = ["created_at", "domain_id", "id", "last_used_at", "name", "permission", "token"];
    assert_eq!(fields(&made), expected);
    assert_eq!((&made["name"], &made["permission"]), (&"ci".into(), &"full_access".into()));
    let scoped = ["key", "create", "scoped", "--permission", "sending_access", "--domain", "example.com", "--json"];
    let scoped = place.run(&scoped).json();
    assert_eq!(scoped["permission"], "sending_access");
    assert!(scoped["domain_id"].is_string());

    let listed = place.run(&["key", "list", "--json"]).json();
    assert_eq!(fields(&listed), ["data"]);
    assert_eq!(fields(&listed["data"][1]), expected[..6]);
    let id = made["id"].as_str().unwrap();
    assert_eq!(place.run(&["key", "rename", id, "build", "--json"]).json()["name"], "build");
    assert_eq!(place.run(&["key", "revoke", "build"]).line(), id);

    place.run(&["key", "revoke", "build"]).failed(3, &["build"]);
    place.run(&["key", "create", "x", "--domain", "other.example"]).failed(3, &["other.example"]);
    place.run(&["key", "create", ""]).failed(2, &["80 characters"]);
    place.run(&["key", "create", "scoped"]).line();
    place.run(&["key", "revoke", "scoped"]).failed(4, &["several"]);
}

#[test]
fn webhook_endpoints_are_added_switched_rotated_tested_and_deleted() {
    let place = Place::new();
    let url = "https://hooks.example/mail";
    let server = place.serve(&["dev"]);

    let made = place.run(&["webhook", "create", url, "--event", "email.sent,email.opened", "--json"]).json();
    let all = ["created_at", "endpoint", "events", "id", "previous_secret_expires_at", "signing_secret", "status"];
    assert_eq!(fields(&made), all);
    assert_eq!(made["events"], serde_json::json!(["email.sent", "email.opened"]));
    let id = made["id"].as_str().unwrap();
    let secret = made["signing_secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"));

    assert_eq!(place.run(&["webhook", "disable", url]).line(), id);
    place.run(&["webhook", "test", id]).failed(2, &["disabled"]);
    assert_eq!(place.run(&["webhook", "enable", id, "--json"]).json()["status"], "enabled");
    let rotated = place.run(&["webhook", "rotate", url, "--overlap-hours", "1", "--json"]).json();
    assert!(rotated["previous_secret_expires_at"].is_string() && rotated["signing_secret"] != secret);
    assert_eq!(place.run(&["webhook", "test", url, "--json"]).json()["type"], "email.sent");
    place.run(&["webhook", "test", url, "--type", "email.bounced"]).failed(2, &["email.bounced"]);

    place.run(&["webhook", "create", "ftp://hooks.example/"]).failed(2, &["http"]);
    place.run(&["webhook", "create", url, "--event", "email.received"]).failed(2, &["email.received"]);
    place.run(&["webhook", "delete", "https://hooks.example/other"]).failed(3, &["other"]);
    let everything = place.run(&["webhook", "create", url]).line().to_owned();
    assert!(everything.starts_with("whsec_"));
    place.run(&["webhook", "delete", url]).failed(4, &["several"]);
    let listed = place.run(&["webhook", "list", "--json"]).json();
    assert_eq!(
        fields(&listed["data"][0]),
        ["created_at", "endpoint", "events", "id", "previous_secret_expires_at", "status"]
    );
    assert_eq!(listed["data"][0]["events"], Value::Null);
    assert_eq!(server.stop(), 0);

    // The same without a server.
    assert_eq!(place.run(&["webhook", "delete", id]).line(), id);
}

#[test]
fn a_list_longer_than_a_page_is_whole() {
    let place = Place::new();
    let server = place.serve(&["serve", "--rate-limit", "0"]);
    let key = place.run(&["key", "create", "one"]).line().to_owned();
    for number in 0..105 {
        let body = format!(r#"{{"name":"key {number}"}}"#);
        let url = format!("{}/api-keys", server.api());
        let agent = ureq::Agent::new_with_defaults();
        let request = agent.post(url).header("authorization", format!("Bearer {key}"));
        assert_eq!(request.content_type("application/json").send(body).unwrap().status().as_u16(), 201);
    }

    let listed = place.run(&["key", "list", "--json"]).json();

    assert_eq!(listed["data"].as_array().map(Vec::len), Some(106));
    assert_eq!(listed["data"][105]["name"], "one");
    assert_eq!(place.run(&["key", "list"]).line().lines().count(), 107);
}

#[test]
fn teams_are_made_once_and_named_where_there_are_several() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    let listed = place.run(&["team", "list", "--json"]).json();
    assert_eq!(fields(&listed["data"][0]), ["created_at", "id", "name"]);
    assert_eq!(listed["data"][0]["name"], "Main");

    let made = place.run(&["team", "create", "Second", "--json"]).json();
    assert_eq!(made["name"], "Second");
    place.run(&["team", "create", "Second"]).failed(4, &["already"]);
    place.run(&["team", "create", " "]).failed(2, &["80 characters"]);

    place.run(&["key", "list"]).failed(2, &["--team", "Main, Second"]);
    place.run(&["key", "list", "--team", "Third"]).failed(3, &["Main, Second"]);
    assert_eq!(place.run(&["key", "list", "--team", "Second", "--json"]).json()["data"], Value::Array(Vec::new()));
    assert_eq!(place.run(&["key", "list", "--team", "Second"]).out, "");
}

#[test]
fn users_have_roles_and_a_team_keeps_an_owner() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);

    let owner = place.run(&["user", "create", "One@Example.com", "--json"]).json();
    assert_eq!(fields(&owner), ["email", "id", "role", "since"]);
    assert_eq!(owner["role"], "owner");
    assert_eq!(place.run(&["user", "create", "two@example.com", "--json"]).json()["role"], "member");
    place.run(&["user", "create", "one@example.com"]).failed(4, &["owner"]);
    place.run(&["user", "create", "nobody"]).failed(2, &["nobody"]);

    place.run(&["user", "remove", "one@example.com"]).failed(4, &["last owner"]);
    place.run(&["user", "role", "three@example.com", "admin"]).failed(3, &["three@example.com"]);
    assert_eq!(place.run(&["user", "role", "two@example.com", "owner", "--json"]).json()["role"], "owner");
    place.run(&["user", "remove", "one@example.com"]).line();
    assert_eq!(place.run(&["user", "list", "--json"]).json()["data"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_theme_is_set_shown_and_reset() {
    let place = Place::new();
    let _server = place.serve(&["dev"]);
    let shown = place.run(&["theme", "show", "--json"]).json();
    let names = ["accent", "background", "brand", "dark", "light", "message", "redirect", "success", "text"];
    assert_eq!(fields(&shown), names);
    assert!(shown["brand"].is_null());

    let set = ["theme", "set", "--brand", "Acme", "--accent", "#FFB300", "--redirect", "https://example.com", "--json"];
    let set = place.run(&set).json();
    assert_eq!((&set["brand"], &set["accent"]), (&"Acme".into(), &"#ffb300".into()));
    assert_ne!(set["light"]["accent"], "#ffb300", "it is too pale for the page's own ground");
    assert_eq!(set["dark"]["accent"], "#ffb300");
    let kept = place.run(&["theme", "set", "--redirect", "", "--json"]).json();
    assert_eq!((&kept["brand"], &kept["redirect"]), (&"Acme".into(), &Value::Null));

    place.run(&["theme", "set"]).failed(2, &["--brand"]);
    place.run(&["theme", "set", "--accent", "red"]).failed(2, &["--accent", "#rrggbb"]);
    place.run(&["theme", "set", "--redirect", "javascript:alert(1)"]).failed(2, &["--redirect"]);
    place.run(&["theme", "set", "--message", &"x".repeat(501)]).failed(2, &["500"]);
    assert!(place.run(&["theme", "show"]).line().contains("#ffb300"));
    assert_eq!(place.run(&["theme", "reset", "--json"]).json(), shown);
}

#[test]
fn domains_show_their_records_and_are_trusted_in_development_alone() {
    let place = Place::new();
    let server = place.serve(&["dev", "--hostname", "mx.example.net"]);

    let added = place.run(&["domain", "add", "Mail.example.org", "--json"]).json();
    assert_eq!((&added["name"], &added["status"]), (&"mail.example.org".into(), &"not_started".into()));
    assert_eq!(fields(&added["records"][0]), ["name", "priority", "record", "status", "type", "value"]);
    assert_eq!(added["records"][0]["value"], "mx.example.net");
    let table = place.run(&["domain", "show", "mail.example.org"]);
    assert!(table.line().contains("v=spf1 a:mx.example.net ~all"), "{table:?}");
    place.run(&["domain", "add", "mail.example.org"]).failed(4, &["already"]);
    place.run(&["domain", "add", "nonsense"]).failed(2, &["nonsense"]);
    place.run(&["domain", "show", "other.example"]).failed(3, &["other.example"]);

    let trusted = place.run(&["domain", "add", "trusted.example", "--verified", "--json"]).json();
    assert_eq!(trusted["status"], "verified");
    let removed = place.run(&["domain", "remove", "mail.example.org", "--json"]).json();
    assert_eq!((&removed["id"], &removed["deleted"]), (&added["id"], &true.into()));
    let listed = place.run(&["domain", "list", "--json"]).json();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(2));
    assert_eq!(server.stop(), 0);

    let _served = place.serve(&["serve", "--data-dir", "served"]);
    let arguments = ["domain", "add", "trusted.example", "--verified", "--data-dir", "served"];
    place.run(&arguments).failed(2, &["ringmail dev"]);
}

#[test]
fn a_check_succeeds_where_the_domain_is_verified_and_shows_it_in_any_case() {
    let names = NameServer::start();
    let place = Place::new();
    let dev = place.serve(&["dev"]);
    assert_eq!(place.run(&["domain", "check", "example.com", "--json"]).json()["status"], "verified");
    drop(dev);

    let address = names.address();
    let checked = || {
        let ran = place.run(&["domain", "check", "shop.example", "--json", "--data-dir", "data"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        let shown: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(shown["status"], "pending");
        ran.err
    };
    let server = place.serve(&["serve", "--resolver", &address, "--data-dir", "data"]);
    place.run(&["domain", "add", "shop.example", "--data-dir", "data"]).line();
    assert!(checked().contains("shop.example is not verified"));
    assert_eq!(server.stop(), 0);
    assert!(checked().contains("no server is running"));
}

#[test]
fn a_check_of_a_verified_domain_succeeds_without_a_server_too() {
    let names = NameServer::start();
    let place = Place::new();
    let address = names.address();
    let server = place.serve(&["serve", "--resolver", &address, "--data-dir", "data"]);
    let added = place.run(&["domain", "add", "shop.example", "--json", "--data-dir", "data"]).json();
    names.publish(&added["records"]);
    let check = || place.run(&["domain", "check", "shop.example", "--json", "--data-dir", "data"]);
    assert_eq!(check().json()["status"], "verified");
    assert_eq!(server.stop(), 0);

    let alone = check();

    assert!(alone.err.contains("No server is running"), "{alone:?}");
    assert_eq!(alone.json()["status"], "verified");
}
