//! Refused requests for a live stream.

use std::time::Duration;

use super::{PATH, open, request_stream};
use crate::support::{ApiResponse, TestServer};

#[test]
fn a_stream_requires_a_full_access_key_and_known_types() {
    let server = TestServer::start_with(&["--public-url", "https://mail.example.com"]);
    let refused = |path: &str, key: &str| ApiResponse::read(request_stream(&server, path, key, None)).refusal();

    assert!(refused(PATH, "").starts_with("401 missing_api_key"));
    assert!(refused(PATH, "rm_wrong").starts_with("403 invalid_api_key"));
    assert!(refused(PATH, &server.create_sending_key()).starts_with("403 restricted_api_key"));
    let unknown = refused(&format!("{PATH}?types=email.sent,email.nothing"), server.key());
    assert!(unknown.starts_with("422 validation_error: Invalid `types`") && unknown.contains("email.delivered"));
    assert!(refused(&format!("{PATH}?type=email.sent"), server.key()).contains("takes `types`"));
    let unknown_host = ApiResponse::read(request_stream(&server, PATH, server.key(), Some("evil.example")));
    assert_eq!(unknown_host.status, 404);
    assert_eq!(server.post(PATH, &serde_json::json!({})).status, 405);
}

#[test]
fn a_team_has_at_most_eight_streams() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let mut streams: Vec<_> = (0..8).map(|_| open(&server, PATH, server.key())).collect();

    let ninth = ApiResponse::read(request_stream(&server, PATH, server.key(), None));
    assert_eq!(ninth.header("retry-after"), Some("5"));
    assert!(ninth.refusal().starts_with("429 rate_limit_exceeded: A team may have 8 streams"), "{ninth:?}");
    drop(open(&server, PATH, other.key()));

    streams.pop();
    let started = ringmail::base::clock::monotonic();
    while request_stream(&server, PATH, server.key(), None).status() != 200 {
        // The server sends the next comment after 15 seconds. The permit must be free before that.
        assert!(started.elapsed() < Duration::from_secs(10), "the permit of a closed stream is not released");
        std::thread::yield_now();
    }
}
