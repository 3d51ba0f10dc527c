//! Sends the example request of every operation of the OpenAPI document, and compares the response with the example.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::openapi::{document, operations};
use crate::ingest;
use crate::support::{ApiResponse, TestServer, violations};

/// The operations in an order in which each finds the resources of its example.
const ORDER: &[&str] = &[
    "create_topic",
    "list_topics",
    "get_topic",
    "update_topic",
    "create_template",
    "list_templates",
    "get_template",
    "update_template",
    "publish_template",
    "duplicate_template",
    "delete_template",
    "create_segment",
    "list_segments",
    "get_segment",
    "update_segment",
    "create_contact_property",
    "list_contact_properties",
    "get_contact_property",
    "update_contact_property",
    "create_contact",
    "list_contacts",
    "get_contact",
    "update_contact",
    "list_contact_topics",
    "update_contact_topics",
    "list_contact_segments",
    "list_segment_contacts",
    "leave_segment",
    "join_segment",
    "create_preferences_link",
    "create_contacts",
    "batch_get_contacts",
    "batch_remove_contacts",
    "create_broadcast",
    "list_broadcasts",
    "get_broadcast",
    "update_broadcast",
    "duplicate_broadcast",
    "delete_broadcast",
    "send_broadcast",
    "list_broadcast_recipients",
    "list_broadcast_clicked_links",
    "cancel_broadcast",
    "create_audience",
    "list_audiences",
    "get_audience",
    "create_audience_contact",
    "list_audience_contacts",
    "get_audience_contact",
    "update_audience_contact",
    "delete_audience_contact",
    "delete_audience",
    "send_email",
    "send_batch",
    "list_emails",
    "get_email",
    "list_attachments",
    "list_email_attempts",
    "get_email_insights",
    "list_captured",
    "get_captured",
    "get_attachment",
    "update_email",
    "cancel_email",
    "delete_email",
    "ingest_events",
    "ingest_message",
    "create_domain",
    "list_domains",
    "get_domain",
    "update_domain",
    "verify_domain",
    "delete_domain",
    "create_api_key",
    "list_api_keys",
    "update_api_key",
    "delete_api_key",
    "create_suppression",
    "list_suppressions",
    "get_suppression",
    "add_suppressions",
    "remove_suppressions",
    "delete_suppression",
    "create_webhook",
    "list_webhooks",
    "get_webhook",
    "update_webhook",
    "rotate_webhook",
    "rotate_signing_secret",
    "test_webhook",
    "list_webhook_events",
    "get_webhook_event",
    "list_webhook_event_attempts",
    "replay_webhook_event",
    "delete_webhook",
    "get_email_metrics",
    "get_deliverability",
    "get_usage",
    "list_logs",
    "get_log",
    "get_description",
    "delete_contact",
    "delete_contact_property",
    "delete_segment",
    "delete_topic",
];

#[test]
fn the_server_accepts_the_example_of_every_operation() {
    let flags = ["--public-url", "https://mail.example.com", "--ingest-secret", ingest::SECRET];
    let mut run = ExampleRun::new(TestServer::start_with(&flags));

    for operation in ORDER {
        run.send(operation);
    }

    let missed: Vec<&String> = run.operations.keys().filter(|id| !ORDER.contains(&id.as_str())).collect();
    assert_eq!(missed, Vec::<&String>::new(), "add these operations to the order");
}

/// A server, and the ids that it has in place of the ids of the examples.
struct ExampleRun {
    server: TestServer,
    document: Value,
    /// Method, path and description, by operation id.
    operations: BTreeMap<String, (String, String, Value)>,
    ids: BTreeMap<String, String>,
}

impl ExampleRun {
    fn new(server: TestServer) -> Self {
        let document = document(&server);
        let by_id = |(route, operation): (String, Value)| {
            let (method, path) = route.split_once(' ').unwrap();
            let id = operation["operationId"].as_str().unwrap().to_owned();
            (id, (method.to_owned(), path.to_owned(), operation))
        };
        let operations = operations(&document).into_iter().map(by_id).collect();
        Self { server, document, operations, ids: BTreeMap::new() }
    }

    /// Sends the example of an operation and compares the response.
    #[track_caller]
    fn send(&mut self, id: &str) {
        let (method, path, operation) = self.operations[id].clone();
        self.prepare(id);
        let response = self.request(&method, &path, &operation);

        let responses = operation["responses"].as_object().unwrap();
        let (status, described) = responses.iter().find(|(status, _)| status.starts_with('2')).unwrap();
        assert_eq!(response.status.to_string(), *status, "{id}: {}", response.json);
        let content = &described["content"]["application/json"];
        let schemas = &self.document["components"]["schemas"];
        let example = &content["example"];
        assert!(example.is_object(), "{id} has no example of its response");
        assert_eq!(violations(example, &content["schema"], schemas), Vec::<String>::new(), "the example of {id}");
        assert_eq!(violations(&response.json, &content["schema"], schemas), Vec::<String>::new(), "{id}");
        if id != "get_description" {
            self.compare(id, example, &response.json);
        }
    }

    /// Creates the state that an example needs and no earlier example results in.
    fn prepare(&mut self, id: &str) {
        if id == "list_emails" {
            let email = self.real(&self.parameter("get_email", "id"));
            self.server.wait_for(&email, "delivered");
            self.server.advance(Duration::from_secs(1));
        }
        if id == "list_email_attempts" {
            let captured = self.server.send(&serde_json::json!({ "to": "ada@example.net" }));
            self.server.wait_for(&captured, "delivered");
            self.ids.insert(self.parameter("list_email_attempts", "id"), captured);
        }
        if id == "get_email_insights" {
            let html = "<a href=\"https://bit.ly/x\">Read</a>";
            let email = self.server.send(&serde_json::json!({ "to": "ada@example.net", "html": html }));
            self.server.advance(Duration::from_secs(6));
            self.server.poll(&format!("/emails/{email}/insights"), "the insights", |response| response.status == 200);
            self.ids.insert(self.parameter("get_email_insights", "id"), email);
        }
        if id == "list_captured" {
            let html = "<p>Code 481920. <a href=\"https://app.example.com/x\">Confirm</a></p>";
            let email = self.server.send(&serde_json::json!({ "to": "ada@example.net", "html": html }));
            self.server.wait_for(&email, "delivered");
        }
        if id == "list_webhook_events" {
            let webhook = self.real(&self.parameter("list_webhook_events", "id"));
            let delivery = self.server.add_webhook_delivery(&webhook);
            self.ids.insert(self.parameter("get_webhook_event", "event_id"), delivery);
        }
    }

    /// Returns the example of a parameter.
    fn parameter(&self, operation: &str, name: &str) -> String {
        let (_, _, operation) = &self.operations[operation];
        let parameter = operation["parameters"].as_array().unwrap().iter().find(|parameter| parameter["name"] == name);
        parameter.unwrap()["example"].as_str().unwrap().to_owned()
    }

    /// Replaces the ids of the examples with those of the server.
    fn real(&self, text: &str) -> String {
        self.ids.iter().fold(text.to_owned(), |text, (shown, real)| text.replace(shown, real))
    }

    fn request(&self, method: &str, path: &str, operation: &Value) -> ApiResponse {
        let (mut path, mut query, mut headers) = (path.to_owned(), Vec::new(), Vec::new());
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            let value = match &parameter["example"] {
                Value::Null => continue,
                Value::String(text) => self.real(text),
                Value::Array(items) => {
                    let items: Vec<&str> = items.iter().map(|item| item.as_str().unwrap()).collect();
                    self.real(&items.join(","))
                }
                other => other.to_string(),
            };
            match parameter["in"].as_str().unwrap() {
                "path" => path = path.replace(&format!("{{{name}}}"), &value),
                "query" => query.push(format!("{name}={value}")),
                _ => headers.push((name.to_owned(), value)),
            }
        }
        assert!(!path.contains('{'), "{path} lacks the example of a parameter");
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let body = operation["requestBody"]["content"].as_object().map(|content| {
            let (media_type, content) = content.iter().next().unwrap();
            match &content["example"] {
                Value::Null => panic!("{method} {path} has no example of its request"),
                Value::String(text) if media_type != "application/json" => text.clone(),
                json => self.real(&json.to_string()),
            }
        });
        let body = body.as_deref().map(str::as_bytes);
        if path.starts_with("/ingest/") {
            return ingest::post(&self.server, &path, &ingest::fresh_id(), body.unwrap());
        }
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.server.call(method, &path, self.server.key(), &headers, body)
    }

    /// Checks that a value has the fields and types of its example, and stores its ids.
    #[track_caller]
    fn compare(&mut self, at: &str, example: &Value, real: &Value) {
        match (example, real) {
            // The body of an event depends on its type: `event_schemas.rs` checks it.
            _ if at.ends_with(".payload") => {}
            (Value::Object(example), Value::Object(real)) => {
                let names = |fields: &Map<String, Value>| fields.keys().cloned().collect::<Vec<_>>();
                assert_eq!(names(real), names(example), "{at}");
                for (name, value) in example {
                    self.compare(&format!("{at}.{name}"), value, &real[name]);
                }
            }
            (Value::Array(example), Value::Array(real)) => {
                assert_eq!(real.is_empty(), example.is_empty(), "{at}");
                for (example, real) in example.iter().zip(real) {
                    self.compare(at, example, real);
                }
            }
            (Value::String(example), Value::String(real)) if is_id(example) => {
                assert!(is_id(real), "{at}: {real}");
                self.ids.entry(example.clone()).or_insert_with(|| real.clone());
            }
            // The schema decides which fields may be null.
            (Value::Null, _) | (_, Value::Null) => {}
            _ => {
                let kind = std::mem::discriminant::<Value>;
                assert_eq!(kind(real), kind(example), "{at}: {real} is not of the type of {example}");
            }
        }
    }
}

fn is_id(text: &str) -> bool {
    let is_hyphen = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let is_digit = |byte: u8| byte.is_ascii_hexdigit();
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| if is_hyphen(at) { byte == b'-' } else { is_digit(byte) })
}
