//! Live streams and erasure.

use std::time::Duration;

use ringmail::base::id::TeamId;
use ringmail::event_bus::PublishedEvent;
use ringmail::live::{EventStream, StreamItem, TypeFilter};
use serde_json::json;

use crate::support::TestServer;

/// Maximum time that a test waits for the next item.
const TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn an_erasure_drops_the_unread_events_of_a_stream() {
    let server = TestServer::start();
    let team = server.get("/usage").ok(200)["team"]["id"].as_str().and_then(TeamId::parse).unwrap();
    let mut watch = EventStream::new(&server.context().event_bus, team, TypeFilter::everything());
    let id = server.send(&json!({ "to": "ada@example.net" }));
    server.wait_for(&id, "delivered");
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);

    server.erase(&["ada@example.net"]);
    server.post("/contacts", &json!({ "email": "bob@example.net" })).ok(201);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut next = || runtime.block_on(async { tokio::time::timeout(TIMEOUT, watch.next()).await }).unwrap().unwrap();
    let first = next();
    assert!(matches!(first, StreamItem::Missed(missed) if missed >= 3), "{first:?}");
    loop {
        let StreamItem::Event(PublishedEvent { event_type, body, .. }) = next() else { continue };
        assert!(!body.contains("ada@example.net"), "{body}");
        if event_type == "contact.created" && body.contains("bob@example.net") {
            return;
        }
    }
}
