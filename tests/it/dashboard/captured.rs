//! Captured mail in the dashboard.

use serde_json::json;

use super::browser::{Browser, setup_link};
use crate::audit;
use crate::support::{MailServer, StartTls, TestServer, retry_until_ok};

/// Returns a browser with a session of a development server.
pub(super) fn opened(server: &TestServer) -> Browser<'_> {
    let browser = Browser::new(server);
    browser.get(&setup_link(server)).leads_to("/dashboard/");
    browser
}

/// Sends an email and returns its id with that of its captured message.
pub(super) fn captured(server: &TestServer, browser: &Browser<'_>, fields: serde_json::Value) -> (String, String) {
    let email = server.send(&fields);
    let message = retry_until_ok("the captured message", || {
        let list = browser.api("GET", "/captured", None).json(200);
        let rows = list["data"].as_array().unwrap();
        let row = rows.iter().find(|row| row["email_id"] == email.as_str());
        row.map(|row| row["id"].as_str().unwrap().to_owned()).ok_or_else(|| list.to_string())
    });
    (email, message)
}

#[test]
fn a_captured_message_is_shown_with_its_parts_and_deleted() {
    let server = TestServer::start();
    let browser = opened(&server);
    let (email, id) = captured(
        &server,
        &browser,
        json!({
            "to": "ada@example.net", "subject": "Welcome", "html": "<p>Your code is <b>481 920</b></p>",
            "attachments": [{ "filename": "a.txt", "content": "aGVsbG8=" }],
        }),
    );

    let message = browser.api("GET", &format!("/captured/{id}"), None).json(200);

    assert_eq!((&message["email_id"], &message["subject"]), (&email.as_str().into(), &"Welcome".into()));
    assert_eq!((&message["html"], &message["mode"]), (&true.into(), &"captured".into()));
    assert!(message["html_source"].as_str().unwrap().contains("<p>Your code is <b>481 920</b></p>"), "{message}");
    assert_eq!(message["would_go_to"], json!({ "route": "direct", "hosts": ["example.net"] }));
    assert_eq!(message["attachments"][0]["filename"], "a.txt");
    let headers = message["headers"].as_array().unwrap();
    assert!(headers.contains(&json!(["Subject", "Welcome"])), "{headers:?}");
    let part = browser.api("GET", &format!("/captured/{id}/parts/0"), None);
    assert_eq!((part.status, part.body.as_str()), (200, "hello"));
    assert!(part.header("content-disposition").starts_with("attachment; "), "{part:?}");
    let raw = browser.api("GET", &format!("/captured/{id}/raw"), None);
    assert_eq!((raw.status, raw.header("content-type")), (200, "message/rfc822"));
    assert!(raw.body.contains("Subject: Welcome\r\n"), "{}", raw.body);
    browser.api("GET", &format!("/captured/{id}/parts/1"), None).is_error(404, "not_found");

    assert_eq!(browser.api("DELETE", &format!("/captured/{id}"), None).json(200)["deleted"], true);
    browser.api("GET", &format!("/captured/{id}"), None).is_error(404, "not_found");
    browser.api("DELETE", &format!("/captured/{id}"), None).is_error(404, "not_found");
}

#[test]
fn captured_messages_are_filtered_and_cleared() {
    let server = TestServer::start();
    let browser = opened(&server);
    for (to, subject) in [("ada@example.net", "One"), ("bob@example.net", "Two")] {
        captured(&server, &browser, json!({ "to": to, "subject": subject }));
    }
    let subjects = |query: &str| -> Vec<String> {
        let list = browser.api("GET", &format!("/captured{query}"), None).json(200);
        list["data"].as_array().unwrap().iter().map(|row| row["subject"].as_str().unwrap().to_owned()).collect()
    };

    assert_eq!(subjects(""), ["Two", "One"]);
    assert_eq!(subjects("?to=ada%40example.net"), ["One"]);
    assert_eq!(subjects("?subject=tw"), ["Two"]);
    assert_eq!(subjects("?limit=1"), ["Two"]);
    browser.api("GET", "/captured?odd=1", None).is_error(422, "validation_error");

    assert_eq!(browser.api("DELETE", "/captured", None).json(200)["count"], 2);
    assert!(subjects("").is_empty());
}

#[test]
fn a_release_needs_a_transport() {
    let server = TestServer::start();
    let browser = opened(&server);
    let (_, id) = captured(&server, &browser, json!({ "to": "ada@example.net" }));

    browser.api("POST", &format!("/captured/{id}/release"), None).is_error(409, "validation_error");
    browser
        .request("POST", &format!("/dashboard/api/captured/{id}/release"), &[], None)
        .is_error(403, "invalid_access");
}

#[test]
fn a_captured_message_is_released_once() {
    let mail = MailServer::start(StartTls::NotOffered);
    let smarthost = format!("out=smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let server = TestServer::start_with(&["--smarthost", &smarthost, "--release", "out"]);
    let browser = opened(&server);
    let (email, message) = captured(&server, &browser, json!({ "to": "ada@example.net" }));
    server.wait_for(&email, "delivered");
    let path = format!("/captured/{message}");
    assert_eq!(browser.api("GET", &path, None).json(200)["would_go_to"]["route"], "out");

    let released = browser.api("POST", &format!("{path}/release"), None).json(200);

    assert_eq!((&released["email_id"], &released["transport"]), (&email.as_str().into(), &"out".into()));
    assert_eq!(released["to"], json!(["ada@example.net"]));
    server.wait_for(&email, "delivered");
    assert_eq!(mail.received().len(), 1);
    let shown = browser.api("GET", &path, None).json(200);
    assert_eq!(shown["mode"], "released");
    assert!(shown["released_at"].is_string(), "{shown}");
    browser.api("POST", &format!("{path}/release"), None).is_error(409, "validation_error");
    let log = audit::entries(&server);
    let releases: Vec<_> = log.iter().filter(|entry| entry.action == "captured.released").collect();
    let [entry] = &releases[..] else { panic!("{log:?}") };
    let target = entry.target.as_ref().unwrap();
    assert_eq!((entry.actor.kind.as_str(), target.id.as_str()), ("user", message.as_str()));
    assert_eq!(entry.detail["email_id"], email.as_str());
}

#[test]
fn hostile_html_is_sent_only_in_a_sandbox() {
    let server = TestServer::start();
    let browser = opened(&server);
    let html = "<script>parent.x = 1</script><form action=https://evil.example><input></form>\
                <meta http-equiv=refresh content='0;url=https://evil.example'><base href=https://evil.example>\
                <link rel=preconnect href=https://evil.example><style>@import url(https://evil.example/a.css)</style>\
                <svg onload=alert(1)></svg><img src=https://evil.example/p.gif>";
    let (email, id) = captured(&server, &browser, json!({ "to": "ada@example.net", "html": html }));

    for path in [format!("/captured/{id}/preview"), format!("/emails/{email}/preview")] {
        let page = browser.api("GET", &path, None);
        let policy = page.header("content-security-policy");
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
        assert!(policy.starts_with("sandbox; default-src 'none'; "), "{policy}");
        assert!(policy.contains("img-src data:;") && policy.contains("form-action 'none'"), "{policy}");
        assert_eq!(page.header("referrer-policy"), "no-referrer");
        assert!(page.header("cache-control").contains("no-store"), "{page:?}");
        for disarmed in ["<x-base href=", "<x-link rel="] {
            assert!(page.body.contains(disarmed), "{}", page.body);
        }
        let with_images = browser.api("GET", &format!("{path}?images=1&dark=1"), None);
        assert!(with_images.header("content-security-policy").contains("img-src data: https: http:;"));
        assert!(with_images.body.contains("invert(1)"), "{}", with_images.body);
        browser.api("GET", &format!("{path}?images=yes"), None).is_error(422, "validation_error");
    }
    browser.get(&format!("/dashboard/api/emails/{email}/preview")).shows(200, "evil.example");
    Browser::new(&server).get(&format!("/dashboard/api/emails/{email}/preview")).is_error(401, "missing_session");
}

#[test]
fn a_message_of_five_megabytes_has_a_preview() {
    let server = TestServer::start();
    let browser = opened(&server);
    let html = format!("<p>{}</p>", "a".repeat(5 << 20));
    let (email, _) = captured(&server, &browser, json!({ "to": "ada@example.net", "html": html }));

    let page = browser.request("GET", &format!("/dashboard/api/emails/{email}/preview"), &[], None);

    assert_eq!(page.status, 200);
    assert!(page.body.len() >= 5 << 20, "{}", page.body.len());
}

#[test]
fn the_preview_of_a_tracked_message_has_no_pixel() {
    let server = TestServer::start();
    let domain = server.domain_id("example.com");
    server.patch(&format!("/domains/{domain}"), &json!({ "open_tracking": true })).ok(200);
    let browser = opened(&server);
    let (_, id) = captured(&server, &browser, json!({ "to": "ada@example.net", "html": "<p>Hello</p>" }));
    assert!(browser.api("GET", &format!("/captured/{id}/raw"), None).body.contains("/t/o/"));

    let page = browser.api("GET", &format!("/captured/{id}/preview?images=1"), None);

    page.shows(200, "<p>Hello</p>");
    assert!(!page.body.contains("/t/o/"), "{}", page.body);
}
