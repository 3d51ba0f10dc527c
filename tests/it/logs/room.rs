//! Where entries wait, how long they are kept, and what becomes of them at a stop.

use std::time::Duration;

use serde_json::json;

use super::{entry, logged};
use crate::support::TestServer;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn a_stop_writes_what_waits() {
    let server = TestServer::start();
    for _ in 0..50 {
        server.get("/topics").ok(200);
    }

    let server = server.restart_with(&["--request-log", "false"]);

    assert_eq!(logged(&server), vec!["GET /topics 200"; 50]);
}

#[test]
fn a_full_queue_fails_no_answer_and_there_is_room_again_later() {
    let server = TestServer::start();
    // A refused body of a size that the log holds as it is: some hundreds fill its memory.
    let body = json!({ "name": "x".repeat(60_000), "default_subscription": "opt_in" });
    let count = 850;
    let held = server.block_commits();
    for _ in 0..count {
        assert_eq!(server.post("/topics", &body).status, 422);
    }
    drop(held);

    let kept = logged(&server).len();
    let later = server.get("/topics");

    assert!((1..count).contains(&kept), "{kept}");
    assert_eq!(entry(&server, &later)["endpoint"], "/topics");
}

#[test]
fn old_requests_go_with_their_copies_and_younger_ones_stay() {
    let server = TestServer::start_with(&["--log-retention-days", "2"]);
    let old = server.post("/topics", &json!({ "name": "Old", "default_subscription": "opt_in" }));
    let server = server.restart_after(DAY, &["--log-retention-days", "2"]);
    let young = server.get("/topics");
    assert_eq!(entry(&server, &old)["request_body"]["name"], "Old");

    let server = server.restart_after(DAY + Duration::from_secs(60), &["--log-retention-days", "2"]);

    let path = format!("/logs/{}", old.header("x-request-id").unwrap());
    server.poll(&path, "the purge", |answer| answer.status == 404);
    assert_eq!(entry(&server, &young)["endpoint"], "/topics");
}
