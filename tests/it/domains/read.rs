//! `GET /domains` and `GET /domains/{id}`.

use serde_json::Value;

use super::{UNKNOWN_ID, create, path};
use crate::support::TestServer;

#[test]
fn a_list_shows_domains_newest_first_without_records() {
    let server = TestServer::start();
    let older = create(&server, "older.example.org");
    let newer = create(&server, "newer.example.org");
    let id = |domain: &Value| domain["id"].as_str().unwrap().to_owned();
    let names = |list: &Value| -> Vec<String> {
        let rows = list["data"].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };

    let all = server.get("/domains").ok(200);
    assert_eq!(names(&all), ["newer.example.org", "older.example.org", "example.com"]);
    assert_eq!((&all["object"], &all["has_more"]), (&Value::from("list"), &Value::from(false)));
    assert!(all["data"].as_array().unwrap().iter().all(|row| row["records"].is_null()));
    let first = server.get("/domains?limit=1").ok(200);
    assert_eq!((names(&first), &first["has_more"]), (vec!["newer.example.org".to_owned()], &Value::from(true)));
    let next = server.get(&format!("/domains?limit=1&after={}", id(&newer))).ok(200);
    assert_eq!(names(&next), ["older.example.org"]);
    let back = server.get(&format!("/domains?before={}", id(&older))).ok(200);
    assert_eq!(names(&back), ["newer.example.org"]);
    assert_eq!(server.get(&format!("/domains?after={UNKNOWN_ID}")).status, 422);
}

#[test]
fn a_read_returns_the_created_domain() {
    let server = TestServer::start();
    let created = create(&server, "example.org");

    assert_eq!(server.get(&path(&created)).ok(200), created);
}

#[test]
fn the_configured_domain_of_a_development_instance_is_verified() {
    let server = TestServer::start();
    let configured = server.get("/domains").ok(200)["data"][0].clone();

    let domain = server.get(&path(&configured)).ok(200);

    assert_eq!(domain["status"], "verified");
    let records = domain["records"].as_array().unwrap();
    assert!(records.iter().all(|record| record["status"] == "verified" && record["live"] == "found"));
}

#[test]
fn an_unknown_domain_is_not_found_and_a_malformed_id_is_invalid() {
    let server = TestServer::start();

    for (method, path) in [
        ("GET", format!("/domains/{UNKNOWN_ID}")),
        ("DELETE", format!("/domains/{UNKNOWN_ID}")),
        ("POST", format!("/domains/{UNKNOWN_ID}/verify")),
    ] {
        server.call(method, &path, server.key(), &[], None).refused(404, "not_found", "Domain not found");
    }
    let update = server.call("PATCH", &format!("/domains/{UNKNOWN_ID}"), server.key(), &[], Some(b"{}"));
    update.refused(404, "not_found", "Domain not found");
    server.get("/domains/one").refused(422, "validation_error", "The `id` must be a valid UUID.");
}
