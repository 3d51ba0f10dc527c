//! Live streams and erasure.

use std::time::Duration;

use ringmail::announcer::Announcement;
use ringmail::id::TeamId;
use ringmail::live::{Filter, Seen, Watch};
use serde_json::json;

use crate::support::TestServer;

/// Maximum time that a test waits for the next item.
const TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn an_erasure_drops_the_unread_events_of_a_stream() {
    let server = TestServer::start();
    let team = server.get("/usage").ok(200)["team"]["id"].as_str().and_then(TeamId::parse).unwrap();
    let mut watch = Watch::new(&server.context().announcer, team, Filter::everything());
    let id = server.send(&json!({ "to": "ada@example.net" }));
    server.wait_for(&id, "delivered");
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);

    server.erase(&["ada@example.net"]);
    server.post("/contacts", &json!({ "email": "bob@example.net" })).ok(201);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut next = || runtime.block_on(async { tokio::time::timeout(TIMEOUT, watch.next()).await }).unwrap().unwrap();
    let first = next();
    assert!(matches!(first, Seen::Missed(missed) if missed >= 3), "{first:?}");
    loop {
        let Seen::Event(Announcement { event_type, body, .. }) = next() else { continue };
        assert!(!body.contains("ada@example.net"), "{body}");
        if event_type == "contact.created" && body.contains("bob@example.net") {
            return;
        }
    }
}
