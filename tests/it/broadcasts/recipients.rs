//! `GET /broadcasts/{id}/recipients` and `GET /broadcasts/{id}/clicked-links`.

use serde_json::json;

use super::{create, id, schedule};
use crate::support::TestServer;

const TYPES: [&str; 8] =
    ["sent", "delivered", "opened", "clicked", "bounced", "complained", "unsubscribed", "suppressed"];

#[test]
fn every_list_of_a_scheduled_broadcast_is_empty() {
    let server = TestServer::start();
    let empty = json!({ "object": "list", "has_more": false, "data": [] });
    for path in [create(&server, &json!({})), schedule(&server)] {
        for kind in TYPES {
            assert_eq!(server.get(&format!("{path}/recipients?type={kind}")).ok(200), empty, "{kind}");
        }
        assert_eq!(server.get(&format!("{path}/clicked-links")).ok(200), empty);
        let bounces = format!("{path}/recipients?type=bounced&bounce_type=transient&email=ada@example.net");
        assert_eq!(server.get(&bounces).ok(200), empty);
    }
}

#[test]
fn an_invalid_parameter_is_refused() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    for (query, refusal) in [
        ("", "The `type` query parameter is required"),
        ("type=all", "The `type` query parameter is required"),
        ("type=sent&bounce_type=permanent", "The `bounce_type` is only accepted with `type=bounced`."),
        ("type=bounced&bounce_type=Permanent", "Invalid `bounce_type`"),
        (&format!("type=sent&email={}", "a".repeat(255)), "Invalid `email`"),
        ("type=sent&limit=101", "The `limit` must be a number from 1 to 100."),
        ("type=sent&status=x", "Unknown query parameter `status`"),
        (&format!("type=sent&after={}", id(&path)), "Invalid cursor."),
        (&format!("type=opened&after={}", id(&path)), "Invalid cursor."),
    ] {
        let refused = server.get(&format!("{path}/recipients?{query}")).refusal();

        assert!(refused.starts_with(&format!("422 validation_error: {refusal}")), "{query}: {refused}");
    }
    let refused = server.get(&format!("{path}/clicked-links?before={}", id(&path))).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid cursor."), "{refused}");
}
