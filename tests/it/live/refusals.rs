//! Refused requests for a live stream.

use std::time::Duration;

use serde_json::json;

use super::{PATH, open, request_stream};
use crate::support::{ApiResponse, TestServer};

#[test]
fn a_stream_requires_a_full_access_key_and_known_types() {
    let server = TestServer::start_with(&["--public-url", "https://mail.example.com"]);
    let refused = |path: &str, key: &str| ApiResponse::read(request_stream(&server, path, key, None)).refusal();

    // A request without a key needs a session.
    assert!(refused(PATH, "").starts_with("401 missing_session"));
    assert!(refused(PATH, "rm_wrong").starts_with("403 invalid_api_key"));
    assert!(refused(PATH, &server.create_sending_key()).starts_with("403 restricted_api_key"));
    let unknown = refused(&format!("{PATH}?types=email.sent,email.nothing"), server.key());
    assert!(unknown.starts_with("422 validation_error: Invalid `types`") && unknown.contains("email.delivered"));
    assert!(refused(&format!("{PATH}?type=email.sent"), server.key()).contains("takes `types`"));
    let unknown_host = ApiResponse::read(request_stream(&server, PATH, server.key(), Some("evil.example")));
    assert_eq!(unknown_host.status, 404);
    assert_eq!(server.post(PATH, &json!({})).status, 405);
}

#[test]
fn a_key_has_at_most_four_streams() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let mut streams: Vec<_> = (0..4).map(|_| open(&server, PATH, server.key())).collect();

    let fifth = ApiResponse::read(request_stream(&server, PATH, server.key(), None));
    assert_eq!(fifth.header("retry-after"), Some("5"));
    assert!(fifth.refusal().starts_with("429 rate_limit_exceeded: An API key may have 4 streams"), "{fifth:?}");
    drop(open(&server, PATH, other.key()));

    streams.pop();
    let started = ringmail::base::clock::monotonic();
    while request_stream(&server, PATH, server.key(), None).status() != 200 {
        // The server sends the next comment after 15 seconds. The permit must be free before that.
        assert!(started.elapsed() < Duration::from_secs(10), "the permit of a closed stream is not released");
        std::thread::yield_now();
    }
}

#[test]
fn a_team_has_at_most_32_streams() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let keys: Vec<String> =
        (0..9).map(|number| server.create_key(&json!({ "name": format!("Key {number}") }))).collect();
    let streams: Vec<_> = keys[..8].iter().flat_map(|key| (0..4).map(|_| open(&server, PATH, key))).collect();
    assert_eq!(streams.len(), 32);

    let refused = ApiResponse::read(request_stream(&server, PATH, &keys[8], None)).refusal();

    assert!(refused.starts_with("429 rate_limit_exceeded: A team may have 32 streams"), "{refused}");
    drop(open(&server, PATH, other.key()));
}
