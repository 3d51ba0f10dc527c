//! `GET /metrics`, and its documentation.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hickory_server::proto::rr::RecordType;
use serde_json::json;

use crate::support::{NameServer, TestServer, retry_until_ok};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Requests a path with headers, and returns the status and the body.
fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(HOUR / 120)).build();
    let mut request = ureq::Agent::new_with_config(agent).get(format!("{}{path}", server.base()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.call().unwrap();
    let status = response.status().as_u16();
    if status == 200 {
        assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    }
    (status, response.into_body().read_to_string().unwrap())
}

/// Returns the metrics as text.
pub(crate) fn metrics(server: &TestServer) -> String {
    let (status, text) = get(server, "/metrics", &[]);
    assert_eq!(status, 200, "{text}");
    text
}

/// Waits until the metrics have a line that starts with `start`, and returns them.
fn wait_for_line(server: &TestServer, start: &str) -> String {
    retry_until_ok(start, || {
        let text = metrics(server);
        if text.lines().any(|line| line.starts_with(start)) { Ok(text) } else { Err(text) }
    })
}

#[track_caller]
fn assert_line(text: &str, line: &str) {
    assert!(text.lines().any(|its| its == line), "no line `{line}` in\n{text}");
}

/// A metric: its type, and the names of its labels.
type Described = (String, BTreeSet<String>);

/// Returns the metrics of the text by name.
fn printed(text: &str) -> BTreeMap<String, Described> {
    let mut metrics = BTreeMap::<String, Described>::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("# TYPE ") {
            let (name, kind) = head.split_once(' ').unwrap();
            assert!(text.contains(&format!("# HELP {name} ")), "{name} has no help");
            metrics.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
        } else if !line.starts_with('#') {
            let (name, labels) = line.split_once(['{', ' ']).unwrap();
            let name = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| {
                    name.strip_suffix(end)
                        .filter(|name| metrics.get(*name).is_some_and(|(kind, _)| kind == "histogram"))
                })
                .unwrap_or(name);
            let (_, names) = metrics.get_mut(name).unwrap_or_else(|| panic!("no type before {line}"));
            let labels = labels.split('"').step_by(2).filter_map(|part| part.strip_suffix('='));
            names.extend(labels.map(|label| label.trim_start_matches(',').to_owned()).filter(|label| label != "le"));
        }
    }
    metrics
}

/// Returns the metrics of the table in `docs/METRICS.md` by name.
fn documented() -> BTreeMap<String, Described> {
    let document = include_str!("../../docs/METRICS.md");
    let rows = document.lines().filter(|line| line.starts_with("| `ringmail_") || line.starts_with("| `process_"));
    let rows = rows.filter(|line| line.matches(" | ").count() == 4);
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
        (names(cells[0]).pop_first().unwrap(), (cells[1].to_owned(), names(cells[2])))
    })
    .collect()
}

#[test]
fn the_document_lists_exactly_the_metrics_of_the_server() {
    let server = TestServer::start();
    server.get("/emails").ok(200);

    wait_for_line(&server, "ringmail_queue_count_age_seconds ");
    let text = wait_for_line(&server, "ringmail_webhook_count_age_seconds ");

    assert!(documented().len() > 15, "{:?}", documented());
    assert_eq!(printed(&text), documented());
}

#[test]
fn the_ehlo_name_is_checked_at_the_start_and_after_six_hours() {
    let names = NameServer::start();
    names.add("mail.host IN A 192.0.2.1\n");
    let resolver = names.address();
    let server = TestServer::start_with(&[
        "--delivery=direct",
        "--hostname=mail.host.example",
        "--resolver",
        &resolver,
        "--allow-address=192.0.2.0/24",
    ]);
    wait_for_line(&server, "ringmail_ehlo_names_confirmed 1");
    names.remove("mail.host.example.", RecordType::A);

    server.advance(6 * HOUR);

    wait_for_line(&server, "ringmail_ehlo_names_confirmed 0");
}

#[test]
fn programs_on_this_machine_and_full_access_keys_can_read_the_metrics() {
    let server = TestServer::start();
    let (full, sending) = (format!("Bearer {}", server.key()), format!("Bearer {}", server.create_sending_key()));
    let (full, sending) = (full.as_str(), sending.as_str());
    let proxied = ("x-forwarded-for", "192.0.2.1");

    for (headers, status, error) in [
        (&[][..], 200, ""),
        (&[("host", "localhost:1")], 200, ""),
        (&[proxied], 401, "missing_api_key"),
        (&[("host", "mail.example.com")], 401, "missing_api_key"),
        (&[proxied, ("authorization", "Bearer rm_wrong")], 403, "invalid_api_key"),
        (&[proxied, ("authorization", sending)], 403, "restricted_api_key"),
        (&[proxied, ("authorization", full)], 200, ""),
    ] {
        let (its, body) = get(&server, "/metrics", headers);
        assert_eq!(its, status, "{headers:?}: {body}");
        assert!(body.contains(error) && body.contains("ringmail_build_info") == (status == 200), "{headers:?}: {body}");
    }
    let logged = server.get("/logs").ok(200).to_string();
    assert!(!logged.contains("metrics"), "{logged}");
}

#[test]
fn a_trusted_proxy_is_no_program_on_this_machine() {
    let server = TestServer::start_with(&["--trusted-proxies", "127.0.0.1"]);
    let key = format!("Bearer {}", server.key());

    assert_eq!(get(&server, "/metrics", &[]).0, 401);
    assert_eq!(get(&server, "/metrics", &[("authorization", &key)]).0, 200);
}

#[test]
fn queued_groups_are_counted_by_site_class_and_state() {
    let held = ["--delivery", "direct", "--hold"];
    let server = TestServer::start_with(&held);
    let other_sites = [("other", 0)];
    for to in ["a@one.example", "b@one.example", "a@two.example"] {
        server.send(&json!({ "to": to }));
    }
    server.send(&json!({ "to": "c@one.example", "scheduled_at": "2026-01-06T09:00:00Z" }));

    let server = server.restart_after(HOUR, &held);

    let text = wait_for_line(&server, "ringmail_queue_count_age_seconds ");
    for (site, due) in [("one.example", 2), ("two.example", 1)].into_iter().chain(other_sites) {
        let labels = format!("site=\"{site}\",class=\"transactional\"");
        assert_line(&text, &format!("ringmail_queue_groups{{{labels},state=\"due\"}} {due}"));
        let later = u8::from(site == "one.example");
        assert_line(&text, &format!("ringmail_queue_groups{{{labels},state=\"later\"}} {later}"));
        let age = if due > 0 { HOUR.as_secs() } else { 0 };
        assert_line(&text, &format!("ringmail_queue_oldest_due_seconds{{{labels}}} {age}"));
        assert_line(&text, &format!("ringmail_queue_groups{{site=\"{site}\",class=\"bulk\",state=\"due\"}} 0"));
    }
}

#[test]
fn queued_webhook_deliveries_are_counted() {
    let server = TestServer::start();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = json!({ "endpoint": format!("http://{closed}/"), "events": ["email.sent"] });
    server.post("/webhooks", &endpoint).ok(201);
    server.send(&json!({ "to": "ada@recipients.example" }));
    wait_for_line(&server, "ringmail_webhook_attempts_total{outcome=\"failed\"} 1");

    // A start counts the deliveries. The clock does not advance, so that the next attempt is not due.
    let server = server.restart_with(&[]);

    let text = wait_for_line(&server, "ringmail_webhook_deliveries{state=\"later\"} 1");
    assert_line(&text, "ringmail_webhook_deliveries{state=\"due\"} 0");
    assert_line(&text, "ringmail_webhook_oldest_due_seconds 0");
    assert_line(&text, "ringmail_webhook_count_age_seconds 0");
}

#[test]
fn attempts_requests_and_commits_are_counted() {
    let server = TestServer::start();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = json!({ "endpoint": format!("http://{closed}/"), "events": ["email.delivered"] });
    server.post("/webhooks", &endpoint).ok(201);

    let id = server.send(&json!({ "to": "ada@recipients.example" }));
    server.wait_for(&id, "delivered");

    // The session with the built-in mailbox waits for another email.
    wait_for_line(&server, "ringmail_smtp_sessions{kind=\"working\"} 1");
    wait_for_line(&server, "ringmail_delivery_leased_groups 0");
    let text = wait_for_line(&server, "ringmail_webhook_attempts_total{outcome=\"failed\"} 1");
    assert_line(&text, "ringmail_delivery_attempts_total{outcome=\"delivered\"} 1");
    assert_line(&text, "ringmail_delivery_attempts_total{outcome=\"deferred\"} 0");
    assert_line(&text, "ringmail_http_requests_total{method=\"POST\",route=\"/emails\",status=\"2xx\"} 1");
    let value = |start: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(start));
        line.unwrap_or_else(|| panic!("no {start} in\n{text}")).trim().parse::<f64>().unwrap()
    };
    assert!(value("ringmail_store_commit_seconds_count") >= 4.0, "{text}");
    assert!(value("ringmail_store_file_bytes") > 1e4 && value("ringmail_store_free_bytes") > 0.0, "{text}");
    assert!(value("ringmail_http_connections") >= 1.0, "{text}");
    assert!(value("process_resident_memory_bytes") > 1e6, "{text}");
    get(&server, "/no/such/path", &[]);
    assert_line(&metrics(&server), "ringmail_http_requests_total{method=\"GET\",route=\"none\",status=\"4xx\"} 1");
}

#[test]
fn a_count_that_differs_from_its_events_is_reported_after_its_day() {
    let server = TestServer::start();
    let domain = server.domain_id("example.com");
    let deliver = |server: &TestServer| {
        let id = server.send(&json!({ "to": "ada@recipients.example" }));
        server.wait_for(&id, "delivered");
    };
    deliver(&server);
    let server = server.restart_after(24 * HOUR, &[]);
    server.wait_for_count_check();
    assert_line(&metrics(&server), "ringmail_email_count_differences 0");
    deliver(&server);
    server.miscount_deliveries(&domain, 4);

    // A start checks the days before.
    let server = server.restart_after(24 * HOUR, &[]);
    server.wait_for_count_check();

    assert_line(&metrics(&server), "ringmail_email_count_differences 1");
}
