//! The paths of a tracking host. A DNS server of the test publishes its record.

use std::time::Duration;

use ringmail::base::clock::monotonic;
use serde_json::{Value, json};

use super::{deliver, request, request_with, set_tracking};
use crate::support::{ApiResponse, NameServer, TestServer};

/// Header of a request to the tracking host of [`start_with_host`].
pub(super) const HOST: (&str, &str) = ("host", "links.shop.example");

/// Sends a request with a `Host` header.
fn get(server: &TestServer, host: &str, path: &str) -> ApiResponse {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
        server.key()
    );
    server.send_raw(request.as_bytes())
}

/// Waits until `/emails` at a host returns `status`.
#[track_caller]
fn wait_for_status(server: &TestServer, host: &str, status: u16) {
    let started = monotonic();
    while get(server, host, "/emails").status != status {
        assert!(started.elapsed() < Duration::from_secs(20), "{host} does not return {status}");
        std::thread::yield_now();
    }
}

/// Starts a server with the verified domain `shop.example`, which tracks opens and clicks, and whose tracking host is
/// `links.shop.example`. Returns the path of the domain too.
pub(super) fn start_with_host(dns: &NameServer, flags: &[&str]) -> (TestServer, String) {
    let address = dns.address();
    let flags = [&["--hostname", "mx.ringmail.example", "--resolver", &address][..], flags].concat();
    let server = TestServer::start_with(&flags);
    let domain: Value = json!({
        "name": "shop.example", "tracking_subdomain": "links", "open_tracking": true, "click_tracking": true,
    });
    let domain = server.post("/domains", &domain).ok(201);
    assert_eq!(get(&server, "links.shop.example", "/emails").status, 200);
    dns.publish(&domain["records"]);
    let path = format!("/domains/{}", domain["id"].as_str().expect("an id"));
    server.call("POST", &format!("{path}/verify"), server.key(), &[], None).ok(200);
    wait_for_status(&server, "links.shop.example", 404);
    (server, path)
}

#[test]
fn a_tracking_host_has_no_api_and_no_dashboard() {
    let dns = NameServer::start();
    let (server, _) = start_with_host(&dns, &[]);

    for path in ["/", "/health", "/emails", "/dashboard/", "/docs/openapi.json", "/t", "/unsubscribe", "/metrics"] {
        let response = get(&server, "Links.Shop.example:443", path);
        assert!(response.refusal().starts_with("404 not_found"), "{path}: {}", response.json);
    }
    for host in ["other.shop.example", "localhost", "127.0.0.1"] {
        assert_eq!(get(&server, host, "/emails").status, 200, "{host}");
    }
}

#[test]
fn a_one_click_request_at_a_tracking_host_has_the_result_of_one_at_the_public_host() {
    let dns = NameServer::start();
    let (server, _) = start_with_host(&dns, &[]);
    let key = format!("Bearer {}", server.key());
    assert_eq!(request(&server, "GET", "/emails", &[HOST, ("authorization", &key)]).status, 404);
    let form = ("content-type", "application/x-www-form-urlencoded");

    for (address, headers) in [("ada@example.org", &[HOST, form][..]), ("bob@example.org", &[form][..])] {
        server.post("/contacts", &json!({ "email": address })).ok(201);
        let html = "<a href=\"{{{UNSUBSCRIBE_URL}}}\">Leave</a>";
        let fields = json!({ "from": "Acme <hello@shop.example>", "to": address, "html": html });
        let (_, message) = deliver(&server, &fields);
        let (_, token) = message.html.split_once("/unsubscribe/").unwrap();
        let path = format!("/unsubscribe/{}", token.split('"').next().unwrap());

        let response = request_with(&server, "POST", &path, headers, Some("List-Unsubscribe=One-Click"));

        assert_eq!((response.status, response.body.as_slice()), (200, &b"OK\n"[..]), "{address}");
        assert_eq!(response.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(server.get(&format!("/contacts/{address}")).ok(200)["unsubscribed"], true);
    }
    let events = server.audience_events();
    let opt_outs = events.iter().filter(|event| event["type"] == "contact.unsubscribed");
    let sources: Vec<&Value> = opt_outs.map(|event| &event["data"]["source"]).collect();
    assert_eq!(sources, ["one_click", "one_click"]);
}

#[test]
fn a_changed_or_cleared_label_frees_its_host() {
    let dns = NameServer::start();
    let (server, path) = start_with_host(&dns, &[]);
    let status = |host: &str| get(&server, host, "/emails").status;
    dns.add("go.shop IN CNAME mx.ringmail.example.\n");

    server.patch(&path, &json!({ "tracking_subdomain": "go" })).ok(200);
    assert_eq!(status("links.shop.example"), 200);
    wait_for_status(&server, "go.shop.example", 404);

    server.patch(&path, &json!({ "tracking_subdomain": null })).ok(200);
    assert_eq!(status("go.shop.example"), 200);
}

#[test]
fn a_deleted_domain_frees_its_host() {
    let dns = NameServer::start();
    let (server, path) = start_with_host(&dns, &[]);

    server.delete(&path).ok(200);

    assert_eq!(get(&server, "links.shop.example", "/emails").status, 200);
}

#[test]
fn a_host_without_a_found_record_is_no_tracking_host() {
    let server = TestServer::start();
    server.post("/domains", &json!({ "name": "example.org", "tracking_subdomain": "links" })).ok(201);

    assert_eq!(get(&server, "links.example.org", "/emails").status, 200);
}

#[test]
fn a_domain_without_a_lookup_has_no_tracking_host() {
    let server = TestServer::start();

    set_tracking(&server, &json!({ "tracking_subdomain": "mail" }));

    assert_eq!(get(&server, "mail.example.com", "/emails").status, 200);
}
