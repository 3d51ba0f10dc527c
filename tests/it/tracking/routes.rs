//! `/t/o/{token}` and `/t/c/{token}`.

use std::time::Duration;

use serde_json::json;

use super::{BROWSER, DESTINATION, HTML, deliver, request, start_tracking, tracked_path};

const HIT_EVENTS: [&str; 3] = ["email.opened", "email.clicked", "email.prefetched"];

#[test]
fn a_link_redirects_and_a_pixel_is_an_image() {
    let server = start_tracking();
    let (_, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));

    let pixel = request(&server, "GET", &tracked_path(&message.html, "o"), &[BROWSER]);
    let link = request(&server, "GET", &tracked_path(&message.html, "c"), &[BROWSER]);

    assert_eq!((pixel.status, pixel.body.len(), pixel.header("content-type")), (200, 43, "image/gif"));
    assert!(pixel.body.starts_with(b"GIF89a"));
    assert_eq!((link.status, link.body.len(), link.header("location")), (302, 0, DESTINATION));
    for response in [&pixel, &link] {
        assert_eq!(response.header("cache-control"), "no-store");
        assert_eq!(response.header("referrer-policy"), "no-referrer");
    }
}

#[test]
fn an_invalid_token_redirects_nowhere_and_gets_the_same_image() {
    let server = start_tracking();
    let (id, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));
    let (pixel, link) = (tracked_path(&message.html, "o"), tracked_path(&message.html, "c"));
    let tampered = |path: &str| format!("{}{}", &path[..path.len() - 1], if path.ends_with('A') { "B" } else { "A" });

    for path in [tampered(&pixel), link.replace("/t/c/", "/t/o/"), "/t/o/x".to_owned()] {
        let response = request(&server, "GET", &path, &[BROWSER]);
        assert_eq!((response.status, response.body.len()), (200, 43), "{path}");
        assert_eq!((response.header("content-type"), response.header("cache-control")), ("image/gif", "no-store"));
    }
    for path in [tampered(&link), pixel.replace("/t/o/", "/t/c/"), "/t/c/x".to_owned()] {
        let response = request(&server, "GET", &path, &[BROWSER]);
        assert_eq!((response.status, response.header("location")), (404, ""));
        assert_eq!(response.header("content-type"), "text/html; charset=utf-8");
    }

    let recorded = server.recorded_events(&id);
    assert!(!recorded.iter().any(|event| HIT_EVENTS.contains(event)), "{recorded:?}");
}

#[test]
fn a_get_request_is_recorded_and_a_head_request_is_not() {
    let server = start_tracking();
    let (id, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));
    let (pixel, link) = (tracked_path(&message.html, "o"), tracked_path(&message.html, "c"));
    server.advance(Duration::from_secs(600));

    let responses = [&pixel, &link].map(|path| request(&server, "HEAD", path, &[BROWSER]));

    assert_eq!(responses.each_ref().map(|response| (response.status, response.body.len())), [(200, 0), (302, 0)]);
    assert_eq!(responses[1].header("location"), DESTINATION);
    let recorded = server.recorded_events(&id);
    assert!(!recorded.iter().any(|event| HIT_EVENTS.contains(event)), "{recorded:?}");

    request(&server, "GET", &pixel, &[BROWSER]);
    server.wait_for_recorded_event(&id, "email.opened");
    request(&server, "GET", &link, &[BROWSER]);
    server.wait_for_recorded_event(&id, "email.clicked");
}

#[test]
fn a_prefetch_is_answered_and_is_no_open() {
    let server = start_tracking();
    let (id, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));
    server.advance(Duration::from_secs(600));

    let headers = [BROWSER, ("sec-purpose", "prefetch;prerender")];
    let response = request(&server, "GET", &tracked_path(&message.html, "o"), &headers);

    assert_eq!((response.status, response.body.len()), (200, 43));
    server.wait_for_recorded_event(&id, "email.prefetched");
    assert!(!server.recorded_events(&id).contains(&"email.opened"));
}

#[test]
fn a_link_redirects_after_the_email_is_deleted() {
    let server = start_tracking();
    let (id, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));
    server.delete(&format!("/emails/{id}")).ok(200);

    let link = request(&server, "GET", &tracked_path(&message.html, "c"), &[BROWSER]);

    assert_eq!((link.status, link.header("location")), (302, DESTINATION));
}

#[test]
fn a_link_redirects_while_the_store_is_blocked() {
    let server = start_tracking();
    let (_, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));
    let _blocked = server.block_commits();

    let link = request(&server, "GET", &tracked_path(&message.html, "c"), &[BROWSER]);

    assert_eq!((link.status, link.header("location")), (302, DESTINATION));
}

#[test]
fn another_method_is_refused() {
    let server = start_tracking();

    assert_eq!(request(&server, "POST", "/t/o/x", &[]).status, 405);
    assert_eq!(request(&server, "DELETE", "/t/c/x", &[]).status, 405);
}
