//! The webhooks about an open and a click, from the URLs of a message at a tracking host.

use std::time::Duration;

use serde_json::{Value, json};

use super::hosts::start_with_host;
use super::{DESTINATION, deliver, request, tracked_path};
use crate::support::{NameServer, WebhookReceiver};

const HOST: (&str, &str) = ("host", "links.shop.example");
const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                      Version/18.6 Mobile/15E148 Safari/604.1";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0";

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
    let deliveries = server.get(&format!("/webhooks/{webhook}/events")).ok(200);
    let types: Vec<&Value> = deliveries["data"].as_array().unwrap().iter().map(|delivery| &delivery["type"]).collect();
    assert_eq!(types, ["email.clicked", "email.opened"]);
}
