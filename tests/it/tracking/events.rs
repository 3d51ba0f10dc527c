//! The webhooks about opens, clicks and prefetches.

use std::time::Duration;

use ringmail::admin::webhooks::WebhookVerb;
use serde_json::{Value, json};

use super::hosts::{HOST, start_with_host};
use super::{BROWSER, DESTINATION, HTML, deliver, request, set_tracking, start_tracking, tracked_path, tracked_paths};
use crate::support::{NameServer, TestServer, WebhookReceiver, retry_until_ok};

const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                      Version/18.6 Mobile/15E148 Safari/604.1";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0";

/// Returns the event types of the deliveries to an endpoint, newest first.
fn delivered_types(server: &TestServer, webhook: &str) -> Vec<Value> {
    let deliveries = server.get(&format!("/webhooks/{webhook}/events")).ok(200);
    deliveries["data"].as_array().unwrap().iter().map(|delivery| delivery["type"].clone()).collect()
}

#[test]
fn an_open_and_a_click_at_a_tracking_host_are_posted_with_their_client() {
    let (dns, receiver) = (NameServer::start(), WebhookReceiver::start());
    let (server, _) = start_with_host(&dns, &["--trusted-proxies", "127.0.0.1"]);
    let endpoint = json!({ "endpoint": receiver.url(), "events": ["email.opened", "email.clicked"] });
    let webhook = server.post("/webhooks", &endpoint).ok(201)["id"].as_str().unwrap().to_owned();
    let html =
        "<p><a href=\"https://shop.example/?a=1&amp;b=2\">Shop</a> <a href=\"{{{UNSUBSCRIBE_URL}}}\">Leave</a></p>";

    let fields = json!({ "from": "Acme <hello@shop.example>", "to": "ada@example.org", "html": html });
    let (id, message) = deliver(&server, &fields);
    let (_, port) = server.base().rsplit_once(':').unwrap();
    let base = format!("http://links.shop.example:{port}");
    assert!(message.html.starts_with(&format!("<p><a href=\"{base}/t/c/")), "{}", message.html);
    assert!(message.html.contains(&format!("<img src=\"{base}/t/o/")), "{}", message.html);
    let (_, unsubscribe) = message.html.split_once("/unsubscribe/").unwrap();
    let unsubscribe = format!("/unsubscribe/{}", unsubscribe.split('"').next().unwrap());
    assert_eq!(request(&server, "GET", &unsubscribe, &[HOST]).status, 200);

    // The client of the proxy adds an address of its own before the one that the proxy adds.
    server.advance(Duration::from_secs(600));
    let headers = [HOST, ("user-agent", IPHONE), ("x-forwarded-for", "192.0.2.1, 203.0.113.7")];
    assert_eq!(request(&server, "GET", &tracked_path(&message.html, "o"), &headers).status, 200);
    server.advance(Duration::from_secs(90));
    let headers = [HOST, ("user-agent", FIREFOX), ("x-forwarded-for", "2001:db8::9")];
    let link = request(&server, "GET", &tracked_path(&message.html, "c"), &headers);
    assert_eq!((link.status, link.header("location")), (302, DESTINATION));

    let opened = receiver.wait_for("email.opened");
    assert_eq!(
        opened["data"]["open"],
        json!({ "ipAddress": "203.0.113.7", "timestamp": "2026-01-05T09:10:00.000Z", "userAgent": IPHONE })
    );
    let clicked = receiver.wait_for("email.clicked");
    assert_eq!(
        clicked["data"]["click"],
        json!({
            "ipAddress": "2001:db8::9", "link": DESTINATION, "timestamp": "2026-01-05T09:11:30.000Z",
            "userAgent": FIREFOX,
        })
    );
    for event in [&opened, &clicked] {
        assert_eq!((&event["data"]["email_id"], &event["data"]["to"]), (&json!(id), &json!(["ada@example.org"])));
    }
    assert_eq!(delivered_types(&server, &webhook), ["email.clicked", "email.opened"]);
}

#[test]
fn a_peer_that_is_no_listed_proxy_cannot_name_another_client() {
    let (server, receiver) = (TestServer::start_with(&["--trusted-proxies", "192.0.2.0/24"]), WebhookReceiver::start());
    set_tracking(&server, &json!({ "open_tracking": true, "click_tracking": true }));
    let endpoint = json!({ "endpoint": receiver.url(), "events": ["email.opened", "email.clicked"] });
    server.post("/webhooks", &endpoint).ok(201);
    let (_, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));
    server.advance(Duration::from_secs(600));

    for (kind, event, field) in [("o", "email.opened", "open"), ("c", "email.clicked", "click")] {
        // The last address of the header is a listed proxy. The connection comes from another address.
        let headers = [BROWSER, ("x-forwarded-for", "203.0.113.7, 192.0.2.1")];
        request(&server, "GET", &tracked_path(&message.html, kind), &headers);

        assert_eq!(receiver.wait_for(event)["data"][field]["ipAddress"], "127.0.0.1", "{event}");
    }
}

#[test]
fn only_an_endpoint_that_names_prefetches_receives_them() {
    let (server, named, all) = (start_tracking(), WebhookReceiver::start(), WebhookReceiver::start());
    server.post("/webhooks", &json!({ "endpoint": named.url(), "events": ["email.prefetched"] })).ok(201);
    server.admin(WebhookVerb::Create { url: all.url().to_owned(), events: Vec::new() });
    let webhooks = server.get("/webhooks").ok(200);
    let has_no_list = |webhook: &&Value| webhook["events"].is_null();
    let webhook = webhooks["data"].as_array().unwrap().iter().find(has_no_list).unwrap()["id"].as_str().unwrap();
    let (id, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": HTML }));
    let pixel = tracked_path(&message.html, "o");
    server.advance(Duration::from_secs(600));

    request(&server, "GET", &pixel, &[BROWSER, ("sec-purpose", "prefetch;prerender")]);

    let message_id = server.get(&format!("/emails/{id}")).ok(200)["message_id"].clone();
    let expected = json!({
        "type": "email.prefetched",
        "created_at": "2026-01-05T09:10:00.000Z",
        "data": {
            "email_id": id,
            "message_id": message_id,
            "created_at": "2026-01-05T09:00:00.000Z",
            "from": "Acme <hello@example.com>",
            "to": ["ada@example.org"],
            "subject": "Hello",
            "open": {
                "ipAddress": "127.0.0.1", "timestamp": "2026-01-05T09:10:00.000Z", "userAgent": BROWSER.1,
                "reason": "prefetch",
            },
        },
    });
    assert_eq!(named.wait_for("email.prefetched"), expected);
    // The deliveries of an endpoint are queued in the order of their events, so that the open follows the prefetch.
    request(&server, "GET", &pixel, &[BROWSER]);
    all.wait_for("email.opened");
    assert_eq!(delivered_types(&server, webhook), ["email.opened", "email.delivered", "email.sent"]);
}

#[test]
fn a_click_of_a_burst_is_posted_again_as_a_prefetch_with_its_time() {
    let (server, receiver) = (start_tracking(), WebhookReceiver::start());
    let endpoint = json!({ "endpoint": receiver.url(), "events": ["email.clicked", "email.prefetched"] });
    server.post("/webhooks", &endpoint).ok(201);
    let html = "<a href=\"https://shop.example/one\">One</a> <a href=\"https://shop.example/two\">Two</a>";
    let (id, message) = deliver(&server, &json!({ "to": "ada@example.org", "html": html }));
    let links = tracked_paths(&message.html, "c");
    server.advance(Duration::from_secs(600));
    request(&server, "GET", &links[0], &[BROWSER]);
    let mut expected = receiver.wait_for("email.clicked")["data"]["click"].clone();
    assert_eq!(expected["timestamp"], "2026-01-05T09:10:00.000Z");
    server.wait_for_metrics(&json!({ "opened": 1, "clicked": 1, "prefetched": 0 }));

    // Two links within 250 milliseconds are a burst.
    server.advance(Duration::from_millis(250));
    request(&server, "GET", &links[1], &[BROWSER]);

    let posted = retry_until_ok("the prefetches", || match receiver.received("email.prefetched") {
        posted if posted.len() == 2 => Ok(posted),
        posted => Err(format!("{posted:?}")),
    });
    let mut clicks: Vec<Value> = posted.iter().map(|event| event["data"]["click"].clone()).collect();
    clicks.sort_by_key(|click| click["timestamp"].to_string());
    expected["reason"] = "burst".into();
    let other = json!({
        "ipAddress": "127.0.0.1", "link": "https://shop.example/two", "timestamp": "2026-01-05T09:10:00.250Z",
        "userAgent": BROWSER.1, "reason": "burst",
    });
    assert_eq!(clicks, [expected, other]);
    server.wait_for_metrics(&json!({ "opened": 0, "clicked": 0, "prefetched": 2 }));
    let recorded = ["email.sent", "email.delivered", "email.prefetched", "email.prefetched"];
    assert_eq!(server.recorded_events(&id), recorded);
    assert_eq!(server.get(&format!("/emails/{id}")).ok(200)["last_event"], "delivered");
}
