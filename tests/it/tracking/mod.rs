//! Tracking of opens and clicks.
//!
//! In reading order:
//!
//! - `messages.rs`: the pixel and the links of a message.
//! - `routes.rs`: requests to them.
//! - `broadcasts.rs`: clicks on the links of a broadcast.
//! - `hosts.rs`: the paths of a tracking host.
//! - `events.rs`: the webhooks about opens, clicks and prefetches.
//! - `metrics.rs`: the counts of opens and clicks.

mod broadcasts;
mod events;
mod hosts;
mod messages;
mod metrics;
mod routes;

use std::time::Duration;

use mail_parser::MessageParser;
use serde_json::{Value, json};

use crate::support::TestServer;

const HTML: &str = "<html><body><p><a href=\"https://shop.example/?a=1&amp;b=2\">Shop</a></p></body></html>";
const BROWSER: (&str, &str) = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0");
const DESTINATION: &str = "https://shop.example/?a=1&b=2";

/// Changes the tracking of `example.com`.
#[track_caller]
fn set_tracking(server: &TestServer, fields: &Value) {
    server.patch(&format!("/domains/{}", server.domain_id("example.com")), fields).ok(200);
}

/// Starts a server whose domain tracks opens and clicks.
fn start_tracking() -> TestServer {
    let server = TestServer::start();
    set_tracking(&server, &json!({ "open_tracking": true, "click_tracking": true }));
    server
}

/// The HTML part and the text part of a captured message, with its recipients.
struct Message {
    recipients: Vec<String>,
    html: String,
    text: String,
}

/// Returns the captured messages, newest first.
fn messages(server: &TestServer) -> Vec<Message> {
    let parsed = server.captured_messages().into_iter().map(|(row, bytes)| {
        let message = MessageParser::default().parse(&bytes).unwrap();
        let html = message.body_html(0).unwrap().trim_end().to_owned();
        let text = message.body_text(0).unwrap().trim_end().to_owned();
        Message { recipients: row.recipients, html, text }
    });
    parsed.collect()
}

/// Sends an email with `fields`, waits for its delivery, and returns its id and its newest message.
#[track_caller]
fn deliver(server: &TestServer, fields: &Value) -> (String, Message) {
    let id = server.send(fields);
    server.wait_for(&id, "delivered");
    (id, messages(server).remove(0))
}

/// Returns the path of the first tracked URL of a kind in HTML: `o` for the pixel, `c` for a link.
#[track_caller]
fn tracked_path(html: &str, kind: &str) -> String {
    let first = tracked_paths(html, kind).into_iter().next();
    first.unwrap_or_else(|| panic!("no /t/{kind}/ in {html}"))
}

/// Returns the paths of all tracked URLs of a kind in HTML, in their order.
fn tracked_paths(html: &str, kind: &str) -> Vec<String> {
    let path = |(at, _): (usize, &str)| html[at..].split(['"', '\'']).next().unwrap().to_owned();
    html.match_indices(&format!("/t/{kind}/")).map(path).collect()
}

/// Response of a tracked URL.
struct HitResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl HitResponse {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }
}

/// Sends a request without a key. Does not follow redirects.
fn request(server: &TestServer, method: &str, path: &str, headers: &[(&str, &str)]) -> HitResponse {
    request_with(server, method, path, headers, None)
}

/// Does the same as [`request`], with a body.
fn request_with(
    server: &TestServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> HitResponse {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .allow_non_standard_methods(true)
        .timeout_global(Some(Duration::from_secs(30)))
        .build();
    let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", server.base()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let agent = ureq::Agent::new_with_config(config);
    let response = match body {
        Some(body) => agent.run(request.body(body.to_owned()).unwrap()),
        None => agent.run(request.body(()).unwrap()),
    };
    let response = response.unwrap();
    let status = response.status().as_u16();
    let header = |(name, value): (&ureq::http::HeaderName, &ureq::http::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    let headers = response.headers().iter().map(header).collect();
    HitResponse { status, headers, body: response.into_body().read_to_vec().unwrap() }
}
