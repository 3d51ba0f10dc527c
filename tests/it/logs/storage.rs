//! The queue of log entries, their retention, and a shutdown.

use std::time::Duration;

use serde_json::json;

use super::{entry, logged};
use crate::support::TestServer;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn a_shutdown_stores_all_pending_entries() {
    let server = TestServer::start();
    for _ in 0..50 {
        server.get("/topics").ok(200);
    }

    let server = server.restart_with(&["--request-log", "false"]);

    assert_eq!(logged(&server), vec!["GET /topics 200"; 50]);
}

#[test]
fn a_full_queue_drops_entries_and_accepts_new_ones_later() {
    let server = TestServer::start();
    // The log keeps a body of this size without truncation. A few hundred entries fill the queue.
    let body = json!({ "name": "x".repeat(60_000), "default_subscription": "opt_in" });
    let count = 850;
    let blocked = server.block_commits();
    for _ in 0..count {
        assert_eq!(server.post("/topics", &body).status, 422);
    }
    drop(blocked);

    let logged_count = logged(&server).len();
    let later = server.get("/topics");

    assert!((1..count).contains(&logged_count), "{logged_count}");
    assert_eq!(entry(&server, &later)["endpoint"], "/topics");
}

#[test]
fn retention_deletes_old_entries_with_their_bodies_and_keeps_younger_ones() {
    let server = TestServer::start_with(&["--log-retention-days", "2"]);
    let old = server.post("/topics", &json!({ "name": "Old", "default_subscription": "opt_in" }));
    let server = server.restart_after(DAY, &["--log-retention-days", "2"]);
    let young = server.get("/topics");
    assert_eq!(entry(&server, &old)["request_body"]["name"], "Old");

    let server = server.restart_after(DAY + Duration::from_secs(60), &["--log-retention-days", "2"]);

    let path = format!("/logs/{}", old.header("x-request-id").unwrap());
    server.poll(&path, "the purge", |response| response.status == 404);
    assert_eq!(entry(&server, &young)["endpoint"], "/topics");
}
